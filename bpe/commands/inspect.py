"""`inspect`: what defines a tokenizer, and how it cuts a text."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from bpe import show
from bpe.commands.console import give
from bpe.commands.shared import TEXT, TOKENIZER, encode_text, print_longest_tokens, special_tokens_option
from bpe.saving import load_tokenizer

# From the 256 colours that terminals share: light backgrounds, and black for the letters.
BACKGROUNDS, BLACK = (153, 223, 194, 225, 189, 230), 16


@click.command()
@click.argument("tokenizer", type=TOKENIZER)
@click.option(
    "--text", type=TEXT, help="A text to cut into tokens, in colour on a terminal unless NO_COLOR is set."
)
@special_tokens_option
def inspect(tokenizer: Path, text: str | None, special_tokens: str) -> None:
    """Show what defines a tokenizer.

    Prints its facts and its longest tokens and, with --text, how it cuts a text.

    \b
    Example:
      python -m bpe inspect tokenizer.json --text "the cat"
    """
    loaded = load_tokenizer(tokenizer)
    for label, value in loaded.facts().items():
        give(f"{label:<16}" + value.replace("\n", f"\n{'':<16}"))
    print_longest_tokens(loaded)
    if text is not None:
        ids = encode_text(loaded, text, special_tokens)
        give(f"The text: {len(text):,} characters, {len(ids):,} tokens.")
        give(_join_tokens([show.readable(loaded.token(i) or "") for i in ids]), styled=True)


def _join_tokens(tokens: Sequence[str]) -> str:
    if not _on_a_colour_terminal():
        return " | ".join(tokens)
    return "".join(
        click.style(token, fg=BLACK, bg=BACKGROUNDS[i % len(BACKGROUNDS)]) for i, token in enumerate(tokens)
    )


def _on_a_colour_terminal() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
