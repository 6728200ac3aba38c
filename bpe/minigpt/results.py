"""Stored measurements, for what takes longer than a chapter may. A command makes them, chapters read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bpe._files import checkout, data_folder, write_atomically

# The command that makes a result; for any other name it is the file of that name in benchmarks/.
COMMANDS = {
    f"minigpt_{profile}": f"python -m bpe minigpt experiment --profile {profile}"
    for profile in ("tiny", "small", "gpu")
} | {"benchmarks": "make bench"}


def _folder() -> Path:
    """The checkout's data/results, where results are committed; without a checkout, in the data folder."""
    root = checkout()
    return (root / "data" if root else data_folder()) / "results"


FOLDER = _folder()


def read(name: str) -> dict[str, Any]:
    """Read a stored measurement.

    Raises FileNotFoundError, naming the command that makes it, if the file is missing, and ValueError if it
    is damaged.
    """
    path = FOLDER / f"{name}.json"
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        command = COMMANDS.get(name, f"python benchmarks/{name}.py")
        raise FileNotFoundError(
            f"{path} is missing. `{command}` measures it, run in the course's folder."
        ) from None
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    return content


def write(name: str, content: dict[str, Any]) -> Path:
    """Store a measurement; an earlier file is replaced only once the new one is complete."""
    path = FOLDER / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8"))
    return path
