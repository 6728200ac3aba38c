"""Tokenizers written as plainly as possible, without any code of `bpe`, to compare it with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import regex


class SpecialTokenError(Exception):
    """The text holds a special token that is not allowed."""


class UnknownSymbolError(Exception):
    """A symbol has no token."""


# --- cutting


def cut_specials(text: str, names: Iterable[str]) -> list[tuple[str, bool]]:
    """Read from left to right; where names begin, take the longest."""
    parts: list[tuple[str, bool]] = []
    plain = ""
    i = 0
    while i < len(text):
        here = [name for name in names if text.startswith(name, i)]
        if here:
            name = max(here, key=len)
            parts += [(plain, False), (name, True)]
            plain, i = "", i + len(name)
        else:
            plain, i = plain + text[i], i + 1
    parts.append((plain, False))
    return [(part, is_special) for part, is_special in parts if part]


def cut_pieces(text: str, expressions: Iterable[str]) -> list[str]:
    pieces = [text] if text else []
    for expression in expressions:
        compiled = regex.compile(expression)
        pieces = [piece for longer in pieces for piece in _cut(longer, compiled)]
    return pieces


def _cut(text: str, expression: Any) -> Iterator[str]:
    gap, i = "", 0
    while i < len(text):
        match = expression.match(text, i)
        if match and match.end() > i:
            if gap:
                yield gap
            yield match.group()
            gap, i = "", match.end()
        else:
            gap, i = gap + text[i], i + 1
    if gap:
        yield gap


# --- byte pair encoding, on the tokens themselves


def symbols(piece: str, alphabet: str) -> list[Any]:
    if alphabet == "characters":
        return list(piece)
    return [bytes([value]) for value in piece.encode("utf-8")]


def join(tokens: Sequence[Any], pair: tuple[Any, Any]) -> list[Any]:
    left: list[Any] = []
    rest = list(tokens)
    while rest:
        if len(rest) > 1 and (rest[0], rest[1]) == pair:
            left.append(rest[0] + rest[1])
            rest = rest[2:]
        else:
            left.append(rest[0])
            rest = rest[1:]
    return left


def learn(sequences: list[list[Any]], most: int, min_frequency: int) -> list[tuple[Any, Any]]:
    """Merge the most frequent pair, of several the one that occurs first, in all of the text."""
    merges: list[tuple[Any, Any]] = []
    while len(merges) < most:
        pairs = [pair for sequence in sequences for pair in pairwise(sequence)]
        if not pairs:
            break
        counts = Counter(pairs)
        highest = max(counts.values())
        if highest < min_frequency:
            break
        best = next(pair for pair in pairs if counts[pair] == highest)
        merges.append(best)
        sequences = [join(sequence, best) for sequence in sequences]
    return merges


def apply(tokens: list[Any], merges: Sequence[tuple[Any, Any]]) -> list[Any]:
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    while found := [pair for pair in pairwise(tokens) if pair in ranks]:
        tokens = join(tokens, min(found, key=ranks.__getitem__))
    return tokens


def encode(
    text: str,
    merges: Sequence[tuple[Any, Any]],
    ids: Mapping[Any, int],
    alphabet: str,
    expressions: Iterable[str],
    specials: Mapping[str, int],
    whole_pieces: bool = False,
    refused: Iterable[str] = (),
) -> list[int]:
    """Encode a text; `specials` are those that are taken."""
    result: list[int] = []
    for part, is_special in cut_specials(text, [*specials, *refused]):
        if is_special and part not in specials:
            raise SpecialTokenError(part)
        if is_special:
            result.append(specials[part])
            continue
        for piece in cut_pieces(part, expressions):
            whole = piece if alphabet == "characters" else piece.encode("utf-8")
            if whole_pieces and whole in ids:
                result.append(ids[whole])
                continue
            single = symbols(piece, alphabet)
            if not all(symbol in ids for symbol in single):
                raise UnknownSymbolError(piece)
            result += [ids[token] for token in apply(single, merges)]
    return result


# --- WordPiece


def learn_wordpiece(words: Mapping[str, int], number: int, min_frequency: int) -> list[str]:
    """Return the characters, as pieces, and the pieces that merging by score makes of them."""
    rows = [([word[0], *("##" + letter for letter in word[1:])], count) for word, count in words.items()]
    pieces = sorted({piece for row, _ in rows for piece in row})
    found = 0
    while found < number:
        single: Counter[str] = Counter()
        double: Counter[tuple[str, str]] = Counter()
        for row, count in rows:
            for piece in row:
                single[piece] += count
            for pair in pairwise(row):
                double[pair] += count
        able = [pair for pair, count in double.items() if count >= min_frequency]
        if not able:
            break
        scores = {
            (left, right): Fraction(double[left, right], single[left] * single[right]) for left, right in able
        }
        left, right = min(able, key=lambda pair: (-scores[pair], -double[pair], pair))
        new = left + right.removeprefix("##")
        next_rows = []
        for row, count in rows:
            joined: list[str] = []
            i = 0
            while i < len(row):
                if row[i : i + 2] == [left, right]:
                    joined.append(new)
                    i += 2
                else:
                    joined.append(row[i])
                    i += 1
            next_rows.append((joined, count))
        rows = next_rows
        if new not in pieces:
            pieces.append(new)
            found += 1
    return pieces


def encode_wordpiece(word: str, pieces: Iterable[str], longest_word: int) -> list[str] | None:
    """Take the longest piece again and again; None if that fails."""
    pieces = set(pieces)
    found: list[str] = []
    rest = word
    while rest and len(word) <= longest_word:
        able = [
            rest[:end] for end in range(len(rest), 0, -1) if ("##" if found else "") + rest[:end] in pieces
        ]
        if not able:
            return None
        found.append(("##" if found else "") + able[0])
        rest = rest[len(able[0]) :]
    return found if len(word) <= longest_word else None


# --- Unigram


def all_cuts(text: str) -> Iterator[list[str]]:
    """Yield every way to cut a text: twice as many for each character."""
    for bars in product([False, True], repeat=max(len(text) - 1, 0)):
        cut = [text[:1]]
        for bar, letter in zip(bars, text[1:], strict=True):
            if bar:
                cut.append(letter)
            else:
                cut[-1] += letter
        yield cut
