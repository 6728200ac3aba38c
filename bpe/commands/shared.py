"""What several commands share: reading texts, encoding with special tokens, printing tokens."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from bpe import show, special
from bpe._files import decode_chunks
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


STDIN = Path("-")  # this object; another one with this name is a file, given as ./-


class _TextFile(click.Path):
    """A text file, or `-`. Not click.File, which opens a pipe twice: to try it, and to read it."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        return STDIN if value == "-" else super().convert(value, param, ctx)


TEXT = _Text()
TOKENIZER = click.Path(exists=True, dir_okay=False, path_type=Path)
TEXT_FILE = _TextFile(exists=True, dir_okay=False, path_type=Path)

special_tokens_option = click.option(
    "--special-tokens",
    type=click.Choice(["refuse", "take", "text"]),
    default="refuse",
    show_default=True,
    help="What to do if the text contains a special token: refuse the text, take it as that token, or take "
    "it as ordinary text.",
)


class TextFile:
    """A text file, or standard input for `-`: iterating reads it in chunks, of which one is in memory.

    Raises ValueError, naming it, for text that is not UTF-8, and UsageError if standard input is closed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[str]:
        if self.path is not STDIN:
            with self.path.open("rb") as file:
                yield from decode_chunks(file, self.path)
        elif sys.stdin is None:
            raise click.UsageError("Standard input is closed, and there are no files to read.")
        else:
            yield from decode_chunks(sys.stdin.buffer, "standard input")

    def can_be_read_again(self) -> bool:
        """Whether it is a file on a disk, not standard input or a pipe."""
        return self.path is not STDIN and self.path.is_file()


def texts(files: Sequence[Path], text: str | None) -> list[TextFile | list[str]]:
    """Return the texts in chunks: that of the option, or that of each file, or else standard input.

    Raises UsageError for both an option and files.
    """
    if text is not None and files:
        raise click.UsageError("Give --text or files, not both.")
    if text is not None:
        return [[text]]
    return [TextFile(path) for path in files or [STDIN]]


def refuse_replacing(output: Path, inputs: Iterable[str | Path]) -> None:
    """Raise UsageError if the output is also an input."""
    for path in map(Path, inputs):
        if output.exists() and path.exists() and output.samefile(path):
            raise click.UsageError(f"--output {output} would replace an input file.")


def encode_chunks(tokenizer: Tokenizer, chunks: Iterable[str], special_tokens: str) -> Iterator[list[int]]:
    """Encode a text as `Tokenizer.encode_stream`; `special_tokens` is the value of the option."""
    allowed: special.Names = "all" if special_tokens == "take" else ()
    disallowed: special.Names = "all" if special_tokens == "refuse" else ()
    try:
        yield from tokenizer.encode_stream(chunks, allowed_special=allowed, disallowed_special=disallowed)
    except special.SpecialTokenError as error:
        raise ValueError(
            f"{error.what} at position {error.position:,}: use --special-tokens take, or --special-tokens "
            f"text to treat it as ordinary text"
        ) from None


def encode_text(tokenizer: Tokenizer, text: str, special_tokens: str) -> list[int]:
    """Encode a text; `special_tokens` is the value of the option."""
    return [i for ids in encode_chunks(tokenizer, [text], special_tokens) for i in ids]


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
