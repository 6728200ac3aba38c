"""Training and encoding without rescanning: a merge touches only the places that it changes.

Three facts make it exact:

1. All occurrences of a pair come to be in one step: the one that made the later of its two symbols. So the
   positions of a pair are written down once, in order, and later only fall away.
2. So after that step a pair's frequency only falls, and its first position only moves right.
3. So a heap entry that is out of date ranks too high, never too low: it comes up too early, is compared with
   the true values, and is pushed back with them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from bpe.naive import MergeStep, Pair

NOTHING = -1  # no symbol: between pieces, and where a merge took one away

# A pair as the heap orders it: (-frequency, first position, pair). The most frequent pair is the smallest
# entry, and of equally frequent ones the first to occur.
Entry = tuple[int, int, Pair]


class _Text:
    """The training text as one linked list of symbols, with the positions of every pair.

    symbols[i]: the id at position i, or NOTHING. A token is at the position where it begins.
    before[i], after[i]: the positions of its neighbours.
    weights[i]: how often the piece that holds position i occurs.
    positions[pair]: the positions of the left symbol when the pair came to be, ascending.
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

    def make_entry(self, pair: Pair) -> Entry:
        """Make the heap entry of a pair as it is now; it must still occur."""
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
    """Learn the merges of `bpe.naive.learn_merges`, in time that grows with the number of replacements."""
    min_frequency = max(min_frequency, 1)  # ignore pairs that never occur
    text = _Text(pieces, counts)
    heap = [text.make_entry(pair) for pair, frequency in text.frequency.items() if frequency >= min_frequency]
    heapq.heapify(heap)
    for new_id in range(first_id, first_id + num_merges):
        pair = _pop_best(heap, text, min_frequency)
        if pair is None:
            return
        frequency = text.frequency[pair]
        for created in text.merge(pair, new_id):
            if text.frequency[created] >= min_frequency:
                heapq.heappush(heap, text.make_entry(created))
        yield MergeStep(pair, new_id, frequency, text.num_tokens)


def _pop_best(heap: list[Entry], text: _Text, min_frequency: int) -> Pair | None:
    """Pop the most frequent pair, of ties the first to occur; None if none is frequent enough."""
    while heap:
        entry = heapq.heappop(heap)
        _, _, pair = entry
        if text.frequency[pair] < min_frequency:
            continue
        current = text.make_entry(pair)
        if entry == current:
            return pair
        heapq.heappush(heap, current)
    return None


def apply_merges(ids: Sequence[int], ranks: Mapping[Pair, tuple[int, int]]) -> list[int]:
    """Merge ids as `bpe.naive.apply_merges`, in time n log n for n ids.

    A merge never makes a pair of a lower rank than its own, since merges use only earlier tokens. So one heap
    of (rank, position) gives all merges in their order.
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
