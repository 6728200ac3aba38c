"""Encoding on flat arrays, compiled by Numba.

A piece that came before in the same text is looked up, and its ids are copied; only a new one is merged. That
takes 1 byte per byte of text for a copy of it, and 4 for each token; measured by `make bench` from 1 to 64 MB
of text, 3 bytes per byte of text.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from bpe import presplit
from bpe.fast import scanner
from bpe.fast.arrays import (
    LONGEST_TOLD,
    NOTHING,
    count_places,
    hash_key,
    is_same_piece,
    locate_ends,
    make_base_table,
    make_filter,
    make_key,
    may_hold,
    pack_words,
    set_bit,
    to_codes,
)
from bpe.fast.machine_code import compile_kernel
from bpe.naive import Pair

if TYPE_CHECKING:
    from bpe.fast.arrays import Bytes, Codes, Int32s, Int64s, Integer, Words

SHORT = 64  # symbols of a piece that is merged by reading the ranks of all its pairs again and again
LONGEST_KEPT = 31  # codes of a piece that is remembered
REMEMBERED = 1 << 15  # pieces, at most
NEVER = 2**63 - 1  # the rank of a pair that is not merged


class _Tables(NamedTuple):
    """A tokenizer, for encoding.

    base: int32, from a code (a byte, or a code point) to the id of its token, or NOTHING.
    pairs: int64 (places, 2), a hash table from (left << 32 | right) to (rank << 32 | id of the joined token).
    pair_filter: uint8, the filter of `pairs`.
    joints: int64 (places,), a hash table of the codes (left << 32 | right) at which tokens are joined.
    whole: int64 (places, 2), a hash table from the keys of the tokens that are taken whole to (place where
    one begins in token_words << 32 | its id); (0, 2) for none. whole_filter: uint8, its filter.
    byte_pairs: int64 (0x10000,), from (left byte << 8 | right byte) to what `pairs` has for their tokens, or
    NEVER; (0,) if codes are not bytes.
    token_words, token_ends: all tokens one after the other, as `pack_words` packs them, and int64, the place
    where each one ends, in codes of `width` bytes.
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


# --- from Python


def apply_merges(ids: Sequence[int], ranks: Mapping[Pair, tuple[int, int]]) -> list[int]:
    """Merge the ids of a single piece, as `bpe.naive.apply_merges`. `Encoder` takes whole texts."""
    merged = numpy.array(ids, dtype=numpy.int32)
    scratch = numpy.empty(SHORT, dtype=numpy.int64)
    pairs = _make_pair_table(_make_entries(ranks))
    left: list[int] = merged[: _merge_piece(merged, 0, len(merged), *pairs, scratch)].tolist()
    return left


