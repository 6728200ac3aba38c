"""Counting pairs and merging them: the two steps that byte pair encoding repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from itertools import pairwise
from typing import NamedTuple, TypeVar

Symbol = TypeVar("Symbol", bound=Hashable)


class MergeStep(NamedTuple):
    """One step of training.

    pair: the (left id, right id) that was merged, `new_id` what it became.
    frequency: how often the pair occurred, counted with overlap.
    tokens_left: how many tokens the training text has after the merge.
    """

    pair: tuple[int, int]
    new_id: int
    frequency: int
    tokens_left: int


def count_pairs(symbols: Iterable[Symbol]) -> Counter[tuple[Symbol, Symbol]]:
    """Count each pair of neighbours, with overlap, in order of first occurrence.

    >>> count_pairs("aaab")
    Counter({('a', 'a'): 2, ('a', 'b'): 1})
    """
    return Counter(pairwise(symbols))


def merge_pair(symbols: Iterable[Symbol], pair: tuple[Symbol, Symbol], new: Symbol) -> list[Symbol]:
    """Replace each occurrence of `pair` by `new`, from left to right.

    Occurrences that overlap share a symbol, so only the left one of them is replaced.

    >>> merge_pair("aaab", ("a", "a"), "Z")
    ['Z', 'a', 'b']
    """
    left, right = pair
    nothing = object()
    merged: list[Symbol] = []
    previous: object = nothing
    for symbol in symbols:
        if symbol == right and previous == left:
            merged[-1] = new
            previous = nothing  # each symbol is used once
        else:
            merged.append(symbol)
            previous = symbol
    return merged
