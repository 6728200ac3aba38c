"""tiktoken's rank file: a line has a token in base64, a space, and the rank, which is also the id.

cl100k_base, o200k_base, Llama 3's tokenizer.model and qwen.tiktoken have this format. The file has no merges,
pattern or special tokens: merges are rebuilt, the others are arguments of the reader.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from bpe import presplit
from bpe._files import read_bytes, write_atomically
from bpe.bytepair import BPETokenizer
from bpe.formats.entries import LARGEST_FILE, naming, place_tokens
from bpe.formats.rebuild import needs_whole_pieces, rebuild_merges
from bpe.naive import Pair

BYTE_ORDER_MARK = "\ufeff".encode("utf-8")


def load_tiktoken(
    path: str | Path, split: presplit.Pattern, special_tokens: Mapping[str, int] | None = None
) -> BPETokenizer:
    """Read a rank file. The ids equal those of a `tiktoken.Encoding` with the same ranks.

    split: the pattern, as in `BPETokenizer`. tiktoken drops what its pattern does not match; here that is a
    piece of its own.
    special_tokens: str -> id.

    As in tiktoken, a piece that is itself a token is taken whole, and a file that lacks one of the 256
    bytes is refused. Raises OSError, and ValueError, naming file and line, for a damaged file.
    """
    path = Path(path)
    data = read_bytes(path, LARGEST_FILE).removeprefix(BYTE_ORDER_MARK)
    with naming(path):
        tokens = place_tokens(_read_ranks(data))
        present = set(tokens)
        for value in range(256):
            if bytes([value]) not in present:
                raise ValueError(f"byte 0x{value:02x} is not a token")
        return BPETokenizer(tokens, _rebuild(tokens), split, special_tokens, whole_pieces=True)


def _rebuild(tokens: list[bytes | None]) -> list[Pair]:
    return rebuild_merges(tokens, lambda pair, joined: joined)


def _read_ranks(data: bytes) -> Iterator[tuple[int, bytes]]:
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
    """Write a rank file: the tokens alone, since the format holds neither special tokens nor a pattern.

    An `Encoding` of its ranks, read with `tiktoken.load.load_tiktoken_bpe`, gives the same ids if it has the
    same special tokens and the same pattern, as one expression that matches everything.

    Raises ValueError for what the format cannot hold: an alphabet of characters, a missing byte, and merges
    other than those that tiktoken derives from the tokens. Raises OSError as `write_atomically`.
    """
    if tokenizer.alphabet != "bytes":
        raise ValueError("a rank file holds bytes, but this tokenizer works on characters")
    tokens = [token for token in tokenizer.vocabulary if token is None or isinstance(token, bytes)]
    missing = set(range(256)).difference(token[0] for token in tokens if token and len(token) == 1)
    if missing:
        raise ValueError(f"tiktoken needs all 256 bytes, and byte 0x{min(missing):02x} is not a token")
    if _rebuild(tokens) != list(tokenizer.merges):
        raise ValueError("tiktoken would derive other merges from the ids than this tokenizer has")
    if not tokenizer.whole_pieces and needs_whole_pieces(tokens, tokenizer.merges):
        raise ValueError(
            "no merge makes some of the tokens: tiktoken would take them whole, but this tokenizer would not"
        )
    lines = [base64.b64encode(token) + b" %d\n" % i for i, token in enumerate(tokens) if token is not None]
    write_atomically(Path(path), b"".join(lines))
