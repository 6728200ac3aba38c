"""tiktoken's rank file: a token in base64, a space, its rank, a line feed; the rank is also the id.

It is the format of cl100k_base, o200k_base, Llama 3's tokenizer.model and qwen.tiktoken. The file has no
merges, no split and no special tokens: these are rebuilt, or given to the reader as arguments.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from bpe import presplit
from bpe._files import write_atomically
from bpe.bytepair import BPETokenizer
from bpe.formats.entries import naming, placed
from bpe.formats.rebuild import needs_whole_pieces, rebuilt
from bpe.naive import Pair


def load_tiktoken(
    path: str | Path, split: presplit.Pattern, special_tokens: Mapping[str, int] | None = None
) -> BPETokenizer:
    """Read a rank file. The ids are those of a `tiktoken.Encoding` of the same ranks.

    split: how text is cut first, as in `BPETokenizer`. tiktoken drops what its pattern does not match;
    here it is a piece of its own.
    special_tokens: str -> id.

    As in tiktoken, a piece that is itself a token is taken whole, and a file that lacks one of the 256
    bytes is refused. Raises OSError, and ValueError, naming file and line, for a damaged file.
    """
    path = Path(path)
    data = path.read_bytes()
    with naming(path):
        tokens = placed(_ranked(data))
        present = set(tokens)
        for value in range(256):
            if bytes([value]) not in present:
                raise ValueError(f"byte 0x{value:02x} is no token")
        return BPETokenizer(tokens, _merges(tokens), split, special_tokens, whole_pieces=True)


def _merges(tokens: list[bytes | None]) -> list[Pair]:
    return rebuilt(tokens, lambda pair, joined: joined)


def _ranked(data: bytes) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(data.splitlines(), start=1):
        if not line:
            continue
        found = re.fullmatch(rb"(\S+) ([0-9]{1,9})", line)
        if not found:
            raise ValueError(f"line {number} is not a token in base64, a space, and a rank: {line[:60]!r}")
        try:
            token = base64.b64decode(found[1], validate=True)
        except binascii.Error as error:
            raise ValueError(f"line {number}: {found[1][:60]!r} is not base64: {error}") from None
        yield int(found[2]), token


def save_tiktoken(tokenizer: BPETokenizer, path: str | Path) -> None:
    """Write a rank file: the tokens alone, without special tokens and split, which the format cannot hold.

    Opened with `tiktoken.load.load_tiktoken_bpe` and made an `Encoding` with the tokenizer's split as one
    pattern that matches everything, and its special tokens, it gives the same ids.

    Raises ValueError for what the format cannot hold: an alphabet of characters, a missing byte, and merges
    that are not those which tiktoken works out from the tokens. Raises OSError as `write_atomically`.
    """
    if tokenizer.alphabet != "bytes":
        raise ValueError("a rank file holds bytes, and this tokenizer works on characters")
    tokens = [token for token in tokenizer.vocabulary if token is None or isinstance(token, bytes)]
    missing = set(range(256)).difference(token[0] for token in tokens if token and len(token) == 1)
    if missing:
        raise ValueError(f"tiktoken needs all 256 bytes, and byte 0x{min(missing):02x} is no token")
    if _merges(tokens) != list(tokenizer.merges):
        raise ValueError("by their ids, the tokens have other merges than those of this tokenizer")
    if not tokenizer.whole_pieces and needs_whole_pieces(tokens, tokenizer.merges):
        raise ValueError(
            "some tokens are made by no merge: tiktoken would take them whole, and this tokenizer would not"
        )
    lines = [base64.b64encode(token) + b" %d\n" % i for i, token in enumerate(tokens) if token is not None]
    write_atomically(Path(path), b"".join(lines))
