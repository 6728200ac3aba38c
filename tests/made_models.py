"""Models of sentencepiece, written by hand, so that it can be asked about any pieces and scores."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from bpe.formats.sentencepiece import KINDS
from bpe.subwords.unigram import Piece

NUMBERS = {kind: number for number, kind in KINDS.items()}


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def numeric(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def message(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def model(pieces: Iterable[Piece], *, prefix: bool = False, model_type: int = 1) -> bytes:
    """A model that normalizes nothing but spaces to `▁`. One of the pieces has to be the unknown one."""
    pieces = list(pieces)
    kinds = [piece.kind for piece in pieces]
    entries = [
        message(1, piece.text.encode())
        + b"\x15"
        + struct.pack("<f", piece.score)
        + numeric(3, NUMBERS[piece.kind])
        for piece in pieces
    ]
    trainer = numeric(3, model_type) + numeric(35, "byte" in kinds) + numeric(40, kinds.index("unknown"))
    normalizer = message(1, b"identity") + numeric(3, prefix) + numeric(4, 0) + numeric(5, 1)
    return b"".join(message(1, entry) for entry in entries) + message(2, trainer) + message(3, normalizer)


def processor(pieces: Iterable[Piece], **options: Any) -> Any:
    """The library's processor of these pieces."""
    import sentencepiece

    return sentencepiece.SentencePieceProcessor(model_proto=model(pieces, **options))
