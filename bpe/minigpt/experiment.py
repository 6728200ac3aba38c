"""Characters against BPE in a MiniGPT: the texts, the tokenizers, the sizes, the length of training.

All runs of a comparison have the same body, the same optimizer and the same number of training characters.
Only the tokenizer differs, and with it the embedding. `bpe.minigpt.run` executes a run.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpe import corpora, saving
from bpe._files import data_folder, locked
from bpe.bytepair import BPETokenizer
from bpe.characters import CharTokenizer
from bpe.saving import load_tokenizer
from bpe.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

HELD_OUT_POEMS = 500
CURVE_CHARACTERS = 30_000  # of WikiText-2's validation text, scored during training
HELD_OUT_CHARACTERS = 400_000  # of WikiText-2's test text; scoring all of it takes half as long as a run
MERGES_FROM = 500_000  # characters of WikiText-2, as in chapter 6
UNKNOWN = "<unk>"
IDS = "train.npy"


@dataclass(frozen=True)
class Texts:
    """The text to learn from, the text scored along the way, and the text scored at the end."""

    train: str
    along_the_way: str
    held_out: str


def texts(corpus: str) -> Texts:
    """The texts of "tang" or "wikitext2".

    Held out are the last 500 poems, and the beginning of WikiText-2's test text. The poems scored along the
    way are the same, since nothing is decided by those scores.
    Raises ValueError for another name, and FileNotFoundError, naming the command, if the corpus is missing.
    """
    if check_name(corpus, "corpus", COMPARED) == "tang":
        poems = corpora.tang_poems()
        if len(poems) <= HELD_OUT_POEMS:
            raise ValueError(
                f"there are {len(poems):,} poems and the last {HELD_OUT_POEMS:,} are held out, so none is "
                f"left to learn from"
            )
        held_out = "\n".join(poems[-HELD_OUT_POEMS:])
        return Texts("\n".join(poems[:-HELD_OUT_POEMS]) + "\n", held_out, held_out)
    along_the_way = corpora.wikitext2("valid")[:CURVE_CHARACTERS]
    held_out = corpora.wikitext2("test")[:HELD_OUT_CHARACTERS]
    return Texts(corpora.wikitext2("train"), along_the_way, held_out)


def check_name(value: str, kind: str, known: Iterable[str]) -> str:
    """Return the value, which may become the name of a folder. Raises ValueError for an unknown one."""
    if value not in tuple(known):
        raise ValueError(f"unknown {kind} {value!r}: choose from {', '.join(map(repr, known))}")
    return value


def sha256(text: str) -> str:
    """SHA-256 of the text's UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


# --- tokenizers


def characters(train: str) -> CharTokenizer:
    """The characters that occur twice or more. The others are unknown, so that the model meets <unk>."""
    return CharTokenizer(train, unknown=UNKNOWN, min_frequency=2)


def single_bytes(train: str) -> BPETokenizer:
    """The 256 bytes, whatever the training text is."""
    return BPETokenizer([bytes([value]) for value in range(256)])


def _byte_bpe(train: str, pattern: str | None) -> BPETokenizer:
    return BPETokenizer.train(train, 4096, pattern=pattern)


def _character_bpe(train: str, vocab_size: int) -> BPETokenizer:
    return BPETokenizer.train(
        train[:MERGES_FROM], vocab_size, alphabet="characters", base_tokens=sorted(set(train))
    )


TOKENIZERS: dict[str, Callable[[str], Tokenizer]] = {
    "characters": characters,
    "bytes": single_bytes,
    "bpe-4096-verse": lambda train: _byte_bpe(train, "verse"),
    "bpe-4096": lambda train: _byte_bpe(train, None),
    "char-bpe-500": lambda train: _character_bpe(train, 500),
    "char-bpe-2000": lambda train: _character_bpe(train, 2000),
}

# The tokenizers compared on each corpus.
COMPARED = {
    "tang": ("characters", "bytes", "bpe-4096-verse", "bpe-4096"),
    "wikitext2": ("characters", "char-bpe-500", "char-bpe-2000"),
}


@dataclass(frozen=True)
class Encoded:
    """A tokenizer, and the ids of a training text: a memory-mapped array of shape (number of ids,)."""

    tokenizer: Tokenizer
    ids: NDArray[Any]


