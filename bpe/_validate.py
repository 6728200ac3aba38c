"""Checks of arguments, with errors that name what was given."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Iterable, Iterator
from typing import Any

STRETCH = 1 << 16  # characters


def refuse_surrogates(text: str, name: str = "text") -> None:
    """Raise TypeError, naming it, unless `text` is a str, and ValueError if it holds a lone surrogate.

    A lone surrogate is half of a UTF-16 pair (U+D800 to U+DFFF). It is not a character and has no UTF-8, so
    no tokenizer could give it back.
    """
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a str, not {type(text).__name__}")
    # Encoding is much faster than a search; stretch by stretch, its memory is reused.
    for start in range(0, len(text), STRETCH):
        try:
            text[start : start + STRETCH].encode("utf-8")
        except UnicodeEncodeError as error:
            position = start + error.start
            raise ValueError(
                f"lone surrogate U+{ord(text[position]):04X} at position {position}: it is half of a "
                f"UTF-16 pair, not a character, and cannot be encoded as UTF-8"
            ) from None


def check_documents(text: str | Iterable[str]) -> Iterator[str]:
    """Yield the documents of `text`, itself if it is a str, each checked as by `refuse_surrogates`."""
    if isinstance(text, (bytes, bytearray)) or not isinstance(text, Iterable):
        raise TypeError(f"text must be a str or an iterable of str, not {type(text).__name__}")
    for number, document in enumerate([text] if isinstance(text, str) else text):
        try:
            refuse_surrogates(document)
        except (TypeError, ValueError) as error:
            if isinstance(text, str):
                raise
            raise type(error)(f"document {number}: {error}") from None
        yield document


def check_integer(value: Any, name: str, least: int | None = None) -> int:
    """Return the value as an int. Raises TypeError if it is not an integer, ValueError below `least`.

    True and False are not integers here: as an id or a size they are always a mistake.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}: {value!r}") from None
    if least is not None and number < least:
        raise ValueError(f"{name} must be {least} or more, not {number}")
    return number


def check_finite(value: Any, name: str) -> float:
    """Return the value as a float. Raises TypeError if it is not a number, ValueError if not finite."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}: {value!r}")
    try:
        number = float(value)
    except OverflowError:  # files may hold integers of any size
        raise ValueError(f"{name} is too large for a floating-point number") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, not {number}")
    return number


def check_seed(value: Any) -> int:
    """Return the value as a seed that torch accepts. Raises as `check_integer`."""
    number = check_integer(value, "seed", least=0)
    if number >= 2**64:
        raise ValueError(f"seed must be below 2**64, not {number}")
    return number


def check_id(value: Any, vocab_size: int) -> int:
    """Return the value as an id. Raises TypeError if it is not an integer, ValueError if out of range."""
    number = check_integer(value, "an id")
    if not 0 <= number < vocab_size:
        raise ValueError(f"id {number} is out of range: ids go from 0 to {vocab_size - 1}")
    return number
