"""The same training and encoding again on flat arrays, compiled by Numba.

Training is the algorithm of `bpe.incremental`. Four things differ, and none changes a merge:

1. There is no linked list. A token's id stands at its first and at its last position, and how long tokens
   are in a table; so the token after the one at i begins at i + length, and the one before ends at i - 1.
2. Each position knows the pair that begins there. A position in a pair's list is alive while it still does.
3. The pairs that a merge makes are counted first, then each pair's positions are written in one stretch.
4. A pair below min_frequency can never be merged, since frequencies only fall; it gets no list at all.

Memory for a text of n symbols, in bytes: 8 n for the symbols and the pairs of the positions, 8 n more for
weights where pieces have counts, and the lists, 4 for each time a frequent pair occurs or comes to be.
Measured by `make bench` from 1 to 64 MB of text: 23 to 31 bytes a byte of text without a split, 28 falling to
6 with the split of GPT-4, since pieces repeat, and 3 for encoding. Before there are lists, pairs are numbered
by a table that takes 24 to 48 for each pair there could be: of bytes 65,536, of thousands of characters n.

Pieces are cut and counted on all cores, each with a stretch of the text, and added up in the order of the
text, since order decides ties. They stay where they are in the text, and only few ever become strings.

Encoding looks up a piece that came before in the same text, and copies its ids; only a new one is merged. It
takes 1 byte a byte of text for a copy, and 4 for each token.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from bpe import presplit
from bpe.fast import PieceCounts, scanner
from bpe.fast.machine_code import compiled as _compiled
from bpe.fast.scanner import knows
from bpe.naive import MergeStep

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int32s = NDArray[numpy.int32]
    Int64s = NDArray[numpy.int64]
    Bytes = NDArray[numpy.uint8]
    Words = NDArray[numpy.uint64]
    Codes = NDArray[Any]  # uint8, the bytes of a text; or uint32, its code points

# Of compiled functions: what Python and numpy call integers is one there.
Integer = Any

NOTHING = -1  # in place of a symbol: between pieces, and inside of tokens. In place of a pair: none
LONGEST_TEXT = 2**31 - 2  # positions are 32-bit integers
MOST_TOKENS = 2**62  # in pieces as often as they occur: frequencies are 64-bit integers
STEPS_AT_ONCE = 100  # merges between two looks from Python

# The arrays of _State over the pairs.
OF_PAIRS = ("left", "right", "frequency", "first", "end", "seen_frequency", "seen_position", "heap")
# Places in _State.numbers.
PAIRS, POSITIONS, HEAP, TOKENS = range(4)


class _State(NamedTuple):
    """Where training stands, for a text of n positions, separators between the pieces included.

    symbols: int32 (n,), as the head of this file says. weights: int64 (n,), how often the piece of each
    position occurs, or (0,) where every piece occurs once. lengths: int32 (vocabulary,), how many positions
    a token takes. pair_at: int32 (n,), the pair that begins at a position, or NOTHING.

    Of the pairs, each an array over them: left, right: int32. frequency: int64, how often it occurs now.
    first, end: int64, its list is positions[first:end], ascending; what stood before `first` fell away.
    seen_frequency: int64, seen_position: int32, its frequency and first position when it last was at the top
    of the heap or came into it; the heap is ordered by these. positions: int32, all lists, one after the
    other. heap: int32, the pairs as a binary heap.

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


# --- training


