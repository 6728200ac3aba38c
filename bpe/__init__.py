"""The companion module of the course: what the notebooks build, each thing once.

Everything is imported on first use, so `import bpe` is quick and needs none of numpy, torch, numba,
matplotlib and datasets.
"""

from __future__ import annotations

import importlib as _importlib
import pkgutil as _pkgutil
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from pathlib import Path as _Path

    from bpe.bytepair import BPETokenizer
    from bpe.characters import CharTokenizer
    from bpe.counting import count_pieces
    from bpe.naive import MergeStep, count_pairs, merge_pair
    from bpe.subwords.unigram import Unigram
    from bpe.subwords.wordpiece import WordPiece
    from bpe.subwords.words import WordBPE
    from bpe.tokenizer import Tokenizer

    def load_tokenizer(path: str | _Path) -> Tokenizer:
        return Tokenizer.load(path)


__all__ = [
    "BPETokenizer",
    "CharTokenizer",
    "MergeStep",
    "Tokenizer",
    "Unigram",
    "WordBPE",
    "WordPiece",
    "count_pairs",
    "count_pieces",
    "load_tokenizer",
    "merge_pair",
]

_HOMES = {
    "BPETokenizer": "bpe.bytepair",
    "CharTokenizer": "bpe.characters",
    "MergeStep": "bpe.naive",
    "Tokenizer": "bpe.tokenizer",
    "Unigram": "bpe.subwords.unigram",
    "WordBPE": "bpe.subwords.words",
    "WordPiece": "bpe.subwords.wordpiece",
    "count_pairs": "bpe.naive",
    "count_pieces": "bpe.counting",
    "load_tokenizer": "bpe.saving",
    "merge_pair": "bpe.naive",
}


def _modules() -> set[str]:
    """The public modules at the top of the package, and the rooms."""
    return {module.name for module in _pkgutil.iter_modules(__path__) if not module.name.startswith("_")}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(_importlib.import_module(_HOMES[name]), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("bpe-course")
    if name in _modules():
        return _importlib.import_module(f"bpe.{name}")
    raise AttributeError(f"module 'bpe' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_modules()})
