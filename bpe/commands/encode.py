"""`encode`: text to ids."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import click

from bpe import saving
from bpe.commands.console import give, say
from bpe.commands.shared import TEXT, TEXT_FILE, TOKENIZER, encode_text, special_tokens_option, texts
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
    tokenizer: Path, files: tuple[IO[bytes], ...], text: str | None, output: Path | None, special_tokens: str
) -> None:
    """Turn text into ids.

    The text comes from FILES, --text, or standard input.

    \b
    Examples:
      python -m bpe encode tokenizer.json --text "the cat"
      python -m bpe encode tokenizer.json book.txt --output book.npy
      cat book.txt | python -m bpe encode tokenizer.json > ids.txt
    """
    loaded = load_tokenizer(tokenizer)
    rows = [encode_text(loaded, document, special_tokens) for document in texts(files, text)]
    if output is None:
        for row in rows:
            give(" ".join(map(str, row)))
        return
    array = saving.to_array([i for row in rows for i in row], loaded.vocab_size, output.suffix)
    saving.write_ids(output, array)
    say(f"Wrote {len(array):,} ids to {output}.", err=True)
