"""The checks of chapter 9: GPT-2's letters, tokens out of reach, and a reader of tokenizer.json."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bpe import BPETokenizer, formats
from bpe.checks import NotStartedError, ReturnedNoneError, exercise
from bpe.formats import byte_letters

TEXT = "the cat and the hat and the bat, 月光 and 月色, on the mat\n  the rat ran\n"
BYTES = [bytes([value]) for value in range(256)]


@exercise
def exercise_1(from_letters: Callable[[str], bytes]) -> str | None:
    for token in (b" the", b"cat", "月".encode(), b"\n\n", b"\xad", b"", bytes(range(256))):
        letters = byte_letters.to_letters(token)
        found = from_letters(letters)
        if found == token:
            continue
        shown = f"the letters of all 256 bytes ({letters[:8]!r}, …)" if len(token) == 256 else repr(letters)
        if not isinstance(found, bytes):
            return f"For {shown} you give {_short(found)}; it should be of type bytes."
        if len(token) == 256:
            wrong = next((k for k, value in enumerate(found) if value != k), len(found))
            return f"For {shown} byte 0x{wrong:02x} is not what it should be."
        return f"For {shown} you give {found!r}; it should be {token!r}."
    for letters, alien in (("a b", " "), ("Ġ月", "月"), ("Ġnew\n", "\n")):
        try:
            found = from_letters(letters)
        except ValueError as error:
            if alien in str(error) or repr(alien) in str(error):
                continue
            return f"For {letters!r} the message of your ValueError, {str(error)!r}, does not name {alien!r}."
        except LookupError as error:
            kind = type(error).__name__
            return f"For {letters!r} you raise {kind}; it should be a ValueError, as {alien!r} is no letter."
        return f"For {letters!r} you give {_short(found)}; it should raise a ValueError."
    return None


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _tokenizers() -> Iterator[tuple[str, BPETokenizer]]:
    """Small tokenizers, each with what is particular about it."""
    trained = BPETokenizer.train(TEXT, 280, pattern="gpt2", progress=False)
    yield "trained with the split of GPT-2", trained
    unmade = [*BYTES, b"xy", b"ab"]
    yield "where no merge makes b'xy'", BPETokenizer(unmade, [(97, 98)])
    yield "the same with whole_pieces", BPETokenizer(unmade, [(97, 98)], whole_pieces=True)
    across = [*BYTES, b"a b", b"ab", b" b"]
    yield "cut at white space", BPETokenizer(across, [(97, 98)], "words", whole_pieces=True)
    front = [None, None, *BYTES, None, b"ab", b"ba"]
    special = {"<|end|>": 0, "<|月|>": 1}
    yield "with special tokens in front and a hole", BPETokenizer(front, [(99, 100)], "gpt2", special)
    moon = "月".encode()
    pieces = [*BYTES, moon[:2], moon, moon[1:]]
    yield "with pieces of 月", BPETokenizer(pieces, [(moon[0], moon[1]), (256, moon[2])])


def _out_of_reach(tokenizer: BPETokenizer) -> list[int]:
    found: list[int] = []
    for i, token in enumerate(tokenizer.vocabulary):
        try:
            text = token.decode() if isinstance(token, bytes) else None
        except UnicodeDecodeError:
            continue
        if text is not None and tokenizer.encode(text, disallowed_special=()) != [i]:
            found.append(i)
    return found


@exercise
def exercise_2(unreachable: Callable[[BPETokenizer], list[int]]) -> str | None:
    for kind, tokenizer in _tokenizers():
        found, expected = unreachable(tokenizer), _out_of_reach(tokenizer)
        if found == expected:
            continue
        case = f"For a tokenizer {kind}"
        if not isinstance(found, list) or not all(isinstance(i, int) for i in found):
            return f"{case} you give {_short(found)}; it should be a list of ids."
        if extra := sorted(set(found) - set(expected)):
            return f"{case} you give the id {extra[0]}{_why_not(tokenizer, extra[0])}."
        if missing := sorted(set(expected) - set(found)):
            token = tokenizer.token(missing[0])
            return f"{case} you leave out the id {missing[0]}, {token!r}, which its text does not give."
        return f"{case} you give {_short(found)}; it should be ascending, each id once."
    return None


def _why_not(tokenizer: BPETokenizer, i: int) -> str:
    if not 0 <= i < tokenizer.vocab_size:
        return ", and there is no such id"
    if i in tokenizer.special_tokens.values():
        return ", which is a special token"
    token = tokenizer.token(i)
    if token is None:
        return ", which is a hole"
    try:
        assert isinstance(token, bytes)
        text = token.decode()
    except UnicodeDecodeError:
        return f", {token!r}, which is no text"
    return f", {token!r}; the text {text!r} is encoded as exactly that"


def _files() -> Iterator[tuple[str, dict[str, Any]]]:
    """The content of files, each with what is particular about it."""
    plain = BPETokenizer.train(TEXT, 275, progress=False)
    yield "without a split", _written(plain)
    yield "with the split of GPT-2", _written(BPETokenizer.train(TEXT, 280, pattern="gpt2", progress=False))
    named = BPETokenizer.train(
        TEXT, 285, pattern=["verse", "words"], special_tokens=["<|end|>", "the cat"], progress=False
    )
    yield "with two splits and special tokens", _written(named)
    older = _written(named)
    older["model"]["merges"] = [" ".join(merge) for merge in older["model"]["merges"]]
    yield "with merges as strings", older
    without = _written(plain)
    del without["model"]["ignore_merges"]
    yield "without ignore_merges", without
    front = [None, *BYTES, b"th", b"the"]
    yield (
        "with a special token at 0",
        _written(BPETokenizer(front, [(117, 105), (257, 102)], None, {"<|begin|>": 0})),
    )
    whole = BPETokenizer([*BYTES, b"xyz"], [], "gpt2", whole_pieces=True)
    yield "with ignore_merges", _written(whole)


def _written(tokenizer: BPETokenizer) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        formats.save_tokenizers_json(tokenizer, path)
        file: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return file


def _read(file: dict[str, Any]) -> BPETokenizer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_text(json.dumps(file), encoding="utf-8")
        return formats.load_tokenizers_json(path)


@exercise
def exercise_3(read_json: Callable[[dict[str, Any]], BPETokenizer]) -> str | None:
    for kind, file in _files():
        expected = _read(file)
        try:
            found = read_json(json.loads(json.dumps(file)))
        except NotStartedError:
            raise
        except ReturnedNoneError:
            return f"For a file {kind} you give None. Is a `return` missing?"
        except Exception as error:  # told here, since the whole file would stand in the usual message
            return f"For a file {kind} your code raised {type(error).__name__}: {error}."
        if not isinstance(found, BPETokenizer):
            return f"For a file {kind} you give {_short(found)}; it should be a BPETokenizer."
        if found.fingerprint == expected.fingerprint:
            continue
        for part in ("special_tokens", "vocabulary", "merges", "split", "whole_pieces"):
            got, wanted = getattr(found, part), getattr(expected, part)
            if got != wanted:
                return f"For a file {kind}, {part} of your tokenizer is wrong: {_first(got, wanted)}."
    return None


def _first(got: Any, wanted: Any) -> str:
    """Where two parts of a tokenizer begin to differ."""
    if not isinstance(got, (list, tuple)):
        return f"{_short(got)}, and it should be {_short(wanted)}"
    for k, (one, other) in enumerate(zip(got, wanted, strict=False)):
        if one != other:
            return f"number {k} is {_short(one)}, and it should be {_short(other)}"
    return f"there are {len(got)}, and there should be {len(wanted)}"
