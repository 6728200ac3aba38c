"""Progress bars: shown to people, hidden where output is compared or nobody watches."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")


def wanted() -> bool:
    """Whether to show a bar: where someone watches, unless BPE_PROGRESS=0 is set."""
    return os.environ.get("BPE_PROGRESS") != "0" and is_watched()


def is_watched() -> bool:
    """Whether someone watches: at a terminal or in a notebook, and not with CI set."""
    if os.environ.get("CI"):
        return False
    return sys.stderr.isatty() or ((kernel := _kernel()) is not None and _has_reader(kernel))


def _kernel() -> Any:
    """Return the kernel of the notebook that this runs in, or None; IPython is not imported to find out."""
    ipython = sys.modules.get("IPython")
    return getattr(ipython.get_ipython(), "kernel", None) if ipython else None


def _has_reader(kernel: Any) -> bool:
    """Whether someone sees a notebook's outputs appear, as in JupyterLab.

    What runs notebooks unattended, to compare or to store their outputs, says with each cell that nobody can
    answer `input`: nbval, and nbclient, which is behind `jupyter execute`, nbconvert and papermill.
    """
    try:
        return bool(kernel.get_parent("shell")["content"]["allow_stdin"])
    except (AttributeError, LookupError):  # a kernel of another kind
        return True


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
        file = sys.stdout if _kernel() else sys.stderr
        yield from tqdm(items, total=total, leave=False, file=file, **{"delay": 1, **bar})
    else:
        yield from items
