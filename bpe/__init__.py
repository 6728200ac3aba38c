"""The companion module of the course: what the notebooks build, each thing once.

Everything is imported at first use, so `import bpe` costs next to nothing and needs
none of numpy, torch, matplotlib or datasets.
"""

from __future__ import annotations

import importlib
import pkgutil
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bpe.bytepair import BPETokenizer
    from bpe.characters import CharTokenizer
    from bpe.counting import count_pieces
    from bpe.loading import load_tokenizer
    from bpe.pairs import MergeStep, count_pairs, merge_pair
    from bpe.unigram import Unigram
    from bpe.wordpiece import WordPiece
    from bpe.words import WordBPE

__version__ = "0.1.0"

__all__ = [
    "BPETokenizer",
    "CharTokenizer",
    "MergeStep",
    "Unigram",
    "WordBPE",
    "WordPiece",
    "count_pairs",
    "count_pieces",
    "load_tokenizer",
    "merge_pair",
]

_HOME = {
    "BPETokenizer": "bpe.bytepair",
    "CharTokenizer": "bpe.characters",
    "MergeStep": "bpe.pairs",
    "Unigram": "bpe.unigram",
    "WordBPE": "bpe.words",
    "WordPiece": "bpe.wordpiece",
    "count_pairs": "bpe.pairs",
    "count_pieces": "bpe.counting",
    "load_tokenizer": "bpe.loading",
    "merge_pair": "bpe.pairs",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name.isidentifier() and find_spec(f"bpe.{name}"):
        return importlib.import_module(f"bpe.{name}")
    raise AttributeError(f"module 'bpe' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *(module.name for module in pkgutil.iter_modules(__path__))})
