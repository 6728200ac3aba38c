"""Where the text of WikiText-2 comes from: the Hugging Face hub, or files on this machine."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Any

from bpe import _progress as progress
from bpe._files import read_text
from bpe.corpora.downloads import SourceError, probe

DATASET, CONFIGURATION = "Salesforce/wikitext", "wikitext-2-v1"
REVISION = "b08601e04326c79dfdd32d625aee71d232d685c3"
HUB = "https://huggingface.co"

# How the names of a split begin on the hub and in copies of the original files.
NAMES = {"train": "train", "valid": "validation|valid", "test": "test"}
SUFFIXES = ("txt", "tokens", "parquet")

BOTH_WAYS = f"""\
Either run this again where the hub can be reached (a copy that it fetched before is found without it),
or get the three files of {CONFIGURATION} from the data set {DATASET} by hand, for example as parquet, and run
    python -m bpe wikitext2 --source THEIR_FOLDER"""

log = logging.getLogger(__name__)


def from_hub() -> dict[str, str]:
    """The text of each split, from the hub or from what was fetched from it before.

    Sets HF_HUB_OFFLINE in the environment when the hub does not answer within seconds: without that,
    `datasets` tries for minutes. What fails in passing, it tries again by itself.
    Raises SourceError, naming what else can be done.
    """
    hub = os.environ.get("HF_ENDPOINT", HUB)  # the variable by which people name a mirror
    try:
        probe(hub)
        log.info("Source: %s at revision %s of %s.", hub, REVISION[:8], DATASET)
    except SourceError as error:
        log.info("No answer from %s: %s. Only a copy that was fetched before can be used.", hub, error)
        os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        splits = _load_dataset()
    except Exception as error:  # datasets raises errors of many packages
        message = str(error).strip() or type(error).__name__
        raise SourceError(f"WikiText-2 can't be had from the hub: {message}\n{BOTH_WAYS}") from error
    return {
        "train": _joined(splits["train"]),
        "valid": _joined(splits["validation"]),
        "test": _joined(splits["test"]),
    }


def _load_dataset() -> Any:
    # Imported only now, since it reads HF_HUB_OFFLINE once, when it is imported.
    import datasets  # type: ignore[import-untyped]

    if not progress.wanted():
        datasets.disable_progress_bars()
    return datasets.load_dataset(DATASET, CONFIGURATION, revision=REVISION)


def _joined(split: Any) -> str:
    # Most rows end in a line feed of their own; the empty lines between them go when the text is cleaned.
    return "\n".join(split["text"])


def from_folder(folder: Path) -> dict[str, str]:
    """The text of each split, from a folder with one file for each.

    The files are named train, valid (or validation) and test, with anything before and after, and are
    text (.txt, .tokens) in UTF-8, or parquet with a column "text".
    Raises SourceError, saying which file is missing or wrong, and OSError.
    """
    log.info("Source: %s, as asked for.", folder)
    files = {split: _file_of(split, folder) for split in NAMES}
    return {split: _read(path) for split, path in files.items()}


def _file_of(split: str, folder: Path) -> Path:
    pattern = rf"(.*[^a-z])?({NAMES[split]})([^a-z].*)?\.({'|'.join(SUFFIXES)})"
    found = sorted(path for path in folder.iterdir() if re.fullmatch(pattern, path.name, re.IGNORECASE))
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise SourceError(
            f"{folder} must hold one file for the split {split!r}, and it has {names}. Such a file is named "
            f"like {split}.txt, wiki.{split}.tokens or {split}-00000-of-00001.parquet."
        )
    return found[0]


def _read(path: Path) -> str:
    try:
        return _read_parquet(path) if path.suffix.lower() == ".parquet" else read_text(path)
    except ValueError as error:
        raise SourceError(str(error)) from error


def _read_parquet(path: Path) -> str:
    """The rows of the column "text". Raises ValueError for another file."""
    try:
        from pyarrow import parquet  # type: ignore[import-untyped]
    except ImportError as error:
        raise SourceError(f"{error}; install it with: python -m pip install pyarrow") from error
    try:
        rows = parquet.read_table(path).to_pydict().get("text")
    except ValueError as error:  # pyarrow's errors are ValueErrors
        raise ValueError(f"{path} is not a parquet file, or is damaged: {error}") from error
    if rows is None or not all(isinstance(row, str) for row in rows):
        raise ValueError(f'{path} has no column "text" of strings')
    return "\n".join(rows)