class Encoder:
    """Encodes text as a tokenizer does.

    tokens: those that merges or symbols make, None for an id that has none; all bytes or all str.
    symbol_ids: from a byte, or a character, to the id of its token.
    ranks: pair -> (rank, id of the joined token).
    expressions: how a text is cut first, as `bpe.presplit.resolve` gives them.
    whole_pieces: whether a piece that is a token is taken as that token before any merge.
    """

    def __init__(
        self,
        tokens: Sequence[bytes | str | None],
        symbol_ids: Mapping[Any, int],
        ranks: Mapping[Pair, tuple[int, int]],
        expressions: Sequence[str],
        whole_pieces: bool,
    ) -> None:
        self.expressions = tuple(expressions)
        self.as_bytes = any(isinstance(token, bytes) for token in tokens)
        base = make_base_table(symbol_ids)
        all_codes = [to_codes(token or "", self.as_bytes) for token in tokens]
        token_ends = numpy.cumsum([len(token) for token in all_codes], dtype=numpy.int64)
        token_words = pack_words(numpy.concatenate(all_codes))
        width = 1 if self.as_bytes else 4
        joints = {(int(all_codes[left][-1]) << 32) | int(all_codes[right][0]) for left, right in ranks}
        joint_table = numpy.full(count_places(len(joints)), NOTHING, dtype=numpy.int64)
        _fill_set(joint_table, numpy.array(list(joints), dtype=numpy.int64))
        whole = numpy.zeros((count_places(len(tokens)) if whole_pieces else 0, 2), dtype=numpy.int64)
        whole_filter = make_filter(whole)
        if whole_pieces:
            _fill_whole(whole, whole_filter, token_words, token_ends, width)
        entries = _make_entries(ranks)
        byte_pairs = _rank_byte_pairs(base, entries) if self.as_bytes else numpy.empty(0, dtype=numpy.int64)
        pairs, pair_filter = _make_pair_table(entries)
        self.tables = _Tables(
            base=base,
            pairs=pairs,
            pair_filter=pair_filter,
            joints=joint_table,
            whole=whole,
            whole_filter=whole_filter,
            byte_pairs=byte_pairs,
            token_words=token_words,
            token_ends=token_ends,
            width=width,
        )

    def encode(self, text: str) -> Int32s:
        """Encode a text to int32 of shape (number of tokens,). Raises KeyError if a symbol has no token."""
        codes = to_codes(text, self.as_bytes)
        words = pack_words(codes)
        ids = numpy.empty(len(codes), dtype=numpy.int32)
        remembered = numpy.zeros((min(REMEMBERED, count_places(len(codes))), 4), dtype=numpy.int64)
        scratch = numpy.empty(SHORT, dtype=numpy.int64)
        start, number = 0, 0
        for ends in self._find_ends(text, codes):
            number = _encode_pieces(codes, words, start, ends, self.tables, remembered, ids, number, scratch)
            if number == NOTHING:
                raise KeyError("a symbol has no token")
            start = int(ends[-1])
        ids.resize(number, refcheck=False)  # gives the rest back without a copy
        return ids

    def _find_ends(self, text: str, codes: Codes) -> Iterator[Int64s]:
        """Find the places in the codes at which pieces end, a stretch of the text at a time; int64."""
        if self.as_bytes and scanner.knows(self.expressions):
            yield from scanner.stream_ends(codes, self.expressions)
        elif self.expressions:
            lengths = list(map(len, presplit.pieces(text, self.expressions)))
            yield locate_ends(lengths, codes, self.as_bytes)
        elif text:
            ends = numpy.empty(len(codes), dtype=numpy.int64)
            yield ends[: _cut_runs(codes, self.tables.joints, ends)]


# --- the tables


def _make_entries(ranks: Mapping[Pair, tuple[int, int]]) -> Int64s:
    """Make the keys and values of `_Tables.pairs`; int64 (pairs, 2)."""
    entries = [(left << 32 | right, rank << 32 | new) for (left, right), (rank, new) in ranks.items()]
    return numpy.array(entries, dtype=numpy.int64).reshape(-1, 2)


def _make_pair_table(entries: Int64s) -> tuple[Int64s, Bytes]:
    """Make `_Tables.pairs` and its filter."""
    table = numpy.full((count_places(len(entries)), 2), NOTHING, dtype=numpy.int64)
    pair_filter = make_filter(table)
    _fill_pairs(table, pair_filter, entries)
    return table, pair_filter


def _rank_byte_pairs(base: Int32s, entries: Int64s) -> Int64s:
    """Make `_Tables.byte_pairs`."""
    values = dict(entries.tolist())
    ids = base.tolist()
    pairs = [values.get(left << 32 | right, NEVER) for left in ids for right in ids]
    return numpy.array(pairs, dtype=numpy.int64)


@compile_kernel
def _fill_pairs(table: Int64s, pair_filter: Bytes, entries: Int64s) -> None:
    """Put entries (key, value) into a hash table and its filter."""
    mask = len(table) - 1
    for k in range(len(entries)):
        hashed = hash_key(entries[k, 0])
        set_bit(pair_filter, hashed)
        place = hashed & mask
        while table[place, 0] != NOTHING:
            place = (place + 1) & mask
        table[place] = entries[k]


@compile_kernel
def _fill_set(table: Int64s, keys: Int64s) -> None:
    """Put different keys into a hash table without values."""
    mask = len(table) - 1
    for key in keys:
        place = hash_key(key) & mask
        while table[place] != NOTHING:
            place = (place + 1) & mask
        table[place] = key


