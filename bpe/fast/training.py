"""Training on flat arrays, compiled by Numba.

The algorithm is that of `bpe.fast.incremental`. Four things differ, and none changes a merge:

1. There is no linked list. A token's id is at its first and at its last position, and a table holds the
   lengths of tokens; so the token after the one at i begins at i + length, and the one before ends at i - 1.
2. Each position knows the pair that begins there. A position in a pair's list is alive while it still does.
3. A merge first counts the pairs that it makes, then writes each pair's positions in one stretch.
4. A pair below min_frequency can never be merged, since frequencies only fall; it gets no list.

Memory for a text of n symbols, in bytes: 8 n for the symbols and the pairs of the positions, 8 n more for
weights if pieces have counts, and the lists: 4 for each place at which a frequent pair occurs or comes to be.
Measured by `make bench` from 1 to 64 MB of text, in bytes per byte of text: 23 to 31 without a split, and 28
falling to 6 with the split of GPT-4, since pieces repeat. Before there are lists, a table numbers the pairs;
it takes 24 to 48 bytes for each possible pair: 65,536 pairs of bytes, up to n of thousands of characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from bpe.fast.arrays import NOTHING, count_places, hash_key
from bpe.fast.machine_code import compile_kernel
from bpe.fast.pieces import MOST_TOKENS, lay_out_codes
from bpe.naive import MergeStep

if TYPE_CHECKING:
    from bpe.fast.arrays import Int32s, Int64s, Integer

LONGEST_TEXT = 2**31 - 2  # positions are 32-bit integers
STEPS_AT_ONCE = 100  # merges in one call of compiled code, which can't be interrupted

# The arrays of _State over the pairs.
OF_PAIRS = ("left", "right", "frequency", "first", "end", "seen_frequency", "seen_position", "heap")
# Places in _State.numbers.
PAIRS, POSITIONS, HEAP, TOKENS = range(4)


class _State(NamedTuple):
    """The state of training, for a text of n positions, separators between the pieces included.

    symbols: int32 (n,), as the head of this file says. weights: int64 (n,), how often the piece of each
    position occurs, or (0,) if every piece occurs once. lengths: int32 (vocabulary,), how many positions
    a token takes. pair_at: int32 (n,), the pair that begins at a position, or NOTHING.

    Arrays over the pairs: left, right: int32. frequency: int64, how often it occurs now. first, end: int64,
    its list is positions[first:end], ascending; what was before `first` fell away. seen_frequency: int64,
    seen_position: int32, its frequency and first position when it was last at the top of the heap or came
    into it; these order the heap. positions: int32, all lists, one after the other. heap: int32, the pairs as
    a binary heap.

    numbers: int64 (4,), how many pairs, positions and entries of the heap are in use, and tokens in the text.
    scratch: int64 (4, vocabulary), for `_list_new_pairs`, of a token's pairs with the new one: frequency on
    the left and on the right, occurrences on the left and on the right; zeros between merges. used: int32 (2,
    vocabulary), which tokens these are.
    """

    symbols: Int32s
    weights: Int64s
    lengths: Int32s
    pair_at: Int32s
    left: Int32s
    right: Int32s
    frequency: Int64s
    first: Int64s
    end: Int64s
    seen_frequency: Int64s
    seen_position: Int32s
    positions: Int32s
    heap: Int32s
    numbers: Int64s
    scratch: Int64s
    used: Int32s


# --- from Python


def learn_merges(
    pieces: Sequence[Sequence[int]],
    counts: Sequence[int],
    num_merges: int,
    first_id: int,
    min_frequency: int = 2,
) -> Iterator[MergeStep]:
    """Learn the merges of `bpe.naive.learn_merges`, in time that grows with the number of replacements.

    Raises ValueError for a text of more than 2,147,483,646 symbols, for counts that add up to 2**62 tokens or
    more, for an id that is not below `first_id`, and unless there is a count for each piece.
    """
    if len(counts) != len(pieces):
        raise ValueError(f"there are {len(pieces):,} pieces and {len(counts):,} counts")
    ids = numpy.fromiter(chain.from_iterable(pieces), dtype=numpy.uint32)
    ends = numpy.cumsum(list(map(len, pieces)), dtype=numpy.int64)
    # The compiled code checks no bounds, and its tables have a place for each id below those that it gives.
    if len(ids) and int(ids.max()) >= first_id:
        raise ValueError(f"id {ids.max()} is not below {first_id}, the id of the first new token")
    same = numpy.arange(int(ids.max(initial=0)) + 1, dtype=numpy.int32)
    symbols, weights = lay_out_codes(ids, ends - numpy.diff(ends, prepend=0), ends, counts, same)
    return learn_from_symbols(symbols, weights, num_merges, first_id, min_frequency)


def learn_from_symbols(
    symbols: Int32s, weights: Int64s, num_merges: int, first_id: int, min_frequency: int
) -> Iterator[MergeStep]:
    """Learn merges from a text as `lay_out` returns it; changes `symbols`.

    symbols: int32 (n,), NOTHING at both ends and between the pieces.
    weights: int64 (n,), or (0,) if every piece occurs once.
    """
    if len(symbols) > LONGEST_TEXT:
        raise ValueError(f"{len(symbols):,} symbols are more than this engine takes, {LONGEST_TEXT:,}")
    # Each merge takes a symbol away, so tables for more merges than symbols would never be filled.
    num_merges = min(num_merges, len(symbols))
    min_frequency = max(1, min(min_frequency, MOST_TOKENS))  # a 64-bit integer; ignore pairs that never occur
    state = _make_state(symbols, weights, first_id + num_merges, min_frequency)
    steps = numpy.empty((STEPS_AT_ONCE, 4), dtype=numpy.int64)
    done = 0
    while done < num_merges:
        wanted = min(STEPS_AT_ONCE, num_merges - done)
        learned, finished = _merge_batch(state, steps[:wanted], first_id + done, min_frequency)
        for number, (left, right, frequency, tokens) in enumerate(steps[:learned].tolist()):
            yield MergeStep((left, right), first_id + done + number, frequency, tokens)
        done += learned
        if finished:
            return
        if learned < wanted:
            state = _grow(state, *_bound_growth(state, state.heap[0]))


def _make_state(symbols: Int32s, weights: Int64s, vocab_size: int, min_frequency: int) -> _State:
    """Make the state before the first merge."""
    # The most pairs that there can be.
    places = count_places(min(len(symbols), (int(symbols.max(initial=0)) + 1) ** 2))
    keys = numpy.full(places, NOTHING, dtype=numpy.int64)
    values = numpy.empty(places, dtype=numpy.int32)
    pair_at = numpy.empty(len(symbols), dtype=numpy.int32)
    number = _number_pairs(symbols, pair_at, keys, values)
    del keys, values  # makes room for the lists
    frequency = numpy.zeros(number, dtype=numpy.int64)
    occurrences = numpy.zeros(number, dtype=numpy.int64)
    tokens = _count_pairs(symbols, weights, pair_at, frequency, occurrences)
    frequent = frequency >= min_frequency
    num_pairs, num_positions = int(frequent.sum()), int(occurrences[frequent].sum())
    room = 2 * num_pairs + 1024
    state = _State(
        symbols=symbols,
        weights=weights,
        lengths=numpy.ones(vocab_size, dtype=numpy.int32),
        pair_at=pair_at,
        left=numpy.empty(room, dtype=numpy.int32),
        right=numpy.empty(room, dtype=numpy.int32),
        frequency=numpy.empty(room, dtype=numpy.int64),
        first=numpy.empty(room, dtype=numpy.int64),
        end=numpy.empty(room, dtype=numpy.int64),
        seen_frequency=numpy.empty(room, dtype=numpy.int64),
        seen_position=numpy.empty(room, dtype=numpy.int32),
        positions=numpy.empty(num_positions + len(symbols) // 4 + 1024, dtype=numpy.int32),
        heap=numpy.empty(room, dtype=numpy.int32),
        numbers=numpy.array([num_pairs, num_positions, num_pairs, tokens], dtype=numpy.int64),
        scratch=numpy.zeros((4, vocab_size), dtype=numpy.int64),
        used=numpy.empty((2, vocab_size), dtype=numpy.int32),
    )
    _list_positions(state, frequency, occurrences, min_frequency)
    return state


def _grow(state: _State, positions: int, pairs: int) -> _State:
    """Return the state with room for these numbers of further positions and pairs, and half as many again."""
    room = {"positions": int(state.numbers[POSITIONS]) + positions}
    room |= dict.fromkeys(OF_PAIRS, int(state.numbers[PAIRS]) + pairs)
    longer = {}
    for name, wanted in room.items():
        array = getattr(state, name)
        if wanted > len(array):
            longer[name] = numpy.empty(wanted + wanted // 2, dtype=array.dtype)
            longer[name][: len(array)] = array
    return state._replace(**longer)


# --- before the first merge


@compile_kernel
def _number_pairs(symbols: Int32s, pair_at: Int32s, keys: Int64s, values: Int32s) -> int:
    """Write the number of the pair that begins at each position; return how many pairs there are.

    Pairs are numbered by first occurrence. symbols, pair_at: int32 (n,). keys: int64, values: int32, both
    (places,): a hash table, empty at first, from (left << 32 | right) to the number. One search a position.
    """
    mask = len(keys) - 1
    number = 0
    pair_at[-1] = NOTHING
    for i in range(len(symbols) - 1):
        if symbols[i] == NOTHING or symbols[i + 1] == NOTHING:
            pair_at[i] = NOTHING
            continue
        key = (numpy.int64(symbols[i]) << 32) | symbols[i + 1]
        place = hash_key(key) & mask
        while keys[place] != key:
            if keys[place] == NOTHING:
                keys[place] = key
                values[place] = number
                number += 1
                break
            place = (place + 1) & mask
        pair_at[i] = values[place]
    return number


@compile_kernel
def _count_pairs(
    symbols: Int32s, weights: Int64s, pair_at: Int32s, frequency: Int64s, occurrences: Int64s
) -> Integer:
    """Count each pair with its weights and without; return the number of tokens, weighted. One pass.

    symbols, pair_at: int32 (n,), weights: int64 (n,) or (0,). frequency, with weights, and occurrences,
    without: int64 (pairs,), zeros to be filled.
    """
    tokens = numpy.int64(0)
    for i in range(len(symbols)):
        weight = weights[i] if len(weights) else 1
        if symbols[i] != NOTHING:
            tokens += weight
        if pair_at[i] != NOTHING:
            frequency[pair_at[i]] += weight
            occurrences[pair_at[i]] += 1
    return tokens


@compile_kernel
def _list_positions(state: _State, frequency: Int64s, occurrences: Int64s, min_frequency: int) -> None:
    """Give the frequent pairs new numbers and lists, and put them into the heap.

    frequency, occurrences: int64 (pairs,), as `_count_pairs` filled them. One pass over all pairs, one over
    the text, and some steps for each frequent pair.
    """
    renumbered = numpy.full(len(frequency), NOTHING, dtype=numpy.int32)
    pair, end = 0, 0
    for old in range(len(frequency)):
        if frequency[old] >= min_frequency:
            renumbered[old] = pair
            state.frequency[pair] = frequency[old]
            state.first[pair] = state.end[pair] = end
            end += occurrences[old]
            pair += 1
    for i in range(len(state.symbols)):
        if state.pair_at[i] == NOTHING:
            continue
        pair = renumbered[state.pair_at[i]]
        state.pair_at[i] = pair
        if pair != NOTHING:
            state.left[pair] = state.symbols[i]
            state.right[pair] = state.symbols[i + 1]
            state.positions[state.end[pair]] = i
            state.end[pair] += 1
    for pair in range(state.numbers[PAIRS]):
        state.heap[pair] = pair
        state.seen_frequency[pair] = state.frequency[pair]
        state.seen_position[pair] = state.positions[state.first[pair]]
    for place in range(state.numbers[HEAP] // 2 - 1, -1, -1):
        _sift_down(state, place)


# --- merging


@compile_kernel
def _merge_batch(state: _State, steps: Int64s, first_id: int, min_frequency: int) -> tuple[int, bool]:
    """Merge up to len(steps) pairs; return how many, and whether none is left.

    steps: int64 (…, 4), to be filled with left, right, frequency, tokens left. Fewer merges than steps, while
    pairs are left, mean that there is too little room for pairs or lists. Each merge costs a few steps for
    each position in the pair's list, however long the text is.
    """
    for number in range(len(steps)):
        pair = _most_frequent(state, min_frequency)
        if pair == NOTHING:
            return number, True
        positions, pairs = _bound_growth(state, pair)
        if state.numbers[POSITIONS] + positions > len(state.positions) or state.numbers[PAIRS] + pairs > len(
            state.left
        ):
            return number, False
        _take_from_heap(state)
        steps[number, 0], steps[number, 1] = state.left[pair], state.right[pair]
        steps[number, 2] = state.frequency[pair]
        merged = _replace(state, pair, first_id + number)
        _list_new_pairs(state, merged, first_id + number, min_frequency)
        steps[number, 3] = state.numbers[TOKENS]
    return len(steps), False


@compile_kernel
def _bound_growth(state: _State, pair: Integer) -> tuple[Integer, Integer]:
    """Return the most positions and pairs that a merge can add: two for each place of the pair.

    It can't add more than two pairs for each token either.
    """
    places = state.end[pair] - state.first[pair]
    return 2 * places, min(2 * places, 2 * state.lengths.size)


@compile_kernel
def _most_frequent(state: _State, min_frequency: int) -> Integer:
    """Find the pair to merge, leaving it at the top of the heap; NOTHING if none is left.

    An entry at the top that is out of date is too high: it sinks to its true place, until the top is true.
    Costs one way down the heap for each such entry, and a step for each position that fell away.
    """
    while state.numbers[HEAP]:
        pair = state.heap[0]
        if state.frequency[pair] < min_frequency:
            _take_from_heap(state)
            continue
        k = state.first[pair]
        while state.pair_at[state.positions[k]] != pair:
            k += 1
        state.first[pair] = k
        position = state.positions[k]
        if state.frequency[pair] == state.seen_frequency[pair] and position == state.seen_position[pair]:
            return pair
        state.seen_frequency[pair] = state.frequency[pair]
        state.seen_position[pair] = position
        _sift_down(state, 0)
    return NOTHING


@compile_kernel
def _replace(state: _State, pair: int, new: int) -> Int32s:
    """Replace the pair by `new` from left to right; return the positions of `new`, ascending.

    The pairs that break lose frequency. The result, int32, takes the room of the pair's list. One step for
    each position in the list.
    """
    symbols, pair_at, lengths = state.symbols, state.pair_at, state.lengths
    left_length, right_length = lengths[state.left[pair]], lengths[state.right[pair]]
    lengths[new] = left_length + right_length
    found = state.positions[state.first[pair] : state.end[pair]]
    number = 0
    for i in found:
        if pair_at[i] != pair:
            continue
        weight = state.weights[i] if len(state.weights) else 1
        j = i + left_length
        end = j + right_length
        before = symbols[i - 1]
        if before != NOTHING:
            # A token that this merge made just before this one has lost its old pair already.
            broken = i - lengths[before]
            if pair_at[broken] != NOTHING:
                state.frequency[pair_at[broken]] -= weight
                pair_at[broken] = NOTHING
        if pair_at[j] != NOTHING:
            state.frequency[pair_at[j]] -= weight
            pair_at[j] = NOTHING
        pair_at[i] = NOTHING
        symbols[j - 1] = symbols[j] = NOTHING
        symbols[i] = symbols[end - 1] = new
        state.numbers[TOKENS] -= weight
        found[number] = i  # this part of the list has been read, so its room is free
        number += 1
    state.frequency[pair] = 0
    return found[:number]


@compile_kernel
def _list_new_pairs(state: _State, merged: Int32s, new: int, min_frequency: int) -> None:
    """List the pairs of `new` with its neighbours: count them, make room, write, and put them into the heap.

    merged: int32, the positions of `new`, ascending. Pairs (symbol, new) have side 0, (new, symbol) side 1.
    Costs a few steps for each position, and a way up the heap for each pair that gets a list.
    """
    symbols, lengths = state.symbols, state.lengths
    frequency, occurrences = state.scratch[:2], state.scratch[2:]
    num_used = [0, 0]
    for i in merged:
        weight = state.weights[i] if len(state.weights) else 1
        for side in range(2):
            other = symbols[i - 1] if side == 0 else symbols[i + lengths[new]]
            # Two new tokens side by side are one pair, counted at the right one.
            if other == NOTHING or (side == 1 and other == new):
                continue
            if occurrences[side, other] == 0:
                state.used[side, num_used[side]] = other
                num_used[side] += 1
            frequency[side, other] += weight
            occurrences[side, other] += 1
    before = state.numbers[PAIRS]
    for side in range(2):
        for other in state.used[side, : num_used[side]]:
            made = NOTHING
            if frequency[side, other] >= min_frequency:
                made = state.numbers[PAIRS]
                state.left[made] = other if side == 0 else new
                state.right[made] = new if side == 0 else other
                state.frequency[made] = frequency[side, other]
                state.first[made] = state.end[made] = state.numbers[POSITIONS]
                state.numbers[POSITIONS] += occurrences[side, other]
                state.numbers[PAIRS] += 1
            frequency[side, other] = made  # from here on, the number of the pair
            occurrences[side, other] = 0
    for i in merged:
        for side in range(2):
            other = symbols[i - 1] if side == 0 else symbols[i + lengths[new]]
            if other == NOTHING or (side == 1 and other == new):
                continue
            made = frequency[side, other]
            if made != NOTHING:
                position = i - lengths[other] if side == 0 else i
                state.positions[state.end[made]] = position
                state.end[made] += 1
                state.pair_at[position] = made
    for side in range(2):
        for other in state.used[side, : num_used[side]]:
            frequency[side, other] = 0
    for made in range(before, state.numbers[PAIRS]):
        state.seen_frequency[made] = state.frequency[made]
        state.seen_position[made] = state.positions[state.first[made]]
        _add_to_heap(state, made)


# --- the heap


@compile_kernel
def _comes_before(state: _State, pair: Integer, other: Integer) -> Any:
    """Order the heap by what was last seen: most frequent first, then the first to occur."""
    if state.seen_frequency[pair] != state.seen_frequency[other]:
        return state.seen_frequency[pair] > state.seen_frequency[other]
    return state.seen_position[pair] < state.seen_position[other]


@compile_kernel
def _sift_down(state: _State, place: int) -> None:
    """Move the entry at a place down to where it belongs. At most a step for each level of the heap."""
    heap, size = state.heap, state.numbers[HEAP]
    pair = heap[place]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _comes_before(state, heap[child + 1], heap[child]):
            child += 1
        if not _comes_before(state, heap[child], pair):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = pair


@compile_kernel
def _take_from_heap(state: _State) -> None:
    """Remove the top: the last entry takes its place, and moves down to where it belongs."""
    state.numbers[HEAP] -= 1
    state.heap[0] = state.heap[state.numbers[HEAP]]
    _sift_down(state, 0)


@compile_kernel
def _add_to_heap(state: _State, pair: int) -> None:
    """Add an entry at the end, and move it up to where it belongs. At most a step for each level."""
    heap, place = state.heap, state.numbers[HEAP]
    state.numbers[HEAP] += 1
    while place and _comes_before(state, pair, heap[(place - 1) // 2]):
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = pair
