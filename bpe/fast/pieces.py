"""Pieces on flat arrays, compiled by Numba: cut and count them, and lay them out for training.

All cores cut and count, each a stretch of the text, and their counts are added up in the order of the text,
since order decides ties. Pieces stay where they are in the text; only few ever become strings.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy

from bpe.fast import PieceCounts, scanner
from bpe.fast.arrays import (
    NOTHING,
    hash_key,
    is_same_piece,
    locate_ends,
    make_base_table,
    make_key,
    pack_words,
    to_codes,
)
from bpe.fast.machine_code import compile_kernel

if TYPE_CHECKING:
    from bpe.fast.arrays import Codes, Int32s, Int64s, Words

START, LENGTH, COUNT, KEY = range(4)  # columns of Pieces.rows
ROOM = 1 << 12  # different pieces, at first
MOST_TOKENS = 2**62  # in pieces as often as they occur: frequencies are 64-bit integers


# --- cutting and counting


class Pieces(PieceCounts):
    """The different pieces of a text in order of first appearance, and how often each occurs.

    data: the text in UTF-8, uint8 (n,). rows: int64 (pieces, 4): the place in the data where a piece begins,
    its length in bytes, its count, and its key. size: bytes in all pieces together. Pieces become strings
    only if they are read as a mapping.
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


def count(text: str, expressions: Sequence[str]) -> Pieces:
    """Cut a text into pieces and count them, on all cores.

    expressions: a split that `bpe.fast.scanner` knows. Takes 40 bytes for each different piece, beside the
    text.
    """
    data = to_codes(text, as_bytes=True)
    words = pack_words(data)
    cores = _count_cores()
    borders = scanner.find_borders(data, min(cores, len(data) // scanner.STRETCH + 1))
    with ThreadPoolExecutor(cores) as pool:
        counters = list(
            pool.map(lambda border: _count_range(data, words, expressions, *border), pairwise(borders))
        )
    total = counters[0]
    for counter in counters[1:]:
        total.add(counter.rows[: counter.number])
    return Pieces(data, total.rows[: total.number])


def _count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _count_range(data: Codes, words: Words, expressions: Sequence[str], start: int, stop: int) -> _Counter:
    """Count the pieces that begin before `stop`, from `start` on, where a piece must begin."""
    counter = _Counter(words)
    for ends in scanner.stream_ends(data, expressions, start, stop):
        rows = numpy.empty((len(ends), 4), dtype=numpy.int64)
        _write_rows(words, start, ends, rows)
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


@compile_kernel
def _write_rows(words: Words, start: int, ends: Int64s, rows: Int64s) -> None:
    """Write a row for each piece, with the count 1."""
    for piece in range(len(ends)):
        end = ends[piece]
        rows[piece, START], rows[piece, LENGTH], rows[piece, COUNT] = start, end - start, 1
        rows[piece, KEY] = make_key(words, start, end)
        start = end


@compile_kernel
def _fill_table(table: Int32s, rows: Int64s, number: int) -> None:
    """Put the first `number` rows, which are all different, into a hash table."""
    mask = len(table) - 1
    for known in range(number):
        place = hash_key(rows[known, KEY]) & mask
        while table[place] != NOTHING:
            place = (place + 1) & mask
        table[place] = known


@compile_kernel
def _add_rows(
    words: Words, rows: Int64s, done: int, known: Int64s, number: int, table: Int32s
) -> tuple[int, int]:
    """Add rows[done:] to the `number` rows in `known`, until all are added or `known` is full.

    Returns how many rows are known then, and how many are done. One search a row.
    """
    mask = len(table) - 1
    while done < len(rows) and number < len(known):
        start, length, key = rows[done, START], rows[done, LENGTH], rows[done, KEY]
        place = hash_key(key) & mask
        while table[place] != NOTHING:
            other = table[place]
            if (
                known[other, KEY] == key
                and known[other, LENGTH] == length
                and is_same_piece(words, start, words, known[other, START], length)
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


# --- laying out for training


def lay_out(counts: Mapping[str, int], base_ids: Mapping[Any, int], as_bytes: bool) -> tuple[Int32s, Int64s]:
    """Lay out pieces and their counts as the symbols and weights that training takes.

    base_ids: from a byte, or a character, to its id. Raises ValueError for 2**62 tokens or more.
    """
    base = make_base_table(base_ids)
    if isinstance(counts, Pieces) and as_bytes:
        starts, lengths = counts.rows[:, START], counts.rows[:, LENGTH]
        return lay_out_codes(counts.data, starts, starts + lengths, counts.rows[:, COUNT], base)
    codes = to_codes("".join(counts), as_bytes)
    ends = locate_ends(list(map(len, counts)), codes, as_bytes)
    return lay_out_codes(codes, ends - numpy.diff(ends, prepend=0), ends, list(counts.values()), base)


def lay_out_codes(
    codes: Codes, starts: Int64s, ends: Int64s, counts: Int64s | Sequence[int], base: Int32s
) -> tuple[Int32s, Int64s]:
    """Lay out the pieces codes[starts[0]:ends[0]], …, as `lay_out`; no weights if all counts are 1.

    base: int32, from a code to the id of its token.
    """
    lengths = ends - starts
    try:
        times = numpy.ascontiguousarray(counts, dtype=numpy.int64)
        # As real numbers, roughly: 64-bit integers would overflow.
        too_many = float(lengths @ times.astype(numpy.float64)) >= MOST_TOKENS
    except OverflowError:
        too_many = True
    if too_many:
        raise ValueError(
            f"the counts add up to {MOST_TOKENS:,} tokens or more, more than the compiled engine counts: "
            "give engine='incremental'"
        )
    size = int(lengths.sum()) + len(ends) + 1
    symbols = numpy.empty(size, dtype=numpy.int32)
    weights = numpy.empty(0 if bool((times == 1).all()) else size, dtype=numpy.int64)
    starts, ends = map(numpy.ascontiguousarray, (starts, ends))
    _write_symbols(codes, starts, ends, times, base, symbols, weights)
    return symbols, weights


@compile_kernel
def _write_symbols(
    codes: Codes, starts: Int64s, ends: Int64s, counts: Int64s, base: Int32s, symbols: Int32s, weights: Int64s
) -> None:
    """Write the symbols of the pieces, with NOTHING before, between and after them. One step a code.

    codes: uint8 or uint32. starts, ends, counts: int64 (pieces,), the places of the pieces in the codes, and
    how often each occurs. base: int32, from a code to its id. symbols: int32 (n,), weights: int64 (n,) or
    (0,), to be filled.
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
