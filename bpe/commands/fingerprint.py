"""`fingerprint`: tell whether tokenizers are equal."""

from __future__ import annotations

from pathlib import Path

import click

from bpe._visible import visible
from bpe.commands.console import give
from bpe.commands.shared import TOKENIZER
from bpe.saving import load_tokenizer


@click.command()
@click.argument("tokenizers", nargs=-1, required=True, type=TOKENIZER)
def fingerprint(tokenizers: tuple[Path, ...]) -> None:
    """Print the fingerprints of tokenizers.

    A fingerprint is the SHA-256 of all that defines a tokenizer. Ids made by one tokenizer are valid only for
    tokenizers with the same fingerprint.

    \b
    Example:
      python -m bpe fingerprint mine.json yours.json
    """
    for path in tokenizers:
        give(f"{load_tokenizer(path).fingerprint}  {visible(str(path))}")
