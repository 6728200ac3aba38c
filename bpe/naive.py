"""The engine to read: byte pair encoding as it is defined, rescanning everything at each step.

The other engines give the same merges and the same ids, tie for tie.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from bpe.pairs import MergeStep, count_pairs, merge_pair

Pair = tuple[int, int]


def learn_merges(
    pieces: Sequence[Sequence[int]],
    counts: Sequence[int],
    num_merges: int,
    first_id: int,
    min_frequency: int = 2,
) -> Iterator[MergeStep]:
    """Learn up to `num_merges` merges, and give each as soon as it is found.

    pieces: the training text as sequences of ids; no pair crosses from one to the next.
    counts: how often each piece occurs. Of the most frequent pairs the one that occurs
    first in `pieces` wins, so their order decides ties.
    first_id: the id of the first new token; the next ones follow.
    Stops when no pair occurs `min_frequency` times.
    """
    current = [list(piece) for piece in pieces]
    for new_id in range(first_id, first_id + num_merges):
        totals: dict[Pair, int] = {}
        for ids, count in zip(current, counts, strict=True):
            for pair, times in count_pairs(ids).items():
                totals[pair] = totals.get(pair, 0) + times * count
        if not totals:
            return
        # A dict keeps the order of first occurrence, and max gives the first of equals.
        pair = max(totals, key=totals.__getitem__)
        frequency = totals[pair]
        if frequency < min_frequency:
            return
        current = [merge_pair(ids, pair, new_id) for ids in current]
        tokens_left = sum(len(ids) * count for ids, count in zip(current, counts, strict=True))
        yield MergeStep(pair, new_id, frequency, tokens_left)


def apply_merges(ids: Sequence[int], ranks: Mapping[Pair, tuple[int, int]]) -> list[int]:
    """Merge the pair of the lowest rank again and again until no pair has one.

    ranks: pair -> (rank, id of the merged token).

    >>> apply_merges([1, 2, 1, 2, 3], {(1, 2): (0, 4), (4, 4): (1, 5)})
    [5, 3]
    """
    merged = list(ids)
    while True:
        known = {pair for pair in pairwise(merged) if pair in ranks}
        if not known:
            return merged
        best = min(known, key=lambda pair: ranks[pair])
        merged = merge_pair(merged, best, ranks[best][1])