@compile_kernel
def _fill_whole(
    whole: Int64s, whole_filter: Bytes, token_words: Words, token_ends: Int64s, width: int
) -> None:
    """Put the tokens into a hash table by their keys."""
    mask = len(whole) - 1
    start = 0
    for i in range(len(token_ends)):
        end = token_ends[i]
        if end > start:
            key = make_key(token_words, start * width, end * width)
            hashed = hash_key(key)
            set_bit(whole_filter, hashed)
            place = hashed & mask
            while whole[place, 0]:
                place = (place + 1) & mask
            whole[place, 0], whole[place, 1] = key, start << 32 | i
        start = end


# --- a text


@compile_kernel
def _cut_runs(codes: Codes, joints: Int64s, ends: Int64s) -> int:
    """Write the ends of runs, as `bpe.presplit.cut_runs` cuts them; return how many. One search a code."""
    mask = len(joints) - 1
    number = 0
    for end in range(1, len(codes)):
        key = (numpy.int64(codes[end - 1]) << 32) | codes[end]
        place = hash_key(key) & mask
        while joints[place] != key and joints[place] != NOTHING:
            place = (place + 1) & mask
        if joints[place] == NOTHING:
            ends[number] = end
            number += 1
    if len(codes):
        ends[number] = len(codes)
        number += 1
    return number


