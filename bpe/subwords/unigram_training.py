"""How the pieces of a Unigram tokenizer are learned: from far too many down to those that matter.

1. Every substring that occurs twice is a candidate; those that cover most of the text are taken.
2. Probabilities: how often is each piece used if every way to cut every word counts by its own probability?
   That gives new probabilities, and so on (expectation and maximisation, EM).
3. Without a piece, a text would have to be cut in the next best way. The pieces whose loss would cost the
   text the least probability go, a quarter at a time; then again 2.

Kudo: Subword Regularization, 2018, section 3.2. In two points this is plainer than sentencepiece: the counts
of step 2 are taken as they are, and the cost in step 3 does not foresee how probabilities will change.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping
from itertools import groupby

import regex

from bpe import special
from bpe._progress import show_progress
from bpe._validate import check_documents, check_finite, check_integer
from bpe.subwords import lattice
from bpe.subwords.base import names_of, number_to_learn
from bpe.subwords.lattice import BYTES, SPACE, Piece

# Pieces are learned within words, numbers and runs of signs, each with the space before it.
_WORD = regex.compile(r"▁?(?:[\p{L}\p{M}]+|\p{N}+|[^\s▁\p{L}\p{M}\p{N}]+)|▁|\s")

# A character has to stay, also where no word needs it any more: it is taken as used so often.
LEAST_USE = 0.01


def head(unknown: str | None, special_tokens: Iterable[str], byte_fallback: bool) -> list[Piece]:
    """The entries before what is learned: the unknown token, special tokens, bytes."""
    names = names_of(unknown, special_tokens)
    entries = [Piece(name, 0.0, "unknown" if name == unknown else "control") for name in names]
    return entries + [Piece(name, 0.0, "byte") for name in BYTES if byte_fallback]


def count_words(text: str | Iterable[str], special_tokens: Iterable[str], prefix: bool) -> dict[str, int]:
    """How often each stretch occurs within which pieces are learned, spaces written as `▁`."""
    names = special.check_names(special_tokens)
    counts: Counter[str] = Counter()
    for document in check_documents(text):
        for part, is_special in special.parts(document, names):
            if not is_special:
                counts.update(_WORD.findall((SPACE if prefix else "") + part.replace(" ", SPACE)))
    return dict(counts)


def learn(
    counts: Mapping[str, int],
    vocab_size: int,
    *,
    taken: Collection[str],
    character_coverage: float,
    max_length: int,
    seed_factor: float,
    shrinking_factor: float,
    sub_iterations: int,
    progress: bool | None,
) -> list[tuple[str, float]]:
    """Pieces and the logarithms of their probabilities, most probable first.

    counts: as `count_words` gives them. taken: the tokens that are not learned; no piece gets their names.
    The other parameters are those of `Unigram.train`.
    """
    characters = _covered(counts, _within(character_coverage, "character_coverage", 0, 1))
    if both := set(characters).intersection(taken):
        raise ValueError(f"{both.pop()!r} is a special token, but also a character of the text as it is cut")
    seed_factor = _within(seed_factor, "seed_factor", 1, math.inf)
    shrinking_factor = _within(shrinking_factor, "shrinking_factor", 0, 0.99)
    sub_iterations = check_integer(sub_iterations, "sub_iterations", least=1)
    longest = check_integer(max_length, "max_length", least=1)
    number = number_to_learn(vocab_size, len(characters), len(taken))
    words = _known_parts(counts, set(characters))
    most = int(min(seed_factor * min(number, sys.maxsize), sys.maxsize))
    scores = _seed(words, characters, most, longest, set(taken))
    rounds = _rounds(len(scores), len(characters) + number, shrinking_factor)
    for size in show_progress(rounds, len(rounds), progress, desc="rounds"):
        if size < len(scores):
            scores = pruned(words, scores, characters, size)
        for _ in range(sub_iterations):
            scores = reestimated(words, scores, characters)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def _within(value: float, name: str, least: float, most: float) -> float:
    number = check_finite(value, name)
    if not least <= number <= most:
        raise ValueError(f"{name} must be from {least} to {most}, not {number}")
    return number


def _rounds(size: int, wanted: int, factor: float) -> list[int]:
    """How many pieces there are to be in each round, down to the number wanted.

    >>> _rounds(1000, 500, 0.75)
    [1000, 750, 562, 500]
    """
    sizes = [size]
    while sizes[-1] > wanted:
        sizes.append(max(wanted, int(factor * sizes[-1])))
    return sizes


def _covered(counts: Mapping[str, int], coverage: float) -> list[str]:
    """The most frequent characters that together make up the share `coverage` of the text."""
    totals: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            totals[character] += count
    if not totals:
        raise ValueError("the training text is empty, so there is nothing to learn from")
    missing = coverage * totals.total()
    covered: list[str] = []
    for character, count in sorted(totals.items(), key=lambda item: (-item[1], item[0])):
        if missing <= 0 and covered:
            break
        covered.append(character)
        missing -= count
    return covered


def _known_parts(counts: Mapping[str, int], characters: set[str]) -> dict[str, int]:
    """The words, cut at characters that are no tokens, which are left out."""
    parts: Counter[str] = Counter()
    for word, count in counts.items():
        if characters.issuperset(word):
            parts[word] += count
            continue
        for are_known, part in groupby(word, characters.__contains__):
            if are_known:
                parts["".join(part)] += count
    return dict(parts)


def frequent_substrings(counts: Mapping[str, int], longest: int, least: int = 2) -> dict[str, int]:
    """How often each substring of two to `longest` characters occurs, where that is `least` times or more.

    One can only be frequent if it is so without its last character. So those of length n need only be counted
    where those of length n - 1 are frequent, and memory stays small.

    >>> frequent_substrings({"abab": 1, "aba": 1}, 3)
    {'ab': 3, 'ba': 2, 'aba': 2}
    """
    found: dict[str, int] = {}
    shorter: Mapping[str, int] | None = None
    for length in range(2, longest + 1):
        counted: Counter[str] = Counter()
        for word, count in counts.items():
            for start in range(len(word) - length + 1):
                piece = word[start : start + length]
                if shorter is None or piece[:-1] in shorter:
                    counted[piece] += count
        shorter = {piece: count for piece, count in counted.items() if count >= least}
        if not shorter:
            break
        found |= shorter
    return found


def _seed(
    words: Mapping[str, int], characters: Iterable[str], number: int, longest: int, taken: Container[str] = ()
) -> dict[str, float]:
    """The pieces to begin with: all characters, and the substrings that cover most of the text.

    taken: what is none, even if it is such a substring.
    """
    use: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            use[character] += count
    found = frequent_substrings(words, longest)
    covering = {piece: count * len(piece) for piece, count in found.items() if piece not in taken}
    most = sorted(covering.items(), key=lambda item: (-item[1], item[0]))[:number]
    return _as_scores({character: use[character] for character in characters} | dict(most))


def _as_scores(use: Mapping[str, float]) -> dict[str, float]:
    """Logarithms of the shares, to six decimals: processors differ in the last digits of a logarithm."""
    total = math.log(math.fsum(use.values()))
    return {piece: round(math.log(count) - total, 6) for piece, count in use.items()}


def lattice_of(
    word: str, scores: Mapping[str, float], longest: int, without: str | None = None
) -> list[list[lattice.Edge[str]]]:
    """All pieces that stand in a word, as `bpe.lattice` wants them.

    longest: how many characters the longest piece has. without: a piece that is left out.
    """
    return [
        [
            (begin, piece, scores[piece])
            for begin in range(max(0, end - longest), end)
            if (piece := word[begin:end]) in scores and piece != without
        ]
        for end in range(1, len(word) + 1)
    ]


def reestimated(
    words: Mapping[str, int], scores: Mapping[str, float], characters: Iterable[str]
) -> dict[str, float]:
    """One step of EM: new scores from how often each piece is used, over all ways to cut every word."""
    longest = max(map(len, scores))
    use = dict.fromkeys(scores, 0.0)
    for word, count in words.items():
        for piece, share in lattice.shares(lattice_of(word, scores, longest)):
            use[piece] += count * share
    kept = set(characters)
    used = {piece: max(times, LEAST_USE) for piece, times in use.items() if times > 0 or piece in kept}
    return _as_scores(used)


def losses(
    words: Mapping[str, int], scores: Mapping[str, float], characters: Iterable[str]
) -> dict[str, float]:
    """What it would cost to be without a piece, in nats: for each piece that is no single character.

    Each of its uses in the best ways to cut the words would then be cut in the next best way.
    """
    longest = max(map(len, scores))
    use: Counter[str] = Counter()
    for word, count in words.items():
        for _, _, piece in lattice.best_path(lattice_of(word, scores, longest)):
            use[piece] += count
    return {
        piece: use[piece] * (score - _next_best(piece, scores, longest)) if use[piece] else 0.0
        for piece, score in scores.items()
        if len(piece) > 1
    }


def _next_best(piece: str, scores: Mapping[str, float], longest: int) -> float:
    """The score of a piece's text when it is cut into other pieces."""
    path = lattice.best_path(lattice_of(piece, scores, longest, without=piece))
    return math.fsum(scores[part] for _, _, part in path)


def pruned(
    words: Mapping[str, int], scores: Mapping[str, float], characters: Iterable[str], size: int
) -> dict[str, float]:
    """The `size` pieces without which the text would lose most probability; characters always stay.

    Of equal losses, to six digits, the pieces first in alphabetical order stay.
    """
    lost = losses(words, scores, characters)
    order = sorted(lost, key=lambda piece: (-float(f"{lost[piece]:.6g}"), piece))
    kept = {*characters, *order[: max(0, size - (len(scores) - len(lost)))]}
    return {piece: score for piece, score in scores.items() if piece in kept}
