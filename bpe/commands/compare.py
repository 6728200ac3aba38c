"""`compare`: several tokenizers on the same text."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import click

from bpe._visible import visible
from bpe.commands.console import give
from bpe.commands.shared import TEXT, TEXT_FILE, TOKENIZER, encode_text, special_tokens_option, texts
from bpe.saving import load_tokenizer


@click.command()
@click.argument("tokenizers", nargs=-1, required=True, type=TOKENIZER)
@click.option("--text", type=TEXT, help="The text itself, instead of files.")
@click.option("--file", "files", multiple=True, type=TEXT_FILE, help="A text file. May be repeated.")
@special_tokens_option
def compare(
    tokenizers: tuple[Path, ...], text: str | None, files: tuple[IO[bytes], ...], special_tokens: str
) -> None:
    """Compare tokenizers on the same text.

    Prints a table of the numbers of tokens. The text comes from --text, --file, or standard input.

    \b
    Examples:
      python -m bpe compare small.json large.json --text "the cat"
      python -m bpe compare *.json --file book.txt
    """
    documents = texts(files, text)
    characters = sum(map(len, documents))
    num_bytes = sum(len(document.encode("utf-8")) for document in documents)
    if not characters:
        raise ValueError("the text is empty, so there is nothing to compare")
    give(f"The text: {characters:,} characters, {num_bytes:,} bytes.")
    give(f"{'vocabulary':>10}{'tokens':>12}{'characters/token':>18}{'bytes/token':>13}  tokenizer")
    for path in tokenizers:
        size, tokens = _count_tokens(path, documents, special_tokens)
        row = f"{size:>10,}{tokens:>12,}{characters / tokens:>18.3f}{num_bytes / tokens:>13.3f}"
        give(f"{row}  {visible(str(path))}")


def _count_tokens(path: Path, documents: list[str], special_tokens: str) -> tuple[int, int]:
    """Return the vocabulary size of a tokenizer, and the number of tokens in the documents."""
    tokenizer = load_tokenizer(path)
    try:
        tokens = sum(len(encode_text(tokenizer, document, special_tokens)) for document in documents)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return tokenizer.vocab_size, tokens
