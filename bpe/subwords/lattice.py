"""All ways to cut a text into pieces, as a lattice: the best way, the sum over all, one at random.

A lattice is a list with an entry for each position but the first: the pieces that end there, each as
(where it begins, what it is called, its score), those that begin earliest first. The score of a way is the
sum of its pieces' scores; these are logarithms of probabilities, so the sum is that of their product.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from ctypes import c_float
from typing import Literal, NamedTuple, TypeVar, get_args

FARTHEST = 100_000.0
SPACE = "▁"  # U+2581, not the underscore
BYTES = [f"<0x{value:02X}>" for value in range(256)]

Kind = Literal["normal", "unknown", "control", "user-defined", "unused", "byte"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Name = TypeVar("Name")
Edge = tuple[int, Name, float]


class Piece(NamedTuple):
    """An entry of the vocabulary.

    score: the natural logarithm of its probability. Only normal pieces need one.
    kind: "normal"; "unknown" for the one that stands for unknown characters; "control" for special tokens;
    "user-defined" for what is a token wherever it occurs; "unused" for an id that no text has; "byte" for one
    of the 256 into which unknown characters can be taken apart, named <0x00> to <0xFF>.
    """

    text: str
    score: float = 0.0
    kind: Kind = "normal"


def best_path(lattice: Iterable[Sequence[Edge[Name]]]) -> list[tuple[int, int, Name]]:
    """The way of the highest score, as (begin, end, name) of its pieces: the algorithm of Viterbi.

    Ties are common, since the same pieces in another order have the same sum. So all is as in sentencepiece:
    sums are kept in 32 bits, and at each position the piece that begins earliest wins, unless a later one is
    better. A sum beyond FARTHEST would leave few of its bits for what follows, so from there on sums are
    counted anew from 0.
    """
    best = [0.0]
    last: list[Edge[Name] | None] = [None]
    anew: dict[int, float] = {}  # position -> the sum there, before it became 0
    latest = 0  # of these positions
    for end, edges in enumerate(lattice, start=1):
        highest: float = 0.0
        chosen: Edge[Name] | None = None
        if edges[0][0] < latest:
            highest, chosen = _best_across(edges, best, anew)
        else:
            for edge in edges:
                total = c_float(best[edge[0]] + edge[2]).value
                if chosen is None or total > highest:
                    highest, chosen = total, edge
        if not -FARTHEST <= highest <= FARTHEST:
            anew[end], latest, highest = highest, end, 0.0
        best.append(highest)
        last.append(chosen)
    path: list[tuple[int, int, Name]] = []
    end = len(last) - 1
    while (edge_taken := last[end]) is not None:
        path.append((edge_taken[0], end, edge_taken[1]))
        end = edge_taken[0]
    return path[::-1]


def _best_across(
    edges: Sequence[Edge[Name]], best: Sequence[float], anew: dict[int, float]
) -> tuple[float, Edge[Name]]:
    """The best of pieces that begin on both sides of a position from which sums are counted anew."""
    chosen = edges[0]
    begin = chosen[0]
    highest = c_float(best[begin] + chosen[2]).value
    for edge in edges[1:]:
        while begin < edge[0]:
            begin += 1
            highest = c_float(highest - anew.get(begin, 0.0)).value
        total = c_float(best[begin] + edge[2]).value
        if total > highest:
            highest, chosen = total, edge
    return highest, chosen


def sums(lattice: Iterable[Sequence[Edge[Name]]], alpha: float = 1.0) -> list[float]:
    """For each position, the logarithm of the summed probabilities of all ways that lead there.

    alpha: what scores are multiplied with.
    """
    totals = [0.0]
    for edges in lattice:
        scores = [totals[begin] + alpha * score for begin, _, score in edges]
        highest = max(scores)
        totals.append(highest + math.log(sum(math.exp(score - highest) for score in scores)))
    return totals


def shares(lattice: Sequence[Sequence[Edge[Name]]]) -> Iterator[tuple[Name, float]]:
    """How probable it is that a way leads over a piece, for each piece of the lattice.

    The forward-backward algorithm. From the end to the front: of all that arrives at a position, a piece has
    brought the share that its own probability times the sum at its beginning has in the sum at its end.
    """
    totals = sums(lattice)
    share = [0.0] * len(lattice) + [1.0]
    for end in range(len(lattice), 0, -1):
        for begin, name, score in lattice[end - 1]:
            brought = share[end] * math.exp(totals[begin] + score - totals[end])
            share[begin] += brought
            yield name, brought


def random_path(
    lattice: Sequence[Sequence[Edge[Name]]], chance: random.Random, alpha: float = 1.0
) -> list[tuple[int, int, Name]]:
    """A way at random, as (begin, end, name) of its pieces: each as often as its probability says.

    Forward filtering, backward sampling.
    alpha: the probabilities are raised to this power and scaled to the sum 1. So 0 takes all ways alike, and
    with a large one the best way is all but certain.
    """
    totals = sums(lattice, alpha)
    path: list[tuple[int, int, Name]] = []
    end = len(lattice)
    while end:
        left = chance.random()
        for edge in lattice[end - 1]:
            begin, name, score = edge  # those of the last piece, should rounding leave something over
            left -= math.exp(totals[begin] + alpha * score - totals[end])
            if left < 0:
                break
        path.append((begin, end, name))
        end = begin
    return path[::-1]
