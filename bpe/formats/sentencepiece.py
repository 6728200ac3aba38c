"""sentencepiece's `.model`: the pieces, their scores, and the normalizer, as a protobuf message.

Only what splits a text is read: the pieces with their kinds, and whether a space is added before the text.
A normalizer that does more, most with a table of characters, is left to the library and the caller:
`SentencePieceProcessor.normalize`. The
library doesn't say which pieces are user-defined, and needs the package protobuf to say more. The format is
simple enough to read without either: a message is a sequence of fields, each with a number and a value, and
a value may itself be a message.
"""

from __future__ import annotations

import struct
from pathlib import Path

from bpe._files import read_bytes
from bpe.formats.entries import naming
from bpe.subwords.lattice import Kind, Piece
from bpe.subwords.unigram import Unigram

# Numbers of fields in sentencepiece_model.proto.
PIECES, TRAINER, NORMALIZER = 1, 2, 3
PIECE_TEXT, PIECE_SCORE, PIECE_KIND = 1, 2, 3
TRAINER_MODEL_TYPE, UNIGRAM = 3, 1
TRAINER_SUFFIX = 24
NORMALIZER_NAME, NORMALIZER_TABLE, NORMALIZER_PREFIX = 1, 2, 3
NORMALIZER_SINGLE_SPACES, NORMALIZER_MARKS_SPACES = 4, 5
DENORMALIZER = 5

LARGEST_FILE = 20_000_000  # bytes; the largest known has a third of that

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
Fields = dict[int, list[Value]]


def load_sentencepiece(path: str | Path, *, caller_normalizes: bool = False) -> Unigram:
    """Read the model of a Unigram tokenizer. It gives the ids of sentencepiece.

    caller_normalizes: accept a model whose normalizer does more than mark spaces. Its ids are those of
    `encode_normalized(processor.normalize(text))`, with a `SentencePieceProcessor` of the library; `encode`,
    which does not know the normalizer, would give others. `prefix` is False for a model that adds the space
    after the text (`treat_whitespace_as_suffix`).

    Raises OSError, and ValueError, naming the file, for a damaged file, for a model of another kind, and for
    a normalizer as above without `caller_normalizes`.
    """
    path = Path(path)
    data = read_bytes(path, LARGEST_FILE)
    with naming(path):
        model = _read_fields(data)
        pieces = [_read_piece(index, value) for index, value in enumerate(model.get(PIECES, []))]
        if not pieces:
            raise ValueError("it has no pieces, so it is not a model of sentencepiece")
        trainer = _read_message(model, TRAINER)
        if (model_type := _last_integer(trainer, TRAINER_MODEL_TYPE, UNIGRAM)) != UNIGRAM:
            kind = MODEL_TYPES.get(model_type, "an unknown kind")
            raise ValueError(f"it is a model of {kind}, not of Unigram")
        # The format doesn't state the length of a file: one truncated between two pieces would lack pieces.
        if NORMALIZER not in model:
            raise ValueError("it ends before its normalizer: it is truncated or not a model of sentencepiece")
        normalizer = _read_message(model, NORMALIZER)
        prefix = _last_integer(normalizer, NORMALIZER_PREFIX, 1)
        suffix = _last_integer(trainer, TRAINER_SUFFIX, 0)
        if not caller_normalizes:
            _refuse_normalizer(normalizer, _read_message(model, DENORMALIZER), bool(prefix and suffix))
        return Unigram(_disable_null(pieces), bool(prefix and not suffix))


def _refuse_normalizer(normalizer: Fields, denormalizer: Fields, space_after: bool) -> None:
    """Raise ValueError, saying what it does, for a normalizer that `Unigram.normalize` does not equal."""
    name = _check_message(normalizer.get(NORMALIZER_NAME, [b""])[-1]).decode("utf-8")
    effects = {
        f"replaces characters ({name or 'a table of its own'})": normalizer.get(NORMALIZER_TABLE, [b""])[-1],
        "removes extra spaces": _last_integer(normalizer, NORMALIZER_SINGLE_SPACES, 1),
        "leaves spaces as they are": not _last_integer(normalizer, NORMALIZER_MARKS_SPACES, 1),
        "adds a space after the text": space_after,
        "replaces characters after decoding": denormalizer.get(NORMALIZER_TABLE, [b""])[-1],
    }
    if found := [effect for effect, is_there in effects.items() if is_there]:
        raise ValueError(
            f"its normalizer {', '.join(found)}, which this reader leaves to the library: give "
            f"caller_normalizes=True, and encode with encode_normalized(processor.normalize(text))"
        )


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


def _read_piece(index: int, value: Value) -> Piece:
    fields = _read_fields(_check_message(value))
    text = _check_message(fields.get(PIECE_TEXT, [b""])[-1]).decode("utf-8")
    score = fields.get(PIECE_SCORE, [bytes(4)])[-1]
    if not isinstance(score, bytes) or len(score) != 4:
        raise ValueError(f"piece {index}, {text!r}, has a score that is not a number of four bytes")
    kind = _last_integer(fields, PIECE_KIND, 1)
    if kind not in KINDS:
        raise ValueError(f"piece {index}, {text!r}, is of the unknown kind {kind}")
    return Piece(text, struct.unpack("<f", score)[0], KINDS[kind])


def _read_message(fields: Fields, number: int) -> Fields:
    """Return the fields of the message with that field number; one in several parts is their union."""
    return _read_fields(b"".join(map(_check_message, fields.get(number, []))))


def _check_message(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a field for text or a message holds a number")
    return value


def _last_integer(fields: Fields, number: int, default: int) -> int:
    """Return the last integer with that field number, or the default."""
    integers = [value for value in fields.get(number, []) if isinstance(value, int)]
    return integers[-1] if integers else default


def _read_fields(message: bytes) -> Fields:
    """Return the values of a message by field number."""
    fields: Fields = {}
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        number, kind = key >> 3, key & 7
        value: Value
        if kind == 0:
            value, at = _read_varint(message, at)
        else:
            # Types 1 and 5 are numbers of eight and four bytes; type 2 is bytes after their length.
            if kind == 2:
                size, at = _read_varint(message, at)
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
            else:
                raise ValueError("it is not a model of sentencepiece: a field has a type unknown to protobuf")
            value, at = message[at : at + size], at + size
            if at > len(message):
                raise ValueError("it ends within a field")
        fields.setdefault(number, []).append(value)
    return fields


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
