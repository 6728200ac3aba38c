"""The engines: three versions of the same two loops, which give the same merges and the same ids.

Each is a module with `learn_merges` and `apply_merges`, on integers from 0 on: `bpe.naive` is the one to
read, `bpe.incremental` does not look at the whole text again and again, `bpe.compiled` needs Numba.
"""

from __future__ import annotations

import importlib
import warnings
from functools import cache
from importlib.util import find_spec
from typing import Any

ENGINES = ("auto", "naive", "incremental", "compiled")
# Characters from which on "auto" takes the compiled engine, if Numba is there: loading it takes a second, in
# which the incremental one is done with less.
WORTH_COMPILING = 100_000


def engine_for(name: str, size: int) -> str:
    """The engine of that name; for "auto", the one that suits a text of `size` characters.

    Raises ValueError for an unknown name, ModuleNotFoundError for "compiled" where Numba is not installed.
    """
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}: choose from {', '.join(map(repr, ENGINES))}")
    if name == "auto":
        return "compiled" if size >= WORTH_COMPILING and find_spec("numba") and _loads() else "incremental"
    if name == "compiled" and not find_spec("numba"):
        raise ModuleNotFoundError(
            "the compiled engine needs Numba, which is not installed: python -m pip install numba"
        )
    return name


@cache
def _loads() -> bool:
    """Whether Numba, which is installed, can be loaded: it refuses a numpy newer than it knows."""
    try:
        import numba  # noqa: F401
    except Exception as error:  # whatever keeps it from loading, there is another engine
        warnings.warn(f"Numba can't be loaded, so long texts take longer: {error}", stacklevel=3)
        return False
    return True


def engine_named(name: str) -> Any:
    """The module of an engine, with its `learn_merges` and `apply_merges`."""
    return importlib.import_module(f"bpe.{name}")
