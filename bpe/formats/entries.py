"""What all formats share: reading JSON that may be damaged or hostile, and turning ids into a vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from bpe._validate import LONGEST_MESSAGE, cut_short

# The largest known vocabularies have a few hundred thousand tokens. A hostile id would fill the memory.
MOST_TOKENS = 10_000_000
LONGEST_TOKEN = 100_000  # bytes or characters; the longest known has a few hundred
LARGEST_FILE = 100_000_000  # bytes; the largest known has 35 million

TokenType = TypeVar("TokenType")
Text = TypeVar("Text", bytes, str)


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Turn a ValueError, TypeError or RecursionError into a ValueError that begins with the file's name."""
    try:
        yield
    except RecursionError:
        raise ValueError(f"{path}: it is nested too deeply") from None
    except (ValueError, TypeError) as error:
        named = str(error).startswith(str(path))
        raise ValueError(cut_short(str(error) if named else f"{path}: {error}", LONGEST_MESSAGE)) from None


def check_type(value: Any, kind: type[TokenType], name: str) -> TokenType:
    """Return the value. Raises ValueError, naming it, if it has another type; True is not an integer here."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name} must be {_KINDS[kind]}, not {_shorten(value)}")
    return value


_KINDS: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "an integer",
    bool: "true or false",
}


def _shorten(value: Any) -> str:
    return cut_short(repr(value))


def place_tokens(entries: Iterable[tuple[int, Text]]) -> list[Text | None]:
    """Return the tokens of (id, token) in the order of their ids, with None for an unused id.

    Raises ValueError for an id that is negative, enormous, or that of two tokens, and for an enormous token.
    """
    by_id: dict[int, Text] = {}
    for i, token in entries:
        if not 0 <= i < MOST_TOKENS:
            raise ValueError(f"token {_shorten(token)} has the id {i}; ids go from 0 to {MOST_TOKENS - 1:,}")
        if i in by_id:
            raise ValueError(f"tokens {_shorten(by_id[i])} and {_shorten(token)} both have the id {i}")
        if len(token) > LONGEST_TOKEN:
            raise ValueError(f"the token with the id {i} is longer than {LONGEST_TOKEN:,}")
        by_id[i] = token
    return [by_id.get(i) for i in range(max(by_id, default=-1) + 1)]
