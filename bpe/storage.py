"""The project's own file format for tokenizers: JSON that holds all that defines one.

    {"format": "bpe-course tokenizer", "version": 1, "kind": …, "fingerprint": …, "content": {…}}

The fingerprint is the SHA-256 of kind and content, so a file that was changed or cut is recognised.
A later version of the format gets a higher number, and is refused by earlier code.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from bpe.files import write_atomically

FORMAT = "bpe-course tokenizer"
VERSION = 1


def fingerprint(kind: str, content: dict[str, Any]) -> str:
    """SHA-256, in hexadecimal, of kind and content as compact JSON with sorted keys."""
    canonical = json.dumps([kind, content], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def save(path: str | Path, kind: str, content: dict[str, Any], **about: str) -> None:
    """Write a tokenizer's content; an earlier file is replaced only when all is written.

    about: what a reader of the file should know but encoding does not depend on, such as the tie rule.
    """
    head = {"format": FORMAT, "version": VERSION, "kind": kind, "fingerprint": fingerprint(kind, content)}
    text = json.dumps(head | about | {"content": content}, ensure_ascii=False)
    write_atomically(Path(path), (text + "\n").encode("utf-8"))


def load(path: str | Path, kind: str) -> dict[str, Any]:
    """Read back the content.

    Raises FileNotFoundError where there is no file, and ValueError, saying which, for a file that is not
    ours, of a later version, of another kind of tokenizer, or damaged.
    """
    file = _read(Path(path))
    if file.get("kind") != kind:
        raise ValueError(f"{path} holds a tokenizer of kind {file.get('kind')!r}, not {kind!r}")
    content = file.get("content")
    if not isinstance(content, dict) or file.get("fingerprint") != fingerprint(kind, content):
        raise ValueError(f"{path} is damaged: its content does not have the fingerprint that it states")
    return content


def kind(path: str | Path) -> str:
    """The kind of tokenizer that a file says it holds. Raises as `load` does."""
    return str(_read(Path(path)).get("kind"))


def _read(path: Path) -> dict[str, Any]:
    try:
        file = json.loads(path.read_bytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a tokenizer of this course, or is damaged: {error}") from None
    if not isinstance(file, dict) or file.get("format") != FORMAT:
        raise ValueError(f'{path} is not a tokenizer of this course: it has no "format": "{FORMAT}"')
    if file.get("version") != VERSION:
        raise ValueError(
            f"{path} has version {file.get('version')!r} of the format, and this module reads version "
            f"{VERSION}; a newer bpe-course may read it"
        )
    return file
