"""Learn the pieces of a Unigram tokenizer: start with far too many, drop those that matter least.

1. Every substring that occurs twice is a candidate; take those that cover most of the text.
2. Count how often each piece is used if every way to cut every word counts by its own probability. The shares
   are the new probabilities (expectation maximisation, EM).
3. Without a piece, the text would be cut in the next best way. Drop the pieces whose loss lowers the
   probability of the text least, a quarter at a time, and go back to 2.

Kudo: Subword Regularization, 2018, section 3.2. This is simpler than sentencepiece in two points: the counts
of step 2 are used as they are, and the loss in step 3 ignores how the probabilities will change.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping
from itertools import groupby

import regex

from bpe import counting
from bpe._progress import show_progress
from bpe._validate import check_finite, check_integer
from bpe.subwords import base, lattice
from bpe.subwords.lattice import BYTES, SPACE, Piece

# Pieces are learned within words, numbers and runs of other signs, each with the space before it.
_WORD = regex.compile(r"▁?(?:[\p{L}\p{M}]+|\p{N}+|[^\s▁\p{L}\p{M}\p{N}]+)|▁|\s")

# The least use of a character, in occurrences: characters stay even if no word needs them any more.
LEAST_USE = 0.01


def fixed_pieces(unknown: str | None, special_tokens: Iterable[str], byte_fallback: bool) -> list[Piece]:
    """Return the pieces before the learned ones: the unknown token, special tokens, bytes."""
    names = base.collect_names(unknown, special_tokens)
    pieces = [Piece(name, 0.0, "unknown" if name == unknown else "control") for name in names]
    return pieces + [Piece(name, 0.0, "byte") for name in BYTES if byte_fallback]


def mark_spaces(text: str, prefix: bool) -> str:
    """Write spaces as `▁`; with `prefix`, put one before a text that is not empty."""
    return (SPACE if prefix and text else "") + text.replace(" ", SPACE)


def count_words(text: str | Iterable[str], special_tokens: Iterable[str], prefix: bool) -> dict[str, int]:
    """Count the stretches of text within which pieces are learned, spaces written as `▁`."""
    return base.count_words(text, special_tokens, lambda part: _WORD.findall(mark_spaces(part, prefix)))


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
    """Learn pieces and the logarithms of their probabilities, most probable first.

    counts: as `count_words` gives them. taken: tokens that are not learned; no piece may have their names.
    The other parameters are those of `Unigram.train`.
    """
    coverage = _check_range(character_coverage, "character_coverage", 0, 1)
    characters = _choose_characters(counts, coverage)
    if both := set(characters).intersection(taken):
        raise ValueError(f"{both.pop()!r} is a special token, but also a character of the text as it is cut")
    seed_factor = _check_range(seed_factor, "seed_factor", 1, math.inf)
    shrinking_factor = _check_range(shrinking_factor, "shrinking_factor", 0, 0.99)
    sub_iterations = check_integer(sub_iterations, "sub_iterations", least=1)
    longest = check_integer(max_length, "max_length", least=1)
    if longest > lattice.LONGEST:
        raise ValueError(f"max_length may be {lattice.LONGEST:,}, not {longest:,}")
    number = base.number_to_learn(vocab_size, len(characters), len(taken))
    words = _cut_at_unknown(counts, set(characters))
    most = int(min(seed_factor * min(number, sys.maxsize), sys.maxsize))
    scores = _seed_scores(words, characters, most, longest, set(taken))
    rounds = _round_sizes(len(scores), len(characters) + number, shrinking_factor)
    for size in show_progress(rounds, len(rounds), progress, desc="rounds"):
        if size < len(scores):
            scores = pruned(words, scores, characters, size)
        for _ in range(sub_iterations):
            scores = reestimated(words, scores, characters)
    counting.warn_if_few(len(scores) - len(characters), number)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def _check_range(value: float, name: str, least: float, most: float) -> float:
    number = check_finite(value, name)
    if not least <= number <= most:
        raise ValueError(f"{name} must be from {least} to {most}, not {number}")
    return number


def _round_sizes(size: int, wanted: int, factor: float) -> list[int]:
    """Return the number of pieces in each round, down to the number wanted.

    >>> _round_sizes(1000, 500, 0.75)
    [1000, 750, 562, 500]
    """
    sizes = [size]
    while sizes[-1] > wanted:
        sizes.append(max(wanted, int(factor * sizes[-1])))
    return sizes


def _count_characters(counts: Mapping[str, int]) -> Counter[str]:
    totals: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            totals[character] += count
    return totals


def _choose_characters(counts: Mapping[str, int], coverage: float) -> list[str]:
    """Return the most frequent characters that together make up the share `coverage` of the text."""
    totals = _count_characters(counts)
    if not totals:
        raise ValueError("the training text is empty, so there is nothing to learn from")
    missing = coverage * totals.total()
    chosen: list[str] = []
    for character, count in sorted(totals.items(), key=lambda item: (-item[1], item[0])):
        if missing <= 0 and chosen:
            break
        chosen.append(character)
        missing -= count
    return chosen


def _cut_at_unknown(counts: Mapping[str, int], characters: set[str]) -> dict[str, int]:
    """Cut words at characters that are not among `characters`, and leave those out."""
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
    """Count the substrings of two to `longest` characters that occur at least `least` times.

    A substring is at most as frequent as it is without its last character. So length n is counted only for
    those whose first n - 1 characters are frequent, and memory stays small.

    >>> frequent_substrings({"abab": 1, "aba": 1}, 3)
    {'ab': 3, 'ba': 2, 'aba': 2}
    """
    found: dict[str, int] = {}
    shorter: Mapping[str, int] | None = None
    for length in range(2, longest + 1):
        totals: Counter[str] = Counter()
        for word, count in counts.items():
            for start in range(len(word) - length + 1):
                piece = word[start : start + length]
                if shorter is None or piece[:-1] in shorter:
                    totals[piece] += count
        shorter = {piece: count for piece, count in totals.items() if count >= least}
        if not shorter:
            break
        found |= shorter
    return found


def _seed_scores(
    words: Mapping[str, int], characters: Iterable[str], number: int, longest: int, taken: Container[str] = ()
) -> dict[str, float]:
    """Return the first pieces: all characters, and the `number` substrings that cover most of the text.

    taken: names that no substring may have.
    """
    use = _count_characters(words)
    found = frequent_substrings(words, longest)
    coverage = {piece: count * len(piece) for piece, count in found.items() if piece not in taken}
    most = sorted(coverage.items(), key=lambda item: (-item[1], item[0]))[:number]
    return _to_scores({character: use[character] for character in characters} | dict(most))


def _to_scores(use: Mapping[str, float]) -> dict[str, float]:
    """Turn counts into logarithms of shares, to six decimals: processors differ in the digits after them."""
    total = math.log(math.fsum(use.values()))
    return {piece: round(math.log(count) - total, 6) for piece, count in use.items()}


def lattice_of(
    word: str, scores: Mapping[str, float], longest: int, without: str | None = None
) -> list[list[lattice.Edge[str]]]:
    """Return all pieces in a word, as `bpe.subwords.lattice` takes them.

    longest: the length of the longest piece, in characters. without: a piece to leave out.
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
    """One step of EM: new scores from the expected use of each piece over all ways to cut every word."""
    longest = max(map(len, scores))
    use = dict.fromkeys(scores, 0.0)
    for word, count in words.items():
        for piece, share in lattice.shares(lattice_of(word, scores, longest)):
            use[piece] += count * share
    kept = set(characters)
    used = {piece: max(times, LEAST_USE) for piece, times in use.items() if times > 0 or piece in kept}
    return _to_scores(used)


def losses(
    words: Mapping[str, int], scores: Mapping[str, float], characters: Iterable[str]
) -> dict[str, float]:
    """For each piece of two or more characters, how much its loss would cost the text, in nats.

    Each of its uses in the best paths of the words would then be cut in the next best way.
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
    """Return the score of a piece's text if it is cut into other pieces."""
    path = lattice.best_path(lattice_of(piece, scores, longest, without=piece))
    return math.fsum(scores[part] for _, _, part in path)


def pruned(
    words: Mapping[str, int], scores: Mapping[str, float], characters: Iterable[str], size: int
) -> dict[str, float]:
    """Keep the `size` pieces whose loss would cost the text most; characters always stay.

    Of losses that are equal to six digits, the pieces that come first in alphabetical order stay.
    """
    lost = losses(words, scores, characters)
    order = sorted(lost, key=lambda piece: (-float(f"{lost[piece]:.6g}"), piece))
    kept = {*characters, *order[: max(0, size - (len(scores) - len(lost)))]}
    return {piece: score for piece, score in scores.items() if piece in kept}
