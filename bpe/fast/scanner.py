"""Cut UTF-8 bytes by the patterns of GPT-2, GPT-4, GPT-4o, Llama 3 and Qwen, compiled by Numba.

A table that `regex` fills once a process says which code points are letters, numbers or whitespace; so the
pieces are those of `bpe.presplit`, code point for code point. Each alternative of an expression is a few
lines of code here, tried in the expression's order.

All kernels take `data`, the text in UTF-8, uint8 (n,); `classes`, the table that `make_classes` makes, uint8
(0x110000,); and `start`, the place of the first byte of a code point. A kernel named after a part of an
expression returns the end of that part. It reads every byte up to there once or twice and takes no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy
import regex

from bpe import presplit
from bpe.fast.machine_code import compile_kernel

if TYPE_CHECKING:
    from bpe.fast.arrays import Bytes, Int64s

CODE_POINTS = 0x110000
STRETCH = 1 << 18  # bytes of text that are cut at once

# Bits of the table of classes.
LETTER, NUMBER, SPACE, LINE_END = 1, 2, 4, 8
UPPER = 16  # allowed at the front of a word in GPT-4o's pattern
LOWER = 32  # allowed in the rest of it
CLASSES = {
    LETTER: r"\p{L}",
    NUMBER: r"\p{N}",
    SPACE: r"\s",
    LINE_END: r"[\r\n]",
    UPPER: r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]",
    LOWER: r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]",
}

# The splits that this file knows: their expressions -> the number that kernels take.
GPT2, GPT4, GPT4O, LLAMA3, QWEN = range(5)
SPLITS = {
    presplit.PATTERNS[name]: number for number, name in enumerate(("gpt2", "gpt4", "gpt4o", "llama3", "qwen"))
}


def knows(expressions: Sequence[str]) -> bool:
    """Return whether this file cuts by these expressions."""
    return tuple(expressions) in SPLITS


def find_ends(data: Bytes, expressions: Sequence[str], start: int = 0, stop: int | None = None) -> Int64s:
    """Return the ends of the pieces that begin before `stop`, from `start` on; int64, ascending.

    data: the text in UTF-8, uint8 (n,). start: a place where a piece begins. stop: the end of the text by
    default; the last piece may reach beyond it. Reads each byte once or twice; takes 8 bytes for each piece.
    """
    split = SPLITS[tuple(expressions)]
    stop = len(data) if stop is None else stop
    found = numpy.empty((stop - start) // 4 + 16, dtype=numpy.int64)
    number = 0
    while True:
        number, start = _scan(data, make_classes(), split, found, number, start, stop)
        if start >= stop:
            return found[:number]
        found = numpy.concatenate([found, numpy.empty_like(found)])


def stream_ends(
    data: Bytes, expressions: Sequence[str], start: int = 0, stop: int | None = None
) -> Iterator[Int64s]:
    """Yield the ends that `find_ends` returns, a stretch of the text at a time, to save memory."""
    stop = len(data) if stop is None else stop
    while start < stop:
        found = find_ends(data, expressions, start, min(start + STRETCH, stop))
        yield found
        start = int(found[-1])


def find_borders(data: Bytes, parts: int) -> list[int]:
    """Return where to cut a text into parts for workers: 0, its length, and between them starts of pieces.

    Each of these splits begins a piece between a newline and a letter or number, whatever is around them. A
    text that has too few such places gives fewer parts.
    """
    places = [0]
    for part in range(1, parts):
        place = _find_border(data, make_classes(), max(places[-1], len(data) * part // parts))
        if places[-1] < place < len(data):
            places.append(place)
    return [*places, len(data)]


@cache
def make_classes() -> Bytes:
    """Make the table of the class bits of every code point, as the installed `regex` sees them.

    uint8 (0x110000,).
    """
    text = "".join(map(chr, range(0xD800))) + "\0" * 0x800 + "".join(map(chr, range(0xE000, CODE_POINTS)))
    table = numpy.zeros(CODE_POINTS, dtype=numpy.uint8)
    for bit, expression in CLASSES.items():
        for match in regex.finditer(f"{expression}+", text):
            table[match.start() : match.end()] |= numpy.uint8(bit)
    return table


@compile_kernel
def _find_border(data: Bytes, classes: Bytes, start: int) -> int:
    """Find the first place after `start` between a newline and a letter or number, or the text's end.

    Reads each byte up to there, and the class of the code point after each newline.
    """
    for place in range(start + 1, len(data)):
        if data[place - 1] == ord("\n") and _class_at(data, classes, place)[0] & (LETTER | NUMBER):
            return place
    return len(data)


@compile_kernel
def _scan(
    data: Bytes, classes: Bytes, split: int, found: Int64s, number: int, start: int, stop: int
) -> tuple[int, int]:
    """Write the ends of the pieces that begin before `stop`, from `start` on, until `found` is full.

    number: how many are in `found`. Returns how many there are then, and the end of the last piece.
    """
    while start < stop and number < len(found):
        word = start + 1 if data[start] == ord(" ") else start
        if split != GPT4O and word < len(data) and data[word] < 0x80 and classes[data[word]] & LETTER:
            start = _run(data, classes, word + 1, LETTER)  # most pieces are such words
        elif split == GPT2:
            start = _gpt2(data, classes, start)
        elif split == GPT4O:
            start = _gpt4o(data, classes, start)
        else:
            start = _gpt4(data, classes, start, split)
        found[number] = start
        number += 1
    return number, start


@compile_kernel
def _gpt2(data: Bytes, classes: Bytes, start: int) -> int:
    """Return the end of the piece that begins at `start`, by GPT-2's expression."""
    end = _contraction(data, start, False)
    if end > start:
        return end
    kind, after = _class_at(data, classes, start)
    if data[start] == ord(" ") and after < len(data):  # one space may come before
        second, second_end = _class_at(data, classes, after)
        if not second & SPACE:
            kind, after = second, second_end
    if kind & SPACE:
        return _spaces(data, classes, start)
    return _run(data, classes, after, kind & (LETTER | NUMBER))