def learn_merges(
    pieces: Sequence[Sequence[int]],
    counts: Sequence[int],
    num_merges: int,
    first_id: int,
    min_frequency: int = 2,
) -> Iterator[MergeStep]:
    """The same merges as `bpe.naive.learn_merges`, in time that grows with the number of replacements.

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
    symbols, weights = _laid_out(ids, ends - numpy.diff(ends, prepend=0), ends, _int64s(counts), same)
    return learn(symbols, weights, num_merges, first_id, min_frequency)


def laid_out(counts: Mapping[str, int], base_ids: Mapping[Any, int], as_bytes: bool) -> tuple[Int32s, Int64s]:
    """Symbols and weights for `learn`, of pieces and how often each occurs.

    base_ids: from a byte, or a character, to its id. Raises ValueError for counts that add up to too much.
    """
    base = _base_table(base_ids)
    if isinstance(counts, Pieces) and as_bytes:
        starts, lengths = counts.rows[:, START], counts.rows[:, LENGTH]
        return _laid_out(counts.data, starts, starts + lengths, counts.rows[:, COUNT], base)
    codes = codes_of("".join(counts), as_bytes)
    ends = _code_ends(list(map(len, counts)), codes, as_bytes)
    return _laid_out(codes, ends - numpy.diff(ends, prepend=0), ends, _int64s(list(counts.values())), base)


def _int64s(counts: Sequence[int]) -> Int64s:
    try:
        return numpy.array(counts, dtype=numpy.int64)
    except OverflowError:
        raise _too_many_tokens() from None


def _too_many_tokens() -> ValueError:
    return ValueError(
        f"the counts add up to {MOST_TOKENS:,} tokens or more, more than the compiled engine counts: "
        f"give engine='incremental'"
    )


def _laid_out(
    codes: Codes, starts: Int64s, ends: Int64s, counts: Int64s, base: Int32s
) -> tuple[Int32s, Int64s]:
    """Symbols and weights of the pieces codes[starts[0]:ends[0]], …; no weights if all counts are 1.

    base: int32, from a code to the id of its token.
    """
    lengths = ends - starts
    # Roughly, as real numbers: 64-bit integers would begin anew at the other end.
    if float(lengths @ counts.astype(numpy.float64)) >= MOST_TOKENS:
        raise _too_many_tokens()
    size = int(lengths.sum()) + len(ends) + 1
    symbols = numpy.empty(size, dtype=numpy.int32)
    weights = numpy.empty(0 if bool((counts == 1).all()) else size, dtype=numpy.int64)
    starts, ends, counts = map(numpy.ascontiguousarray, (starts, ends, counts))
    _lay_out(codes, starts, ends, counts, base, symbols, weights)
    return symbols, weights


@_compiled
def _lay_out(
    codes: Codes, starts: Int64s, ends: Int64s, counts: Int64s, base: Int32s, symbols: Int32s, weights: Int64s
) -> None:
    """Write the symbols of the pieces, with NOTHING before, between and after them. One step a code.

    codes: uint8 or uint32, of a text. starts, ends, counts: int64 (pieces,), where each piece lies in it, and
    how often it occurs. base: int32, from a code to its id. symbols, weights: to be filled, as in `_State`.
    """
    i = 0
    for piece in range(-1, len(ends)):
        weight = 0
        if piece >= 0:
            weight = counts[piece]
            for k in range(starts[piece], ends[piece]):
                symbols[i] = base[codes[k]]
                if len(weights):
                    weights[i] = weight
                i += 1
        symbols[i] = NOTHING
        if len(weights):
            weights[i] = weight
        i += 1


def learn(
    symbols: Int32s, weights: Int64s, num_merges: int, first_id: int, min_frequency: int
) -> Iterator[MergeStep]:
    """Learn merges from a text that is laid out already; `symbols` is changed.

    symbols: int32 (n,), NOTHING at both ends and between the pieces.
    weights: int64 (n,), or (0,) where every piece occurs once.
    """
    if len(symbols) > LONGEST_TEXT:
        raise ValueError(f"{len(symbols):,} symbols are more than this engine takes, {LONGEST_TEXT:,}")
    # Each merge takes a symbol away. Asked for more, the tables would be longer than they ever need be.
    num_merges = min(num_merges, len(symbols))
    min_frequency = max(1, min(min_frequency, MOST_TOKENS))  # a 64-bit integer; what occurs never is no pair
    state = _begun(symbols, weights, first_id + num_merges, min_frequency)
    steps = numpy.empty((STEPS_AT_ONCE, 4), dtype=numpy.int64)
    done = 0
    while done < num_merges:
        wanted = min(STEPS_AT_ONCE, num_merges - done)
        learned, finished = _learn(state, steps[:wanted], first_id + done, min_frequency)
        for number, (left, right, frequency, tokens) in enumerate(steps[:learned].tolist()):
            yield MergeStep((left, right), first_id + done + number, frequency, tokens)
        done += learned
        if finished:
            return
        if learned < wanted:
            state = _with_more_room(state, *_needed(state, state.heap[0]))


def _begun(symbols: Int32s, weights: Int64s, vocab_size: int, min_frequency: int) -> _State:
    """The state before the first merge."""
    # As many pairs as there can be at most; the table is half empty, so a search in it is short.
    distinct = min(len(symbols), (int(symbols.max(initial=0)) + 1) ** 2)
    places = 1 << (2 * distinct).bit_length()
    keys = numpy.full(places, NOTHING, dtype=numpy.int64)
    values = numpy.empty(places, dtype=numpy.int32)
    pair_at = numpy.empty(len(symbols), dtype=numpy.int32)
    number = _number_pairs(symbols, pair_at, keys, values)
    del keys, values  # the lists may take their room
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


def _with_more_room(state: _State, positions: int, pairs: int) -> _State:
    """The same state with room for so many more positions and pairs, and half as many again."""
    room = {"positions": int(state.numbers[POSITIONS]) + positions}
    room |= dict.fromkeys(OF_PAIRS, int(state.numbers[PAIRS]) + pairs)
    longer = {}
    for name, wanted in room.items():
        array = getattr(state, name)
        if wanted > len(array):
            longer[name] = numpy.empty(wanted + wanted // 2, dtype=array.dtype)
            longer[name][: len(array)] = array
    return state._replace(**longer)


@_compiled
def _number_pairs(symbols: Int32s, pair_at: Int32s, keys: Int64s, values: Int32s) -> int:
    """Write the number of the pair that begins at each position; return how many pairs there are.

    Pairs are numbered by first occurrence. symbols, pair_at: int32 (n,). keys: int64, values: int32, both
    (places,), a power of two: a hash table, empty at first, from (left << 32 | right) to the number. One
    search a position.
    """
    mask = len(keys) - 1
    number = 0
    pair_at[-1] = NOTHING
    for i in range(len(symbols) - 1):
        if symbols[i] == NOTHING or symbols[i + 1] == NOTHING:
            pair_at[i] = NOTHING
            continue
        key = (numpy.int64(symbols[i]) << 32) | symbols[i + 1]
        place = _hashed(key) & mask
        while keys[place] != key:
            if keys[place] == NOTHING:
                keys[place] = key
                values[place] = number
                number += 1
                break
            place = (place + 1) & mask
        pair_at[i] = values[place]
    return number


@_compiled
def _hashed(key: Integer) -> Integer:
    """A number that depends on all bits of a 64-bit key, 0 or more.

    It is the first half of MurmurHash3's finaliser.
    """
    mixed = numpy.uint64(key)
    mixed ^= mixed >> numpy.uint64(33)
    mixed *= numpy.uint64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> numpy.uint64(33)
    return numpy.int64(mixed >> numpy.uint64(1))


@_compiled
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


@_compiled
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


@_compiled
def _learn(state: _State, steps: Int64s, first_id: int, min_frequency: int) -> tuple[int, bool]:
    """Merge up to len(steps) pairs; return how many, and whether there are no more.

    steps: int64 (…, 4), to be filled with left, right, frequency, tokens left. Fewer than asked for, while
    there are more, means that the room for pairs or lists is too small. Costs what `_most_frequent` and
    `_merge` cost, for each merge.
    """
    for number in range(len(steps)):
        pair = _most_frequent(state, min_frequency)
        if pair == NOTHING:
            return number, True
        positions, pairs = _needed(state, pair)
        if state.numbers[POSITIONS] + positions > len(state.positions) or state.numbers[PAIRS] + pairs > len(
            state.left
        ):
            return number, False
        _take_from_heap(state)
        steps[number, 0], steps[number, 1] = state.left[pair], state.right[pair]
        steps[number, 2] = state.frequency[pair]
        _merge(state, pair, first_id + number, min_frequency)
        steps[number, 3] = state.numbers[TOKENS]
    return len(steps), False


@_compiled
def _needed(state: _State, pair: Integer) -> tuple[Integer, Integer]:
    """How many positions and pairs a merge adds at most: two at each of its places.

    Pairs are at most two for each symbol there is, too.
    """
    places = state.end[pair] - state.first[pair]
    return 2 * places, min(2 * places, 2 * state.lengths.size)


@_compiled
def _most_frequent(state: _State, min_frequency: int) -> Integer:
    """The pair to merge, which is left at the top of the heap, or NOTHING.

    What is at the top may be out of date, and then too high; it is put where it belongs, until the top is
    true. Costs one way down the heap for each that is, and a step for each position that fell away.
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


