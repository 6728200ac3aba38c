"""The memory that `python -m bpe encode` and `train` take for files of several sizes; Linux and macOS.

    python benchmarks/command_memory.py

Prints a table for the README. The text is WikiText-2 and the poems, again and again. Takes half an hour.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

from bpe import BPETokenizer, CharTokenizer, Tokenizer, WordBPE, WordPiece, corpora, presplit

SIZES = (10, 40, 160)  # MB
TRAINING = 500_000  # characters that the tokenizers learn from

Make = Callable[[str], Tokenizer]
KINDS: dict[str, Make] = {
    "characters": lambda text: CharTokenizer(text, unknown="<unk>"),
    "BPE, no pattern": lambda text: BPETokenizer.train(text, 2_000),
    **{
        f"BPE, {name}": (lambda text, name=name: BPETokenizer.train(text, 2_000, pattern=name))  # type: ignore[misc]
        for name in presplit.PATTERNS
    },
    "BPE, another pattern": lambda text: BPETokenizer.train(text, 2_000, pattern=r"\w+|\W+"),
    "word BPE": lambda text: WordBPE.train(text, 8_000),
    "WordPiece": lambda text: WordPiece.train(text, 8_000),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # In a process of its own: what a process took counts for those that it starts.
        subprocess.run([sys.executable, __file__, name], check=True)
        files = [folder / f"{size}.txt" for size in SIZES]
        print("| command |", *(f"{size} MB |" for size in SIZES), "B/B |")
        for kind in KINDS:
            for suffix in (".npy", ".pt") if kind == "BPE, gpt4" else (".npy",):
                output = folder / f"ids{suffix}"
                tokenizer = folder / f"{kind}.json"
                report(
                    f"encode, {kind}, {suffix}",
                    [peak("encode", tokenizer, file, "--output", output) for file in files],
                )
        for pattern in ("gpt4", "words"):
            options = ["--vocab-size", 2_000, "--pattern", pattern, "--output", folder / "new.json"]
            report(f"train, {pattern}", [peak("train", file, *options) for file in files])


def prepare(folder: Path) -> None:
    """Write the texts and the tokenizers."""
    texts = corpora.wikitext2("train"), "\n".join(corpora.tang_poems())
    sample = "".join(text[: TRAINING // 2] for text in texts)
    for size in SIZES:
        write(folder / f"{size}.txt", size * 1_000_000, texts)
    for kind, make in KINDS.items():
        make(sample).save(folder / f"{kind}.json")


def write(path: Path, size: int, texts: tuple[str, ...]) -> None:
    """Write a file of `size` bytes, whole lines of the texts in turn."""
    lines = cycle([line for text in texts for line in text.splitlines(keepends=True)])
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(next(lines).encode("utf-8"))


def peak(*arguments: object) -> int:
    """Run a command; return the most memory it took, in bytes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bpe", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{arguments} failed")
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def report(name: str, peaks: list[int]) -> None:
    """Print a row: peaks in MB, and by how many bytes the last exceeds the first, per byte of text."""
    growth = (peaks[-1] - peaks[0]) / ((SIZES[-1] - SIZES[0]) * 1_000_000)
    print(f"| {name} |", *(f"{round(peak / 1e6)} MB |" for peak in peaks), f"{growth:.2f} |", flush=True)


if __name__ == "__main__":
    prepare(Path(sys.argv[1])) if sys.argv[1:] else main()