@compile_kernel
def _gpt4(data: Bytes, classes: Bytes, start: int, split: int) -> int:
    """Return the end of the piece that begins at `start`, by the expression of GPT-4, Llama 3 or Qwen."""
    if data[start] == ord("'"):
        end = _contraction(data, start, True)
        if end > start:
            return end
    kind, after = _class_at(data, classes, start)
    if kind & LETTER:
        return _run(data, classes, after, LETTER)
    if not kind & (NUMBER | LINE_END) and after < len(data):  # one such sign may come before a word
        second, second_end = _class_at(data, classes, after)
        if second & LETTER:
            return _run(data, classes, second_end, LETTER)
    if kind & NUMBER:
        return after if split == QWEN else _up_to_three_numbers(data, classes, start)
    return _signs_or_spaces(data, classes, start, False, split == GPT4)


@compile_kernel
def _gpt4o(data: Bytes, classes: Bytes, start: int) -> int:
    """Return the end of the piece that begins at `start`, by GPT-4o's expression."""
    kind, after = _class_at(data, classes, start)
    if not kind & (LETTER | NUMBER | LINE_END):  # one such sign may come before a word
        end = _cased_word(data, classes, after, True)
        if end > after:
            return _contraction(data, end, True)
    end = _cased_word(data, classes, start, True)
    if end == start and not kind & (LETTER | NUMBER | LINE_END):
        end = _cased_word(data, classes, after, False)
        if end == after:
            end = start
    if end == start:
        end = _cased_word(data, classes, start, False)
    if end > start:
        return _contraction(data, end, True)
    if kind & NUMBER:
        return _up_to_three_numbers(data, classes, start)
    return _signs_or_spaces(data, classes, start, True, False)


@compile_kernel
def _cased_word(data: Bytes, classes: Bytes, start: int, to_lower: bool) -> int:
    """Return the end of `upper* lower+` (to_lower) or of `upper+ lower*`; `start` if there is none.

    Marks and letters without case are both upper and lower; so if nothing lower follows the upper ones, the
    last of them that is both counts as the lower one.
    """
    end, last_both = start, start
    while end < len(data):
        kind, after = _class_at(data, classes, end)
        if not kind & UPPER:
            break
        end = after
        if kind & LOWER:
            last_both = end
    upper_end = end
    while end < len(data):
        kind, after = _class_at(data, classes, end)
        if not kind & LOWER:
            break
        end = after
    if to_lower:
        return end if end > upper_end else last_both
    return end if upper_end > start else start


