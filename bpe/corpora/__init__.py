"""The prepared corpora. If one is missing, the error names the command that prepares it."""

from __future__ import annotations

import contextlib
from pathlib import Path

from bpe._files import data_folder, newest, read_text

TANG_POEMS = "tang_poems.txt"
WIKITEXT2 = "wikitext2"
WIKITEXT2_SPLITS = ("train", "valid", "test")

# The files of each corpus, in the data folder, and the command that makes them.
FILES = {
    "tang_poems": [TANG_POEMS],
    "wikitext2": [f"{WIKITEXT2}/{split}.txt" for split in WIKITEXT2_SPLITS],
}
COMMANDS = {"tang_poems": "python prepare_poems.py", "wikitext2": "python -m bpe wikitext2"}


class MissingDataError(FileNotFoundError):
    """A file that the course prepares is missing. A notebook shows the first line alone: how to get it."""

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows instead of a traceback."""
        from bpe._visible import visible  # needs the package regex, which may be missing too

        return visible(str(self)).splitlines()[:1]


def how_to_get(path: Path, command: str) -> str:
    """Return the sentence that answers a missing file, which `command` prepares."""
    to_do = f"run `make data` in the course's folder (without make: `{command}`)"
    return f"{path} is missing. To get it, {to_do}."


def missing_files(corpus: str) -> list[Path]:
    """Return the files of a corpus, one of FILES, that have not been prepared."""
    return [path for name in FILES[corpus] if not newest(path := data_folder() / name).is_file()]


def _read(path: Path, corpus: str) -> str:
    for _ in range(3):  # another process may be replacing the file
        with contextlib.suppress(FileNotFoundError):
            return read_text(newest(path))
    raise MissingDataError(how_to_get(path, COMMANDS[corpus]))


def tang_poems() -> list[str]:
    """Return the 35,135 Tang poems in shuffled order, each without its newline.

    Raises MissingDataError, a FileNotFoundError that names the command, if they have not been prepared.
    """
    return _read(data_folder() / TANG_POEMS, "tang_poems").splitlines()


def wikitext2_path(split: str) -> Path:
    """Return the path of a prepared split of WikiText-2. Raises ValueError for an unknown split."""
    if split not in WIKITEXT2_SPLITS:
        raise ValueError(f"unknown split {split!r}: choose from {', '.join(map(repr, WIKITEXT2_SPLITS))}")
    return data_folder() / WIKITEXT2 / f"{split}.txt"


def wikitext2(split: str) -> str:
    """Return the cleaned text of a split of WikiText-2: "train", "valid" or "test".

    Raises MissingDataError, as `tang_poems`, if it has not been prepared.
    """
    return _read(wikitext2_path(split), "wikitext2")
