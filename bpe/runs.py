"""Cutting where no merge can reach: each run of symbols can be encoded by itself.

A boundary between two symbols only goes away when a merge joins a token that ends in the left one to a
token that begins with the right one. A tokenizer has few such joints, so most of a text falls into short
runs: a text of any length takes little memory, and what was encoded once need not be encoded again.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import AnyStr


def joints(merged: Sequence[tuple[AnyStr, AnyStr]]) -> set[tuple[object, object]]:
    """The pairs of symbols at which tokens are joined.

    merged: the two tokens of each merge.

    >>> joints([("t", "h"), ("th", "e")]) == {("t", "h"), ("h", "e")}
    True
    """
    return {(left[-1], right[0]) for left, right in merged}


def cut(symbols: AnyStr, joints: Container[tuple[object, object]]) -> Iterator[AnyStr]:
    """The runs of a text or of bytes; joined they are the whole.

    >>> list(cut("the tenth", {("t", "h"), ("h", "e")}))
    ['the', ' ', 't', 'e', 'n', 'th']
    """
    start = 0
    for end, pair in enumerate(pairwise(symbols), start=1):
        if pair not in joints:
            yield symbols[start:end]
            start = end
    if symbols:
        yield symbols[start:]
