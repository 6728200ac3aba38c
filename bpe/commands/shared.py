"""What several commands share: reading texts, encoding with special tokens, printing tokens."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import click

from bpe import show, special
from bpe._files import decode_utf8
from bpe.commands.console import say
from bpe.subwords.lattice import BYTES
from bpe.tokenizer import Tokenizer


class _Text(click.ParamType):  # type: ignore[type-arg]
    """Text in the command line, as UTF-8 whatever the locale says."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return os.fsencode(value).decode("utf-8")
        except UnicodeError:
            self.fail("it is not UTF-8.", param, ctx)


TEXT = _Text()
TOKENIZER = click.Path(exists=True, dir_okay=False, path_type=Path)
TEXT_FILE = click.File("rb", lazy=True)

special_tokens_option = click.option(
    "--special-tokens",
    type=click.Choice(["refuse", "take", "text"]),
    default="refuse",
    show_default=True,
    help="What to do if the text contains a special token: refuse the text, take it as that token, or take "
    "it as ordinary text.",
)


def texts(files: Sequence[IO[bytes]], text: str | None) -> list[str]:
    """Return the text of the option, or the text of each file, or else standard input.

    Raises UsageError for both an option and files, and ValueError for text that is not UTF-8.
    """
    if text is not None and files:
        raise click.UsageError("Give --text or files, not both.")
    if text is not None:
        return [text]
    if files:
        return [_read(file) for file in files]
    if sys.stdin is None:
        raise click.UsageError("Standard input is closed, and there are no files to read.")
    return [decode_utf8(sys.stdin.buffer.read(), "standard input")]


def _read(file: IO[bytes]) -> str:
    with file:  # open one at a time: systems limit the number of open files
        return decode_utf8(file.read(), file.name)


def refuse_replacing(output: Path, inputs: Iterable[str | Path]) -> None:
    """Raise UsageError if the output is also an input."""
    for path in map(Path, inputs):
        if output.exists() and path.exists() and output.samefile(path):
            raise click.UsageError(f"--output {output} would replace an input file.")


def encode_text(tokenizer: Tokenizer, text: str, special_tokens: str) -> list[int]:
    """Encode a text; `special_tokens` is the value of the option."""
    found = special.expression(tokenizer.special_tokens).search(text)
    if special_tokens == "refuse" and found:
        raise ValueError(
            f"the text contains the special token {found.group()!r} at position {found.start():,}: use "
            f"--special-tokens take, or --special-tokens text to treat it as ordinary text"
        )
    return tokenizer.encode(
        text, allowed_special="all" if special_tokens == "take" else (), disallowed_special=()
    )


def print_longest_tokens(tokenizer: Tokenizer, number: int = 10) -> None:
    """Print the longest learned tokens with their ids; of equally long tokens, the lower ids."""
    others = {*tokenizer.special_tokens.values(), tokenizer.unknown_id}
    learned = [
        (i, token)
        for i, token in enumerate(tokenizer.vocabulary)
        if i not in others and token is not None and len(token) > 1 and token not in BYTES
    ]
    if not learned:
        return
    unit = "bytes" if isinstance(learned[0][1], bytes) else "characters"
    say(f"The longest tokens, in {unit}:")
    for i, token in sorted(learned, key=lambda entry: -len(entry[1]))[:number]:
        say(f"{len(token):>5}  id {i:<7} {show.readable(token)}")
