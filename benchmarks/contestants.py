"""The contestants of `make bench`, and how each is called for a task.

Each library is called in the way that is fastest here. With a split, `tokenizers`, `rustbpe` and `bpeasy` get
lines; their pieces are the same, since no piece of the two splits crosses a newline in these corpora.
`gigabpe` reads files. Encoders get the whole text, since all were slower on lines.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from bpe import BPETokenizer, presplit, pretrained
from bpe.formats import byte_letters

# Name of a contestant -> the package it comes in, whose version is reported.
PACKAGES = {
    "tokenizers": "tokenizers",
    "rustbpe": "rustbpe",
    "bpeasy": "bpeasy",
    "gigabpe": "gigabpe",
    "sentencepiece": "sentencepiece",
    "tiktoken": "tiktoken",
    "tiktoken (array)": "tiktoken",
    "rs-bpe": "rs-bpe",
    "riptoken": "riptoken",
    "quicktok": "quicktok-v1",
    "splintr": "splintr-rs",
}
NOTES = {
    "tokenizers": "other ties",
    "rustbpe": "other ties",
    "bpeasy": "other ties",
    "gigabpe": "other ties",
    "sentencepiece": "not the same task: characters, another split",
    "compiled": "",
    "incremental": "",
    "naive": "",
}
GIVES = {
    "compiled": "an array",
    "incremental": "an array, by way of a list",
    "tiktoken": "a list",
    "tiktoken (array)": "an array",
    "rs-bpe": "a list",
    "riptoken": "a list",
    "quicktok": "an array",
    "splintr": "an array",
}
NO_LIMIT = 10**6  # for libraries that want a limit on the length of a token or a line


class Learned(NamedTuple):
    """The new tokens in order of rank; for ours, also the fingerprint of the tokenizer."""

    tokens: list[bytes]
    fingerprint: str = ""


Result = Callable[[], Learned]


class Training:
    """A text to train on, in the forms that the libraries accept, and the settings."""

    def __init__(self, path: Path, split: str | None, merges: int) -> None:
        self.path, self.split, self.merges = path, split, merges
        self.text = path.read_bytes().decode("utf-8")

    @cached_property
    def documents(self) -> list[str]:
        return self.text.splitlines(keepends=True) if self.split else [self.text]

    @cached_property
    def different_bytes(self) -> int:
        return len(set(self.path.read_bytes()))

    @property
    def expression(self) -> str:
        (expression,) = presplit.resolve(self.split or "(?s).+")
        return expression


# --- training: each function trains, and returns what gives the outcome afterwards


def own(engine: str) -> Callable[[Training], Result]:
    def train(job: Training) -> Result:
        made = BPETokenizer.train(
            job.text, 256 + job.merges, pattern=job.split, engine=engine, progress=False
        )
        return lambda: Learned([bytes(token) for token in made.vocabulary[256:] if token], made.fingerprint)

    return train


def tokenizers(job: Training) -> Result:
    import tokenizers as library

    before = library.pre_tokenizers
    made = library.Tokenizer(library.models.BPE())
    cuts = [before.Split(library.Regex(job.expression), "isolated")] if job.split else []
    made.pre_tokenizer = before.Sequence([*cuts, before.ByteLevel(add_prefix_space=False, use_regex=False)])
    trainer = library.trainers.BpeTrainer(
        vocab_size=256 + job.merges,
        min_frequency=2,
        show_progress=False,
        initial_alphabet=before.ByteLevel.alphabet(),
    )
    made.train_from_iterator(job.documents, trainer)
    return lambda: Learned(_joined(json.loads(made.to_str())["model"]["merges"]))


def rustbpe(job: Training) -> Result:
    import rustbpe as library

    made = library.Tokenizer()
    made.train_from_iterator(iter(job.documents), 256 + job.merges, pattern=job.expression)
    return lambda: Learned([bytes(token) for token, _ in made.get_mergeable_ranks()][256:])


def bpeasy(job: Training) -> Result:
    import bpeasy as library

    made = library.train_bpe(iter(job.documents), job.expression, NO_LIMIT, 256 + job.merges)
    return lambda: Learned(sorted(made, key=made.__getitem__)[256:])


def gigabpe(job: Training) -> Result:
    import gigabpe as library

    if job.split != "gpt2":
        raise ValueError("gigabpe has no such split")
    # Only the bytes that occur become tokens here.
    size = job.different_bytes + job.merges
    _, merges = library.train_bpe([str(job.path)], size, pretokenizer="bytelevel", min_frequency=2)
    return lambda: Learned(_joined(merges))


def sentencepiece(job: Training) -> Result:
    import os

    import sentencepiece as library

    library.SentencePieceTrainer.train(
        sentence_iterator=iter(job.documents),
        model_writer=io.BytesIO(),
        model_type="bpe",
        vocab_size=256 + job.merges,
        hard_vocab_limit=False,
        byte_fallback=True,
        character_coverage=1.0,
        max_sentence_length=NO_LIMIT,
        num_threads=os.cpu_count() or 1,
        minloglevel=2,
    )
    return lambda: Learned([])


def _joined(merges: list[Any]) -> list[bytes]:
    """The tokens that merges of byte letters make."""
    return [byte_letters.to_bytes(left + right) for left, right in merges]


TRAIN: dict[str, Callable[[Training], Result]] = {
    "compiled": own("compiled"),
    "incremental": own("incremental"),
    "naive": own("naive"),
    "tokenizers": tokenizers,
    "rustbpe": rustbpe,
    "bpeasy": bpeasy,
    "gigabpe": gigabpe,
    "sentencepiece": sentencepiece,
}


# --- encoding: each function loads GPT-4's vocabulary, and returns what encodes with it


def own_encoder(engine: str) -> Callable[[str], Any]:
    tokenizer = pretrained.load("gpt4")
    return lambda text: tokenizer.encode_array(text, disallowed_special=(), engine=engine)


def _ranks() -> tuple[dict[bytes, int], str]:
    """The ranks of GPT-4's tokens, and its expression."""
    from tiktoken import load

    (expression,) = presplit.resolve("gpt4")
    return load.load_tiktoken_bpe(str(pretrained.folder() / "cl100k_base.tiktoken")), expression