def encoded(corpus: str, name: str, train: str) -> Encoded:
    """Make the tokenizer and the ids of the training text, or take those of an earlier call.

    name: of the tokenizer: a key of TOKENIZERS, or the path of a file that `save` wrote.
    Both are kept in the data folder under encoded/minigpt/, in one folder per tokenizer and training text.
    One process makes them; others that need them wait for it, and say so in the log.
    """
    check_name(corpus, "corpus", COMPARED)
    folder = data_folder() / "encoded" / "minigpt" / f"{corpus}-{short_name(name)}-{sha256(train)[:8]}"
    if kept := _load_encoded(folder, name):
        return kept
    with locked(folder, wait=log.info):
        return _load_encoded(folder, name) or _make_encoded(folder, name, train)


def _make_encoded(folder: Path, name: str, train: str) -> Encoded:
    tokenizer = _open_tokenizer(name, train, folder)
    saving.claim_folder(folder, tokenizer, force=True)
    saving.write_ids(folder / IDS, saving.to_array(tokenizer.encode(train), tokenizer.vocab_size))
    ids = _load_ids(folder / IDS, tokenizer.vocab_size)
    if ids is None:
        raise ValueError("the training text is empty")
    return Encoded(tokenizer, ids)


def _load_encoded(folder: Path, name: str) -> Encoded | None:
    """What an earlier call has made, if it is whole and belongs to the tokenizer."""
    if (owner := saving.folder_owner(folder)) is None:
        return None
    tokenizer = load_tokenizer(folder / saving.TOKENIZER if name in TOKENIZERS else Path(name))
    ids = _load_ids(folder / IDS, tokenizer.vocab_size) if owner == tokenizer.fingerprint else None
    return None if ids is None else Encoded(tokenizer, ids)


def _load_ids(path: Path, vocab_size: int) -> NDArray[Any] | None:
    """The ids in a file, memory-mapped; None if the file is missing or damaged, or an id is out of range."""
    try:
        ids = saving.map_ids(path)
    except (OSError, ValueError):
        return None
    return ids if ids.size and ids.min() >= 0 and ids.max() < vocab_size else None


def _open_tokenizer(name: str, train: str, folder: Path) -> Tokenizer:
    """Load the tokenizer, or train it if it is one of TOKENIZERS and not yet in the folder."""
    if name in TOKENIZERS and not saving.folder_owner(folder):
        return TOKENIZERS[name](train)
    path = folder / saving.TOKENIZER if name in TOKENIZERS else Path(name)
    tokenizer: Tokenizer = saving.load_tokenizer(path)
    return tokenizer


def short_name(tokenizer: str) -> str:
    """The tokenizer's name in the names of folders. Raises ValueError if it is neither a name nor a file."""
    if tokenizer in TOKENIZERS:
        return tokenizer
    path = Path(tokenizer)
    if not path.is_file():
        raise ValueError(f"{tokenizer!r} is neither one of {', '.join(TOKENIZERS)} nor a tokenizer's file")
    return f"{path.stem}-{load_tokenizer(path).fingerprint[:8]}"


# --- sizes


@dataclass(frozen=True)
class Profile:
    """The sizes of the models and the length of their training.

    body: arguments of `bpe.minigpt.MiniGPTConfig`, except vocab_size.
    settings: arguments of `bpe.minigpt.training.TrainingSettings`, except steps and seed.
    characters_seen: for each corpus, the number of training characters, repetitions included.
    scores: how often the model is scored along the way.
    held_out: number of characters of the held-out text to score at the end; None for all.
    samples: number of texts sampled at the end.
    seeds: of the runs that `minigpt experiment` makes.
    """

    body: Mapping[str, Any]
    settings: Mapping[str, Any]
    characters_seen: Mapping[str, int]
    scores: int = 10
    held_out: int | None = None
    samples: int = 100
    seeds: tuple[int, ...] = field(default=(0, 1, 2))


# Only the largest profile sees its text much more than once, so only there dropout has something to prevent.
PROFILES = {
    "tiny": Profile(
        body={"block_size": 64, "embedding_dim": 64, "num_layers": 2, "dropout": 0.0},
        settings={"batch_size": 16, "learning_rate": 3e-3},
        characters_seen={"tang": 200_000, "wikitext2": 300_000},
        scores=4,
        held_out=20_000,
        samples=10,
    ),
    "small": Profile(
        body={"dropout": 0.0},
        settings={"batch_size": 8, "learning_rate": 2e-3},
        characters_seen={"tang": 1_000_000, "wikitext2": 1_200_000},
    ),
    "gpu": Profile(
        body={"block_size": 256, "embedding_dim": 512, "num_heads": 8, "num_layers": 8, "dropout": 0.1},
        settings={"batch_size": 64, "learning_rate": 6e-4},
        characters_seen={"tang": 9_000_000},
    ),
}
