"""The prepared corpora: their text, or an error that names the command which prepares them."""

from __future__ import annotations

from pathlib import Path

from bpe._files import data_folder, read_text

TANG_POEMS = "tang_poems.txt"
WIKITEXT2 = "wikitext2"
WIKITEXT2_SPLITS = ("train", "valid", "test")


# What each corpus is made of, in the data folder, and the command that makes it.
FILES = {
    "tang_poems": [TANG_POEMS],
    "wikitext2": [f"{WIKITEXT2}/{split}.txt" for split in WIKITEXT2_SPLITS],
}
COMMANDS = {"tang_poems": "python prepare_poems.py", "wikitext2": "python -m bpe wikitext2"}


def missing_files(corpus: str) -> list[Path]:
    """The files of a corpus, one of FILES, that have not been prepared."""
    return [path for name in FILES[corpus] if not (path := data_folder() / name).is_file()]


def _read(name: str, corpus: str) -> str:
    path = data_folder() / name
    try:
        return read_text(path)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is not there yet. Make it with `{COMMANDS[corpus]}` in the course's folder."
        ) from None


def tang_poems() -> list[str]:
    """The 35,135 Tang poems, shuffled, each without its line end.

    Raises FileNotFoundError, naming the command to run, when they have not been prepared.
    """
    return _read(TANG_POEMS, "tang_poems").splitlines()


def wikitext2_path(split: str) -> Path:
    """Where a split of WikiText-2 lies once it is prepared. Raises ValueError for an unknown split."""
    if split not in WIKITEXT2_SPLITS:
        raise ValueError(f"unknown split {split!r}: choose from {', '.join(map(repr, WIKITEXT2_SPLITS))}")
    return data_folder() / WIKITEXT2 / f"{split}.txt"


def wikitext2(split: str) -> str:
    """The cleaned text of a split of WikiText-2: "train", "valid" or "test".

    Raises FileNotFoundError, naming the command to run, when it has not been prepared.
    """
    return _read(wikitext2_path(split).relative_to(data_folder()).as_posix(), "wikitext2")
