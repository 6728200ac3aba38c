"""The course's own file formats: tokenizers as JSON, and ids as arrays beside the tokenizer they belong to.

A tokenizer file holds everything that defines one:

    {"format": "bpe-course tokenizer", "version": 1, "kind": …, "fingerprint": …, "content": {…}}

The fingerprint is the SHA-256 of kind and content, so a file that was changed or truncated is recognised.
A later version of the format has a higher number, which earlier code refuses.

Ids mean nothing without their tokenizer: another one decodes them into garbage without an error. So a folder
of ids holds its tokenizer too, and accepts no ids from another.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import textwrap
from array import array as growing_array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from bpe._files import (
    open_atomically,
    read_bytes,
    read_json,
    read_text,
    remove_left_over,
    write_atomically,
)
from bpe._formats import guess_format
from bpe._tensors import check_stored, load_tensors
from bpe._validate import LONGEST_MESSAGE, cut_short

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = "bpe-course tokenizer"
VERSION = 1
LARGEST_FILE = 500_000_000  # bytes; that of the 200,000 tokens of GPT-4o has 6 million

# Where each kind of tokenizer is defined. It is imported only when a file of that kind is opened.
KINDS = {
    "characters": "bpe.characters:CharTokenizer",
    "byte pair encoding": "bpe.bytepair:BPETokenizer",
    "byte pair encoding of words": "bpe.subwords.words:WordBPE",
    "wordpiece": "bpe.subwords.wordpiece:WordPiece",
    "unigram": "bpe.subwords.unigram:Unigram",
}

ARRAY_SUFFIXES = (".npy", ".pt")
STRETCH = 1 << 16  # ids that are read at once
TOKENIZER = "tokenizer.json"  # its name in a folder of ids
LARGEST_ID = 2**63 - 1  # the largest that an int64 holds
MOST_DIGITS = 19  # those of LARGEST_ID; converting thousands of digits is slow, and Python refuses it


# --- tokenizers


def fingerprint(kind: str, content: dict[str, Any]) -> str:
    """SHA-256, in hexadecimal, of kind and content as compact JSON with sorted keys."""
    canonical = json.dumps([kind, content], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def save_content(path: str | Path, kind: str, content: dict[str, Any], **about: str) -> None:
    """Write a tokenizer file; an existing file is replaced only once the new one is complete.

    about: facts that help a reader of the file but do not affect encoding, such as the tie rule.
    """
    head = {"format": FORMAT, "version": VERSION, "kind": kind, "fingerprint": fingerprint(kind, content)}
    text = json.dumps(head | about | {"content": content}, ensure_ascii=False)
    write_atomically(Path(path), (text + "\n").encode("utf-8"))


def load_content(path: str | Path, kind: str) -> dict[str, Any]:
    """Read the content of a tokenizer file.

    Raises FileNotFoundError if there is no file, and ValueError, saying which, if the file is not one of
    ours, has a later version, holds another kind of tokenizer, or is damaged.
    """
    found, content = _read(Path(path))
    if found != kind:
        raise ValueError(f"{path} holds a tokenizer of kind {found!r}, not {kind!r}")
    return content


def load_tokenizer(path: str | Path) -> Any:
    """Open a tokenizer of any kind that `save` wrote; the result is a `bpe.Tokenizer`.

    Raises FileNotFoundError if there is no file, and ValueError for any other or damaged file.
    """
    kind, content = _read(Path(path))
    module, name = KINDS[kind].split(":")
    return getattr(importlib.import_module(module), name)._open(path, content)


def check_entries(content: dict[str, Any], types: Mapping[str, type | tuple[type, ...]]) -> None:
    """Raise ValueError, naming the entry, unless `content` has exactly these entries, of these types."""
    if different := content.keys() ^ types.keys():
        name = min(different)
        raise ValueError(f"it has {'no' if name in types else 'an unknown entry'} {name!r}")
    for name, kinds in types.items():
        value = content[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise ValueError(f"its {name!r} is of the wrong type, {type(value).__name__}")


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the kind of a tokenizer file and its content. Raises ValueError for any other file."""
    try:
        file = read_json(path, LARGEST_FILE)
    except ValueError as error:
        reason = cut_short(str(error).removeprefix(f"{path} "), LONGEST_MESSAGE)
        raise ValueError(
            f"{path} is not a tokenizer of this course, or is damaged: {reason}{_guess(path)}"
        ) from None
    if not isinstance(file, dict) or file.get("format") != FORMAT:
        raise ValueError(
            f'{path} is not a tokenizer of this course: it has no "format": "{FORMAT}"{_guess(path)}'
        )
    if file.get("version") != VERSION:
        raise ValueError(
            f"{path} has version {cut_short(repr(file.get('version')))} of the format, and this module reads "
            f"version {VERSION}; a newer bpe-course may read it"
        )
    kind, content = file.get("kind"), file.get("content")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(
            f"{path} holds a tokenizer of kind {cut_short(repr(kind))}, which this module does not know"
        )
    if not isinstance(content, dict) or file.get("fingerprint") != fingerprint(kind, content):
        raise ValueError(f"{path} is damaged: its content does not match the fingerprint it states")
    return kind, content


