"""WikiText-2: articles of the English Wikipedia as lines of words, with rare words replaced by `<unk>`.

Merity et al., Pointer Sentinel Mixture Models, 2016. The course uses a cleaned copy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from bpe._files import write_atomically
from bpe.corpora import WIKITEXT2_SPLITS, wikitext2_path

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


def check_figures(cleaned: Mapping[str, str]) -> None:
    """Raise ValueError, with both totals, if a cleaned split is not the text the course expects."""
    for split, expected in EXPECTED.items():
        if (found := figures(cleaned[split])) != expected:
            names = [name.replace("_", " ") for name in Figures._fields]
            expectation, finding = (
                ", ".join(f"{number:,} {name}" for number, name in zip(totals, names, strict=True))
                for totals in (expected, found)
            )
            raise ValueError(f"the split {split!r} is another text: expected {expectation}; found {finding}")


def is_prepared() -> bool:
    """Return whether every split has been prepared."""
    return all(wikitext2_path(split).is_file() for split in WIKITEXT2_SPLITS)


def write(raw: Mapping[str, str], *, check: bool = False) -> None:
    """Clean the text of each split and write it.

    check: whether to refuse a text with other totals than EXPECTED.

    Raises ValueError for a split without text and as `check_figures`, before anything is written, and
    OSError.
    """
    cleaned = {split: clean(raw[split]) for split in WIKITEXT2_SPLITS}
    for split, text in cleaned.items():
        if not text:
            raise ValueError(f"the split {split!r} holds no text")
    if check:
        check_figures(cleaned)
    for split, text in cleaned.items():
        path = wikitext2_path(split)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode("utf-8"))
