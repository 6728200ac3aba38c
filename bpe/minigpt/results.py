"""Stored measurements, for what takes longer than a chapter may. A command makes them, chapters read them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from bpe._files import checkout, data_folder, read_json, write_atomically

# The command that makes a result; for any other name it is the file of that name in benchmarks/.
COMMANDS = {
    f"minigpt_{profile}": f"python -m bpe minigpt experiment --profile {profile}"
    for profile in ("tiny", "small", "gpu")
} | {"benchmarks": "make bench"}

LARGEST_FILE = 100_000_000  # bytes


def _folder() -> Path:
    """The checkout's data/results, where results are committed; without a checkout, in the data folder."""
    root = checkout()
    return (root / "data" if root else data_folder()) / "results"


FOLDER = _folder()


def read(name: str) -> dict[str, Any]:
    """Read a stored measurement.

    Raises FileNotFoundError, naming the command that makes it, if the file is missing, and ValueError if it
    is damaged or if `name` is not the name of a file in the folder.
    """
    path = _path(name)
    try:
        content = read_json(path, LARGEST_FILE)
    except FileNotFoundError:
        command = COMMANDS.get(name, f"python benchmarks/{name}.py")
        raise FileNotFoundError(
            f"{path} is missing. `{command}` measures it, run in the course's folder."
        ) from None
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} is damaged: it does not hold an object")
    return content


def write(name: str, content: dict[str, Any]) -> Path:
    """Store a measurement; an earlier file is replaced only once the new one is complete.

    Raises OSError, and ValueError as `read` for the name and for numbers that JSON does not have.
    """
    path = _path(name)
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (text + "\n").encode("utf-8"))
    return path


def _path(name: str) -> Path:
    if not re.fullmatch(r"[\w-]+(\.[\w-]+)*", name):
        raise ValueError(
            f"{name!r} is not the name of a measurement: letters, digits, '_', '-' and '.' make one"
        )
    return FOLDER / f"{name}.json"
