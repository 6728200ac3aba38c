"""The checks of chapter 9 know right answers from wrong ones."""

import pytest
from answers import assert_no_answer_is_known

from bpe import BPETokenizer
from bpe.checks import chapter_09 as check
from bpe.formats import byte_letters


@pytest.mark.parametrize("number", [1, 2, 3])
def test_stub_and_exception(said, number):
    assert_no_answer_is_known(said, check, number)


# Exercise 1


def only_says_wrong(letters):
    try:
        return byte_letters.to_bytes(letters)
    except ValueError:
        raise ValueError("wrong") from None


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (byte_letters.to_bytes, "exercise 1: correct"),
        (str.encode, r"For 'Ġthe' you return b'\xc4\xa0the'; it should be b' the'."),
        (lambda letters: letters.replace("Ġ", " ").encode(), "For 'æľĪ' you return"),
        (
            lambda letters: letters.replace("Ġ", " "),
            "For 'Ġthe' you return ' the'; it should be of type bytes",
        ),
        (
            lambda letters: byte_letters.to_bytes(letters).replace(b"\xad", b""),
            r"For 'Ń' you return b''; it should be b'\xad'",
        ),
        (
            lambda letters: byte_letters.to_bytes(letters).replace(b"\x7f", b"?"),
            "byte 0x7f of what you return is wrong",
        ),
        (lambda letters: byte_letters.to_bytes(letters)[:255], "byte 0xff of what you return is wrong"),
        (
            lambda letters: bytes(byte_letters.BYTES[letter] for letter in letters),
            "For 'a b' you raise KeyError; it should be ValueError: no byte is written ' '.",
        ),
        (
            lambda letters: bytes(byte_letters.BYTES.get(letter, 63) for letter in letters),
            "For 'a b' you return b'a?b'; it should raise ValueError.",
        ),
        (only_says_wrong, "For 'a b' the message of your ValueError, 'wrong', does not name ' '."),
    ],
)
def test_exercise_1(said, answer, verdict):
    assert verdict in said(check.exercise_1, answer)


# Exercise 2


def unreachable(tokenizer):
    found = []
    for i, token in enumerate(tokenizer.vocabulary):
        try:
            text = token.decode() if token else ""
        except UnicodeDecodeError:
            continue
        if text and tokenizer.encode(text, disallowed_special=()) != [i]:
            found.append(i)
    return found


def replaces(tokenizer):
    """Takes pieces of characters for text."""
    tokens = enumerate(tokenizer.vocabulary)
    return [i for i, token in tokens if token and tokenizer.encode(token.decode("utf-8", "replace")) != [i]]


def made_by_no_merge(tokenizer):
    made = {tokenizer.token(left) + tokenizer.token(right) for left, right in tokenizer.merges}
    tokens = enumerate(tokenizer.vocabulary)
    return [i for i, token in tokens if token and len(token) > 1 and token not in made]


def with_special_tokens(tokenizer):
    return sorted({*unreachable(tokenizer), *tokenizer.special_tokens.values()})


def with_holes(tokenizer):
    return [i for i, token in enumerate(tokenizer.vocabulary) if token is None or i in unreachable(tokenizer)]


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (unreachable, "exercise 2: correct"),
        (replaces, r"you return the id 128, b'\x80', which is not valid UTF-8."),
        (
            made_by_no_merge,
            "with whole_pieces you return the id 256, b'xy', but the text 'xy' is encoded as",
        ),
        (
            with_special_tokens,
            "with special tokens in front and a hole you return the id 0, which is a special",
        ),
        (with_holes, "you return the id 0, which is a special token"),
        (
            lambda tokenizer: [],
            "in which no merge makes b'xy' you leave out the id 256, b'xy', which is not what its text",
        ),
        (lambda tokenizer: [999], "you return the id 999, which does not exist"),
        (lambda tokenizer: list(map(tokenizer.token, unreachable(tokenizer))), "it should be a list of ids"),
        (lambda tokenizer: unreachable(tokenizer)[::-1], "it should be in ascending order"),
    ],
)
def test_exercise_2(said, answer, verdict):
    assert verdict in said(check.exercise_2, answer)


def test_a_hole(said):
    def answer(tokenizer):
        holes = [i for i, token in enumerate(tokenizer.vocabulary) if token is None]
        return sorted({*unreachable(tokenizer), *holes} - set(tokenizer.special_tokens.values()))

    assert "you return the id 258, which is a hole" in said(check.exercise_2, answer)


# Exercise 3


def reader(
    read_special=True, old_merges=True, splits="all", whole_pieces=True, from_front=True, optional=True
):
    """A reader of tokenizer.json, as it should be or with a fault."""

    def read_json(file):
        model = file["model"]
        special = {added["content"]: added["id"] for added in file["added_tokens"]} if read_special else {}
        ids = {letters: i for letters, i in model["vocab"].items() if letters not in special}
        tokens = [None] * (max(ids.values()) + 1) if from_front else [None] * len(ids)
        for letters, i in ids.items():
            tokens[i] = byte_letters.to_bytes(letters)
        pairs = [m.split(" ") if old_merges and isinstance(m, str) else m for m in model["merges"]]
        steps = [step for step in file["pre_tokenizer"]["pretokenizers"] if step["type"] == "Split"]
        split = [step["pattern"]["Regex"] for step in steps]
        return BPETokenizer(
            tokens,
            [(ids[left], ids[right]) for left, right in pairs],
            split if splits == "all" else split[:1],
            special,
            whole_pieces and (model.get("ignore_merges", False) if optional else model["ignore_merges"]),
        )

    return read_json


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (reader(), "exercise 3: correct"),
        (reader(read_special=False), "`special_tokens` of your tokenizer is wrong: {}; it should be {'"),
        (reader(splits="first"), "`split` of your tokenizer is wrong: it has 1 items; it should have 2"),
        (reader(old_merges=False), "For a file with merges as strings your code raised ValueError: too many"),
        (reader(from_front=False), "For a file with a special token at 0 your code raised IndexError"),
        (
            reader(optional=False),
            "For a file without ignore_merges your code raised KeyError: 'ignore_merges'",
        ),
        (
            lambda file: None if file else file,
            "For a file without a pattern your code returned None. Is a `return` missing?",
        ),
        (reader(whole_pieces=False), "with ignore_merges, `whole_pieces` of your tokenizer is wrong: False"),
        (lambda file: file["model"], "it should be a BPETokenizer"),
        (
            lambda file: BPETokenizer([bytes([value]) for value in range(256)]),
            "`vocabulary` of your tokenizer is wrong: it has 256 items; it should have 269",
        ),
    ],
)
def test_exercise_3(said, answer, verdict):
    assert verdict in said(check.exercise_3, answer)