def tiktoken() -> Any:
    import tiktoken as library

    ranks, expression = _ranks()
    return library.Encoding("gpt4", pat_str=expression, mergeable_ranks=ranks, special_tokens={})


def tiktoken_array() -> Callable[[str], Any]:
    encoding = tiktoken()
    return lambda text: encoding.encode_to_numpy(text, disallowed_special=())


def rs_bpe() -> Callable[[str], Any]:
    from rs_bpe.bpe import openai

    encode: Callable[[str], Any] = openai.cl100k_base().encode
    return encode


def riptoken() -> Callable[[str], Any]:
    import riptoken as library

    ranks, expression = _ranks()
    encode: Callable[[str], Any] = library.CoreBPE(ranks, {}, expression).encode_ordinary
    return encode


def quicktok() -> Callable[[str], Any]:
    import quicktok as library

    encoding = library.get_encoding("cl100k_base")
    return lambda text: encoding.encode_batch([text], threads=1)[0]


def splintr() -> Callable[[str], Any]:
    import numpy
    import splintr as library

    encoding = library.Tokenizer.from_pretrained("cl100k_base")
    return lambda text: numpy.frombuffer(encoding.encode_flat(text), dtype=numpy.uint32)


ENCODE: dict[str, Callable[[], Callable[[str], Any]]] = {
    "compiled": lambda: own_encoder("compiled"),
    "incremental": lambda: own_encoder("incremental"),
    "tiktoken": lambda: tiktoken().encode_ordinary,
    "tiktoken (array)": tiktoken_array,
    "rs-bpe": rs_bpe,
    "riptoken": riptoken,
    "quicktok": quicktok,
    "splintr": splintr,
}
