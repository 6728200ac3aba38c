"""Compile with Numba and keep the machine code on disk: a help if that works, harmless if it fails."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

Function = TypeVar("Function", bound=Callable[..., Any])


def compile_kernel(function: Function) -> Function:
    """Compile a function at its first call, and keep the machine code on disk for the next process."""
    dispatcher: Any = numba.njit(nogil=True)(function)
    with suppress(RuntimeError, OSError):  # nowhere to write, or no source: each process compiles again
        # What njit(cache=True) does with Numba's own class.
        dispatcher._cache = _Cache(function)
    return cast(Function, dispatcher)


@cache
def hash_sources(folder: Path) -> str:
    """Return the SHA-256 of all Python files in a folder, names included, in hexadecimal."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix == ".py":
            source = path.read_bytes()
            digest.update(f"{path.name} {len(source)}\n".encode() + source)
    return digest.hexdigest()


class _Cache(FunctionCache):
    """Numba's cache of a function, for kernels of several files and for files that may be damaged.

    Plain `cache=True` notices changes only in the function's own file, though the machine code includes the
    kernels that it calls in other files, and it raises an error for damaged files and full disks.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file._source_stamp = hash_sources(Path(function.__code__.co_filename).parent)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
            # Two processes that write at once, each for other types, may give their files the same name.
            if found is None or found.signature.args == tuple(sig):
                return found
        except Exception:  # unpickling a damaged file may raise anything
            pass
        self._forget()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except BaseException as error:
            # The index is written first, and may now name a file that an older version of the code left.
            self._forget()
            if not isinstance(error, OSError):
                raise

    def _forget(self) -> None:
        """Write an empty index, so that every signature is compiled again."""
        with suppress(OSError):
            self.flush()  # type: ignore[no-untyped-call]
