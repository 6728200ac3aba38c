"""`encode-splits`: all of WikiText-2, encoded by one tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bpe import corpora, saving
from bpe._files import data_folder
from bpe.characters import CharTokenizer
from bpe.commands.console import say
from bpe.commands.shared import TOKENIZER, encode_text, special_tokens_option
from bpe.saving import load_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    loaded = load_tokenizer(tokenizer)
    texts = {split: corpora.wikitext2(split) for split in corpora.WIKITEXT2_SPLITS}
    parent = data_folder() / "encoded"
    if loaded.KIND == CharTokenizer.KIND:
        parent /= "characters"
    folder = parent / _check_name(tokenizer.stem if name is None else name)
    saving.claim_folder(folder, loaded, force)
    say(f"{folder}, fingerprint {loaded.fingerprint}")
    for split, text in texts.items():
        say(f"Encoding {split}: {len(text):,} characters.", err=True)
        ids = encode_text(loaded, text, special_tokens)
        if loaded.decode_bytes(ids) != text.encode("utf-8"):
            raise ValueError(f"the ids of {split} do not decode to its text, so they are not written")
        path = folder / f"{split}.{suffix}"
        saving.write_ids(path, array := saving.to_array(ids, loaded.vocab_size, path.suffix))
        say(_row(path.name, array, text))


def _row(name: str, ids: NDArray[Any], text: str) -> str:
    num_bytes = len(text.encode("utf-8"))
    return (
        f"{name:<9}  shape {ids.shape}, {ids.dtype}, ids {ids.min()} to {ids.max()}, "
        f"{len(text) / len(ids):.3f} characters and {num_bytes / len(ids):.3f} bytes per token"
    )
