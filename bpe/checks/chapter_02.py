"""The checks of chapter 2: bytes."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from bpe.checks import exercise

LINES = "床前明月光，\n疑是地上霜。"
TEXTS = ("a", "", "é", "月", "🙂", "the moon 月", "e\u0301", LINES, "\x7f\x80\u07ff\u0800\uffff🙂")


class Undecoded(bytes):
    """Bytes without a working `decode`, for exercises in which the learner writes it."""

    def decode(self, *_: Any, **__: Any) -> str:
        raise TypeError("read these bytes without .decode()")


@exercise
def exercise_1(count_characters: Callable[[bytes], int]) -> str | None:
    for text in TEXTS:
        data = text.encode("utf-8")
        if (count := count_characters(Undecoded(data))) != len(text):
            return f"For {text!r}, which is {_hex(data)}, you return {count!r}; it should be {len(text)}."
    return None


@exercise
def exercise_2(code_point: Callable[[bytes], int]) -> str | None:
    # First the code points at which the length changes, then a sample of all. The step, 61, shares no factor
    # with 64, so every last byte occurs.
    ends = (0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF)
    for code in (0x41, 0x6708, *ends, *range(0, 0x110000, 61)):
        if 0xD800 <= code <= 0xDFFF:
            continue
        sequence = chr(code).encode("utf-8")
        if (found := code_point(Undecoded(sequence))) != code:
            return f"For the bytes {_hex(sequence)} you return {found!r}; it should be {code}."
    return None


@exercise
def exercise_3(shown: Callable[[list[bytes]], Iterable[str]]) -> str | None:
    whole = "\n".join(TEXTS)
    cases = [_hexadecimal("e6 9c", "88 61"), [], [b"moon"], _hexadecimal("f0", "9f", "", "99 82", "e6 9c 88")]
    cases += [list(_cut(whole.encode("utf-8"), size)) for size in (1, 2, 3, 4, 5, 1000)]
    for chunks in cases:
        given = islice(shown(list(chunks)), len(chunks) + 1)  # a generator may never end
        if hint := _compare(list(given), chunks):
            return hint
    return None


def _compare(given: list[str], chunks: list[bytes]) -> str | None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    expected = [decoder.decode(chunk) for chunk in chunks]
    case = f"For the chunks [{' | '.join(map(_hex, chunks[:8]))}{' | …' if len(chunks) > 8 else ''}]"
    for i, (got, right) in enumerate(zip(given, expected, strict=False), 1):
        if got == right:
            continue
        string = f"string {i} of {len(chunks)}"
        if isinstance(got, str) and "\ufffd" in got:
            return f"{case} {string} is {got!r}: U+FFFD shows a character decoded before it was complete."
        return f"{case} {string} is {got!r}; it should be {right!r}."
    if len(given) != len(expected):
        number = f"more than {len(expected)}" if len(given) > len(expected) else len(given)
        return f"{case} you return {number} strings; it should be {len(expected)}, one for each chunk."
    return None


def _hex(data: bytes) -> str:
    return data.hex(" ") or "nothing"


def _hexadecimal(*chunks: str) -> list[bytes]:
    return [bytes.fromhex(chunk) for chunk in chunks]


def _cut(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]
