"""The prepared corpora: their text, or an error that names the command which prepares them."""

from __future__ import annotations

import os
from pathlib import Path

from bpe import textfiles

TANG_POEMS = "tang_poems.txt"
WIKITEXT2 = "wikitext2"
WIKITEXT2_SPLITS = ("train", "valid", "test")


def data_folder() -> Path:
    """Where the course reads and writes its data.

    The folder named by the environment variable BPE_DATA, else `data/` of the checkout this module
    runs from, else the platform's folder for user data.
    """
    if named := os.environ.get("BPE_DATA"):
        return Path(named).expanduser()
    checkout = Path(__file__).resolve().parent.parent
    if (checkout / "prepare_poems.py").is_file():
        return checkout / "data"
    import platformdirs

    return platformdirs.user_data_path("bpe-course")


def tang_poems() -> list[str]:
    """The 35,135 Tang poems, shuffled, each without its line end.

    Raises FileNotFoundError, naming the command to run, when they have not been prepared.
    """
    path = data_folder() / TANG_POEMS
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is not there yet. Make it with `python prepare_poems.py` in the course's folder."
        ) from None
    return text.splitlines()


def wikitext2_path(split: str) -> Path:
    """Where a split of WikiText-2 lies once it is prepared. Raises ValueError for an unknown split."""
    if split not in WIKITEXT2_SPLITS:
        raise ValueError(f"unknown split {split!r}: choose from {', '.join(map(repr, WIKITEXT2_SPLITS))}")
    return data_folder() / WIKITEXT2 / f"{split}.txt"


def wikitext2(split: str) -> str:
    """The cleaned text of a split of WikiText-2: "train", "valid" or "test".

    Raises FileNotFoundError, naming the command to run, when it has not been prepared.
    """
    path = wikitext2_path(split)
    try:
        return textfiles.read(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is not there yet. Make it with `python -m bpe wikitext2`.") from None
