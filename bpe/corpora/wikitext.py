"""WikiText-2: articles of the English Wikipedia as lines of words, with rare words replaced by `<unk>`.

Merity et al., Pointer Sentinel Mixture Models, 2016. The course uses a cleaned copy.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bpe._files import finish_replacing, is_replacing, replace_files
from bpe.corpora import WIKITEXT2_SPLITS, wikitext2_path
from bpe.corpora.download import fetching, sha256

LICENCE = "Creative Commons Attribution-ShareAlike (CC BY-SA)"
CITATION = (
    "Stephen Merity, Caiming Xiong, James Bradbury, Richard Socher: Pointer Sentinel Mixture Models, 2016"
)

_TITLE = re.compile(r"^= [^=].* =$", re.MULTILINE)


class Figures(NamedTuple):
    """The totals of a cleaned split, which don't depend on the order of its articles."""

    characters: int
    different_characters: int
    lines: int
    titles: int  # lines like `= Title =`; a few are list items and begin no article


EXPECTED = {
    "train": Figures(10_707_001, 283, 23_767, 629),
    "valid": Figures(1_112_672, 122, 2_461, 60),
    "test": Figures(1_246_302, 120, 2_891, 62),
}
SHA256 = {
    "train": "923a4cfefa5e513e4f622f8daa11995c1a5aa26a8668626368c7b19a2c9068e5",
    "valid": "6494b600c71f9fb83b4eb389b661035f7ff67d1c628bfb17119300576cfcaa67",
    "test": "9c068e2fd7937b38b734ed5fe0439c5265f39091bce7c214f8a76e08026051ae",
}
ARTICLES = {"train": 600, "valid": 60, "test": 60}


def clean(text: str) -> str:
    """Remove empty lines and the whitespace around lines. Every line ends in a newline.

    >>> clean(" = Title = \\n \\n A line . \\n")
    '= Title =\\nA line .\\n'
    """
    lines = (line.strip() for line in text.split("\n"))
    return "".join(f"{line}\n" for line in lines if line)


def figures(text: str) -> Figures:
    """Count what is in a cleaned split."""
    return Figures(len(text), len(set(text)), text.count("\n"), len(_TITLE.findall(text)))


def is_expected(split: str, text: str) -> bool:
    """Return whether a cleaned split is, byte for byte, the text of the course."""
    return sha256(text.encode("utf-8")) == SHA256[split]


def check(cleaned: Mapping[str, str]) -> None:
    """Raise ValueError, with both totals, if a cleaned split is not the text of the course."""
    for split, expected in EXPECTED.items():
        if not is_expected(split, cleaned[split]):
            found = figures(cleaned[split])
            names = [name.replace("_", " ") for name in Figures._fields]
            expectation, finding = (
                ", ".join(f"{number:,} {name}" for number, name in zip(totals, names, strict=True))
                for totals in (expected, found)
            )
            raise ValueError(f"the split {split!r} is another text: expected {expectation}; found {finding}")


def _folder() -> Path:
    return wikitext2_path("train").parent


def repair(log: logging.Logger) -> None:
    """Finish what a killed `write` began, if the folder can be written. Without that, the rest works too."""
    if is_replacing(_folder()):
        with contextlib.suppress(OSError), fetching(log):
            finish_replacing(_folder())


def write(raw: Mapping[str, str], *, checked: bool = False) -> None:
    """Clean the text of each split and write them all, or none. Let one process at a time do that.

    checked: whether to refuse another text than that of the course.

    Raises ValueError for a split without text and as `check`, before anything is written, and OSError.
    """
    cleaned = {split: clean(raw[split]) for split in WIKITEXT2_SPLITS}
    for split, text in cleaned.items():
        if not text:
            raise ValueError(f"the split {split!r} holds no text")
    if checked:
        check(cleaned)
    replace_files(_folder(), {wikitext2_path(split).name: text.encode() for split, text in cleaned.items()})
