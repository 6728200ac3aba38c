"""What `make bench` measures: the tasks, their contestants, and their texts."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bpe import corpora

ENGINES = ("compiled", "incremental", "naive")
# They can all cut by the GPT-4 expression.
TRAINERS = ("compiled", "tokenizers", "rustbpe", "bpeasy", "incremental")
ENCODERS = (
    "compiled",
    "tiktoken",
    "tiktoken (array)",
    "rs-bpe",
    "riptoken",
    "quicktok",
    "splintr",
    "incremental",
)
GROWTH_MEGABYTES = (1, 2, 4, 8, 16, 32, 64)
MEGABYTE = 1_000_000
SEED = 0

# The limits of --quick: characters of the corpus, merges, and sizes of the growing text.
QUICK_CHARACTERS, QUICK_MERGES, QUICK_MEGABYTES = 20_000, 40, (1,)


@dataclass(frozen=True)
class Task:
    """One task for several contestants.

    kind: "train", "encode", "compile" or "import". corpus: a name that `text_of` knows, "" for none.
    split: the pattern that cuts a training text first. merges: how many to learn.
    """

    name: str
    what: str
    kind: str
    contestants: tuple[str, ...]
    corpus: str = ""
    split: str | None = None
    merges: int = 0


TASKS = (
    Task(
        "train-2000-poems",
        "training on 2,000 poems: 1,500 merges, no split",
        "train",
        ("compiled", "incremental", "naive", "tokenizers", "rustbpe", "bpeasy"),
        "poems-2000",
        None,
        1_500,
    ),
    Task(
        "train-poems",
        "training on all 35,135 poems, joined by line feeds: 1,500 merges, no split",
        "train",
        ("compiled", "incremental"),
        "poems",
        None,
        1_500,
    ),
    Task(
        "train-poems-gpt4-8192",
        "training on all poems: GPT-4 split, 8,192 tokens",
        "train",
        TRAINERS,
        "poems",
        "gpt4",
        8_192 - 256,
    ),
    Task(
        "train-poems-gpt4-32000",
        "training on all poems: GPT-4 split, 32,000 tokens",
        "train",
        TRAINERS,
        "poems",
        "gpt4",
        32_000 - 256,
    ),
    Task(
        "train-wikitext-gpt4-32000",
        "training on WikiText-2 train: GPT-4 split, 32,000 tokens",
        "train",
        (*TRAINERS, "sentencepiece"),
        "wikitext",
        "gpt4",
        32_000 - 256,
    ),
    # gigabpe takes no expression; of the splits that it has, "bytelevel" is GPT-2's.
    Task(
        "train-poems-gpt2-8192",
        "training on all poems: GPT-2 split, 8,192 tokens",
        "train",
        ("compiled", "gigabpe"),
        "poems",
        "gpt2",
        8_192 - 256,
    ),
    Task(
        "train-poems-gpt2-32000",
        "training on all poems: GPT-2 split, 32,000 tokens",
        "train",
        ("compiled", "gigabpe"),
        "poems",
        "gpt2",
        32_000 - 256,
    ),
    Task(
        "train-wikitext-gpt2-32000",
        "training on WikiText-2 train: GPT-2 split, 32,000 tokens",
        "train",
        ("compiled", "gigabpe"),
        "wikitext",
        "gpt2",
        32_000 - 256,
    ),
    Task(
        "encode-wikitext",
        "encoding WikiText-2 train with GPT-4's vocabulary, one core",
        "encode",
        ENCODERS,
        "wikitext",
    ),
    Task("encode-poems", "encoding all poems with GPT-4's vocabulary, one core", "encode", ENCODERS, "poems"),
    Task(
        "compile",
        "compiling the engine, once a machine; loading it, once a process",
        "compile",
        ("compiled", "compiled, from the cache"),
    ),
    Task(
        "import",
        "importing",
        "import",
        ("bpe", "bpe with BPETokenizer", "tiktoken", "tokenizers"),
    ),
)

# Task of the growth: its split, or None, and its merges; encoding has none.
GROWTH = {
    "train": Task("growth-train", "", "train", ("compiled",), "growth", None, 1_500),
    "train-gpt4": Task("growth-train-gpt4", "", "train", ("compiled",), "growth", "gpt4", 8_192 - 256),
    "encode": Task("growth-encode", "", "encode", ("compiled",), "growth"),
}
GROWTH_CORPUS = (
    "the lines of WikiText-2 and the poems, shuffled with a seed; what is more than these is the same lines "
    "again, with the words of an English line and the verses of a poem in random order"
)

WARM_UP = "Warm up 123, don't wait: 天地玄黄，宇宙洪荒。\n" * 20
COMPILED_WARM_UP = WARM_UP * 200  # counting pieces uses compiled code from 100,000 characters on


def text_of(corpus: str) -> str:
    """A corpus by its name. Raises FileNotFoundError, naming the command that prepares it."""
    if corpus == "wikitext":
        return corpora.wikitext2("train")
    poems = corpora.tang_poems()
    return "\n".join(poems[:2_000] if corpus == "poems-2000" else poems)


def growing_lines() -> Iterator[str]:
    """Lines without end, as GROWTH_CORPUS says."""
    chosen = random.Random(SEED)
    articles = "".join(map(corpora.wikitext2, corpora.WIKITEXT2_SPLITS))
    lines = [*articles.splitlines(), *corpora.tang_poems()]
    chosen.shuffle(lines)
    yield from lines
    while True:
        for line in lines:
            parts = re.findall(r"[^，。]+[，。]", line) if line.endswith("。") else line.split(" ")
            chosen.shuffle(parts)
            yield ("" if line.endswith("。") else " ").join(parts)


def write_growth(folder: Path, megabytes: tuple[int, ...]) -> None:
    """Write growth-1.txt, growth-2.txt, …, each the beginning of the next, cut after a line."""
    lines, data = growing_lines(), bytearray()
    for size in megabytes:
        while len(data) < size * MEGABYTE:
            data += f"{next(lines)}\n".encode()
        (folder / f"growth-{size}.txt").write_bytes(data)
