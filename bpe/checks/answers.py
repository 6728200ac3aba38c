"""What a right answer may be made of: tuples for lists, a generator, numpy's numbers, fractions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import islice
from numbers import Real
from typing import Any

MOST = 1_000_000  # items of an answer; a generator may never end


class EndlessError(Exception):
    """An answer has more than MOST items."""


def settle(value: Any) -> Any:
    """Return an answer in Python's own types.

    Arrays, generators, dict views, ranges and other iterables become lists, mappings dictionaries, numbers
    of numpy and torch Python's, a bytearray bytes. Lists, tuples and sets keep their kind. Other objects,
    such as tokenizers, are returned as they are. Raises EndlessError.
    """
    if type(value) in (int, float, bool) or isinstance(value, (str, bytes)):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if hasattr(type(value), "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {settle(key): settle(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return value
    if isinstance(value, tuple):
        return tuple(map(settle, value))
    if isinstance(value, Iterable) and not isinstance(value, type):
        items = list(islice(value, MOST + 1))
        if len(items) > MOST:
            raise EndlessError
        return [settle(item) for item in items]
    return value


def is_same(found: Any, expected: Any) -> bool:
    """Whether an answer equals what is expected, where a tuple is as good as a list, at any depth."""
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(found, (list, tuple))
            and len(found) == len(expected)
            and all(map(is_same, found, expected))
        )
    if isinstance(expected, dict):
        return (
            isinstance(found, dict)
            and found.keys() == expected.keys()
            and all(is_same(found[key], item) for key, item in expected.items())
        )
    return bool(found == expected)


def is_list_of(value: object, kind: type | tuple[type, ...]) -> bool:
    """Whether the value is a list or tuple that holds nothing but objects of this type, or of these."""
    return isinstance(value, (list, tuple)) and all(isinstance(item, kind) for item in value)


def is_number(value: object) -> bool:
    """Whether the value is a finite number: an int, a float, a Fraction, a Decimal, but not a bool."""
    return isinstance(value, (Real, Decimal)) and not isinstance(value, bool) and math.isfinite(value)
