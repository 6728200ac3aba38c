"""sentencepiece's `.model`: the pieces, their scores, and the normalizer, as a protobuf message.

Only what splits a text is read: the pieces with their kinds, and whether a space is added before the text.
The normalizer itself, a table of characters, is left to the library: `SentencePieceProcessor.normalize`. The
library doesn't say which pieces are user-defined, and needs the package protobuf to say more. The format is
simple enough to read without either: a message is a sequence of fields, each with a number and a value, and
a value may itself be a message.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from bpe.formats.entries import naming
from bpe.subwords.lattice import Kind, Piece
from bpe.subwords.unigram import Unigram

# Numbers of fields in sentencepiece_model.proto.
PIECES, TRAINER, NORMALIZER = 1, 2, 3
PIECE_TEXT, PIECE_SCORE, PIECE_KIND = 1, 2, 3
TRAINER_MODEL_TYPE, UNIGRAM = 3, 1
TRAINER_SUFFIX = 24
NORMALIZER_PREFIX = 3

KINDS: dict[int, Kind] = {
    1: "normal",
    2: "unknown",
    3: "control",
    4: "user-defined",
    5: "unused",
    6: "byte",
}
MODEL_TYPES = {1: "Unigram", 2: "BPE", 3: "words", 4: "characters"}

Value = int | bytes


def load_sentencepiece(path: str | Path) -> Unigram:
    """Read the model of a Unigram tokenizer. It gives the ids of sentencepiece.

    `SentencePieceProcessor.encode(text)` equals `encode_normalized(processor.normalize(text))`. A model that
    adds the space after the text (`treat_whitespace_as_suffix`) adds none before it, so `prefix` is False.

    Raises OSError, and ValueError, naming the file, for a damaged file and for a model of another kind.
    """
    path = Path(path)
    data = path.read_bytes()
    with naming(path):
        pieces: list[Piece] = []
        model_type, prefix, suffix, whole = UNIGRAM, True, False, False
        for number, value in _read_fields(data):
            if number == PIECES:
                pieces.append(_read_piece(len(pieces), _check_message(value)))
            elif number == TRAINER:
                model_type = _find_last(_check_message(value), TRAINER_MODEL_TYPE, UNIGRAM)
                suffix = bool(_find_last(_check_message(value), TRAINER_SUFFIX, 0))
            elif number == NORMALIZER:
                prefix, whole = bool(_find_last(_check_message(value), NORMALIZER_PREFIX, 1)), True
        if not pieces:
            raise ValueError("it has no pieces, so it is not a model of sentencepiece")
        if model_type != UNIGRAM:
            kind = MODEL_TYPES.get(model_type, "an unknown kind")
            raise ValueError(f"it is a model of {kind}, not of Unigram")
        # The format doesn't state the length of a file: one truncated between two pieces would lack pieces.
        if not whole:
            raise ValueError(
                "it ends before its normalizer, so it is truncated or not a model of sentencepiece"
            )
        return Unigram(_disable_null(pieces), prefix and not suffix)


def _disable_null(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces, with the null character as a piece marked unused if there are byte pieces.

    Raises ValueError for any other piece that contains that character. The library does both too.
    """
    with_bytes = any(piece.kind == "byte" for piece in pieces)
    for index, piece in enumerate(pieces):
        if "\0" in piece.text:
            if piece.text != "\0" or not with_bytes:
                raise ValueError(f"piece {index}, {piece.text!r}, holds a null character")
            pieces[index] = piece._replace(kind="unused")
    return pieces


def _read_piece(index: int, message: bytes) -> Piece:
    text, score, kind = "", 0.0, 1
    for number, value in _read_fields(message):
        if number == PIECE_TEXT:
            text = _check_message(value).decode("utf-8")
        elif number == PIECE_SCORE and isinstance(value, bytes) and len(value) == 4:
            [score] = struct.unpack("<f", value)
        elif number == PIECE_KIND and isinstance(value, int):
            kind = value
    if kind not in KINDS:
        raise ValueError(f"piece {index}, {text!r}, is of the unknown kind {kind}")
    return Piece(text, score, KINDS[kind])


def _find_last(message: bytes, wanted: int, default: int) -> int:
    """Return the last integer with that field number, or the default."""
    for number, value in _read_fields(message):
        if number == wanted and isinstance(value, int):
            default = value
    return default


def _check_message(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a field for text or a message holds a number")
    return value


def _read_fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Yield the fields of a message: (number, value), where the value is an integer or bytes."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        if key & 7 == 0:
            value: Value
            value, at = _read_varint(message, at)
        else:
            # Types 1 and 5 are numbers of eight and four bytes; type 2 is bytes after their length.
            if key & 7 == 2:
                size, at = _read_varint(message, at)
            elif key & 7 in (1, 5):
                size = 8 if key & 7 == 1 else 4
            else:
                raise ValueError("it is not a model of sentencepiece: a field has a type unknown to protobuf")
            value, at = message[at : at + size], at + size
            if at > len(message):
                raise ValueError("it ends within a field")
        yield key >> 3, value


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    """Read an integer of seven bits a byte, low bits first; its last byte is below 128.

    Return the integer and its end.
    """
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError("it ends within a number" if shift <= 63 else "a number has more than 64 bits")
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
