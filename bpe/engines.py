"""The engines: three versions of the same two loops, which give the same merges and the same ids.

Each is a module with `learn_merges` and `apply_merges`, on integers: `bpe.naive` is the one to read,
`bpe.incremental` does not look at the whole text again and again, `bpe.compiled` needs Numba.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

ENGINES = ("auto", "naive", "incremental", "compiled")
# Characters from which on "auto" takes the compiled engine, if Numba is there: loading it takes a second, in
# which the incremental one is done with less.
WORTH_COMPILING = 100_000


def engine_for(name: str, size: int) -> str:
    """The engine of that name; for "auto", the one that suits a text of `size` characters.

    Raises ValueError for an unknown name.
    """
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}: choose from {', '.join(map(repr, ENGINES))}")
    if name == "auto":
        return "compiled" if size >= WORTH_COMPILING and find_spec("numba") else "incremental"
    return name


def engine_named(name: str) -> Any:
    """The module of an engine, with its `learn_merges` and `apply_merges`."""
    return importlib.import_module(f"bpe.{name}")
