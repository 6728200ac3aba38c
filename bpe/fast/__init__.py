"""The same merges and ids without the waiting: engines that equal `bpe.naive`, tie for tie.

An engine is a module with `learn_merges` and `apply_merges` on integers from 0 on: `bpe.naive` is the one to
read, `bpe.fast.incremental` does not rescan the text, and `bpe.fast.compiled` needs Numba.
"""

from __future__ import annotations

import importlib
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

_MODULES = {
    "naive": "bpe.naive",
    "incremental": "bpe.fast.incremental",
    "compiled": "bpe.fast.compiled",
}
ENGINES = ("auto", *_MODULES)

# "auto" takes the compiled engine from this number of characters on. Loading it takes a second, in which the
# incremental engine finishes shorter texts.
WORTH_COMPILING = 100_000


class PieceCounts(Mapping[str, int]):
    """Counts of pieces that compiled code cut from a text, which need no checks.

    size: bytes in all different pieces together.
    """

    @property
    @abstractmethod
    def size(self) -> int: ...


def choose_engine(name: str, size: int) -> str:
    """Return the name of an engine; for "auto", the one that suits a text of `size` characters.

    Raises ValueError for an unknown name, ModuleNotFoundError for "compiled" if Numba is not installed.
    """
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}: choose from {', '.join(map(repr, ENGINES))}")
    if name == "auto":
        return "compiled" if size >= WORTH_COMPILING and find_spec("numba") and _can_load() else "incremental"
    if name == "compiled" and not find_spec("numba"):
        raise ModuleNotFoundError(
            "the compiled engine needs Numba, which is not installed: python -m pip install numba"
        )
    return name


@cache
def _can_load() -> bool:
    """Return whether Numba, which is installed, can be loaded: it refuses a numpy newer than it knows."""
    try:
        import numba  # noqa: F401
    except Exception as error:  # whatever the reason, there is another engine
        warnings.warn(f"Numba can't be loaded, so long texts take longer: {error}", stacklevel=3)
        return False
    return True


def load_engine(name: str) -> Any:
    """Import an engine: a module with `learn_merges` and `apply_merges`."""
    return importlib.import_module(_MODULES[name])


def count_pieces(text: str, expressions: Sequence[str]) -> PieceCounts | None:
    """Count the pieces of a text with compiled code; None if it is too short or its split is not compiled."""
    if choose_engine("auto", len(text)) != "compiled":
        return None
    compiled = load_engine("compiled")
    counts: PieceCounts | None = compiled.count(text, expressions) if compiled.knows(expressions) else None
    return counts
