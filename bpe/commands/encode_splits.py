"""`encode-splits`: all of WikiText-2, encoded by one tokenizer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import click

from bpe import corpora, saving
from bpe._files import CHUNK, data_folder, locked
from bpe.characters import CharTokenizer
from bpe.commands.console import say
from bpe.commands.shared import TOKENIZER, encode_chunks, special_tokens_option
from bpe.saving import load_tokenizer
from bpe.tokenizer import Tokenizer


def _check_name(name: str) -> str:
    """Return the name of a folder. Raises UsageError for one that would lead out of its parent."""
    if name in ("", ".", "..") or name != Path(name).name:
        raise click.UsageError(f"{name!r} is not the name of a folder: give another with --name.")
    return name


@click.command()
@click.argument("tokenizer", type=TOKENIZER)
@click.option("--name", help="Name of the folder.  [default: the file name of the tokenizer]")
@click.option(
    "--format",
    "suffix",
    type=click.Choice(["npy", "pt"]),
    default="npy",
    show_default=True,
    help="File format.",
)
@click.option("--force", is_flag=True, help="Delete the ids of another tokenizer in the folder.")
@special_tokens_option
def encode_splits(tokenizer: Path, name: str | None, suffix: str, force: bool, special_tokens: str) -> None:
    """Encode all of WikiText-2.

    Writes the ids of train, valid and test to encoded/NAME/ in the data folder, or to
    encoded/characters/NAME/ for a tokenizer of single characters. The folder also gets a copy of the
    tokenizer, with its fingerprint.

    \b
    Example:
      python -m bpe encode-splits wikitext2.json
    """
    name = _check_name(tokenizer.stem if name is None else name)
    loaded = load_tokenizer(tokenizer)
    texts = {split: corpora.wikitext2(split) for split in corpora.WIKITEXT2_SPLITS}
    parent = data_folder() / "encoded"
    if loaded.KIND == CharTokenizer.KIND:
        parent /= "characters"
    folder = parent / name
    # Else another run could put its tokenizer there while this one writes ids.
    with locked(folder, wait=lambda message: say(message, err=True)):
        saving.claim_folder(folder, loaded, force)
        say(f"{folder}, fingerprint {loaded.fingerprint}")
        for split, text in texts.items():
            say(f"Encoding {split}: {len(text):,} characters.", err=True)
            say(_encode(loaded, text, folder / f"{split}.{suffix}", special_tokens))


def _encode(tokenizer: Tokenizer, text: str, path: Path, special_tokens: str) -> str:
    """Write the ids of a text, and return what they are like. Raises ValueError unless they decode to it."""
    given, decoded = hashlib.sha256(), hashlib.sha256()
    num_bytes = 0
    with saving.open_ids(path, tokenizer.vocab_size) as file:

        def chunks() -> Iterator[str]:
            nonlocal num_bytes
            for start in range(0, len(text), CHUNK):
                chunk = text[start : start + CHUNK]
                data = chunk.encode("utf-8")
                num_bytes += len(data)
                given.update(data)
                yield chunk

        def ids() -> Iterator[int]:
            for row in encode_chunks(tokenizer, chunks(), special_tokens):
                file.write(row)
                yield from row

        for content in tokenizer.decode_stream(ids()):
            decoded.update(content)
        if decoded.digest() != given.digest():
            raise ValueError(f"the ids of {path.stem} do not decode to its text, so they are not written")
    return (
        f"{path.name:<9}  shape ({file.number},), {file.dtype}, ids {file.lowest} to {file.highest}, "
        f"{len(text) / file.number:.3f} characters and {num_bytes / file.number:.3f} bytes per token"
    )
