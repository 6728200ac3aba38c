"""Compiling by Numba, with the machine code kept on disk: a help where that works, and never why it fails."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile at the first call, and keep the machine code on disk for the next process."""
    dispatcher: Any = numba.njit(nogil=True)(function)
    with suppress(RuntimeError):  # no folder can be written: then each process compiles anew
        # What njit(cache=True) does with Numba's own.
        dispatcher._cache = _Cache(function)  # type: ignore[no-untyped-call]
    return cast(Function, dispatcher)


class _Cache(FunctionCache):
    """Numba's cache of a function. A damaged file is one that is not there, and a full disk no error."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
            # Two processes that write at once, for other types each, may give their files the same name.
            if found is None or found.signature.args == tuple(sig):
                return found
        except Exception:  # what is damaged may raise anything when it is unpickled
            pass
        self._forget()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except BaseException as error:
            # The list is written first, and may now name a file that an older version of the code left.
            self._forget()
            if not isinstance(error, OSError):
                raise

    def _forget(self) -> None:
        """Write an empty list of what is kept; all of it is compiled again then."""
        with suppress(OSError):
            self.flush()  # type: ignore[no-untyped-call]
