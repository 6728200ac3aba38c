"""sentencepiece's `.model`: the pieces, their scores, and how text is normalized, in the format of protobuf.

Only what cuts a text is read: the pieces with their kinds, and whether a space is put before the text. The
normalizer itself, tables of characters, is left to the library: `SentencePieceProcessor.normalize`. That
library does not tell which pieces are user-defined, and needs the package protobuf to say more; the format is
simple enough to read without either: a message is a row of fields, each with a number and a value, and a
value may be a message again.
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
    """Read the model of a Unigram tokenizer. Its ids are those of sentencepiece.

    `SentencePieceProcessor.encode(text)` is `encode_normalized(processor.normalize(text))`. A model that puts
    the space behind the text (`treat_whitespace_as_suffix`) puts none before it, so `prefix` is False.

    Raises OSError, and ValueError, naming the file, for a damaged one and for a model of another kind.
    """
    path = Path(path)
    data = path.read_bytes()
    with naming(path):
        pieces: list[Piece] = []
        model_type, prefix, suffix, whole = UNIGRAM, True, False, False
        for number, value in _fields(data):
            if number == PIECES:
                pieces.append(_piece(len(pieces), _message(value)))
            elif number == TRAINER:
                model_type = _last(_message(value), TRAINER_MODEL_TYPE, UNIGRAM)
                suffix = bool(_last(_message(value), TRAINER_SUFFIX, 0))
            elif number == NORMALIZER:
                prefix, whole = bool(_last(_message(value), NORMALIZER_PREFIX, 1)), True
        if not pieces:
            raise ValueError("it has no pieces, so it is no model of sentencepiece")
        if model_type != UNIGRAM:
            raise ValueError(
                f"it is a model of {MODEL_TYPES.get(model_type, 'an unknown kind')}, not of Unigram"
            )
        # Nothing in the format says how long a file is: one cut between two pieces would be read as fewer.
        if not whole:
            raise ValueError("it ends before what it says of its normalizer, so it is cut or no such model")
        return Unigram(_without_null(pieces), prefix and not suffix)


def _without_null(pieces: list[Piece]) -> list[Piece]:
    """The pieces; one that is the null character is not in use, as in the library, where there are bytes.

    Raises ValueError for any other piece that holds it, as the library does.
    """
    with_bytes = any(piece.kind == "byte" for piece in pieces)
    for index, piece in enumerate(pieces):
        if "\0" in piece.text:
            if piece.text != "\0" or not with_bytes:
                raise ValueError(f"piece {index}, {piece.text!r}, holds a null character")
            pieces[index] = piece._replace(kind="unused")
    return pieces


def _piece(index: int, message: bytes) -> Piece:
    text, score, kind = "", 0.0, 1
    for number, value in _fields(message):
        if number == PIECE_TEXT:
            text = _message(value).decode("utf-8")
        elif number == PIECE_SCORE and isinstance(value, bytes) and len(value) == 4:
            [score] = struct.unpack("<f", value)
        elif number == PIECE_KIND and isinstance(value, int):
            kind = value
    if kind not in KINDS:
        raise ValueError(f"piece {index}, {text!r}, is of the unknown kind {kind}")
    return Piece(text, score, KINDS[kind])


def _last(message: bytes, wanted: int, default: int) -> int:
    """The integer with that number, the last one if there are several, or else the default."""
    for number, value in _fields(message):
        if number == wanted and isinstance(value, int):
            default = value
    return default


def _message(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a field that should hold text or a message holds a number")
    return value


def _fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """The fields of a message: (number, value); the value is an integer or bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        if key & 7 == 0:
            value: Value
            value, at = _varint(message, at)
        else:
            # 1 and 5: a number of eight or four bytes; 2: bytes, with their length before them.
            if key & 7 == 2:
                size, at = _varint(message, at)
            elif key & 7 in (1, 5):
                size = 8 if key & 7 == 1 else 4
            else:
                raise ValueError("it is no model of sentencepiece: a field is of no type that protobuf has")
            value, at = message[at : at + size], at + size
            if at > len(message):
                raise ValueError("it ends within a field")
        yield key >> 3, value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """An integer of seven bits a byte, low bits first, and where it ends; the last byte is below 128."""
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError("it ends within a number" if shift <= 63 else "a number has more than 64 bits")
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
