"""`inspect`: what a tokenizer is, and how it cuts a text."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from bpe import show
from bpe.commands.shared import TOKENIZER, encode_text, print_longest_tokens, special_tokens_option
from bpe.saving import load_tokenizer

# Of the 256 colours that terminals share: light backgrounds, and black letters.
BACKGROUNDS, BLACK = (153, 223, 194, 225, 189, 230), 16


@click.command()
@click.argument("tokenizer", type=TOKENIZER)
@click.option("--text", help="A text to cut into tokens: in colour on a terminal, unless NO_COLOR is set.")
@special_tokens_option
def inspect(tokenizer: Path, text: str | None, special_tokens: str) -> None:
    """What is in a tokenizer: its size, its longest tokens, and how it cuts a text.

    \b
    Example:
      python -m bpe inspect tokenizer.json --text "the cat"
    """
    loaded = load_tokenizer(tokenizer)
    for label, value in loaded.facts().items():
        click.echo(f"{label:<16}{value}")
    print_longest_tokens(loaded)
    if text is not None:
        ids = encode_text(loaded, text, special_tokens)
        click.echo(f"The text: {len(text):,} characters, {len(ids):,} tokens.")
        click.echo(_cut([show.readable(loaded.token(i) or "") for i in ids]))


def _cut(tokens: Sequence[str]) -> str:
    if not _on_a_colour_terminal():
        return " | ".join(tokens)
    return "".join(
        click.style(token, fg=BLACK, bg=BACKGROUNDS[i % len(BACKGROUNDS)]) for i, token in enumerate(tokens)
    )


def _on_a_colour_terminal() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