def _guess(path: Path) -> str:
    """Return what another library's file seems to be, for the end of an error, or nothing."""
    try:
        guess = guess_format(read_bytes(path, LARGEST_FILE))
    except (OSError, ValueError):
        return ""
    return f"; it looks like {guess}" if guess else ""


# --- ids


def to_array(ids: Sequence[int], vocab_size: int, suffix: str = ".npy") -> NDArray[Any]:
    """Convert ids to the array that a file with that suffix holds, of shape (number of ids,).

    For .npy its type is the smallest unsigned one that holds the whole vocabulary; for .pt it is int64, as
    an embedding lookup needs. Raises TypeError for what is not a row of integers, and ValueError for an id
    that is out of range.
    """
    import numpy

    if vocab_size > LARGEST_ID + 1:
        raise ValueError(f"no array holds the ids of a vocabulary of {vocab_size}")
    array = numpy.asarray(ids) if len(ids) else numpy.empty(0, "int64")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"ids must be a row of integers, not {array.dtype} of shape {array.shape}")
    if array.size and not 0 <= array.min() <= array.max() < vocab_size:
        raise ValueError(
            f"ids go from {array.min()} to {array.max()}, but the vocabulary from 0 to {vocab_size - 1}"
        )
    return array.astype("int64" if suffix == ".pt" else numpy.min_scalar_type(max(0, vocab_size - 1)))


def write_ids(path: Path, array: NDArray[Any]) -> None:
    """Write ids as .npy or .pt, depending on the suffix of the path.

    Raises ValueError for another suffix, OSError, and ImportError if torch is needed but missing.
    """
    import numpy

    _check_suffix(path)
    with open_atomically(path) as file:
        if path.suffix == ".npy":
            numpy.save(file, array)
        else:
            _write_tensor(file, array)


def _check_suffix(path: Path) -> None:
    if path.suffix not in ARRAY_SUFFIXES:
        raise ValueError(f"{path}: ids are written as {' or '.join(ARRAY_SUFFIXES)}")


class IdWriter:
    """Writes ids, row by row, to a file that `open_ids` opened.

    dtype, number, lowest, highest: the type of the ids, how many were written, and between what they lie.
    """

    def __init__(self, file: IO[bytes], vocab_size: int, suffix: str) -> None:
        self.file, self.vocab_size, self.suffix = file, vocab_size, suffix
        self.dtype = to_array([], vocab_size, suffix).dtype
        self.number, self.lowest, self.highest = 0, vocab_size, -1
        self.held = growing_array("q")  # PyTorch writes only what is in memory
        if suffix == ".npy":
            _write_header(file, self.dtype, 0)

    def write(self, ids: Sequence[int]) -> None:
        """Write the ids after those that were written before. Raises as `to_array`, and OSError."""
        array = to_array(ids, self.vocab_size, self.suffix)
        if len(array):
            self.number += len(array)
            self.lowest = min(self.lowest, int(array.min()))
            self.highest = max(self.highest, int(array.max()))
        if self.suffix == ".npy":
            self.file.write(array.data)
        else:
            self.held.frombytes(array.tobytes())

    def finish(self) -> None:
        """Write what can only be written once all ids are known."""
        if self.suffix == ".npy":
            self.file.seek(0)
            _write_header(self.file, self.dtype, self.number)
        else:
            import numpy

            _write_tensor(self.file, numpy.frombuffer(self.held, dtype=self.dtype))


@contextlib.contextmanager
def open_ids(path: Path, vocab_size: int) -> Iterator[IdWriter]:
    """Open a file for ids, .npy or .pt, that is written row by row and becomes `path` once it is complete.

    Its content is that of `write_ids`. A .npy file takes no memory, a .pt file 8 to 9 bytes for each id.
    Raises as `write_ids`.
    """
    _check_suffix(path)
    if path.suffix == ".pt":
        import torch  # noqa: F401  # if it is missing, that is known before the work
    with open_atomically(path) as file:
        writer = IdWriter(file, vocab_size, path.suffix)
        yield writer
        writer.finish()


def _write_header(file: IO[bytes], dtype: Any, number: int) -> None:
    """Write the header of a .npy file. Its length is the same for every number of ids."""
    import numpy

    numpy.lib.format.write_array_header_1_0(
        file,
        {"descr": numpy.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (number,)},
    )


def _write_tensor(file: IO[bytes], array: NDArray[Any]) -> None:
    import torch

    torch.save(torch.from_numpy(array), file)


