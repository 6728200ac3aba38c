"""What has been done: the verdicts of a learner, kept in `work/progress.json` beside the working copies."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from bpe import _files, _progress

FILE = "progress.json"
LOCK = ".progress.lock"
DAMAGED = "progress damaged.json"  # what such a file is kept as; one is enough
VERSION = 1
LARGEST = 1_000_000  # bytes; ours has about 3,000
PATIENCE = 5.0  # seconds to wait for another notebook that writes

NOT_STARTED, NOT_YET, CORRECT = "not started", "not yet", "correct"

Entry = dict[str, Any]  # {"latest": the latest verdict, "reached": whether it was correct once}


def remember(chapter: str, exercise: str, verdict: str) -> None:
    """Write down the verdict on an exercise, if this is a learner's notebook; never raise an error.

    chapter: such as "03". exercise: such as "1".
    """
    if (folder := find_folder()) is None:
        return
    with (
        suppress(OSError, ValueError, NotImplementedError),
        _locked(folder),
    ):  # read-only, no locks, a full disk
        entries = _read(folder, keep_damaged=True)
        key = f"{chapter}.{exercise}"
        reached = verdict == CORRECT or entries.get(key, {}).get("reached", False)
        entries[key] = {"latest": verdict, "reached": reached}
        content = {"version": VERSION, "exercises": dict(sorted(entries.items()))}
        _files.write_atomically(
            folder / FILE, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8")
        )


def recall() -> dict[str, Entry]:
    """Return what is written down: {"03.1": {"latest": "not yet", "reached": True}, …}."""
    if (folder := find_folder()) is None:
        return {}
    with suppress(OSError):
        return _read(folder)
    return {}


def find_folder() -> Path | None:
    """Return the folder of the working copies, or None if nothing is to be written or read.

    That is so without a checkout or copies, if nobody watches (with `CI` set, under pytest, nbval and
    nbclient), and in a solution.
    """
    root = _files.checkout()
    if root is None or not (root / "work").is_dir() or _is_test() or not _progress.is_watched():
        return None
    return None if _is_solution() else root / "work"


def _is_test() -> bool:
    return "PYTEST_CURRENT_TEST" in os.environ


def _is_solution() -> bool:
    notebook = os.environ.get("JPY_SESSION_NAME", "").replace("\\", "/")
    return Path.cwd().name == "solutions" or "/solutions/" in f"/{notebook}"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one notebook at a time write. Raises OSError if another one does for too long."""
    import filelock

    with filelock.FileLock(folder / LOCK, timeout=PATIENCE):  # its Timeout is an OSError
        yield


def _read(folder: Path, keep_damaged: bool = False) -> dict[str, Entry]:
    """Read the entries; a damaged file, or one of another version, counts as none.

    keep_damaged: whether to set it aside, for the next one takes its place.
    """
    path = folder / FILE
    try:
        return _check(_files.read_json(path, LARGEST))
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError, LookupError):
        if keep_damaged:
            path.replace(folder / DAMAGED)
        return {}


def _check(content: Any) -> dict[str, Entry]:
    """Return the entries of a file. Raises ValueError and what comes of a wrong type."""
    if content["version"] != VERSION:
        raise ValueError("another version")
    for key, entry in content["exercises"].items():
        if not re.fullmatch(r"\d\d\.\d+", key) or entry["latest"] not in (NOT_STARTED, NOT_YET, CORRECT):
            raise ValueError("not an entry of ours")
        if not isinstance(entry["reached"], bool):
            raise ValueError("not an entry of ours")
    entries: dict[str, Entry] = content["exercises"]
    return entries


# -- all exercises ------------------------------------------------------------------------------------------


def find_exercises() -> dict[str, list[str]]:
    """Return the exercises of all chapters: {"01": ["1", "2", "3"], …}."""
    found = {}
    folder = str(Path(__file__).parent)
    for name in sorted(module.name for module in iter_modules([folder])):
        if name.startswith("chapter_"):
            checks = vars(import_module(f"bpe.checks.{name}"))
            numbers = [key.removeprefix("exercise_") for key in checks if key.startswith("exercise_")]
            found[name.removeprefix("chapter_")] = sorted(numbers, key=int)
    return found


def find_state(entry: Entry | None) -> str:
    """Return the state of an exercise: once it was correct, it stays so."""
    if entry is None:
        return NOT_STARTED
    return CORRECT if entry["reached"] else str(entry["latest"])


def find_notebook(chapter: str) -> str:
    """Return the name of a chapter's notebook, such as "03_naive_bpe", or "03" without a checkout."""
    root = _files.checkout()
    found = sorted((root / "notebooks").glob(f"{chapter}_*.ipynb")) if root else []
    return found[0].stem if found else chapter