@_compiled
def _merge(state: _State, pair: int, new: int, min_frequency: int) -> None:
    """Replace the pair by `new` everywhere, and list the pairs that come to be.

    Costs a few steps for each position in the pair's list, however long the text is.
    """
    merged = _replace(state, pair, new)
    _list_new_pairs(state, merged, new, min_frequency)


@_compiled
def _replace(state: _State, pair: int, new: int) -> Int32s:
    """Replace the pair by `new` from left to right; return where, ascending.

    The pairs that break lose frequency. What is returned, int32, stands in the room of the pair's list. One
    step for each position in the list.
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
            # A token that was made in this step has lost its old pair already, as the one after it.
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
        found[number] = i  # the list is not needed any more, so its room is
        number += 1
    state.frequency[pair] = 0
    return found[:number]


@_compiled
def _list_new_pairs(state: _State, merged: Int32s, new: int, min_frequency: int) -> None:
    """List the pairs of `new` with its neighbours: count them, make room, write, and put them into the heap.

    merged: int32, where `new` stands, ascending. Pairs (symbol, new) have side 0, (new, symbol) side 1. Costs
    a few steps for each place, and a way up the heap for each pair that is listed.
    """
    symbols, lengths = state.symbols, state.lengths
    frequency, occurrences = state.scratch[:2], state.scratch[2:]
    num_used = [0, 0]
    for i in merged:
        weight = state.weights[i] if len(state.weights) else 1
        for side in range(2):
            other = symbols[i - 1] if side == 0 else symbols[i + lengths[new]]
            # Two new tokens side by side are one pair, seen from the right one.
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
            frequency[side, other] = made  # from here on, which pair it is
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


@_compiled
def _comes_before(state: _State, pair: Integer, other: Integer) -> Any:
    """The order of the heap, by what was last seen: most frequent first, then the first to occur."""
    if state.seen_frequency[pair] != state.seen_frequency[other]:
        return state.seen_frequency[pair] > state.seen_frequency[other]
    return state.seen_position[pair] < state.seen_position[other]


@_compiled
def _sift_down(state: _State, place: int) -> None:
    """Move the entry at a place down to where it belongs. A step for each level of the heap, at most."""
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


@_compiled
def _take_from_heap(state: _State) -> None:
    """Remove the top: the last entry takes its place, and moves down to where it belongs."""
    state.numbers[HEAP] -= 1
    state.heap[0] = state.heap[state.numbers[HEAP]]
    _sift_down(state, 0)


@_compiled
def _add_to_heap(state: _State, pair: int) -> None:
    """Add an entry at the end, and move it up to where it belongs. A step for each level, at most."""
    heap, place = state.heap, state.numbers[HEAP]
    state.numbers[HEAP] += 1
    while place and _comes_before(state, pair, heap[(place - 1) // 2]):
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = pair


# --- encoding

SHORT = 64  # symbols of a piece that is merged by looking at all its pairs again and again
EXACT = 7  # bytes of a piece that fit into its key
LONGEST_TOLD = 127  # bytes; keys do not tell this length from greater ones
LONGEST_KEPT = 31  # codes of a piece that is remembered
REMEMBERED = 1 << 15  # pieces, at most
NEVER = 2**63 - 1  # what stands for a pair that is not merged


class _Tables(NamedTuple):
    """A tokenizer, for encoding.

    base: int32, from a code (a byte, or a code point) to the id of its token, or NOTHING.
    pairs: int64 (places, 2), a hash table from (left << 32 | right) to (rank << 32 | id of the joined token).
    joints: int64 (places,), a hash table of the codes (left << 32 | right) at which tokens are joined.
    whole: int64 (places, 2), a hash table from the keys of the tokens that are taken whole to (where one
    begins in token_words << 32 | its id); (0, 2) for none.
    pair_filter, whole_filter: uint8, a bit for each place that a pair, or a token taken whole, hashes to.
    They are small; most looks for what is not in the large tables end here.
    byte_pairs: int64 (0x10000,), from (left byte << 8 | right byte) to what `pairs` has for their tokens, or
    NEVER; (0,) where codes are no bytes.
    token_words, token_ends: all tokens one after the other, as `_words_of` gives them, and int64, where each
    one ends, in codes of `width` bytes.
    """

    base: Int32s
    pairs: Int64s
    pair_filter: Bytes
    joints: Int64s
    whole: Int64s
    whole_filter: Bytes
    byte_pairs: Int64s
    token_words: Words
    token_ends: Int64s
    width: int


def apply_merges(ids: Sequence[int], ranks: Mapping[tuple[int, int], tuple[int, int]]) -> list[int]:
    """The same ids as `bpe.naive.apply_merges`, of a single piece. `Encoder` takes whole texts."""
    merged = numpy.array(ids, dtype=numpy.int32)
    scratch = numpy.empty(SHORT, dtype=numpy.int64)
    pairs = _pair_table(_entries(ranks))
    left: list[int] = merged[: _merged(merged, 0, len(merged), *pairs, scratch)].tolist()
    return left


class Encoder:
    """Encodes text as a tokenizer does.

    tokens: those that merges or symbols make, None where there is none, all bytes or all str.
    symbol_ids: from a byte, or a character, to the id of its token.
    ranks: pair -> (rank, id of the joined token).
    expressions: how a text is cut first, as `bpe.presplit.resolve` gives them.
    whole_pieces: whether a piece that is a token is taken as that token before any merge.
    """

    def __init__(
        self,
        tokens: Sequence[bytes | str | None],
        symbol_ids: Mapping[Any, int],
        ranks: Mapping[tuple[int, int], tuple[int, int]],
        expressions: Sequence[str],
        whole_pieces: bool,
    ) -> None:
        self.expressions = tuple(expressions)
        self.as_bytes = any(isinstance(token, bytes) for token in tokens)
        base = _base_table(symbol_ids)
        all_codes = [codes_of(token or "", self.as_bytes) for token in tokens]
        token_ends = numpy.cumsum([len(token) for token in all_codes], dtype=numpy.int64)
        token_words = _words_of(numpy.concatenate(all_codes))
        width = 1 if self.as_bytes else 4
        joints = {(int(all_codes[left][-1]) << 32) | int(all_codes[right][0]) for left, right in ranks}
        joint_table = numpy.full(_places(len(joints)), NOTHING, dtype=numpy.int64)
        _fill_set(joint_table, numpy.array(list(joints), dtype=numpy.int64))
        whole = numpy.zeros((_places(len(tokens)) if whole_pieces else 0, 2), dtype=numpy.int64)
        whole_filter = _filter_for(whole)
        if whole_pieces:
            _fill_whole(whole, whole_filter, token_words, token_ends, width)
        entries = _entries(ranks)
        byte_pairs = _byte_pairs(base, entries) if self.as_bytes else numpy.empty(0, dtype=numpy.int64)
        self.tables = _Tables(
            base,
            *_pair_table(entries),
            joint_table,
            whole,
            whole_filter,
            byte_pairs,
            token_words,
            token_ends,
            width,
        )

    def encode(self, text: str) -> Int32s:
        """Encode a text to int32 of shape (number of tokens,). Raises KeyError if a symbol has no token."""
        codes = codes_of(text, self.as_bytes)
        words = _words_of(codes)
        ids = numpy.empty(len(codes), dtype=numpy.int32)
        remembered = numpy.zeros((min(REMEMBERED, _places(len(codes))), 4), dtype=numpy.int64)
        scratch = numpy.empty(SHORT, dtype=numpy.int64)
        start, number = 0, 0
        for ends in self._stretches(text, codes):
            number = _encode(codes, words, start, ends, self.tables, remembered, ids, number, scratch)
            if number == NOTHING:
                raise KeyError("a symbol has no token")
            start = int(ends[-1])
        ids.resize(number, refcheck=False)  # gives the rest back without a copy
        return ids

    def _stretches(self, text: str, codes: Codes) -> Iterator[Int64s]:
        """Where the pieces end, in codes: all of them, a stretch of the text at a time."""
        if self.as_bytes and knows(self.expressions):
            yield from scanner.stretches(codes, self.expressions)
        elif self.expressions:
            lengths = list(map(len, presplit.pieces(text, self.expressions)))
            yield _code_ends(lengths, codes, self.as_bytes)
        elif text:
            ends = numpy.empty(len(codes), dtype=numpy.int64)
            yield ends[: _run_ends(codes, self.tables.joints, ends)]


# --- text as numbers


def codes_of(text: str | bytes, as_bytes: bool) -> Codes:
    """The bytes of a text, uint8, or its code points, uint32."""
    if isinstance(text, str):
        text = text.encode("utf-8" if as_bytes else "utf-32-le")
    return numpy.frombuffer(text, dtype=numpy.uint8 if as_bytes else "<u4")


def _words_of(codes: Codes) -> Words:
    """The bytes of the codes eight at a time, and at least eight zeros behind them; uint64."""
    words = numpy.zeros(codes.nbytes // 8 + 2, dtype=numpy.uint64)
    words.view(numpy.uint8)[: codes.nbytes] = codes.view(numpy.uint8)
    return words


def _code_ends(lengths: Sequence[int], codes: Codes, as_bytes: bool) -> Int64s:
    """Where pieces of so many characters end in the codes."""
    ends = numpy.cumsum(lengths, dtype=numpy.int64)
    if not as_bytes:
        return ends
    # Every byte but 10xxxxxx begins a character.
    begins = numpy.append(numpy.flatnonzero(codes & 0xC0 != 0x80), len(codes))
    return begins[ends]


def _base_table(base_ids: Mapping[Any, int]) -> Int32s:
    """From a code to the id of its token, NOTHING where there is none; int32."""
    ids = {symbol if isinstance(symbol, int) else ord(symbol): i for symbol, i in base_ids.items()}
    table = numpy.full(max([*ids, 255]) + 1, NOTHING, dtype=numpy.int32)
    table[list(ids)] = list(ids.values())
    return table


# --- pieces and their counts

# Columns of Pieces.rows.
START, LENGTH, COUNT, KEY = range(4)
ROOM = 1 << 12  # different pieces, at first


class Pieces(PieceCounts):
    """The different pieces of a text in order of first appearance, and how often each occurs.

    data: the text in UTF-8, uint8 (n,). rows: int64 (pieces, 4), where a piece begins, its length in
    bytes, its count, and its key. size: bytes in all pieces together. Becomes strings only where it is read
    as a mapping.
    """

    def __init__(self, data: Codes, rows: Int64s) -> None:
        self.data, self.rows = data, rows

    @cached_property
    def size(self) -> int:
        return int(self.rows[:, LENGTH].sum())

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        for start, length in self.rows[:, [START, LENGTH]].tolist():
            yield self.data[start : start + length].tobytes().decode("utf-8")

    def __getitem__(self, piece: str) -> int:
        return self._counts[piece]

    @cached_property
    def _counts(self) -> dict[str, int]:
        counts: list[int] = self.rows[:, COUNT].tolist()
        return dict(zip(self, counts, strict=True))


def counted(text: str, expressions: Sequence[str]) -> Pieces:
    """The pieces of a text, cut and counted on all cores.

    expressions: a split that `bpe.scanner` knows. Takes 40 bytes for each different piece, beside the text.
    """
    data = codes_of(text, as_bytes=True)
    words = _words_of(data)
    borders = scanner.borders(data, min(_cores(), len(data) // scanner.STRETCH + 1))
    with ThreadPoolExecutor(_cores()) as pool:
        counters = list(
            pool.map(lambda border: _counted_range(data, words, expressions, *border), pairwise(borders))
        )
    for counter in counters[1:]:
        counters[0].add(counter.rows[: counter.number])
    return Pieces(data, counters[0].rows[: counters[0].number])


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _counted_range(data: Codes, words: Words, expressions: Sequence[str], start: int, stop: int) -> _Counter:
    """Count the pieces that begin at `start`, where one does, or later, and before `stop`."""
    counter = _Counter(words)
    for ends in scanner.stretches(data, expressions, start, stop):
        rows = numpy.empty((len(ends), 4), dtype=numpy.int64)
        _rows_of(words, start, ends, rows)
        counter.add(rows)
        start = int(ends[-1])
    return counter


class _Counter:
    """Different pieces of a text, in rows as in `Pieces`, and a hash table of them, int32; both grow."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.number = 0
        self.rows = numpy.empty((ROOM, 4), dtype=numpy.int64)
        self.table = numpy.full(2 * len(self.rows), NOTHING, dtype=numpy.int32)

    def add(self, rows: Int64s) -> None:
        done = 0
        while done < len(rows):
            self.number, done = _add_rows(self.words, rows, done, self.rows, self.number, self.table)
            if done < len(rows):
                self.rows = numpy.concatenate([self.rows, numpy.empty_like(self.rows)])
                self.table = numpy.full(2 * len(self.rows), NOTHING, dtype=numpy.int32)
                _fill_table(self.table, self.rows, self.number)