@compile_kernel
def _signs_or_spaces(data: Bytes, classes: Bytes, start: int, slashes: bool, to_the_end: bool) -> int:
    """Return the end of ` ?signs+[\\r\\n]*`, or of whitespace.

    slashes: slashes may be among the line ends after signs. to_the_end: whitespace at the end of the text is
    one piece, line ends included.
    """
    end, any_sign = start, False
    if data[start] == ord(" "):
        end = start + 1
    while end < len(data):
        kind, after = _class_at(data, classes, end)
        if kind & (SPACE | LETTER | NUMBER):
            break
        end, any_sign = after, True
    if any_sign:
        while end < len(data) and (
            data[end] == ord("\n") or data[end] == ord("\r") or (slashes and data[end] == ord("/"))
        ):
            end += 1
        return end
    last_line_end, end = start, start
    while end < len(data):
        kind, after = _class_at(data, classes, end)
        if not kind & SPACE:
            break
        end = after
        if kind & LINE_END:
            last_line_end = end
    if last_line_end > start and not (to_the_end and end == len(data)):
        return last_line_end
    return _spaces(data, classes, start)


@compile_kernel
def _spaces(data: Bytes, classes: Bytes, start: int) -> int:
    """Return the end of `\\s+(?!\\S)|\\s+`: whitespace but its last, which a word may take, unless alone."""
    end, last = start, start
    while end < len(data):
        kind, after = _class_at(data, classes, end)
        if not kind & SPACE:
            break
        last, end = end, after
    return end if end == len(data) or last == start else last


@compile_kernel
def _run(data: Bytes, classes: Bytes, start: int, kind: int) -> int:
    """Return the end of the letters or numbers from `start` on; for kind 0, of all others but whitespace."""
    end, mask = start, LETTER | NUMBER | SPACE
    while True:
        while end < len(data) and data[end] < 0x80 and classes[data[end]] & mask == kind:
            end += 1
        if end >= len(data) or data[end] < 0x80:
            return end
        found, after = _class_at(data, classes, end)
        if found & mask != kind:
            return end
        end = after


@compile_kernel
def _up_to_three_numbers(data: Bytes, classes: Bytes, start: int) -> int:
    """Return the end of the numbers from `start` on, or of the first three."""
    end = start
    for _ in range(3):
        if end == len(data):
            break
        kind, after = _class_at(data, classes, end)
        if not kind & NUMBER:
            break
        end = after
    return end


@compile_kernel
def _contraction(data: Bytes, start: int, any_case: bool) -> int:
    """Return the end of an apostrophe with s, t, d, m, ll, ve or re at `start`; `start` if there is none.

    any_case: capitals too, and ſ, which is an s when case does not matter.
    """
    if start + 1 >= len(data) or data[start] != ord("'"):
        return start
    case = 0x20 if any_case else 0
    first = data[start + 1] | case
    if first == ord("s") or first == ord("t") or first == ord("d") or first == ord("m"):
        return start + 2
    if start + 2 >= len(data):
        return start
    second = data[start + 2] | case
    if (
        (first == ord("l") and second == ord("l"))
        or (first == ord("v") and second == ord("e"))
        or (first == ord("r") and second == ord("e"))
    ):
        return start + 3
    if any_case and data[start + 1] == 0xC5 and data[start + 2] == 0xBF:  # ſ, U+017F
        return start + 3
    return start


@compile_kernel
def _class_at(data: Bytes, classes: Bytes, start: int) -> tuple[int, int]:
    """Return the class bits of the code point at `start`, and its end."""
    first = data[start]
    if first < 0x80:
        return classes[first], start + 1
    if first < 0xE0:
        return classes[(first & 0x1F) << 6 | data[start + 1] & 0x3F], start + 2
    if first < 0xF0:
        return (
            classes[(first & 0x0F) << 12 | (data[start + 1] & 0x3F) << 6 | data[start + 2] & 0x3F],
            start + 3,
        )
    return (
        classes[
            (first & 0x07) << 18
            | (data[start + 1] & 0x3F) << 12
            | (data[start + 2] & 0x3F) << 6
            | data[start + 3] & 0x3F
        ],
        start + 4,
    )
