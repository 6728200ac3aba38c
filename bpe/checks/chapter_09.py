"""The checks of chapter 9: GPT-2's letters, unreachable tokens, and a reader of tokenizer.json."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bpe import BPETokenizer, formats
from bpe.checks import BYTES, case, compare_numbers, exercise, make_hint, shorten
from bpe.formats import byte_letters

TEXT = "the cat and the hat and the bat, 月光 and 月色, on the mat\n  the rat ran\n"


@exercise(
    ("The chapter writes each byte as a letter. You need the same table in the other direction."),
    (
        "188 bytes are written as the characters with their own numbers; the others, in order, as the "
        "characters from U+0100 on."
    ),
    (
        "Build `byte_of`, a dictionary from letter to byte. For each letter: if it is not in `byte_of`, "
        "raise a `ValueError` with `{letter!r}` in its message; otherwise collect `byte_of[letter]`, and "
        "return `bytes(…)`."
    ),
)
def exercise_1(from_letters: Callable[[str], bytes]) -> str | None:
    for token in (b" the", b"cat", "月".encode(), b"\n\n", b"\xad", b"", bytes(range(256))):
        letters = byte_letters.to_letters(token)
        found = from_letters(letters)
        if found == token:
            continue
        shown = f"the letters of all 256 bytes ({letters[:8]!r}, …)" if len(token) == 256 else repr(letters)
        if not isinstance(found, bytes):
            return f"For {shown} you return {shorten(found)}; it should be of type bytes."
        if len(token) == 256:
            wrong = next((k for k, value in enumerate(found) if value != k), len(found))
            return f"For {shown} byte 0x{wrong:02x} of what you return is wrong."
        return f"For {shown} you return {found!r}; it should be {token!r}."
    for letters, alien in (("a b", " "), ("Ġ月", "月"), ("Ġnew\n", "\n")):
        try:
            found = from_letters(letters)
        except ValueError as error:
            if _is_named(alien, str(error)):
                continue
            return f"For {letters!r} the message of your ValueError, {str(error)!r}, does not name {alien!r}."
        except LookupError as error:
            kind = type(error).__name__
            return f"For {letters!r} you raise {kind}; it should be ValueError: no byte is written {alien!r}."
        return f"For {letters!r} you return {shorten(found)}; it should raise ValueError."
    return None


def _is_named(character: str, message: str) -> bool:
    """Whether a character is named in a message: itself, as an escape, or by its number, as in U+6708."""
    number = ord(character)
    forms = (character, repr(character)[1:-1], ascii(character)[1:-1], f"u+{number:04x}", f"0x{number:x}")
    return any(form in message.casefold() for form in forms)


def _tokenizers() -> Iterator[tuple[str, BPETokenizer]]:
    """Small tokenizers, each with what is special about it."""
    trained = BPETokenizer.train(TEXT, 280, pattern="gpt2", progress=False)
    yield "trained with GPT-2's pattern", trained
    unmade = [*BYTES, b"xy", b"ab"]
    yield "in which no merge makes b'xy'", BPETokenizer(unmade, [(97, 98)])
    yield (
        "in which no merge makes b'xy', with whole_pieces",
        BPETokenizer(unmade, [(97, 98)], whole_pieces=True),
    )
    across = [*BYTES, b"a b", b"ab", b" b"]
    yield "that splits at whitespace", BPETokenizer(across, [(97, 98)], "words", whole_pieces=True)
    front = [None, None, *BYTES, None, b"ab", b"ba"]
    special = {"<|end|>": 0, "<|月|>": 1}
    yield "with special tokens in front and a hole", BPETokenizer(front, [(99, 100)], "gpt2", special)
    moon = "月".encode()
    pieces = [*BYTES, moon[:2], moon, moon[1:]]
    yield "with pieces of 月", BPETokenizer(pieces, [(moon[0], moon[1]), (256, moon[2])])


def _find_unreachable(tokenizer: BPETokenizer) -> list[int]:
    found: list[int] = []
    for i, token in enumerate(tokenizer.vocabulary):
        try:
            text = token.decode() if isinstance(token, bytes) else None
        except UnicodeDecodeError:
            continue
        if text is not None and tokenizer.encode(text, disallowed_special=()) != [i]:
            found.append(i)
    return found


@exercise(
    "For which ids can you ask what their own text is encoded as?",
    (
        "Skip None, and tokens that are not valid UTF-8. Encode the text of the others as ordinary text, "
        "and compare with the id."
    ),
    (
        "`tokenizer.encode(token.decode(), disallowed_special=()) != [i]`, inside a `try` that skips "
        "`UnicodeDecodeError`."
    ),
)
def exercise_2(unreachable: Callable[[BPETokenizer], list[int]]) -> str | None:
    for kind, tokenizer in _tokenizers():
        hint = compare_numbers(
            unreachable(tokenizer),
            _find_unreachable(tokenizer),
            "id",
            partial(_explain_wrong, tokenizer),
            partial(_explain_missing, tokenizer),
        )
        if hint:
            return f"For a tokenizer {kind} {hint}"
    return None


def _explain_missing(tokenizer: BPETokenizer, i: int) -> str:
    return f", {tokenizer.token(i)!r}, which is not what its text is encoded as"


def _explain_wrong(tokenizer: BPETokenizer, i: int) -> str:
    if not 0 <= i < tokenizer.vocab_size:
        return ", which does not exist"
    if i in tokenizer.special_tokens.values():
        return ", which is a special token"
    token = tokenizer.token(i)
    if token is None:
        return ", which is a hole"
    try:
        assert isinstance(token, bytes)
        text = token.decode()
    except UnicodeDecodeError:
        return f", {token!r}, which is not valid UTF-8"
    return f", {token!r}, but the text {text!r} is encoded as exactly this id"


def _files() -> Iterator[tuple[str, dict[str, Any]]]:
    """The contents of files, each with what is special about it."""
    plain = BPETokenizer.train(TEXT, 275, progress=False)
    yield "without a pattern", _write(plain)
    yield "with GPT-2's pattern", _write(BPETokenizer.train(TEXT, 280, pattern="gpt2", progress=False))
    named = BPETokenizer.train(
        TEXT, 285, pattern=["verse", "words"], special_tokens=["<|end|>", "the cat"], progress=False
    )
    yield "with two patterns and special tokens", _write(named)
    older = _write(named)
    older["model"]["merges"] = [" ".join(merge) for merge in older["model"]["merges"]]
    yield "with merges as strings", older
    without = _write(plain)
    del without["model"]["ignore_merges"]
    yield "without ignore_merges", without
    front = [None, *BYTES, b"th", b"the"]
    yield (
        "with a special token at 0",
        _write(BPETokenizer(front, [(117, 105), (257, 102)], None, {"<|begin|>": 0})),
    )
    hole = [*BYTES, None, b"ca", None, None, b"cat"]
    yield "with ids that no token has", _write(BPETokenizer(hole, [(99, 97), (257, 116)]))
    whole = BPETokenizer([*BYTES, b"xyz"], [], "gpt2", whole_pieces=True)
    yield "with ignore_merges", _write(whole)


def _write(tokenizer: BPETokenizer) -> dict[str, Any]:
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


@exercise(
    "Read the parts one by one: special tokens, vocabulary, merges, split, the flag.",
    (
        "An id is a position in the list of tokens; what is special, or missing, stays None. Merges are "
        "pairs of ids, so look up both halves."
    ),
    (
        "Start from `[None] * (highest id + 1)` and fill in `from_letters(letters)`. A merge that is a "
        'string is split at its space. The split is the list of `step["pattern"]["Regex"]` of all steps '
        "of type `Split`."
    ),
)
def exercise_3(read_json: Callable[[dict[str, Any]], BPETokenizer]) -> str | None:
    for kind, file in _files():
        expected = _read(file)
        with case(f"For a file {kind}"):
            found = read_json(json.loads(json.dumps(file)))
        if not isinstance(found, BPETokenizer):
            return f"For a file {kind} you return {shorten(found)}; it should be a BPETokenizer."
        if found == expected:
            continue
        for part in ("special_tokens", "vocabulary", "merges", "split", "whole_pieces"):
            got, wanted = getattr(found, part), getattr(expected, part)
            if got != wanted:
                difference = _first_difference(got, wanted)
                return f"For a file {kind}, `{part}` of your tokenizer is wrong: {difference}."
    return None


def _first_difference(got: Any, wanted: Any) -> str:
    """The first difference between two values of an attribute, in words."""
    if not isinstance(got, (list, tuple)):
        return f"{shorten(got)}; it should be {shorten(wanted)}"
    for k, (one, other) in enumerate(zip(got, wanted, strict=False)):
        if one != other:
            return f"item {k} is {shorten(one)}; it should be {shorten(other)}"
    return f"it has {len(got)} items; it should have {len(wanted)}"


hint = make_hint(__name__)
