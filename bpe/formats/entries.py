"""What all formats share: reading JSON that may be damaged or hostile, and turning ids into a vocabulary."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from bpe._files import decode_utf8

# The largest known vocabularies have a few hundred thousand tokens. A hostile id would fill the memory.
MOST_TOKENS = 10_000_000

TokenType = TypeVar("TokenType")


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Turn a ValueError or TypeError into a ValueError that begins with the file's name."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None


def read_json(path: Path) -> Any:
    """Read a JSON file. Raises OSError, and ValueError if it is not JSON or repeats a key."""
    try:
        return json.loads(decode_utf8(path.read_bytes(), "the file"), object_pairs_hook=_refuse_repeats)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for key, value in pairs:
        if key in entries:
            raise ValueError(f"the key {key!r} occurs twice in one object")
        entries[key] = value
    return entries


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


def _shorten(value: Any, length: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= length else text[:length] + "…"


def place_tokens(entries: Iterable[tuple[int, TokenType]]) -> list[TokenType | None]:
    """Return the tokens of (id, token) in the order of their ids, with None for an unused id.

    Raises ValueError for an id that is negative, enormous, or that of two tokens.
    """
    by_id: dict[int, TokenType] = {}
    for i, token in entries:
        if not 0 <= i < MOST_TOKENS:
            raise ValueError(f"token {_shorten(token)} has the id {i}; ids go from 0 to {MOST_TOKENS - 1:,}")
        if i in by_id:
            raise ValueError(f"tokens {_shorten(by_id[i])} and {_shorten(token)} both have the id {i}")
        by_id[i] = token
    return [by_id.get(i) for i in range(max(by_id, default=-1) + 1)]