@compile_kernel
def _encode_pieces(
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
    """Write the ids of the pieces from `start` on, after the `number` ids that are there.

    Returns how many ids there are then, or NOTHING if a symbol has no token.

    remembered: int64 (places, 4), zeros at first: the key of a piece, the place where it begins, the place
    where its ids begin, and their number. A piece has one place, and takes it from the piece that had it. A
    piece that came before costs one comparison of its bytes. scratch: int64 (SHORT,), of any content.
    """
    # The tuple itself is not passed on: that would count references to its arrays for each piece.
    base, pairs, pair_filter, byte_pairs = tables.base, tables.pairs, tables.pair_filter, tables.byte_pairs
    whole, whole_filter = tables.whole, tables.whole_filter
    token_words, token_ends, width = tables.token_words, tables.token_ends, tables.width
    mask = len(remembered) - 1
    for end in ends:
        length = end - start
        key = make_key(words, start * width, end * width)
        place = hash_key(key) & mask
        if (
            remembered[place, 0] == key
            and length <= LONGEST_KEPT
            and is_same_piece(words, start * width, words, remembered[place, 1] * width, length * width)
        ):
            first, found = remembered[place, 2], remembered[place, 3]
            for k in range(found):
                ids[number + k] = ids[first + k]
        else:
            token = NOTHING
            if may_hold(whole_filter, hash_key(key)):
                token = _find_whole(words, start, length, key, whole, token_words, token_ends, width)
            if token != NOTHING:
                ids[number], found = token, 1
            elif not _write_base_ids(codes, start, length, base, ids, number):
                return NOTHING
            elif length <= SHORT and len(byte_pairs):
                for k in range(length - 1):
                    scratch[k] = byte_pairs[codes[start + k] << 8 | codes[start + k + 1]]
                found = _merge_short(ids, number, length, pairs, pair_filter, scratch)
            else:
                found = _merge_piece(ids, number, length, pairs, pair_filter, scratch)
        # Remember a known piece again: the ids written last are still in the processor's cache.
        remembered[place, 0], remembered[place, 1] = key, start
        remembered[place, 2], remembered[place, 3] = number, found
        number += found
        start = end
    return number


@compile_kernel
def _find_whole(
    words: Words,
    start: Integer,
    length: Integer,
    key: Integer,
    whole: Int64s,
    token_words: Words,
    token_ends: Int64s,
    width: int,
) -> Integer:
    """Find the token that is the piece; NOTHING if there is none. One search."""
    mask = len(whole) - 1
    place = hash_key(key) & mask
    while whole[place, 0]:
        if whole[place, 0] == key:
            token, token_start = whole[place, 1] & 0xFFFFFFFF, whole[place, 1] >> 32
            # Reading another array waits for memory; the key alone decides for the shortest pieces.
            if (length * width < LONGEST_TOLD or token_ends[token] - token_start == length) and is_same_piece(
                words, start * width, token_words, token_start * width, length * width
            ):
                return token
        place = (place + 1) & mask
    return NOTHING


@compile_kernel
def _write_base_ids(
    codes: Codes, start: Integer, length: Integer, base: Int32s, ids: Int32s, first: Integer
) -> bool:
    """Write the ids of a piece's codes to ids[first:]; return False if a code has no token."""
    for k in range(length):
        code = codes[start + k]
        if code >= len(base) or base[code] == NOTHING:
            return False
        ids[first + k] = base[code]
    return True


# --- merging a piece


@compile_kernel
def _find_rank(pairs: Int64s, pair_filter: Bytes, left: Integer, right: Integer) -> Integer:
    """Find (rank << 32 | id of the joined token) of a pair; NEVER if it is not merged. One search."""
    key = (numpy.int64(left) << 32) | right
    hashed = hash_key(key)
    if not may_hold(pair_filter, hashed):
        return NEVER
    mask = len(pairs) - 1
    place = hashed & mask
    while pairs[place, 0] != key:
        if pairs[place, 0] == NOTHING:
            return NEVER
        place = (place + 1) & mask
    return pairs[place, 1]


@compile_kernel
def _merge_piece(
    ids: Int32s, first: Integer, number: Integer, pairs: Int64s, pair_filter: Bytes, ranks: Int64s
) -> Integer:
    """Merge ids[first : first + number] in place, the lowest rank first; return how many are left.

    ranks: int64 (SHORT,), of any content.
    """
    if number > SHORT:
        return _merge_long(ids[first : first + number], pairs, pair_filter)
    for k in range(number - 1):
        ranks[k] = _find_rank(pairs, pair_filter, ids[first + k], ids[first + k + 1])
    return _merge_short(ids, first, number, pairs, pair_filter, ranks)


@compile_kernel
def _merge_short(
    ids: Int32s, first: Integer, number: Integer, pairs: Int64s, pair_filter: Bytes, ranks: Int64s
) -> Integer:
    """Merge a short piece, given the ranks of its pairs. Each merge reads all of them."""
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
            ranks[best - 1] = _find_rank(pairs, pair_filter, ids[first + best - 1], ids[first + best])
        if best + 1 < number:
            ranks[best] = _find_rank(pairs, pair_filter, ids[first + best], ids[first + best + 1])
    return number


@compile_kernel
def _merge_long(ids: Int32s, pairs: Int64s, pair_filter: Bytes) -> int:
    """Merge a long piece as `bpe.fast.incremental.apply_merges` does, in time n log n.

    heap: (rank, position); an entry counts only while the pair at the position has that rank.
    """
    number = len(ids)
    before, after = numpy.arange(-1, number - 1), numpy.arange(1, number + 1)
    heap: list[Any] = [(numpy.int64(0), numpy.int64(0)) for _ in range(0)]  # empty, of known type
    for k in range(number - 1):
        rank = _find_rank(pairs, pair_filter, ids[k], ids[k + 1])
        if rank != NEVER:
            heap.append((rank, k))
    heapq.heapify(heap)
    while heap:
        rank, i = heapq.heappop(heap)
        j = after[i]
        if ids[i] == NOTHING or j == number or _find_rank(pairs, pair_filter, ids[i], ids[j]) != rank:
            continue
        ids[i], ids[j] = rank & 0xFFFFFFFF, NOTHING
        after[i] = after[j]
        if after[j] < number:
            before[after[j]] = i
        for left in (before[i], i):
            if left >= 0 and after[left] < number:
                later = _find_rank(pairs, pair_filter, ids[left], ids[after[left]])
                if later != NEVER:
                    heapq.heappush(heap, (later, left))
    left = 0
    for k in range(number):
        if ids[k] != NOTHING:
            ids[left] = ids[k]
            left += 1
    return left
