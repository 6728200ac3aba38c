"""The learner's cells: the line at which code failed, and cells that failed to define what is checked."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Collection, Iterator
from types import FrameType
from typing import Any

LONGEST_LINE = 80  # characters of a line that is quoted

# What a cell defines: functions, and values such as `counterexample = ...`.
_DEFINITION = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)|^(\w+)[ \t]*=(?!=)", re.MULTILINE)


# -- the line at which the learner's code failed ------------------------------------------------------------


def find_line(error: BaseException, files: Collection[str]) -> str:
    """Return the learner's line at which an error was raised, such as "line 3: `x = y[5]`", or "".

    files: the file names of the learner's functions. A line of any cell of the notebook counts too; the last
    one wins, for what it calls, in the module or elsewhere, is not the learner's.
    """
    own = [(frame, number) for frame, number in _walk(error) if _is_own(frame, files)]
    if not own:
        return ""
    frame, number = own[-1]
    line = linecache.getline(frame.f_code.co_filename, number, frame.f_globals).strip()
    if len(line) > LONGEST_LINE:
        line = f"{line[: LONGEST_LINE - 1]}…"
    return f"line {number}: `{line}`" if line else f"line {number}"


def _walk(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame, step.tb_lineno
        step = step.tb_next


def _is_own(frame: FrameType, files: Collection[str]) -> bool:
    name = frame.f_code.co_filename
    if str(frame.f_globals.get("__name__", "")).split(".")[0] == "bpe" or name.startswith("<frozen "):
        return False
    return name in files or _is_cell(name)


def _is_cell(name: str) -> bool:
    """Whether a file name is that of a cell: its lines are kept in memory, with no time of a change."""
    return name.startswith("<") or linecache.cache.get(name, (0, 0.0))[1:2] == (None,)


# -- cells that failed --------------------------------------------------------------------------------------


class Cells:
    """What the cells of a notebook failed to define.

    A name is stale if the latest cell that defines it failed, by a SyntaxError or before the definition, and
    so left what the name stood for.
    """

    def __init__(self) -> None:
        self.stale: dict[str, tuple[object, str]] = {}  # name: what it still stands for, why
        self.before: dict[str, object] = {}  # what the names of the running cell stood for

    def begin(self, names: Collection[str], namespace: dict[str, Any]) -> None:
        """Note what the names stand for before a cell that defines them is run."""
        self.before = {name: namespace[name] for name in names if name in namespace}

    def end(self, names: Collection[str], namespace: dict[str, Any], error: BaseException | None) -> None:
        """Note which of the names the cell defined, and which it did not, by what error."""
        for name in names:
            if error is not None and name in self.before and namespace.get(name) is self.before[name]:
                self.stale[name] = (self.before[name], _explain(error))
            else:
                self.stale.pop(name, None)
        self.before = {}

    def why_stale(self, name: str, answer: object) -> str | None:
        """Return why an answer is not what the learner wrote last, or None."""
        old, why = self.stale.get(name, (None, ""))
        return why if why and old is answer else None


CELLS = Cells()


def _explain(error: BaseException) -> str:
    kind = type(error).__name__
    if isinstance(error, SyntaxError) and error.lineno:
        line = (error.text or "").strip()[:LONGEST_LINE]
        return f"{kind} in line {error.lineno}" + (f": `{line}`" if line else "")
    return kind


def follow_notebook() -> None:
    """Follow the cells of the notebook that this runs in, if any; IPython is not imported to find out."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython else None
    if shell is None or not hasattr(shell, "events"):
        return

    def begin(info: Any) -> None:
        CELLS.begin(_find_names(info), shell.user_ns)

    def end(result: Any) -> None:
        CELLS.end(_find_names(result.info), shell.user_ns, result.error_before_exec or result.error_in_exec)

    shell.events.register("pre_run_cell", begin)
    shell.events.register("post_run_cell", end)


def _find_names(info: Any) -> set[str]:
    return {name for found in _DEFINITION.findall(info.raw_cell or "") for name in found if name}
