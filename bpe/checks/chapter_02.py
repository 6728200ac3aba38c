"""The checks of chapter 2: bytes."""

from __future__ import annotations

import codecs
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from bpe.checks import exercise, make_hint, shorten

LINES = "床前明月光，\n疑是地上霜。"
TEXTS = ("a", "", "é", "月", "🙂", "the moon 月", "e\u0301", LINES, "\x7f\x80\u07ff\u0800\uffff🙂")


class Undecoded(bytes):
    """Bytes without a working `decode`, for exercises in which the learner writes it."""

    def decode(self, *_: Any, **__: Any) -> str:
        raise TypeError("read these bytes without .decode()")


def _find_decoder(function: Any) -> str | None:
    """Return what in a function's code decodes bytes without their method, or None."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return None
    for name in ("codecs", "decode"):
        if name in code.co_names:
            return f"`{name}` decodes the bytes for you; read them yourself."
    if "str" in code.co_names and any(_is_utf8(constant) for constant in code.co_consts):
        return '`str(…, "utf-8")` decodes the bytes for you; read them yourself.'
    return None


def _is_utf8(constant: object) -> bool:
    """Whether a constant is the name of the encoding, perhaps as a keyword's value."""
    return isinstance(constant, str) and constant.lower().replace("_", "-") in ("utf-8", "utf8")


@exercise(
    "How many bytes does a character have, and how does the first one differ from the others?",
    "Every byte of a character but the first has the form 10xxxxxx. Count the other bytes.",
    "`byte >> 6` is 0b10 for those: `sum(byte >> 6 != 0b10 for byte in data)`.",
)
def exercise_1(count_characters: Callable[[bytes], int]) -> str | None:
    for text in TEXTS:
        data = text.encode("utf-8")
        if (count := count_characters(Undecoded(data))) != len(text):
            return f"For {text!r}, which is {_hex(data)}, you return {count!r}; it should be {len(text)}."
    return _find_decoder(count_characters)


@exercise(
    "Write the bytes of 月 in binary and mark the bits that belong to the number.",
    (
        "The first byte gives 7, 5, 4 or 3 bits, depending on the length; each of the others gives its "
        "last 6. Shift what you have by 6 and add the next."
    ),
    (
        "Start with `sequence[0] & (0x7F >> len(sequence))` (a single byte is the number itself); then, "
        "for each other byte, `code = code << 6 | byte & 0x3F`."
    ),
)
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
    return _find_decoder(code_point)


@exercise(
    "What has to be remembered from one chunk to the next?",
    (
        "Keep the bytes that are not yet a whole character, and put them before the next chunk. Decode "
        "what is complete; keep the rest."
    ),
    (
        'For each chunk: `waiting += chunk`, `text = waiting.decode(errors="ignore")`, append `text`, '
        "and keep `waiting[len(text.encode()):]`."
    ),
)
def exercise_3(shown: Callable[[list[bytes]], Iterable[str]]) -> str | None:
    whole = "\n".join(TEXTS)
    cases = [_hexadecimal("e6 9c", "88 61"), [], [b"moon"], _hexadecimal("f0", "9f", "", "99 82", "e6 9c 88")]
    cases += [list(_cut(whole.encode("utf-8"), size)) for size in (1, 2, 3, 4, 5, 1000)]
    cases += [[b"a\xef\xbf\xbd"], *(list(_cut("a\ufffd\ufffdb\ufffd".encode(), size)) for size in (1, 2, 4))]
    for chunks in cases:
        given = shown(list(chunks))
        if not isinstance(given, (list, tuple)):
            return f"You return {shorten(given)}; it should be a list of strings."
        if hint := _compare(given, chunks):
            return hint
    return None


def _compare(given: Sequence[str], chunks: list[bytes]) -> str | None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    expected = [decoder.decode(chunk) for chunk in chunks]
    case = f"For the chunks [{' | '.join(map(_hex, chunks[:8]))}{' | …' if len(chunks) > 8 else ''}]"
    for i, (got, right) in enumerate(zip(given, expected, strict=False), 1):
        if got == right:
            continue
        string = f"string {i} of {len(chunks)}"
        if isinstance(got, str) and got.count("\ufffd") > right.count("\ufffd"):
            return f"{case} {string} is {got!r}: U+FFFD shows a character decoded before it was complete."
        if isinstance(got, str) and "\ufffd" in right:
            return f"{case} {string} is {got!r}; it should be {right!r}: the text has U+FFFD of its own."
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


hint = make_hint(__name__)
