"""`fingerprint`: whether two tokenizers are the same."""

from __future__ import annotations

from pathlib import Path

import click

from bpe.commands.shared import TOKENIZER
from bpe.saving import load_tokenizer


@click.command()
@click.argument("tokenizers", nargs=-1, required=True, type=TOKENIZER)
def fingerprint(tokenizers: tuple[Path, ...]) -> None:
    """The SHA-256 over all that defines a tokenizer. Ids of one only fit another of the same fingerprint.

    \b
    Example:
      python -m bpe fingerprint mine.json yours.json
    """
    for path in tokenizers:
        click.echo(f"{load_tokenizer(path).fingerprint}  {path}")
