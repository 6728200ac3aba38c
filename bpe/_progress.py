"""Whether to show a progress bar: yes to people, no where output is compared or nobody looks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")


def wanted() -> bool:
    """True at a terminal and in a notebook, unless CI or BPE_PROGRESS=0 is set in the environment."""
    if os.environ.get("CI") or os.environ.get("BPE_PROGRESS") == "0":
        return False
    return sys.stderr.isatty() or _in_notebook()


def _in_notebook() -> bool:
    """True in a notebook's kernel; IPython is asked only where it runs already."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def show_progress(
    items: Iterable[Item], total: int, progress: bool | Callable[[Item], object] | None, **bar: Any
) -> Iterator[Item]:
    """The items, with a bar on stderr, or with a function called for each.

    progress: True or False for a bar or none, None for a bar where `wanted` says so.
    """
    if callable(progress):
        for item in items:
            progress(item)
            yield item
    elif progress or (progress is None and wanted()):
        from tqdm import tqdm

        # In a notebook a bar of text, and not on stderr: a widget is an error message when the notebook
        # is opened again, and what stands on stderr is red.
        file = sys.stdout if _in_notebook() else sys.stderr
        yield from tqdm(items, total=total, leave=False, file=file, **{"delay": 1, **bar})
    else:
        yield from items
