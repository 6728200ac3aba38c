"""All ways to cut a text into pieces, as a lattice: the best one, the sum over all, a random one.

A lattice is a list with one entry for each position but the first: the pieces that end there, each as
(begin, name, score), ordered by begin. The score of a path is the sum of the scores of its pieces. These are
logarithms of probabilities, so it is the logarithm of the product of the probabilities.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from ctypes import c_float
from typing import Literal, NamedTuple, TypeVar, get_args

FARTHEST = 100_000.0
LONGEST = 1_000  # characters of a piece; at each character of a text, pieces of all lengths are tried
SPACE = "▁"  # U+2581, not the underscore
BYTES = [f"<0x{value:02X}>" for value in range(256)]

Kind = Literal["normal", "unknown", "control", "user-defined", "unused", "byte"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Name = TypeVar("Name")
Edge = tuple[int, Name, float]
Path = list[tuple[int, int, Name]]


class Piece(NamedTuple):
    """An entry of the vocabulary.

    score: the natural logarithm of its probability. Only normal pieces need one.
    kind: "normal"; "unknown" for the unknown token; "control" for special tokens; "user-defined" for a piece
    that is a token wherever it occurs; "unused" for an id that encoding never gives; "byte" for the 256
    pieces, named <0x00> to <0xFF>, that spell unknown characters.
    """

    text: str
    score: float = 0.0
    kind: Kind = "normal"


def best_path(lattice: Iterable[Sequence[Edge[Name]]]) -> Path[Name]:
    """Return the path with the highest score, as (begin, end, name) of its pieces: the Viterbi algorithm.

    Ties are common, since the same pieces in another order have the same sum. So all follows sentencepiece:
    sums are kept in 32 bits, and at each position the piece that begins earliest wins unless a later one is
    better. A sum beyond FARTHEST would leave few bits for what follows, so sums restart from 0 there.
    """
    best = [0.0]
    last: list[Edge[Name] | None] = [None]
    restarts: dict[int, float] = {}  # position -> the sum there, before it became 0
    latest = 0  # the last of these positions
    for end, edges in enumerate(lattice, start=1):
        highest, chosen = _best_edge(edges, best, restarts if edges[0][0] < latest else {})
        if not -FARTHEST <= highest <= FARTHEST:
            restarts[end], latest, highest = highest, end, 0.0
        best.append(highest)
        last.append(chosen)
    path: Path[Name] = []
    end = len(last) - 1
    while edge := last[end]:
        begin, name, _ = edge
        path.append((begin, end, name))
        end = begin
    return path[::-1]


def _best_edge(
    edges: Sequence[Edge[Name]], best: Sequence[float], restarts: dict[int, float]
) -> tuple[float, Edge[Name]]:
    """Return the highest sum at a position, and the edge that gives it.

    restarts: where sums restarted, if that is between the beginnings of the edges.
    """
    chosen = edges[0]
    begin = chosen[0]
    highest = c_float(best[begin] + chosen[2]).value
    for edge in edges[1:]:
        # After a restart, sums are lower by what they were there; so the one to beat must be too.
        while restarts and begin < edge[0]:
            begin += 1
            highest = c_float(highest - restarts.get(begin, 0.0)).value
        total = c_float(best[edge[0]] + edge[2]).value
        if total > highest:
            highest, chosen = total, edge
    return highest, chosen


def sums(lattice: Iterable[Sequence[Edge[Name]]], alpha: float = 1.0) -> list[float]:
    """For each position, the logarithm of the summed probabilities of all paths to it.

    alpha: a factor for the scores.
    """
    totals = [0.0]
    for edges in lattice:
        scores = [totals[begin] + alpha * score for begin, _, score in edges]
        highest = max(scores)
        totals.append(highest + math.log(sum(math.exp(score - highest) for score in scores)))
    return totals


def shares(lattice: Sequence[Sequence[Edge[Name]]]) -> Iterator[tuple[Name, float]]:
    """For each piece of the lattice, yield the probability that a path contains it.

    The forward-backward algorithm: going back from the end, each piece gets its share of the probability that
    arrives at its end, its own probability times the sum at its begin over the sum at its end.
    """
    totals = sums(lattice)
    arriving = [0.0] * len(lattice) + [1.0]
    for end in range(len(lattice), 0, -1):
        for begin, name, score in lattice[end - 1]:
            share = arriving[end] * math.exp(totals[begin] + score - totals[end])
            arriving[begin] += share
            yield name, share


def random_path(
    lattice: Sequence[Sequence[Edge[Name]]], rng: random.Random, alpha: float = 1.0
) -> Path[Name]:
    """Draw a path by its probability, as (begin, end, name) of its pieces.

    Forward filtering, backward sampling.
    alpha: probabilities are raised to this power and scaled to the sum 1. With 0 all paths are equally
    likely; the larger it is, the likelier the best path.
    """
    totals = sums(lattice, alpha)
    path: Path[Name] = []
    end = len(lattice)
    while end:
        left = rng.random()
        for edge in lattice[end - 1]:
            begin, name, score = edge  # rounding may leave something over: then the last piece is taken
            left -= math.exp(totals[begin] + alpha * score - totals[end])
            if left < 0:
                break
        path.append((begin, end, name))
        end = begin
    return path[::-1]