def read_ids(path: Path) -> list[int]:
    """Read the ids in a .npy or .pt file, or in a text file, as `parse_ids`.

    Raises ValueError, naming the file, for anything else, OSError, and ImportError as `write_ids`.
    """
    if path.suffix not in ARRAY_SUFFIXES:
        return parse_ids(read_text(path), path)
    array = map_ids(path) if path.suffix == ".npy" else _read_pt(path)
    if array.size and not 0 <= array.min() <= array.max() <= LARGEST_ID:
        raise ValueError(f"{path} holds numbers from {array.min()} to {array.max()}, which are not all ids")
    ids: list[int] = array.tolist()
    return ids


def stream_ids(path: Path) -> Iterator[int]:
    """Read ids as `read_ids`, one after the other: those in a .npy file without having all in memory."""
    if path.suffix != ".npy":
        yield from read_ids(path)
        return
    array = map_ids(path)
    for start in range(0, len(array), STRETCH):
        yield from array[start : start + STRETCH].tolist()


def map_ids(path: Path) -> NDArray[Any]:
    """Map the integers in a .npy file into memory. Raises OSError, and ValueError for any other file."""
    import numpy

    with path.open("rb") as file:
        try:
            # numpy.load believes the header: it takes memory for what is not there, and a type of 0 bytes
            # ends the process.
            version = numpy.lib.format.read_magic(file)
            name = f"read_array_header_{version[0]}_{version[1]}"
            shape, _, dtype = getattr(numpy.lib.format, name)(file)
            offset = file.tell()
        except Exception as error:  # other files fail in many ways
            raise ValueError(f"{path} is not a .npy file of ids, or is damaged") from error
        size = os.fstat(file.fileno()).st_size
    if len(shape) != 1 or dtype.kind not in "iu":
        raise _not_a_row(path, f"{dtype} of shape {shape}")
    if isinstance(shape[0], bool) or not 0 <= shape[0] * dtype.itemsize <= size - offset:
        raise ValueError(f"{path} is damaged: it states more ids than its {size - offset:,} bytes hold")
    return numpy.memmap(path, dtype, "r", offset, shape)


def _read_pt(path: Path) -> NDArray[Any]:
    """Read the integers in a .pt file. Raises as `map_ids`, and ImportError without torch."""
    import torch

    tensor = load_tensors(path, "a .pt file of ids")
    if not isinstance(tensor, torch.Tensor):
        raise _not_a_row(path, type(tensor).__name__)
    if tensor.dim() != 1 or tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        raise _not_a_row(path, f"{tensor.dtype} of shape {tuple(tensor.shape)}")
    try:
        check_stored([tensor])
        return tensor.numpy()
    except Exception as error:  # such as a type that numpy lacks
        raise ValueError(f"{path} is damaged: {error}") from error


def _not_a_row(path: Path, found: str) -> ValueError:
    shown = textwrap.shorten(found, 100, placeholder=" …")
    return ValueError(f"{path} does not hold a row of integers, but {shown}")


def parse_ids(text: str, name: object) -> list[int]:
    """Parse ids separated by whitespace, commas or both; the row may be in brackets: 1 2, or [1, 2].

    Raises ValueError, naming it, for a word that is not an id.
    """
    row = text.strip()
    if row.startswith("[") and row.endswith("]"):
        row = row[1:-1]
    parts = row.split(",") if "," in row else [row]
    words = [word for part in parts for word in part.split() or [""] * (len(parts) > 1)]
    for position, word in enumerate(words):
        if not (word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS):
            shown = repr(word if len(word) <= 40 else word[:40] + "…")
            raise ValueError(f"{name}: {shown}, at position {position:,}, is not an id")
    return list(map(int, words))


# --- a folder of ids


class _Savable(Protocol):
    @property
    def fingerprint(self) -> str: ...
    def save(self, path: Path) -> None: ...


def claim_folder(folder: Path, tokenizer: _Savable, force: bool = False) -> None:
    """Make `folder` the folder of this tokenizer's ids, and save the tokenizer there.

    Ids of another tokenizer are deleted before this one is saved, so a tokenizer never lies beside the ids of
    another. Without `force` they raise ValueError, and nothing is changed.
    """
    if folder.exists():
        remove_left_over(folder)
    owner = folder_owner(folder)
    if owner == tokenizer.fingerprint:
        return
    files = sorted(folder.iterdir()) if folder.exists() else []
    others = [file for file in files if file.suffix in ARRAY_SUFFIXES]
    if others and not force:
        raise ValueError(
            f"{folder} holds ids of another tokenizer: {', '.join(file.name for file in others)} belong to "
            f"fingerprint {owner or 'unknown'}, and this one is {tokenizer.fingerprint}. "
            f"Give --force to delete them."
        )
    for file in others:
        file.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(folder / TOKENIZER)


def folder_owner(folder: Path) -> str | None:
    """The fingerprint of the tokenizer in a folder of ids, or None if there is none or it is damaged."""
    try:
        owner: str = load_tokenizer(folder / TOKENIZER).fingerprint
    except (FileNotFoundError, ValueError):
        return None
    return owner
