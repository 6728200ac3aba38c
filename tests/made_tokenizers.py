"""Byte pair tokenizers with every feature that a file format may hold, and texts to try them on."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from independent import FRAGMENTS

from bpe import BPETokenizer, presplit

TEXT = "low lower lowest, 月光月光 the low light, don't DON'T 12345 12345\n\n  the end  \n" * 3
BYTES = [bytes([value]) for value in range(256)]
SPECIAL = ["<|end|>", "<|end|>ing", "a b"]
TEXTS = [
    TEXT,
    *FRAGMENTS,
    "".join(FRAGMENTS),
    " ".join(FRAGMENTS),
    "",
    " ",
    "the <|end|> of a b",
    "<|end|>ing",
]


@cache
def trained(split: str | None = None, special: bool = True) -> BPETokenizer:
    return BPETokenizer.train(TEXT, 320, pattern=split, special_tokens=SPECIAL if special else ())


def whole(split: str | None = None) -> BPETokenizer:
    """A tokenizer with tokens that no merge makes."""
    made = trained(split)
    tokens = [*made.vocabulary, b"lowest of all", b" the end"]
    names = {name: len(tokens) + 7 * k for k, name in enumerate(SPECIAL)}
    return BPETokenizer(tokens, made.merges, split, names, whole_pieces=True)


def with_holes() -> BPETokenizer:
    """A tokenizer with permuted bytes, special tokens before and after the others, and unused ids."""
    made = trained("gpt4")
    order = [None, None, None, *reversed(made.vocabulary[:256]), None, *made.vocabulary[256:]]
    places = {token: i for i, token in enumerate(order)}
    merges = [tuple(places[made.vocabulary[i]] for i in pair) for pair in made.merges]
    return BPETokenizer(order, merges, "gpt4", {"<|end|>": 0, "<|end|>ing": 2, "a b": 900})


MADE = {
    "no split": trained,
    "no special tokens": lambda: trained("gpt2", special=False),
    **{split: (lambda split=split: trained(split)) for split in presplit.PATTERNS},
    "whole pieces": whole,
    "whole pieces, split": lambda: whole("words"),
    "holes": with_holes,
}
every_kind = pytest.mark.parametrize("kind", MADE)


def same(left: BPETokenizer, right: BPETokenizer) -> bool:
    return left.fingerprint == right.fingerprint


def change(path: Path, how: Callable[[dict[str, Any]], object]) -> None:
    """Change what a JSON file holds."""
    file = json.loads(path.read_text(encoding="utf-8"))
    how(file)
    path.write_text(json.dumps(file), encoding="utf-8")
