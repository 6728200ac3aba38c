"""Token ids in files, and the tokenizer they belong to beside them.

Ids mean nothing without their tokenizer, and those of another one decode into garbage without an error. So
a folder of ids holds its tokenizer too, and takes no ids of another.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpe import textfiles
from bpe.characters import CharTokenizer
from bpe.corpora import data_folder
from bpe.files import remove_left_over, write_atomically
from bpe.loading import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

ARRAY_SUFFIXES = (".npy", ".pt")
TOKENIZER = "tokenizer.json"


# --- files of ids


def as_array(ids: Sequence[int], vocab_size: int, suffix: str = ".npy") -> NDArray[Any]:
    """The ids as a file of that suffix holds them, of shape (number of ids,).

    For .npy that is the smallest unsigned type that holds all of the vocabulary; for .pt it is int64, in
    which an embedding is looked up.
    Raises ValueError for an id that is out of range.
    """
    import numpy

    if ids and not 0 <= min(ids) <= max(ids) < vocab_size:
        raise ValueError(
            f"ids go from {min(ids)} to {max(ids)}, but the vocabulary from 0 to {vocab_size - 1}"
        )
    return numpy.array(ids, dtype="int64" if suffix == ".pt" else numpy.min_scalar_type(vocab_size - 1))


def write(path: Path, array: NDArray[Any]) -> None:
    """Write ids as .npy or .pt, by the suffix of the path.

    Raises ValueError for another suffix, OSError, and ImportError where torch is needed and missing.
    """
    file = io.BytesIO()
    if path.suffix == ".npy":
        import numpy

        numpy.save(file, array)
    elif path.suffix == ".pt":
        import torch

        torch.save(torch.from_numpy(array), file)
    else:
        raise ValueError(f"{path}: ids are written as {' or '.join(ARRAY_SUFFIXES)}")
    write_atomically(path, file.getvalue())


def read(path: Path) -> list[int]:
    """The ids in a .npy or .pt file, or in a text file: numbers with white space between them.

    Raises ValueError, naming the file, for anything else, OSError, and ImportError as `write` does.
    """
    if path.suffix not in ARRAY_SUFFIXES:
        return parsed(textfiles.read(path), path)
    try:
        array = _read_npy(path) if path.suffix == ".npy" else _read_pt(path)
    except OSError:
        raise
    except Exception as error:  # what is no such file fails in many ways, and some advise to trust it
        raise ValueError(f"{path} is no {path.suffix} file of ids, or is damaged") from error
    if getattr(array, "ndim", None) != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{path} holds no row of integers, but {_described(array)}")
    ids: list[int] = array.tolist()
    return ids


def _read_npy(path: Path) -> Any:
    import numpy

    return numpy.load(path, allow_pickle=False)


def _read_pt(path: Path) -> Any:
    import torch

    tensor = torch.load(path, weights_only=True)
    return tensor.numpy() if isinstance(tensor, torch.Tensor) else tensor


def _described(found: Any) -> str:
    return f"{found.dtype} of shape {found.shape}" if hasattr(found, "dtype") else f"a {type(found).__name__}"


def parsed(text: str, name: object) -> list[int]:
    """Ids that are written as text, with white space between them. Raises ValueError for what is no id."""
    words = text.split()
    for position, word in enumerate(words):
        if not (word.isascii() and word.isdigit()):
            raise ValueError(f"{name}: {word!r}, at position {position:,}, is no id")
    return list(map(int, words))


# --- a folder of ids


def folder(tokenizer: Tokenizer, name: str) -> Path:
    """Where the ids of a tokenizer go; those of characters have a folder of their own."""
    parent = data_folder() / "encoded"
    return (parent / "characters" if isinstance(tokenizer, CharTokenizer) else parent) / name


def claim(path: Path, tokenizer: Tokenizer, force: bool = False) -> None:
    """Make `path` the folder of this tokenizer's ids, and save the tokenizer there.

    Ids of another tokenizer are deleted before this one is saved, so that at no moment a tokenizer lies
    beside ids of another. Without `force` they raise ValueError, and nothing is changed.
    """
    path.mkdir(parents=True, exist_ok=True)
    remove_left_over(path)
    if owner(path) == tokenizer.fingerprint:
        return
    others = [file for file in sorted(path.iterdir()) if file.suffix in ARRAY_SUFFIXES]
    if others and not force:
        raise ValueError(
            f"{path} holds ids of another tokenizer: {', '.join(file.name for file in others)} belong to "
            f"fingerprint {owner(path) or 'unknown'}, and this one is {tokenizer.fingerprint}. "
            f"They are deleted only by force (--force)."
        )
    for file in others:
        file.unlink()
    tokenizer.save(path / TOKENIZER)


def owner(path: Path) -> str | None:
    """The fingerprint of the tokenizer in a folder of ids, or None where there is none, or a damaged one."""
    try:
        return load_tokenizer(path / TOKENIZER).fingerprint
    except (FileNotFoundError, ValueError):
        return None