@_compiled
def _rows_of(words: Words, start: int, ends: Int64s, rows: Int64s) -> None:
    """Write a row for each piece, with the count 1."""
    for piece in range(len(ends)):
        end = ends[piece]
        rows[piece, START], rows[piece, LENGTH], rows[piece, COUNT] = start, end - start, 1
        rows[piece, KEY] = _key_of(words, start, end)
        start = end


@_compiled
def _fill_table(table: Int32s, rows: Int64s, number: int) -> None:
    """Put the first rows, which are all different, into a hash table."""
    mask = len(table) - 1
    for known in range(number):
        place = _hashed(rows[known, KEY]) & mask
        while table[place] != NOTHING:
            place = (place + 1) & mask
        table[place] = known


@_compiled
def _add_rows(
    words: Words, rows: Int64s, done: int, known: Int64s, number: int, table: Int32s
) -> tuple[int, int]:
    """Add rows[done:] to the `number` rows in `known`, until they end or there is no more room.

    Returns how many are known then, and how many rows are done. One search a row.
    """
    mask = len(table) - 1
    while done < len(rows) and number < len(known):
        start, length, key = rows[done, START], rows[done, LENGTH], rows[done, KEY]
        place = _hashed(key) & mask
        while table[place] != NOTHING:
            other = table[place]
            if (
                known[other, KEY] == key
                and known[other, LENGTH] == length
                and _same_piece(words, start, words, known[other, START], length)
            ):
                known[other, COUNT] += rows[done, COUNT]
                break
            place = (place + 1) & mask
        if table[place] == NOTHING:
            table[place] = number
            known[number] = rows[done]
            number += 1
        done += 1
    return number, done


