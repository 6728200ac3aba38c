"""Text as arrays of numbers, and the keys and hash tables that the kernels share.

A code is a byte of a text (uint8), or a code point (uint32). A word is eight bytes of a text (uint64). Hash
tables are arrays whose length is a power of two; a key that finds its place taken goes to the next free one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from bpe.fast.machine_code import compile_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int32s = NDArray[numpy.int32]
    Int64s = NDArray[numpy.int64]
    Bytes = NDArray[numpy.uint8]
    Words = NDArray[numpy.uint64]
    Codes = NDArray[Any]
    # In kernels: Python's integers and numpy's are one type there.
    Integer = Any

NOTHING = -1  # no symbol (between pieces, and inside tokens), no pair, no token, or a free place in a table
EXACT = 7  # bytes of a piece that fit into its key
LONGEST_TOLD = 127  # bytes; keys do not tell this length from greater ones


# --- text as numbers


def to_codes(text: str | bytes, as_bytes: bool) -> Codes:
    """Return the bytes of a text, uint8, or its code points, uint32."""
    if isinstance(text, str):
        text = text.encode("utf-8" if as_bytes else "utf-32-le")
    return numpy.frombuffer(text, dtype=numpy.uint8 if as_bytes else "<u4")


def pack_words(codes: Codes) -> Words:
    """Pack the bytes of the codes into words, uint64, followed by at least eight zero bytes."""
    words = numpy.zeros(codes.nbytes // 8 + 2, dtype=numpy.uint64)
    words.view(numpy.uint8)[: codes.nbytes] = codes.view(numpy.uint8)
    return words


def locate_ends(lengths: Sequence[int], codes: Codes, as_bytes: bool) -> Int64s:
    """Return the ends, in codes, of pieces of these lengths in characters; int64 (pieces,)."""
    ends = numpy.cumsum(lengths, dtype=numpy.int64)
    if not as_bytes:
        return ends
    # Every byte but 10xxxxxx begins a character.
    begins = numpy.append(numpy.flatnonzero(codes & 0xC0 != 0x80), len(codes))
    return begins[ends]


def make_base_table(base_ids: Mapping[Any, int]) -> Int32s:
    """Make a table from a code to the id of its token, or NOTHING; int32.

    base_ids: from a byte, or a character, to its id.
    """
    ids = {symbol if isinstance(symbol, int) else ord(symbol): i for symbol, i in base_ids.items()}
    table = numpy.full(max([*ids, 255]) + 1, NOTHING, dtype=numpy.int32)
    table[list(ids)] = list(ids.values())
    return table


# --- hash tables


def count_places(number: int) -> int:
    """Return the size of a hash table for a number of entries: a power of two, at least half of it free."""
    return 1 << (2 * number + 1).bit_length()


@compile_kernel
def hash_key(key: Integer) -> Integer:
    """Return a number, 0 or more, that depends on all bits of a 64-bit key.

    It is the first half of MurmurHash3's finaliser.
    """
    mixed = numpy.uint64(key)
    mixed ^= mixed >> numpy.uint64(33)
    mixed *= numpy.uint64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> numpy.uint64(33)
    return numpy.int64(mixed >> numpy.uint64(1))


def make_filter(table: Int64s) -> Bytes:
    """Make an empty filter, with four bits for each place of a hash table; uint8 (a power of two,).

    It is far smaller than the table, and answers most searches for a key that the table does not hold.
    """
    return numpy.zeros(max(len(table) // 2, 8), dtype=numpy.uint8)


@compile_kernel
def set_bit(bits: Bytes, hashed: Integer) -> None:
    """Add a hash to a filter; its bits here are not those that choose the place in the table."""
    bits[(hashed >> 43) & (len(bits) - 1)] |= numpy.uint8(1 << ((hashed >> 40) & 7))


@compile_kernel
def may_hold(bits: Bytes, hashed: Integer) -> Any:
    """Return whether a filter has a hash, or another one with the same bit. One read."""
    return bits[(hashed >> 43) & (len(bits) - 1)] >> ((hashed >> 40) & 7) & 1 != 0


# --- pieces as keys


@compile_kernel
def read_eight(words: Words, start: Integer, length: Integer) -> Any:
    """Read up to eight bytes, from byte `start` on, as one number."""
    place, bits = start >> 3, numpy.uint64((start & 7) << 3)
    one = numpy.uint64(1)
    # They lie in two words; shifting by 64 bits is not defined, so it takes two steps.
    found = words[place] >> bits | (words[place + 1] << one) << (numpy.uint64(63) - bits)
    if length < 8:
        found &= (one << numpy.uint64(8 * length)) - one
    return found


@compile_kernel
def make_key(words: Words, start: Integer, end: Integer) -> Integer:
    """Make a number above 0 for a piece: its length in the highest byte, and its bytes in the others.

    start, end: in bytes. A piece of more than 7 bytes has a hash in their place, which other pieces may
    share. One step for eight bytes.
    """
    length = end - start
    if length <= EXACT:
        return length << 56 | numpy.int64(read_eight(words, start, length))
    mixed = numpy.uint64(length)
    while start < end:
        mixed = (mixed ^ read_eight(words, start, end - start)) * numpy.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> numpy.uint64(32)
        start += 8
    return min(length, LONGEST_TOLD) << 56 | numpy.int64(mixed >> numpy.uint64(8))


@compile_kernel
def is_same_piece(words: Words, start: Integer, others: Words, other_start: Integer, length: Integer) -> bool:
    """Return whether two pieces of the same key and length, in bytes, are the same."""
    if length <= EXACT:
        return True
    while length > 0:
        if read_eight(words, start, length) != read_eight(others, other_start, length):
            return False
        start, other_start, length = start + 8, other_start + 8, length - 8
    return True
