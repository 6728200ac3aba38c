"""The checks of chapter 13: three more faulty functions to repair, and a property to test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from bpe import BPETokenizer, count_pairs, merge_pair
from bpe.checks import BYTES, exercise, make_hint
from bpe.checks.chapter_03 import merge_by_replacing

Pair = tuple[str, str]
Merge = Callable[[Sequence[str], Pair], list[str]]

DOCUMENTS: tuple[list[str], ...] = (
    ["ab", "ab"],
    ["aab", "b", "", "aab"],
    ["aaa", "aa"],
    ["月光", "光月"],
    ["a b", "a|b", "a\nb", "\0a", "b a"],  # whatever joins documents may also be inside one
    ["", "a"],
    [],
)


@exercise(
    "Where does `wrong_pairs_of` find a pair that no document has?",
    (
        "Joining makes new neighbours, whatever you put between. Count the pairs of each document by "
        "itself, then add."
    ),
    (
        "Go through `bpe.count_pairs(document).items()` of each document, and add each count to "
        "`counts.get(pair, 0)`; a `Counter` and `update` do it too."
    ),
)
def exercise_1(pairs_of: Callable[[list[str]], Mapping[Pair, int]]) -> str | None:
    for documents in DOCUMENTS:
        expected: dict[Pair, int] = {}
        for document in documents:
            for pair, count in count_pairs(document).items():
                expected[pair] = expected.get(pair, 0) + count
        found = pairs_of(list(documents))
        if not isinstance(found, Mapping):
            return f"For {documents} you return {found!r}; it should be a dictionary."
        if strange := [key for key in found if not (isinstance(key, tuple) and len(key) == 2)]:
            return (
                f"For {documents} you return the key {strange[0]!r}; it should be a pair such as ('a', 'b')."
            )
        for pair in {**expected, **found}:
            got, wanted = found.get(pair, 0), expected.get(pair, 0)
            if got != wanted:
                return (
                    f"For {documents} you count {pair} {_count_times(got)}; it occurs {_count_times(wanted)}."
                )
    return None


def _count_times(count: object) -> str:
    return f"{count} time{'' if count == 1 else 's'}"


# The second and third contain U+FFFD, the replacement character, as a character of their own.
TEXTS = ("古物静", "ab�", "a古�b", "")


def _cases() -> Iterator[tuple[str, BPETokenizer, str]]:
    """Tokenizers, each with what is special about it, and texts."""
    characters = BPETokenizer.train("古物�静ab", 6, alphabet="characters", progress=False)
    for text in TEXTS:
        yield "without merges", BPETokenizer(BYTES), text
        yield (
            "trained on 古物静，古物静",
            BPETokenizer.train("古物静，古物静", 262, progress=False),
            text,
        )
        yield "over characters", characters, text
    # The first token of "abc" is "a", although "ab" is one token too.
    yield "that merges 'bc', then 'ab'", BPETokenizer([*BYTES, b"bc", b"ab"], [(98, 99), (97, 98)]), "abc"


@exercise(
    "What is the last token of the cut text, when � appears?",
    (
        "It is a part of a character. Work with bytes: drop an incomplete character at the end, but "
        "leave a � of the text alone."
    ),
    (
        '`tokenizer.decode_bytes(ids)` gives the bytes; `.decode("utf-8", errors="ignore")` drops what '
        "is incomplete."
    ),
)
def exercise_2(shortened: Callable[[BPETokenizer, str, int], str]) -> str | None:
    for kind, tokenizer, text in _cases():
        for limit in range(len(tokenizer.encode(text)) + 2):
            expected = _shorten_to_characters(tokenizer, text, limit)
            found = shortened(tokenizer, text, limit)
            if found != expected:
                return (
                    f"For a tokenizer {kind}, {text!r} and the limit {limit} you return {found!r}; "
                    f"it should be {expected!r}."
                )
    return None


def _shorten_to_characters(tokenizer: BPETokenizer, text: str, limit: int) -> str:
    content = tokenizer.decode_bytes(tokenizer.encode(text)[:limit])
    size = 0
    for end, character in enumerate(text):
        size += len(character.encode("utf-8"))
        if size > len(content):
            return text[:end]
    return text


VOCABULARIES: tuple[dict[int, bytes], ...] = (
    {256: b"th", 257: b" the"},
    {0: b"!", 7: b"\n", 255: b"\xff"},
    {256: "月".encode()[:2], 257: "月".encode(), 258: "é".encode()},
    dict(enumerate(BYTES)),
    {},
)


@exercise(
    "What does JSON do with keys that are numbers, and what with bytes?",
    (
        "Keys become strings: turn them back into numbers. Bytes need a text form that loses nothing, "
        "such as hexadecimal."
    ),
    "`{i: token.hex() for …}` on the way out; `{int(i): bytes.fromhex(text) for …}` on the way back.",
)
def exercise_3(
    to_json: Callable[[dict[int, bytes]], str], from_json: Callable[[str], dict[int, bytes]]
) -> str | None:
    for vocabulary in VOCABULARIES:
        string = to_json(dict(vocabulary))
        shown = repr(vocabulary) if len(vocabulary) < 5 else "the vocabulary of all 256 bytes"
        if not isinstance(string, str):
            return f"For {shown} to_json returns a {type(string).__name__}, not a string."
        try:
            json.loads(string)
        except ValueError:
            return f"For {shown} to_json returns {string[:60]!r}, which is not JSON."
        found = from_json(string)
        if not isinstance(found, dict):
            return f"For {shown} from_json returns a {type(found).__name__}, not a dict."
        if wrong := [key for key in found if type(key) is not int]:
            return f"For {shown} the key {wrong[0]!r} comes back, which is not an int."
        for i in {**vocabulary, **found}:
            if found.get(i) != vocabulary.get(i):
                return f"For {shown} the id {i} comes back as {found.get(i)!r}, not {vocabulary.get(i)!r}."
    return None


def _merge(symbols: Sequence[str], pair: Pair) -> list[str]:
    return merge_pair(symbols, pair, "".join(pair))


def _use_twice(symbols: Sequence[str], pair: Pair) -> list[str]:
    starts = {i for i, two in enumerate(pairwise(symbols)) if two == pair}
    return [
        "".join(pair) if i in starts else symbol
        for i, symbol in enumerate(symbols)
        if i in starts or i - 1 not in starts
    ]


def _merge_from_right(symbols: Sequence[str], pair: Pair) -> list[str]:
    mirrored = merge_pair(list(symbols)[::-1], pair[::-1], "".join(pair))
    return mirrored[::-1]


def _merge_first(symbols: Sequence[str], pair: Pair) -> list[str]:
    for i, two in enumerate(pairwise(symbols)):
        if two == pair:
            return [*symbols[:i], "".join(pair), *symbols[i + 2 :]]
    return list(symbols)


def _keep_all(symbols: Sequence[str], pair: Pair) -> list[str]:
    return list(symbols)


def _lose_last(symbols: Sequence[str], pair: Pair) -> list[str]:
    return _merge(symbols, pair)[: max(1, len(symbols) - 1)]


def _merge_either_order(symbols: Sequence[str], pair: Pair) -> list[str]:
    merged = _merge(symbols, pair)
    return merge_pair(merged, pair[::-1], "".join(pair[::-1]))


# What each does wrong, without saying how to find it.
FAULTY: tuple[tuple[str, Merge], ...] = (
    ("that replaces text instead of symbols", merge_by_replacing),
    ("that uses a symbol twice", _use_twice),
    ("that works from the right", _merge_from_right),
    ("that merges the first occurrence only", _merge_first),
    ("that merges nothing", _keep_all),
    ("that may lose the last symbol", _lose_last),
    ("that also merges the reversed pair", _merge_either_order),
)

INPUTS: tuple[tuple[list[str], Pair], ...] = (
    ([], ("a", "b")),
    (["a"], ("a", "a")),
    (["a", "b"], ("a", "b")),
    (["a", "b", "a", "b"], ("a", "b")),
    (["a", "a", "a"], ("a", "a")),
    (["a", "a", "a", "a"], ("a", "a")),
    (["c", "b", "a", "c"], ("a", "b")),
    (["ca", "b", "c"], ("a", "b")),
    (["ab", "a", "b"], ("ab", "a")),
    (["ab", "a", "b"], ("a", "b")),
)


@exercise(
    "You know a function that merges a pair the right way.",
    (
        "Compare the result with the right one. Without `bpe.merge_pair`: read the input from the left, "
        "and take the pair, leftmost first, wherever it is."
    ),
    '`merge(symbols, pair) == bpe.merge_pair(symbols, pair, "".join(pair))`.',
)
def exercise_4(promise: Callable[[Merge, list[str], Pair], bool]) -> str | None:
    for symbols, pair in INPUTS:
        answer = promise(_merge, list(symbols), pair)
        if not isinstance(answer, bool):
            return f"For {symbols} and {pair} your promise returns {answer!r}; it should be True or False."
        if not answer:
            return f"For {symbols} and {pair} your promise rejects a merge that is right."
    for fault, merge in FAULTY:
        failing = [(list(s), pair) for s, pair in INPUTS if merge(s, pair) != _merge(s, pair)]
        for symbols, pair in failing:
            if promise(merge, list(symbols), pair):
                result = merge(symbols, pair)
                return (
                    f"For {symbols} and {pair} your promise accepts a merge {fault}, which returns {result}."
                )
    return None


hint = make_hint(__name__)
