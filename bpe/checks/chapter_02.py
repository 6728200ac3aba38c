"""Checks of chapter 2, bytes."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bpe.checks import exercise

LINES = "床前明月光，\n疑是地上霜。"
TEXTS = ("a", "", "é", "月", "🙂", "the moon 月", "e\u0301", LINES, "\x7f\x80\u07ff\u0800\uffff🙂")


class Undecoded(bytes):
    """Bytes that do not decode themselves, for exercises in which the learner does that."""

    def decode(self, *_: Any, **__: Any) -> str:
        raise TypeError("these bytes are to be read without .decode()")


@exercise
def exercise_1(count_characters: Callable[[bytes], int]) -> str | None:
    for text in TEXTS:
        data = text.encode("utf-8")
        if (count := count_characters(Undecoded(data))) != len(text):
            return f"For {text!r}, which is {_hex(data)}, it gives {count!r} and should give {len(text)}"
    return None


@exercise
def exercise_2(code_point: Callable[[bytes], int]) -> str | None:
    # The ends of each length first, then a sample of all, in which a step prime to 64 gives every last byte.
    ends = (0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF)
    for code in (0x41, 0x6708, *ends, *range(0, 0x110000, 61)):
        if 0xD800 <= code <= 0xDFFF:
            continue
        sequence = chr(code).encode("utf-8")
        if (found := code_point(Undecoded(sequence))) != code:
            return f"For the bytes {_hex(sequence)} it gives {found!r} and should give {code}"
    return None


@exercise
def exercise_3(shown: Callable[[list[bytes]], Iterable[str]]) -> str | None:
    whole = "\n".join(TEXTS)
    cases = [_hexadecimal("e6 9c", "88 61"), [], [b"moon"], _hexadecimal("f0", "9f", "", "99 82", "e6 9c 88")]
    cases += [list(_cut(whole.encode("utf-8"), size)) for size in (1, 2, 3, 4, 5, 1000)]
    for chunks in cases:
        if hint := _compare(list(shown(list(chunks))), chunks):
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
            return f"{case} {string} is {got!r}: U+FFFD shows a character decoded before it was whole"
        return f"{case} {string} is {got!r} and should be {right!r}"
    if len(given) != len(expected):
        return f"{case} it gives {len(given)} strings and should give {len(expected)}, one for each chunk"
    return None


def _hex(data: bytes) -> str:
    return data.hex(" ") or "nothing"


def _hexadecimal(*chunks: str) -> list[bytes]:
    return [bytes.fromhex(chunk) for chunk in chunks]


def _cut(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]