# --- hash tables


def _places(number: int) -> int:
    """The size of a hash table for so many entries: a power of two, half of it empty or more."""
    return 1 << (2 * number + 1).bit_length()


def _entries(ranks: Mapping[tuple[int, int], tuple[int, int]]) -> Int64s:
    """Keys and values of `_Tables.pairs`; int64 (pairs, 2)."""
    entries = [(left << 32 | right, rank << 32 | new) for (left, right), (rank, new) in ranks.items()]
    return numpy.array(entries, dtype=numpy.int64).reshape(-1, 2)


def _pair_table(entries: Int64s) -> tuple[Int64s, Bytes]:
    """The pairs and their filter of `_Tables`."""
    table = numpy.full((_places(len(entries)), 2), NOTHING, dtype=numpy.int64)
    pair_filter = _filter_for(table)
    _fill_pairs(table, pair_filter, entries)
    return table, pair_filter


def _filter_for(table: Int64s) -> Bytes:
    """An empty filter, with four bits for each place of a hash table; uint8 (a power of two,)."""
    return numpy.zeros(max(len(table) // 2, 8), dtype=numpy.uint8)


def _byte_pairs(base: Int32s, entries: Int64s) -> Int64s:
    """The byte pairs of `_Tables`."""
    values = dict(entries.tolist())
    ids = base.tolist()
    pairs = [values.get(left << 32 | right, NEVER) for left in ids for right in ids]
    return numpy.array(pairs, dtype=numpy.int64)


@_compiled
def _fill_pairs(table: Int64s, pair_filter: Bytes, entries: Int64s) -> None:
    """Put entries (key, value) into a hash table and its filter."""
    mask = len(table) - 1
    for k in range(len(entries)):
        hashed = _hashed(entries[k, 0])
        _set_bit(pair_filter, hashed)
        place = hashed & mask
        while table[place, 0] != NOTHING:
            place = (place + 1) & mask
        table[place] = entries[k]


@_compiled
def _set_bit(bits: Bytes, hashed: Integer) -> None:
    """Put a hash into a filter; by other bits of it than a place in the table."""
    bits[(hashed >> 43) & (len(bits) - 1)] |= numpy.uint8(1 << ((hashed >> 40) & 7))


@_compiled
def _may_hold(bits: Bytes, hashed: Integer) -> Any:
    """Whether a filter has a hash, or another one with the same bit. One look."""
    return bits[(hashed >> 43) & (len(bits) - 1)] >> ((hashed >> 40) & 7) & 1 != 0


@_compiled
def _fill_set(table: Int64s, keys: Int64s) -> None:
    """Put different keys into a hash table without values."""
    mask = len(table) - 1
    for key in keys:
        place = _hashed(key) & mask
        while table[place] != NOTHING:
            place = (place + 1) & mask
        table[place] = key


@_compiled
def _fill_whole(
    whole: Int64s, whole_filter: Bytes, token_words: Words, token_ends: Int64s, width: int
) -> None:
    """Put the tokens into a hash table by their keys."""
    mask = len(whole) - 1
    start = 0
    for i in range(len(token_ends)):
        end = token_ends[i]
        if end > start:
            key = _key_of(token_words, start * width, end * width)
            hashed = _hashed(key)
            _set_bit(whole_filter, hashed)
            place = hashed & mask
            while whole[place, 0]:
                place = (place + 1) & mask
            whole[place, 0], whole[place, 1] = key, start << 32 | i
        start = end


@_compiled
def _eight(words: Words, start: Integer, length: Integer) -> Any:
    """Up to eight bytes from `start` on, as one number."""
    place, bits = start >> 3, numpy.uint64((start & 7) << 3)
    one = numpy.uint64(1)
    # They lie in two words; shifting by 64 bits is not defined, so it is done in two steps.
    found = words[place] >> bits | (words[place + 1] << one) << (numpy.uint64(63) - bits)
    if length < 8:
        found &= (one << numpy.uint64(8 * length)) - one
    return found


@_compiled
def _key_of(words: Words, start: Integer, end: Integer) -> Integer:
    """A number for a piece, above 0: its length in the highest byte, and its bytes in the others.

    start, end: in bytes. Of more than 7 bytes a hash stands in their place, and other pieces may have the
    same. One step for eight bytes.
    """
    length = end - start
    if length <= EXACT:
        return length << 56 | numpy.int64(_eight(words, start, length))
    mixed = numpy.uint64(length)
    while start < end:
        mixed = (mixed ^ _eight(words, start, end - start)) * numpy.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> numpy.uint64(32)
        start += 8
    return min(length, LONGEST_TOLD) << 56 | numpy.int64(mixed >> numpy.uint64(8))


@_compiled
def _same_piece(words: Words, start: Integer, others: Words, other_start: Integer, length: Integer) -> bool:
    """Whether two pieces of the same key and length, in bytes, are the same."""
    if length <= EXACT:
        return True
    while length > 0:
        if _eight(words, start, length) != _eight(others, other_start, length):
            return False
        start, other_start, length = start + 8, other_start + 8, length - 8
    return True


@_compiled
def _run_ends(codes: Codes, joints: Int64s, ends: Int64s) -> int:
    """Write where no merge can reach across, as `bpe.runs` explains; return how many. One search a code."""
    mask = len(joints) - 1
    number = 0
    for end in range(1, len(codes)):
        key = (numpy.int64(codes[end - 1]) << 32) | codes[end]
        place = _hashed(key) & mask
        while joints[place] != key and joints[place] != NOTHING:
            place = (place + 1) & mask
        if joints[place] == NOTHING:
            ends[number] = end
            number += 1
    if len(codes):
        ends[number] = len(codes)
        number += 1
    return number


@_compiled
def _encode(
    codes: Codes,
    words: Words,
    start: int,
    ends: Int64s,
    tables: _Tables,
    remembered: Int64s,
    ids: Int32s,
    number: int,
    scratch: Int64s,
) -> int:
    """Write the ids of the pieces from `start` on behind the `number` that are there.

    Returns how many there are then, or NOTHING where a symbol has no token.

    remembered: int64 (places, 4), zeros at first: the key of a piece, where it begins, where its ids begin,
    and how many they are. A piece has one place, and takes it from the one that was there. A piece that came
    before costs a look at its bytes. scratch: int64 (SHORT,), of any content.
    """
    # The tuple itself is not passed on: for each piece, references to its arrays would be counted.
    base, pairs, pair_filter, byte_pairs = tables.base, tables.pairs, tables.pair_filter, tables.byte_pairs
    whole, whole_filter = tables.whole, tables.whole_filter
    token_words, token_ends, width = tables.token_words, tables.token_ends, tables.width
    mask = len(remembered) - 1
    for end in ends:
        length = end - start
        key = _key_of(words, start * width, end * width)
        place = _hashed(key) & mask
        if (
            remembered[place, 0] == key
            and length <= LONGEST_KEPT
            and _same_piece(words, start * width, words, remembered[place, 1] * width, length * width)
        ):
            first, found = remembered[place, 2], remembered[place, 3]
            for k in range(found):
                ids[number + k] = ids[first + k]
        else:
            token = NOTHING
            if _may_hold(whole_filter, _hashed(key)):
                token = _whole_token(words, start, length, key, whole, token_words, token_ends, width)
            if token != NOTHING:
                ids[number], found = token, 1
            elif not _base_ids(codes, start, length, base, ids, number):
                return NOTHING
            elif length <= SHORT and len(byte_pairs):
                for k in range(length - 1):
                    scratch[k] = byte_pairs[codes[start + k] << 8 | codes[start + k + 1]]
                found = _merged_by_looking(ids, number, length, pairs, pair_filter, scratch)
            else:
                found = _merged(ids, number, length, pairs, pair_filter, scratch)
        # Of a piece that came before, too: what was written last is still in the processor's cache.
        remembered[place, 0], remembered[place, 1] = key, start
        remembered[place, 2], remembered[place, 3] = number, found
        number += found
        start = end
    return number


@_compiled
def _whole_token(
    words: Words,
    start: Integer,
    length: Integer,
    key: Integer,
    whole: Int64s,
    token_words: Words,
    token_ends: Int64s,
    width: int,
) -> Integer:
    """The token that is the piece, or NOTHING. One search."""
    mask = len(whole) - 1
    place = _hashed(key) & mask
    while whole[place, 0]:
        if whole[place, 0] == key:
            token, token_start = whole[place, 1] & 0xFFFFFFFF, whole[place, 1] >> 32
            # Each look at another array waits for memory; the key alone decides for the shortest.
            if (length * width < LONGEST_TOLD or token_ends[token] - token_start == length) and _same_piece(
                words, start * width, token_words, token_start * width, length * width
            ):
                return token
        place = (place + 1) & mask
    return NOTHING


@_compiled
def _base_ids(
    codes: Codes, start: Integer, length: Integer, base: Int32s, ids: Int32s, first: Integer
) -> bool:
    """Write the ids of a piece's codes to ids[first:]; False where a code has no token."""
    for k in range(length):
        code = codes[start + k]
        if code >= len(base) or base[code] == NOTHING:
            return False
        ids[first + k] = base[code]
    return True


@_compiled
def _rank(pairs: Int64s, pair_filter: Bytes, left: Integer, right: Integer) -> Integer:
    """(rank << 32 | id of the joined token) of a pair, or NEVER. One search."""
    key = (numpy.int64(left) << 32) | right
    hashed = _hashed(key)
    if not _may_hold(pair_filter, hashed):
        return NEVER
    mask = len(pairs) - 1
    place = hashed & mask
    while pairs[place, 0] != key:
        if pairs[place, 0] == NOTHING:
            return NEVER
        place = (place + 1) & mask
    return pairs[place, 1]


@_compiled
def _merged(
    ids: Int32s, first: Integer, number: Integer, pairs: Int64s, pair_filter: Bytes, ranks: Int64s
) -> Integer:
    """Merge ids[first : first + number] in place, the lowest rank first; return how many are left.

    ranks: int64 (SHORT,), of any content.
    """
    if number > SHORT:
        return _merged_by_heap(ids[first : first + number], pairs, pair_filter)
    for k in range(number - 1):
        ranks[k] = _rank(pairs, pair_filter, ids[first + k], ids[first + k + 1])
    return _merged_by_looking(ids, first, number, pairs, pair_filter, ranks)


@_compiled
def _merged_by_looking(
    ids: Int32s, first: Integer, number: Integer, pairs: Int64s, pair_filter: Bytes, ranks: Int64s
) -> Integer:
    """The same for a short piece, with the ranks of its pairs. Costs a look at all of them for each merge."""
    while number > 1:
        best, lowest = 0, ranks[0]
        for k in range(1, number - 1):
            if ranks[k] < lowest:
                best, lowest = k, ranks[k]
        if lowest == NEVER:
            break
        ids[first + best] = lowest & 0xFFFFFFFF
        number -= 1
        for k in range(best + 1, number):
            ids[first + k] = ids[first + k + 1]
            ranks[k - 1] = ranks[k]
        if best > 0:
            ranks[best - 1] = _rank(pairs, pair_filter, ids[first + best - 1], ids[first + best])
        if best + 1 < number:
            ranks[best] = _rank(pairs, pair_filter, ids[first + best], ids[first + best + 1])
    return number


@_compiled
def _merged_by_heap(ids: Int32s, pairs: Int64s, pair_filter: Bytes) -> int:
    """The same for a long piece, as `bpe.incremental.apply_merges` does it, in time n log n.

    heap: (rank, position); an entry counts only while the pair at the position has that rank.
    """
    number = len(ids)
    before, after = numpy.arange(-1, number - 1), numpy.arange(1, number + 1)
    heap: list[Any] = [(numpy.int64(0), numpy.int64(0)) for _ in range(0)]  # empty, of known type
    for k in range(number - 1):
        rank = _rank(pairs, pair_filter, ids[k], ids[k + 1])
        if rank != NEVER:
            heap.append((rank, k))
    heapq.heapify(heap)
    while heap:
        rank, i = heapq.heappop(heap)
        j = after[i]
        if ids[i] == NOTHING or j == number or _rank(pairs, pair_filter, ids[i], ids[j]) != rank:
            continue
        ids[i], ids[j] = rank & 0xFFFFFFFF, NOTHING
        after[i] = after[j]
        if after[j] < number:
            before[after[j]] = i
        for left in (before[i], i):
            if left >= 0 and after[left] < number:
                later = _rank(pairs, pair_filter, ids[left], ids[after[left]])
                if later != NEVER:
                    heapq.heappush(heap, (later, left))
    left = 0
    for k in range(number):
        if ids[k] != NOTHING:
            ids[left] = ids[k]
            left += 1
    return left
