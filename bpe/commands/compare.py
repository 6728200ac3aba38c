"""`compare`: several tokenizers on the same text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from bpe._visible import visible
from bpe.commands.console import give
from bpe.commands.shared import (
    TEXT,
    TEXT_FILE,
    TOKENIZER,
    TextFile,
    encode_chunks,
    special_tokens_option,
    texts,
)
from bpe.saving import load_tokenizer


@click.command()
@click.argument("tokenizers", nargs=-1, required=True, type=TOKENIZER)
@click.option("--text", type=TEXT, help="The text itself, instead of files.")
@click.option("--file", "files", multiple=True, type=TEXT_FILE, help="A text file. May be repeated.")
@special_tokens_option
def compare(
    tokenizers: tuple[Path, ...], text: str | None, files: tuple[Path, ...], special_tokens: str
) -> None:
    """Compare tokenizers on the same text.

    Prints a table of the numbers of tokens. The text comes from --text, --file, or standard input. Each
    tokenizer reads it again, so standard input, or a pipe, is kept in memory.

    \b
    Examples:
      python -m bpe compare small.json large.json --text "the cat"
      python -m bpe compare *.json --file book.txt
    """
    documents = [
        list(chunks) if isinstance(chunks, TextFile) and not chunks.can_be_read_again() else chunks
        for chunks in texts(files, text)
    ]
    characters = num_bytes = 0
    for chunks in documents:
        for chunk in chunks:
            characters += len(chunk)
            num_bytes += len(chunk.encode("utf-8"))
    if not characters:
        raise ValueError("the text is empty, so there is nothing to compare")
    give(f"The text: {characters:,} characters, {num_bytes:,} bytes.")
    give(f"{'vocabulary':>10}{'tokens':>12}{'characters/token':>18}{'bytes/token':>13}  tokenizer")
    for path in tokenizers:
        size, tokens = _count_tokens(path, documents, special_tokens)
        row = f"{size:>10,}{tokens:>12,}{characters / tokens:>18.3f}{num_bytes / tokens:>13.3f}"
        give(f"{row}  {visible(str(path))}")


def _count_tokens(path: Path, documents: Sequence[Iterable[str]], special_tokens: str) -> tuple[int, int]:
    """Return the vocabulary size of a tokenizer, and the number of tokens in the documents."""
    tokenizer = load_tokenizer(path)
    try:
        tokens = sum(
            len(row) for chunks in documents for row in encode_chunks(tokenizer, chunks, special_tokens)
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return tokenizer.vocab_size, tokens
