"""`encode`: text to ids."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from bpe import saving
from bpe.commands.console import give, say
from bpe.commands.shared import TEXT, TEXT_FILE, TOKENIZER, encode_chunks, special_tokens_option, texts
from bpe.saving import load_tokenizer


def _array_file(context: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and value.suffix not in saving.ARRAY_SUFFIXES:
        raise click.BadParameter(f"{value} does not end in {' or '.join(saving.ARRAY_SUFFIXES)}.")
    return value


@click.command()
@click.argument("tokenizer", type=TOKENIZER)
@click.argument("files", nargs=-1, type=TEXT_FILE)
@click.option("--text", type=TEXT, help="The text itself, instead of files.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_array_file,
    help="The file to write, with the ids of all FILES in a row: .npy with the smallest unsigned type that "
    "holds the vocabulary, or .pt with int64. Without it, the ids are printed, one line per file.",
)
@special_tokens_option
def encode(
    tokenizer: Path, files: tuple[Path, ...], text: str | None, output: Path | None, special_tokens: str
) -> None:
    """Turn text into ids.

    The text comes from FILES, --text, or standard input; - among FILES is standard input too. It is read and
    encoded bit by bit, so memory does not grow with it, with three exceptions: Unigram tokenizers, BPE with a
    pattern of its own, and .pt files, which take 8 bytes for each id.

    \b
    Examples:
      python -m bpe encode tokenizer.json --text "the cat"
      python -m bpe encode tokenizer.json book.txt --output book.npy
      cat book.txt | python -m bpe encode tokenizer.json > ids.txt
    """
    loaded = load_tokenizer(tokenizer)
    documents = (encode_chunks(loaded, chunks, special_tokens) for chunks in texts(files, text))
    if output is None:
        for rows in documents:
            _print(rows)
        return
    with saving.open_ids(output, loaded.vocab_size) as file:
        for rows in documents:
            for row in rows:
                file.write(row)
    say(f"Wrote {file.number:,} ids to {output}.", err=True)


def _print(rows: Iterable[list[int]]) -> None:
    """Print the ids of a text on one line."""
    space = ""
    for row in rows:
        if row:  # whitespace alone has none, with tokenizers of words
            give(space + " ".join(map(str, row)), nl=False)
            space = " "
    give("")
