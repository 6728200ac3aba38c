"""Opening a tokenizer's file without knowing which kind of tokenizer it holds."""

from __future__ import annotations

from pathlib import Path

from bpe import storage
from bpe.bytepair import BPETokenizer
from bpe.characters import CharTokenizer

Tokenizer = BPETokenizer | CharTokenizer

_CLASSES: dict[str, type[BPETokenizer] | type[CharTokenizer]] = {
    BPETokenizer.KIND: BPETokenizer,
    CharTokenizer.KIND: CharTokenizer,
}

_OTHERS = {
    "byte pair encoding of words": "WordBPE",
    "wordpiece": "WordPiece",
    "unigram": "Unigram",
}


def load_tokenizer(path: str | Path) -> Tokenizer:
    """Read a tokenizer of either kind that `save` wrote.

    Raises FileNotFoundError where there is no file, ValueError for any other or damaged file. The tokenizers
    of chapter 10 are read by their own `load`.
    """
    kind = storage.kind(path)
    if kind in _OTHERS:
        raise ValueError(f"{path} holds a tokenizer of kind {kind!r}: bpe.{_OTHERS[kind]}.load reads it")
    if kind not in _CLASSES:
        raise ValueError(f"{path} holds a tokenizer of kind {kind!r}, which this module does not have")
    return _CLASSES[kind].load(path)
