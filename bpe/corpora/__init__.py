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


def missing_files(corpus: str) -> list[Path]:
    """Return the files of a corpus, one of FILES, that have not been prepared."""
    return [path for name in FILES[corpus] if not newest(path := data_folder() / name).is_file()]


def _read(path: Path, corpus: str) -> str:
    for _ in range(3):  # another process may be replacing the file
        with contextlib.suppress(FileNotFoundError):
            return read_text(newest(path))
    raise FileNotFoundError(f"{path} is missing. Make it with `{COMMANDS[corpus]}` in the course's folder.")


def tang_poems() -> list[str]:
    """Return the 35,135 Tang poems in shuffled order, each without its newline.

    Raises FileNotFoundError, naming the command to run, if they have not been prepared.
    """
    return _read(data_folder() / TANG_POEMS, "tang_poems").splitlines()


def wikitext2_path(split: str) -> Path:
    """Return the path of a prepared split of WikiText-2. Raises ValueError for an unknown split."""
    if split not in WIKITEXT2_SPLITS:
        raise ValueError(f"unknown split {split!r}: choose from {', '.join(map(repr, WIKITEXT2_SPLITS))}")
    return data_folder() / WIKITEXT2 / f"{split}.txt"


def wikitext2(split: str) -> str:
    """Return the cleaned text of a split of WikiText-2: "train", "valid" or "test".

    Raises FileNotFoundError, naming the command to run, if it has not been prepared.
    """
    return _read(wikitext2_path(split), "wikitext2")
