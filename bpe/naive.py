"""Byte pair encoding as chapter 3 writes it: count the pairs, merge the most frequent one, repeat.

This is the engine to read. It rescans everything at each step; the engines in `bpe.fast` give the same merges
and the same ids, tie for tie, in less time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

Symbol = TypeVar("Symbol", bound=Hashable)
Pair = tuple[int, int]


class MergeStep(NamedTuple):
    """One step of training.

    pair: the (left id, right id) that was merged.
    new_id: the id of the merged token.
    frequency: how often the pair occurred, counted with overlap.
    tokens_left: the number of tokens in the training text after the merge.
    """

    pair: Pair
    new_id: int
    frequency: int
    tokens_left: int


def count_pairs(symbols: Iterable[Symbol]) -> Counter[tuple[Symbol, Symbol]]:
    """Count each pair of neighbours, with overlap, in order of first occurrence.

    >>> count_pairs("aaab")
    Counter({('a', 'a'): 2, ('a', 'b'): 1})
    """
    return Counter(pairwise(symbols))


def merge_pair(symbols: Sequence[Symbol], pair: tuple[Symbol, Symbol], new: Symbol) -> list[Symbol]:
    """Replace each occurrence of `pair` with `new`, from left to right.

    Occurrences that overlap share a symbol, so only the left one is replaced.

    >>> merge_pair("aaab", ("a", "a"), "Z")
    ['Z', 'a', 'b']
    """
    left, right = pair  # which may be a list
    merged = []
    i = 0
    while i < len(symbols):
        if tuple(symbols[i : i + 2]) == (left, right):
            merged.append(new)
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged


def learn_merges(
    pieces: Sequence[Sequence[int]],
    counts: Sequence[int],
    num_merges: int,
    first_id: int,
    min_frequency: int = 2,
) -> Iterator[MergeStep]:
    """Learn up to `num_merges` merges, yielding each as soon as it is found.

    pieces: the training text as sequences of ids. No pair crosses from one piece to the next.
    counts: how often each piece occurs. Of the most frequent pairs, the one that occurs first in `pieces`
    wins, so the order of the pieces decides ties.
    first_id: the id of the first new token; later ones follow.
    min_frequency: stop when no pair occurs this often.
    """
    pieces = [list(ids) for ids in pieces]
    for new_id in range(first_id, first_id + num_merges):
        totals: Counter[Pair] = Counter()
        for ids, count in zip(pieces, counts, strict=True):
            for pair, times in count_pairs(ids).items():
                totals[pair] += times * count
        # A Counter keeps the order of first occurrence, and most_common gives the first of equals.
        [(pair, frequency)] = totals.most_common(1) or [((0, 0), 0)]
        if frequency < max(min_frequency, 1):
            break
        pieces = [merge_pair(ids, pair, new_id) for ids in pieces]
        tokens_left = sum(len(ids) * count for ids, count in zip(pieces, counts, strict=True))
        yield MergeStep(pair, new_id, frequency, tokens_left)


def apply_merges(
    ids: Sequence[int],
    ranks: Mapping[Pair, tuple[int, int]],
    keep: Callable[[Pair], bool] = lambda pair: True,
) -> list[int]:
    """Merge the pair with the lowest rank, again and again, until no pair has one.

    ranks: pair -> (rank, id of the merged token).
    keep: asked about every known pair at every step; a pair it rejects is passed over in that step.

    >>> apply_merges([1, 2, 1, 2, 3], {(1, 2): (0, 4), (4, 4): (1, 5)})
    [5, 3]
    """
    ids = list(ids)
    while known := [pair for pair in pairwise(ids) if pair in ranks and keep(pair)]:
        first_learned = min(known, key=lambda pair: ranks[pair])
        ids = merge_pair(ids, first_learned, ranks[first_learned][1])
    return ids
