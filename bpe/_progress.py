"""Progress bars: shown to people, hidden where output is compared or nobody watches."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")


def wanted() -> bool:
    """Whether to show a bar: at a terminal and in a notebook, unless CI or BPE_PROGRESS=0 is set."""
    if os.environ.get("CI") or os.environ.get("BPE_PROGRESS") == "0":
        return False
    return sys.stderr.isatty() or _in_notebook()


def _in_notebook() -> bool:
    """Whether this is a notebook's kernel; IPython is not imported to find out."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def show_progress(
    items: Iterable[Item], total: int, progress: bool | Callable[[Item], object] | None, **bar: Any
) -> Iterator[Item]:
    """Yield the items, showing a bar on stderr or calling a function with each.

    progress: True for a bar, False for none, None for a bar if `wanted` says so, or the function.
    """
    if callable(progress):
        for item in items:
            progress(item)
            yield item
    elif progress or (progress is None and wanted()):
        from tqdm import tqdm

        # In a notebook, a bar of text on stdout: a widget becomes an error message when the notebook is
        # opened again, and stderr is shown in red.
        file = sys.stdout if _in_notebook() else sys.stderr
        yield from tqdm(items, total=total, leave=False, file=file, **{"delay": 1, **bar})
    else:
        yield from items
