"""The checks of chapter 6: right answers, the untouched stubs, and what learners get wrong."""

from __future__ import annotations

from itertools import pairwise

import pytest

from bpe import BPETokenizer
from bpe.checks import chapter_06 as check


def unwritten(*arguments): ...


def broken(*arguments):
    raise KeyError("lobster")


@pytest.mark.parametrize("exercise", [check.exercise_1, check.exercise_2, check.exercise_3])
def test_stubs_and_errors(said, exercise):
    name = exercise.__name__.replace("_", " ")
    assert said(exercise, ...) == f"{name}: not started"
    assert said(exercise, unwritten) == f"{name}: not started"
    told = said(exercise, broken)
    assert told.startswith(f"{name}: not yet. broken(")
    assert "raised KeyError: 'lobster' (line" in told


# Exercise 1


def windows(tokenizer, text, num_tokens):
    ids = tokenizer.encode(text)
    return [tokenizer.decode(ids[i : i + num_tokens]) for i in range(0, len(ids), num_tokens)]


def of_characters(tokenizer, text, num_tokens):
    return [text[i : i + num_tokens] for i in range(0, len(text), num_tokens)]


def only_full(tokenizer, text, num_tokens):
    return [window for window in windows(tokenizer, text, num_tokens) if len(window) >= num_tokens]


def of_ids(tokenizer, text, num_tokens):
    ids = tokenizer.encode(text)
    return [ids[i : i + num_tokens] for i in range(0, len(ids), num_tokens)]


def test_windows(said):
    assert said(check.exercise_1, windows) == "exercise 1: correct"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (of_characters, "returned ['th', 'e ', "),
        (only_full, "joined, the windows should be the whole text"),
        (of_ids, "it should be a list of strings"),
        (
            lambda *arguments: windows(*arguments) or [""],
            "windows(tokenizer, '', 4) returned ['']; it should be []",
        ),
    ],
)
def test_wrong_windows(said, answer, hint):
    assert hint in said(check.exercise_1, answer)


# Exercise 2


def make_tokenizer(splits, vocab_size, limit):
    alphabet = set("".join(splits.values()))
    text = splits["train"][:limit]
    return BPETokenizer.train(text, vocab_size, alphabet="characters", base_tokens=alphabet)


def faulty(splits, vocab_size, limit):
    text = "".join(splits.values())[:limit]
    size = len(set(text)) + vocab_size
    return BPETokenizer.train(text, size, alphabet="characters")


def all_splits_learned(splits, vocab_size, limit):
    text = "".join(splits.values())
    return BPETokenizer.train(text[:limit], vocab_size, alphabet="characters", base_tokens=set(text))


def no_limit(splits, vocab_size, limit):
    return make_tokenizer(splits, vocab_size, None)


def size_of_merges(splits, vocab_size, limit):
    return make_tokenizer(splits, vocab_size + len(set("".join(splits.values()))), limit)


def alphabet_of_train(splits, vocab_size, limit):
    text = splits["train"]
    return BPETokenizer.train(text[:limit], vocab_size, alphabet="characters", base_tokens=set(text))


def over_bytes(splits, vocab_size, limit):
    return BPETokenizer.train(splits["train"][:limit], 256 + vocab_size)


def with_a_split(splits, vocab_size, limit):
    right = make_tokenizer(splits, vocab_size, limit)
    return BPETokenizer(right.vocabulary, right.merges, split="words")


def test_make_tokenizer(said):
    assert said(check.exercise_2, make_tokenizer) == "exercise 2: correct"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (faulty, "the base tokens lack"),
        (all_splits_learned, "it learned the token 'xy', which is not in the train split"),
        (no_limit, "it learned the token 'cd', which comes after the limit"),
        (size_of_merges, "The base tokens count too"),
        (alphabet_of_train, "the base tokens lack ' ', 'x', 'y', 'ß'"),
        (over_bytes, "works on bytes"),
        (with_a_split, "it has the pattern"),
        (lambda *arguments: make_tokenizer(*arguments).vocabulary, "make_tokenizer returned a tuple"),
    ],
)
def test_wrong_tokenizer(said, answer, hint):
    assert hint in said(check.exercise_2, answer)


# Exercise 3


def joints(tokenizer):
    return {(tokenizer.token(left)[-1], tokenizer.token(right)[0]) for left, right in tokenizer.merges}


def safe_cuts(tokenizer, text):
    known = joints(tokenizer)
    return [i for i in range(1, len(text)) if (text[i - 1], text[i]) not in known]


def at_both_ends(tokenizer, text):
    return [0, *safe_cuts(tokenizer, text), len(text)]


def at_token_borders(tokenizer, text):
    """Right for this text as a whole, but not for its pieces."""
    known = {token for token in tokenizer.vocabulary if len(token) == 1}
    if not known.issuperset(text):
        return safe_cuts(tokenizer, text)
    ids = tokenizer.encode(text)
    return [len(tokenizer.decode(ids[:i])) for i in range(1, len(ids))]


def after_line_feeds(tokenizer, text):
    return [i for i in range(1, len(text)) if text[i - 1] == "\n"]


def first_characters(tokenizer, text):
    known = {(tokenizer.token(left)[0], tokenizer.token(right)[0]) for left, right in tokenizer.merges}
    return [i for i in range(1, len(text)) if (text[i - 1], text[i]) not in known]


def test_safe_cuts(said):
    assert said(check.exercise_3, safe_cuts) == "exercise 3: correct"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (at_both_ends, "you return the position 0; positions go from 1 to"),
        (at_token_borders, "where some merge joins two tokens"),
        (after_line_feeds, "where no merge joins two tokens"),
        (first_characters, "where some merge joins two tokens"),
        (lambda *arguments: safe_cuts(*arguments)[::-1], "in ascending order, each position once"),
        (lambda *arguments: str(safe_cuts(*arguments)), "it should be a list of positions"),
        (
            lambda tokenizer, text: [*safe_cuts(tokenizer, text), 1][: len(text)],
            "where some merge joins two tokens",
        ),
    ],
)
def test_wrong_cuts(said, answer, hint):
    assert hint in said(check.exercise_3, answer)


def test_pieces_at_safe_cuts_give_the_ids_of_the_whole():
    text = check.STORY * 2
    tokenizer = BPETokenizer.train(text, len(set(text)) + 15, alphabet="characters")
    cuts = [0, *safe_cuts(tokenizer, text), len(text)]
    pieces = [text[start:end] for start, end in pairwise(cuts)]
    assert len(pieces) > 20
    assert [i for piece in pieces for i in tokenizer.encode(piece)] == tokenizer.encode(text)
