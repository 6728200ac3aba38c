"""The same training and encoding without rescanning: a merge touches only the places it changes.

Three facts make it exact:

1. A pair of symbols can only come to be in the step that made the later of the two. So the
   positions at which it occurs are written down once, in order, and later only fall away.
2. So, after that step, a pair's frequency only falls and its first position only moves right.
3. So an entry of the heap that is out of date is never too good to be missed: it comes up too early,
   is compared with the true values, and is pushed back with them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from bpe.naive import MergeStep, Pair

# What stands where there is no symbol: between pieces, and where a merge took one away.
NOTHING = -1


class _Sequence:
    """The training text as one linked list of symbols, with the positions of every pair.

    symbols[i]: the id at position i, or NOTHING. A token stands at the position where it begins.
    before[i], after[i]: the positions of its neighbours.
    weights[i]: how often the piece that holds position i occurs.
    positions[pair]: where the left symbol of the pair stood when it came to be, ascending.
    frequency[pair]: how often the pair occurs now, weighted.
    first[pair]: an index into positions[pair]; all entries before it have fallen away.
    """

    def __init__(self, pieces: Sequence[Sequence[int]], counts: Sequence[int]) -> None:
        self.symbols = [NOTHING]
        self.weights = [0]
        for piece, count in zip(pieces, counts, strict=True):
            self.symbols += piece
            self.symbols.append(NOTHING)
            self.weights += [count] * (len(piece) + 1)
        self.before = list(range(-1, len(self.symbols) - 1))
        self.after = list(range(1, len(self.symbols) + 1))
        self.num_tokens = sum(len(piece) * count for piece, count in zip(pieces, counts, strict=True))
        self.positions: dict[Pair, list[int]] = {}
        self.frequency: dict[Pair, int] = {}
        self.first: dict[Pair, int] = {}
        for i, pair in enumerate(pairwise(self.symbols)):
            if NOTHING not in pair:
                self._add(pair, i)

    def _add(self, pair: Pair, i: int) -> None:
        if pair in self.positions:
            self.positions[pair].append(i)
            self.frequency[pair] += self.weights[i]
        else:
            self.positions[pair] = [i]
            self.frequency[pair] = self.weights[i]
            self.first[pair] = 0

    def entry(self, pair: Pair) -> tuple[int, int, Pair]:
        """The pair as the heap orders it now: most frequent first, then the first to occur."""
        left, right = pair
        positions, symbols, after = self.positions[pair], self.symbols, self.after
        k = self.first[pair]
        while symbols[positions[k]] != left or symbols[after[positions[k]]] != right:
            k += 1
        self.first[pair] = k
        return -self.frequency[pair], positions[k], pair

    def merge(self, pair: Pair, new: int) -> list[Pair]:
        """Replace the pair by `new` everywhere; return the pairs that came to be."""
        left, right = pair
        symbols, before, after = self.symbols, self.before, self.after
        weights, frequency = self.weights, self.frequency
        created: dict[Pair, None] = {}
        for i in self.positions[pair]:
            j = after[i]
            if symbols[i] != left or symbols[j] != right:
                continue
            k = after[j]
            weight = weights[i]
            self.num_tokens -= weight
            symbols[i], symbols[j] = new, NOTHING
            after[i], before[k] = k, i
            h = before[i]
            if symbols[h] != NOTHING:
                frequency[symbols[h], left] -= weight
                self._add((symbols[h], new), h)
                created[symbols[h], new] = None
            if symbols[k] != NOTHING:
                frequency[right, symbols[k]] -= weight
                self._add((new, symbols[k]), i)
                created[new, symbols[k]] = None
        del self.positions[pair], frequency[pair], self.first[pair]
        return list(created)


def learn_merges(
    pieces: Sequence[Sequence[int]],
    counts: Sequence[int],
    num_merges: int,
    first_id: int,
    min_frequency: int = 2,
) -> Iterator[MergeStep]:
    """The same merges as `bpe.naive.learn_merges`, in time that grows with the number of replacements."""
    text = _Sequence(pieces, counts)
    heap = [text.entry(pair) for pair, frequency in text.frequency.items() if frequency >= min_frequency]
    heapq.heapify(heap)
    for new_id in range(first_id, first_id + num_merges):
        while heap:
            entry = heapq.heappop(heap)
            pair = entry[2]
            if text.frequency[pair] < min_frequency:
                continue
            now = text.entry(pair)
            if now == entry:
                break
            heapq.heappush(heap, now)
        else:
            return
        for created in text.merge(pair, new_id):
            if text.frequency[created] >= min_frequency:
                heapq.heappush(heap, text.entry(created))
        yield MergeStep(pair, new_id, -entry[0], text.num_tokens)


def apply_merges(ids: Sequence[int], ranks: Mapping[Pair, tuple[int, int]]) -> list[int]:
    """The same ids as `bpe.naive.apply_merges`, in time n log n for n ids.

    A merge never makes a pair of a lower rank than its own, since merges only use earlier tokens. So one
    heap of (rank, position) gives all merges in their order.
    """
    symbols = list(ids)
    end = len(symbols)
    symbols.append(NOTHING)
    before = list(range(-1, end))
    after = list(range(1, end + 2))
    heap = [(ranks[pair][0], i) for i, pair in enumerate(pairwise(symbols)) if pair in ranks]
    heapq.heapify(heap)
    while heap:
        rank, i = heapq.heappop(heap)
        j = after[i]
        found = ranks.get((symbols[i], symbols[j]))
        if found is None or found[0] != rank:
            continue
        symbols[i], symbols[j] = found[1], NOTHING
        after[i] = after[j]
        before[after[j]] = i
        for left in (before[i], i):
            if left >= 0 and (later := ranks.get((symbols[left], symbols[after[left]]))):
                heapq.heappush(heap, (later[0], left))
    return [symbol for symbol in symbols if symbol != NOTHING]
