"""`train`: learn a tokenizer from text files."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click

from bpe import counting, presplit, show, special
from bpe._files import read_text, refuse_unwritable
from bpe.bytepair import Alphabet, BPETokenizer
from bpe.commands.console import say
from bpe.commands.shared import TEXT, TEXT_FILE, print_longest_tokens, refuse_replacing, texts
from bpe.naive import MergeStep
from bpe.saving import load_tokenizer


class _MergeLog:
    """Prints the first 20 merges, and every hundredth.

    base: the tokens that training starts from, ordered by id.
    """

    def __init__(self, base: Sequence[Any]) -> None:
        self.tokens = list(base)
        self.num_base = len(base)

    def __call__(self, step: MergeStep) -> None:
        left, right = (self.tokens[i] for i in step.pair)
        self.tokens.append(left + right)
        number = len(self.tokens) - self.num_base
        if number <= 20 or number % 100 == 0:
            say(
                f"merge {number:>6,}: {step.frequency:>10,} times, {step.tokens_left:>12,} tokens left, "
                f"vocabulary {len(self.tokens):>6,}: {show.readable(left)} + {show.readable(right)}"
            )


def _pattern(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return presplit.resolve(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _special(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> list[str]:
    try:
        return special.check_names(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command()
@click.argument("files", nargs=-1, required=True, type=TEXT_FILE)
@click.option(
    "--vocab-size",
    type=click.IntRange(min=1),
    required=True,
    help="Target number of tokens: base tokens + merges + special tokens.",
)
@click.option(
    "--alphabet",
    type=click.Choice(["bytes", "characters"]),
    default="bytes",
    show_default=True,
    help="The base tokens: the 256 bytes, or the characters of the text.",
)
@click.option(
    "--characters",
    type=click.IntRange(min=1),
    help="Learn only from this number of characters, counted from the beginning of the first file.",
)
@click.option(
    "--base-from",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="With --alphabet characters: also make base tokens of the characters in this file, or in all .txt "
    "files of this folder. No merges are learned from it. May be repeated.",
)
@click.option(
    "--min-frequency",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Stop when no pair occurs this often.",
)
@click.option(
    "--pattern",
    multiple=True,
    type=TEXT,
    callback=_pattern,
    help=f"How to split the text before merging: {', '.join(presplit.PATTERNS)}, or a regular expression. "
    "May be repeated: each pattern splits the pieces of the one before.",
)
@click.option(
    "--special",
    "special_tokens",
    multiple=True,
    type=TEXT,
    callback=_special,
    help="A special token. May be repeated.",
)
@click.option(
    "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file to write."
)
def train(
    files: tuple[Path, ...],
    vocab_size: int,
    alphabet: Alphabet,
    characters: int | None,
    base_from: tuple[Path, ...],
    min_frequency: int,
    pattern: tuple[str, ...],
    special_tokens: list[str],
    output: Path,
) -> None:
    """Learn a BPE tokenizer from text files.

    Each of FILES is a separate document: no merge crosses their boundaries. With a named pattern, they are
    read bit by bit, and memory grows with the number of different pieces. Without one, or with a pattern of
    your own, a file is in memory as a whole: its merges may join any two neighbours.

    \b
    Examples:
      python -m bpe train book.txt --vocab-size 1000 --output tokenizer.json
      python -m bpe train *.txt --vocab-size 8000 --pattern gpt4 --special "<|endoftext|>" \\
        --output tokenizer.json
      python -m bpe train data/wikitext2/train.txt --vocab-size 500 --alphabet characters \\
        --characters 500000 --base-from data/wikitext2 --output wikitext2.json
    """
    if base_from and alphabet == "bytes":
        raise click.UsageError(
            "--base-from needs --alphabet characters; with bytes, the base tokens are always all 256."
        )
    _refuse_repeated(files)
    refuse_replacing(output, [*files, *base_from])
    refuse_unwritable(output)
    known = _base_tokens(alphabet, base_from)
    counting.num_merges(vocab_size, len(known), len(special_tokens))  # what fails does so before the work
    text = _FirstCharacters(characters)
    pieces = counting.count_streams(map(text.take, texts(files, None)), pattern, special_tokens)
    base = known if alphabet == "bytes" else sorted({*known, *chain.from_iterable(pieces)})
    say(f"Learning from {text.taken:,} characters, with {len(base):,} base tokens.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", counting.FewTokensWarning)  # what is printed below says more
        tokenizer = BPETokenizer.train_from_counts(
            pieces,
            vocab_size,
            alphabet=alphabet,
            base_tokens=base if alphabet == "characters" else None,
            pattern=pattern,
            special_tokens=special_tokens,
            min_frequency=min_frequency,
            progress=_MergeLog(base),
        )
    _print_why_it_stopped(tokenizer, vocab_size, min_frequency)
    _save(tokenizer, output)
    print_longest_tokens(tokenizer)


def _refuse_repeated(files: Sequence[Path]) -> None:
    """Raise UsageError for a file given twice.

    After --base-from, a shell's wildcard gives the option the first name only; FILES gets the others.
    """
    seen: set[Path] = set()
    for file in files:
        path = file.resolve()
        if path in seen:
            raise click.UsageError(
                f"{file} is in FILES twice. (--base-from takes one path: give a folder, or repeat it.)"
            )
        seen.add(path)


class _FirstCharacters:
    """Takes texts, chunk by chunk, up to a number of characters, and reads no further.

    taken: the number of characters so far.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit, self.taken = limit, 0

    def take(self, chunks: Iterable[str]) -> Iterator[str]:
        if self.taken == self.limit:
            return
        for chunk in chunks:
            part = chunk if self.limit is None else chunk[: self.limit - self.taken]
            self.taken += len(part)
            yield part
            if self.taken == self.limit:
                return


def _base_tokens(alphabet: Alphabet, base_from: Sequence[Path]) -> list[Any]:
    """Return the base tokens that do not depend on the training text."""
    if alphabet == "bytes":
        return [bytes([value]) for value in range(256)]
    paths = [
        path for given in base_from for path in (sorted(given.glob("*.txt")) if given.is_dir() else [given])
    ]
    return sorted(set().union(*map(read_text, paths)))


def _print_why_it_stopped(tokenizer: BPETokenizer, vocab_size: int, min_frequency: int) -> None:
    learned = f"{len(tokenizer.merges):,} merges"
    if tokenizer.vocab_size == vocab_size:
        say(f"Stopped after {learned}: the vocabulary has the target size, {vocab_size:,} tokens.")
    else:
        say(
            f"Stopped after {learned}, with {tokenizer.vocab_size:,} of the target of {vocab_size:,} tokens: "
            f"no pair occurs {min_frequency:,} times any more."
        )


def _save(tokenizer: BPETokenizer, path: Path) -> None:
    tokenizer.save(path)
    if load_tokenizer(path).fingerprint != tokenizer.fingerprint:
        raise ValueError(
            f"{path} does not load with the fingerprint {tokenizer.fingerprint}, with which it was saved"
        )
    say(f"Saved to {path}; it loads with the same fingerprint:\n{tokenizer.fingerprint}")
