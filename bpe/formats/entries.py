"""What all formats share: JSON that may be damaged or hostile, and ids that must make up a vocabulary."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from bpe._files import decode_utf8

# The largest vocabulary so far has a few hundred thousand tokens. A hostile id would fill the memory.
MOST_TOKENS = 10_000_000

TokenType = TypeVar("TokenType")


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Put the file's name before whatever is found wrong in it, as one kind of error: ValueError."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises OSError, and ValueError where it is no JSON or repeats a key."""
    try:
        return json.loads(decode_utf8(path.read_bytes(), "the file"), object_pairs_hook=_unrepeated)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {repeated!r} stands twice in one object")
    return entries


def of_type(value: Any, kind: type[TokenType], name: str) -> TokenType:
    """The value. Raises ValueError, naming it, where it is of another type; True is no integer here."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name} must be {_KINDS[kind]}, not {_shown(value)}")
    return value


_KINDS: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "an integer",
    bool: "true or false",
}


def _shown(value: Any, length: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= length else text[:length] + "…"


def placed(entries: Iterable[tuple[int, TokenType]]) -> list[TokenType | None]:
    """The tokens of (id, token) in a list, None where an id is not in use.

    Raises ValueError for an id that is negative, enormous, or given to two tokens.
    """
    by_id: dict[int, TokenType] = {}
    for i, token in entries:
        if not 0 <= i < MOST_TOKENS:
            raise ValueError(f"token {_shown(token)} has the id {i}; ids go from 0 to {MOST_TOKENS - 1:,}")
        if i in by_id:
            raise ValueError(f"tokens {_shown(by_id[i])} and {_shown(token)} both have the id {i}")
        by_id[i] = token
    return [by_id.get(i) for i in range(max(by_id, default=-1) + 1)]
