"""`decode`: ids to text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from bpe import saving
from bpe._files import open_atomically
from bpe.commands.console import give
from bpe.commands.shared import STDIN, TOKENIZER, TextFile, refuse_replacing
from bpe.saving import load_tokenizer
from bpe.tokenizer import Tokenizer


@click.command()
@click.argument("tokenizer", type=TOKENIZER)
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--ids", help="The ids themselves, instead of files: 12 7 300, or [12, 7, 300].")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write, instead of standard output.",
)
def decode(tokenizer: Path, files: tuple[Path, ...], ids: str | None, output: Path | None) -> None:
    """Turn ids into text.

    The ids come from FILES (.npy, .pt, or numbers as text), --ids, or standard input. The output is the exact
    bytes of the text, without an added newline. Ids in .npy files of a BPE tokenizer, or of one of
    characters, are read and decoded bit by bit, so memory does not grow with them.

    \b
    Examples:
      python -m bpe decode tokenizer.json --ids "12 7 300"
      python -m bpe decode tokenizer.json book.npy > book.txt
    """
    if ids is not None and files:
        raise click.UsageError("Give --ids or files, not both.")
    if output is not None:
        refuse_replacing(output, [tokenizer, *files])
    loaded = load_tokenizer(tokenizer)
    rows = _rows(loaded, files, ids)
    contents = (content for row in rows for content in loaded.decode_stream(row))
    if output is None:
        for content in contents:
            give(content, nl=False)
    else:
        with open_atomically(output) as file:
            file.writelines(contents)


def _rows(tokenizer: Tokenizer, files: tuple[Path, ...], ids: str | None) -> Iterable[Iterable[int]]:
    if ids is not None:
        return [saving.parse_ids(ids, "--ids")]
    if not files:
        return [saving.parse_ids("".join(TextFile(STDIN)), "standard input")]
    for path in files:
        _refuse_foreign_ids(tokenizer, path)
    return map(saving.stream_ids, files)


def _refuse_foreign_ids(tokenizer: Tokenizer, path: Path) -> None:
    owner = saving.folder_owner(path.parent) if path.suffix in saving.ARRAY_SUFFIXES else None
    if owner not in (None, tokenizer.fingerprint):
        raise ValueError(
            f"{path} holds ids of another tokenizer: the one in that folder has the fingerprint {owner}, "
            f"this one {tokenizer.fingerprint}"
        )
