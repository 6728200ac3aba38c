"""`decode`: ids to text."""

from __future__ import annotations

from pathlib import Path

import click

from bpe import saving
from bpe._files import write_atomically
from bpe.commands.console import give
from bpe.commands.shared import TOKENIZER, refuse_replacing, texts
from bpe.saving import load_tokenizer
from bpe.tokenizer import Tokenizer


@click.command()
@click.argument("tokenizer", type=TOKENIZER)
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--ids", help="The ids themselves, separated by spaces, instead of files.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write, instead of standard output.",
)
def decode(tokenizer: Path, files: tuple[Path, ...], ids: str | None, output: Path | None) -> None:
    """Turn ids into text.

    The ids come from FILES (.npy, .pt, or numbers as text), --ids, or standard input. The output is the exact
    bytes of the text, without an added newline.

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
    content = b"".join(loaded.decode_bytes(row) for row in _rows(loaded, files, ids))
    if output is None:
        give(content, nl=False)
    else:
        write_atomically(output, content)


def _rows(tokenizer: Tokenizer, files: tuple[Path, ...], ids: str | None) -> list[list[int]]:
    if ids is not None:
        return [saving.parse_ids(ids, "--ids")]
    if not files:
        [text] = texts((), None)
        return [saving.parse_ids(text, "standard input")]
    for path in files:
        _refuse_foreign_ids(tokenizer, path)
    return [saving.read_ids(path) for path in files]


def _refuse_foreign_ids(tokenizer: Tokenizer, path: Path) -> None:
    owner = saving.folder_owner(path.parent) if path.suffix in saving.ARRAY_SUFFIXES else None
    if owner not in (None, tokenizer.fingerprint):
        raise ValueError(
            f"{path} holds ids of another tokenizer: the one in that folder has the fingerprint {owner}, "
            f"this one {tokenizer.fingerprint}"
        )
