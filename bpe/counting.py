"""Pieces and how often each occurs: all that training needs to know of a text."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from bpe import fast, presplit, special, stretches
from bpe._validate import check_documents, check_integer, refuse_surrogates


class FewTokensWarning(UserWarning):
    """Training found far fewer tokens than were asked for."""


class CheckedCounts(dict[str, int]):
    """Counts that this module made, so there is nothing left to check."""


def count_pieces(
    documents: str | Iterable[str], pattern: presplit.Pattern = None, special_tokens: Iterable[str] = ()
) -> dict[str, int]:
    """Count each piece, in order of first appearance.

    documents: a str, or an iterable of str; read once, so a generator over a large corpus works.
    pattern: how each document is cut, as in `BPETokenizer.train`.
    special_tokens: documents are cut at these too, and they are not counted.

    The order decides ties in `BPETokenizer.train_from_counts`.

    >>> count_pieces("to be or not to be", "words")
    {'to': 2, ' ': 5, 'be': 2, 'or': 1, 'not': 1}
    """
    return dict(count(documents, pattern, special.check_names(special_tokens)).items())


def count(
    documents: str | Iterable[str], pattern: presplit.Pattern, special_tokens: Collection[str]
) -> Mapping[str, int]:
    """Count as `count_pieces`; a long text with a pattern that is compiled gives `fast.PieceCounts`."""
    expressions = presplit.resolve(pattern)
    counts = CheckedCounts()
    for document in check_documents(documents):
        for part, is_special in special.parts(document, special_tokens):
            if is_special:
                continue
            pieces = _count(part, expressions)
            if part is documents and isinstance(pieces, fast.PieceCounts):
                return pieces
            for piece, number in pieces.items():
                counts[piece] = counts.get(piece, 0) + number
    return counts


def _count(text: str, expressions: Sequence[str]) -> Mapping[str, int]:
    counts = fast.count_pieces(text, expressions)
    return Counter(presplit.pieces(text, expressions)) if counts is None else counts


def count_streams(
    documents: Iterable[Iterable[str]],
    pattern: presplit.Pattern = None,
    special_tokens: Iterable[str] = (),
    size: int = stretches.SIZE,
) -> Mapping[str, int]:
    """Count as `count_pieces`; each document is an iterable of chunks, such as a file read bit by bit.

    size: how many characters are counted at once, roughly. With a pattern in `bpe.presplit.PATTERNS`, memory
    grows with the number of different pieces, not with the documents; with another pattern, and with none,
    a document is in memory as a whole. `stretches` says why.
    """
    expressions, names = presplit.resolve(pattern), special.check_names(special_tokens)

    def find_cut(text: str, stop: int) -> int:
        return stretches.find_border(text, stop, expressions)

    parts = (part for chunks in documents for part in stretches.cut(chunks, find_cut, names, size))
    return count(parts, expressions, names)


def check_counts(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return the counts with Python's own integers; those that this module counted are sound already.

    Raises TypeError or ValueError, naming the piece, for anything that is not a piece or a count.
    """
    if isinstance(counts, (CheckedCounts, fast.PieceCounts)):
        return counts
    checked: dict[str, int] = {}
    for piece, number in counts.items():
        if not isinstance(piece, str) or not piece:
            raise ValueError(f"a piece must be a non-empty string, not {piece!r}")
        try:
            refuse_surrogates(piece)
        except ValueError as error:
            raise ValueError(f"piece {piece!r}: {error}") from None
        checked[piece] = check_integer(number, f"the count of {piece!r}", least=1)
    return checked


def count_characters(counts: Mapping[str, int]) -> int:
    """Return the number of characters in all different pieces together (bytes for `fast.PieceCounts`)."""
    return counts.size if isinstance(counts, fast.PieceCounts) else sum(map(len, counts))


def base_tokens(alphabet: str, given: Iterable[str | bytes] | None, pieces: Iterable[str]) -> list[Any]:
    """Return the tokens that training starts from: all bytes, or the sorted characters."""
    if alphabet not in ("bytes", "characters"):
        raise ValueError(f"unknown alphabet {alphabet!r}: choose 'bytes' or 'characters'")
    if alphabet == "bytes":
        if given is not None:
            raise ValueError("base_tokens are for alphabet='characters'; bytes are always all 256")
        return [bytes([value]) for value in range(256)]
    needed: set[Any] = set().union(*pieces)
    base = needed if given is None else set(given)
    for token in base:
        if not isinstance(token, str) or len(token) != 1:
            raise ValueError(f"a base token must be a single character, not {token!r}")
    if missing := needed - base:
        character = min(missing)
        raise ValueError(
            f"character {character!r} (U+{ord(character):04X}) of the training text is not in base_tokens"
        )
    return sorted(base)


def num_merges(vocab_size: int, num_base: int, num_special: int) -> int:
    """Return how many merges make a vocabulary of that size. Raises ValueError if it is too small."""
    number = check_integer(vocab_size, "vocab_size") - num_base - num_special
    if number < 0:
        raise ValueError(
            f"vocab_size {vocab_size:,} is too small: there are {num_base:,} base tokens and {num_special:,} "
            f"special tokens, so the least is {num_base + num_special:,}"
        )
    return number


def warn_if_few(num_learned: int, num_wanted: int) -> None:
    """Warn if training learned far fewer tokens than it should: is the text the right one?"""
    num_wanted = min(num_wanted, sys.maxsize)  # a number of 5,000 digits can't be shown
    if num_learned < num_wanted / 2 and num_wanted - num_learned >= 100:
        warnings.warn(
            f"only {num_learned:,} of {num_wanted:,} tokens could be learned: nothing else occurs twice. Is "
            f"this the text you meant? From a longer one, more can be learned",
            FewTokensWarning,
            stacklevel=3,
        )
