"""Get the text of WikiText-2: from the Hugging Face hub, or from files on this machine."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Any

from bpe import _progress as progress
from bpe._files import read_text
from bpe.corpora.download import SourceError, probe, within

DATASET, CONFIGURATION = "Salesforce/wikitext", "wikitext-2-v1"
REVISION = "b08601e04326c79dfdd32d625aee71d232d685c3"
HUB = "https://huggingface.co"
HUB_SECONDS = 600.0
LARGEST = 30_000_000  # bytes of the files, and of their text; the data set states 7,371,282 and 13,323,188
LARGEST_TEXT = 1_000_000_000  # bytes of a text on this machine, which may be another one

# How the name of a split begins on the hub and in copies of the original files.
NAMES = {"train": "train", "valid": "validation|valid", "test": "test"}
SUFFIXES = ("txt", "tokens", "parquet")

BOTH_WAYS = f"""\
Either run this again where the hub can be reached (a copy that it fetched before is found without it),
or get the three files of {CONFIGURATION} from the data set {DATASET} by hand, for example as parquet, and run
    python -m bpe wikitext2 --source THEIR_FOLDER"""

log = logging.getLogger(__name__)


def from_hub() -> dict[str, str]:
    """Return the text of each split, from the hub or from the copy that `datasets` keeps of it.

    Sets HF_HUB_OFFLINE in the environment if the hub doesn't answer within seconds: without that, `datasets`
    retries for minutes. `datasets` itself retries failures that may pass.
    Raises SourceError, naming the alternatives, if the text is unavailable, takes longer than HUB_SECONDS, or
    is larger than LARGEST, by the sizes that the hub states before the download or by its rows after it.
    """
    hub = os.environ.get("HF_ENDPOINT", HUB)  # the variable that names a mirror
    try:
        probe(hub)
        log.info("Source: %s at revision %s of %s.", hub, REVISION[:8], DATASET)
    except SourceError as error:
        log.info("No answer from the hub (%s). Only a copy that was fetched before can be used.", error)
        os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        return within(HUB_SECONDS, hub, _load)
    except Exception as error:  # datasets raises errors of many packages
        message = str(error).strip() or type(error).__name__
        raise SourceError(f"WikiText-2 can't be fetched from the hub: {message}\n{BOTH_WAYS}") from error


def _load() -> dict[str, str]:
    # Imported only now, since both read HF_HUB_OFFLINE once, on import.
    import datasets  # type: ignore[import-untyped]
    import huggingface_hub

    if not huggingface_hub.is_offline_mode():
        files = huggingface_hub.list_repo_tree(
            DATASET, CONFIGURATION, revision=REVISION, repo_type="dataset", recursive=True
        )
        _check_size(sum(getattr(file, "size", 0) for file in files))
    if not progress.wanted():
        datasets.disable_progress_bars()
    splits = datasets.load_dataset(DATASET, CONFIGURATION, revision=REVISION)
    _check_size(sum(splits[split].data.nbytes for split in splits))
    return {
        "train": _join(splits["train"]),
        "valid": _join(splits["validation"]),
        "test": _join(splits["test"]),
    }


def _check_size(size: int) -> None:
    if size > LARGEST:
        raise SourceError(f"{CONFIGURATION} has {size:,} bytes, more than the limit of {LARGEST:,}")


def _join(split: Any) -> str:
    # Most rows end in a newline already; cleaning removes the empty lines between them.
    return "\n".join(split["text"])


def from_folder(folder: Path) -> dict[str, str]:
    """Return the text of each split, from a folder with one file for each.

    The files are named train, valid (or validation) and test, with anything before and after, and are
    text (.txt, .tokens) in UTF-8, or parquet with a column "text".
    Raises SourceError, saying which file is missing or wrong, and OSError.
    """
    log.info("Source: %s, as requested.", folder)
    files = {split: _find_file(split, folder) for split in NAMES}
    return {split: _read(path) for split, path in files.items()}


def _find_file(split: str, folder: Path) -> Path:
    pattern = rf"(.*[^a-z])?({NAMES[split]})([^a-z].*)?\.({'|'.join(SUFFIXES)})"
    found = sorted(path for path in folder.iterdir() if re.fullmatch(pattern, path.name, re.IGNORECASE))
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise SourceError(
            f"{folder} must hold one file for the split {split!r}, and it has {names}. The name should be "
            f"like {split}.txt, wiki.{split}.tokens or {split}-00000-of-00001.parquet."
        )
    return found[0]


def _read(path: Path) -> str:
    try:
        return _read_parquet(path) if path.suffix.lower() == ".parquet" else read_text(path, LARGEST_TEXT)
    except ValueError as error:
        raise SourceError(str(error)) from error


def _read_parquet(path: Path) -> str:
    """Return the column "text", a row a line. Raises ValueError for any other file."""
    try:
        from pyarrow import parquet  # type: ignore[import-untyped]
    except ImportError as error:
        raise SourceError(f"{error}; install it with: python -m pip install pyarrow") from error
    try:
        rows = parquet.read_table(path).to_pydict().get("text")
    except (OSError, ValueError) as error:  # pyarrow's own errors are one or the other
        if isinstance(error, OSError) and error.filename:
            raise
        raise ValueError(f"{path} is not a parquet file, or is damaged: {error}") from error
    if rows is None or not all(isinstance(row, str) for row in rows):
        raise ValueError(f'{path} has no column "text" of strings')
    return "\n".join(rows)
