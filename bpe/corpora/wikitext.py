"""WikiText-2: articles of the English Wikipedia as lines of words, rare words replaced by `<unk>`.

Merity et al., Pointer Sentinel Mixture Models, 2016. The course works with a cleaned copy.
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
    """What can be counted in a split, in any order of its articles."""

    characters: int
    different_characters: int
    lines: int
    titles: int  # lines `= Title =`; a few of them stand in lists and begin no article


EXPECTED = {
    "train": Figures(10_707_001, 283, 23_767, 629),
    "valid": Figures(1_112_672, 122, 2_461, 60),
    "test": Figures(1_246_302, 120, 2_891, 62),
}
ARTICLES = {"train": 600, "valid": 60, "test": 60}


def clean(text: str) -> str:
    """The text without empty lines and without white space around its lines; each ends in a line feed.

    >>> clean(" = Title = \\n \\n A line . \\n")
    '= Title =\\nA line .\\n'
    """
    lines = (line.strip() for line in text.split("\n"))
    return "".join(f"{line}\n" for line in lines if line)


def figures(text: str) -> Figures:
    """What is in a cleaned split."""
    return Figures(len(text), len(set(text)), text.count("\n"), len(_TITLE.findall(text)))


def prepared() -> bool:
    """Whether all splits are there."""
    return all(wikitext2_path(split).is_file() for split in WIKITEXT2_SPLITS)


def write(raw: Mapping[str, str]) -> None:
    """Clean the text of each split and write it.

    Raises ValueError for a split without text, before anything is written, and OSError.
    """
    cleaned = {split: clean(raw[split]) for split in WIKITEXT2_SPLITS}
    for split, text in cleaned.items():
        if not text:
            raise ValueError(f"the split {split!r} holds no text")
    for split, text in cleaned.items():
        path = wikitext2_path(split)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode("utf-8"))
