"""Checks of arguments, with errors that name what was given."""

from __future__ import annotations

import math
import numbers
import operator
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, MappingView, Set
from typing import Any, Self

STRETCH = 1 << 16  # characters
LONGEST_MESSAGE = 1_000  # characters about a file; an entry that it quotes may have millions


class PositionError(ValueError):
    """What is wrong with a text, where, and what to do about it.

    position: counted from 0, in characters.
    """

    def __init__(self, what: str, position: int, hint: str = "") -> None:
        super().__init__(what, position, hint)  # as pickles need it
        self.what, self.position, self.hint = what, position, hint

    def __str__(self) -> str:
        return f"{self.what} at position {self.position}{self.hint}"

    def moved(self, by: int) -> Self:
        """Return the same error in a longer text, which has `by` characters more before this one."""
        return type(self)(self.what, self.position + by, self.hint)


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
            raise PositionError(
                f"lone surrogate U+{ord(text[position]):04X}",
                position,
                f": it is half of a UTF-16 pair, not a character, and cannot be encoded as UTF-8"
                f"{_repair(text, position)}",
            ) from None


def _repair(text: str, position: int) -> str:
    """Return what to do about a surrogate, where that can be told."""
    if "\udc80" <= text[position] <= "\udcff":
        return "; it stands for a byte that was not UTF-8: read the text with its own encoding"
    if "\udc00" <= text[position + 1 : position + 2] <= "\udfff":
        return (
            "; the other half follows, and text.encode('utf-16', 'surrogatepass').decode('utf-16') joins them"
        )
    return ""


def refuse_unordered(value: object, name: str) -> None:
    """Raise TypeError, naming it, for a set, whose order differs from process to process, and for a mapping.

    What comes from a mapping, such as its keys, has an order.
    """
    if isinstance(value, Set) and not isinstance(value, MappingView):
        raise TypeError(
            f"{name} must be a list, not a {type(value).__name__}: order matters, and it has none"
        )
    if isinstance(value, Mapping):
        raise TypeError(f"{name} must be a list, not a mapping: its values would be lost")


def check_documents(text: str | Iterable[str], *, ordered: bool = True) -> Iterator[str]:
    """Yield the documents of `text`, itself if it is a str, each checked as by `refuse_surrogates`.

    ordered: whether to refuse a set of documents. Warns if the text is the name of a file.
    """
    if isinstance(text, (bytes, bytearray)) or not isinstance(text, Iterable):
        hint = "; read the file first" if isinstance(text, os.PathLike) else ""
        raise TypeError(f"text must be a str or an iterable of str, not {type(text).__name__}{hint}")
    if ordered or isinstance(text, Mapping):
        refuse_unordered(text, "text")
    for number, document in enumerate([text] if isinstance(text, str) else text):
        if number == 0:
            _warn_if_path(document)
        try:
            refuse_surrogates(document)
        except (TypeError, ValueError) as error:
            if isinstance(text, str):
                raise
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"document {number}: {error}") from None
        yield document


def _warn_if_path(text: str) -> None:
    if isinstance(text, str) and len(text) < 1000 and os.path.isfile(text):  # noqa: PTH113
        warnings.warn(
            f"the text is {text!r}, which is the name of a file: to use what is in it, read it first, "
            f"with Path({text!r}).read_text(encoding='utf-8')",
            stacklevel=2,
        )


def check_integer(value: Any, name: str, least: int | None = None) -> int:
    """Return the value as an int. Raises TypeError if it is not an integer, ValueError below `least`.

    True and False, those of numpy and torch too, are not integers here: as an id or a size they are always a
    mistake.
    """
    try:
        if isinstance(value, bool) or "bool" in str(getattr(value, "dtype", "")):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{name} must be an integer, not {type(value).__name__}: {cut_short(repr(value))}"
        ) from None
    if least is not None and number < least:
        raise ValueError(f"{name} must be {least} or more, not {number}")
    return number


def check_number(value: Any, name: str) -> Any:
    """Return the value. Raises TypeError if it is not a real number; True and False are not."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}: {cut_short(repr(value))}")
    return value


def check_finite(value: Any, name: str) -> float:
    """Return the value as a float. Raises TypeError if it is not a number, ValueError if not finite."""
    try:
        number = float(check_number(value, name))
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


def check_ids(ids: Iterable[int], vocab_size: int) -> Iterator[int]:
    """Yield the ids of a row, each checked as by `check_id`. Raises TypeError for what is not a row."""
    if isinstance(ids, (str, bytes, bytearray)) or not isinstance(ids, Iterable):
        raise TypeError(f"ids must be a list of integers, not {type(ids).__name__}: {cut_short(repr(ids))}")
    refuse_unordered(ids, "ids")
    if (dimensions := getattr(ids, "ndim", 1)) != 1:
        raise TypeError(f"ids must be one row, not an array of {dimensions} dimensions")
    for i in ids:
        yield i if type(i) is int and 0 <= i < vocab_size else check_id(i, vocab_size)


def cut_short(text: str, length: int = 60) -> str:
    """Return the text, or its beginning and an ellipsis: what a message quotes may be enormous."""
    return text if len(text) <= length else text[:length] + "…"


def check_id(value: Any, vocab_size: int) -> int:
    """Return the value as an id. Raises TypeError if it is not an integer, ValueError if out of range."""
    number = check_integer(value, "an id")
    if not 0 <= number < vocab_size:
        raise ValueError(f"id {number} is out of range: ids go from 0 to {vocab_size - 1}")
    return number
