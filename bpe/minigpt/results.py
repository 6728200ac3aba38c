"""Measurements that take longer than a chapter may: made by a command, kept in the checkout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bpe._files import checkout, data_folder, write_atomically

# What makes a result; all others come from the file of their name in benchmarks/.
COMMANDS = {
    f"minigpt_{profile}": f"python -m bpe minigpt experiment --profile {profile}"
    for profile in ("tiny", "small", "gpu")
} | {"benchmarks": "make bench"}
FOLDER = (root / "data" if (root := checkout()) else data_folder()) / "results"


def read(name: str) -> dict[str, Any]:
    """What was measured.

    Raises FileNotFoundError, naming the command to run, where it is missing, ValueError where it is no JSON.
    """
    path = FOLDER / f"{name}.json"
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        command = COMMANDS.get(name, f"python benchmarks/{name}.py")
        raise FileNotFoundError(
            f"{path} is not there. `{command}` measures it, in the course's folder."
        ) from None
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    return content


def write(name: str, content: dict[str, Any]) -> Path:
    """Store what was measured; an earlier file is replaced only when all is written."""
    path = FOLDER / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8"))
    return path
