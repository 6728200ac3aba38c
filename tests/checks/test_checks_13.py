"""The checks of chapter 13 know right answers from wrong ones."""

import codecs
import json

import pytest
from answers import assert_no_answer_is_known, raises, stub

from bpe import count_pairs, merge_pair
from bpe.checks import chapter_13 as check


@pytest.mark.parametrize("number", [1, 2, 4])
def test_stub_and_exception(said, number):
    assert_no_answer_is_known(said, check, number)


# Exercise 1


def pairs_of(documents):
    counts = {}
    for document in documents:
        for pair, count in count_pairs(document).items():
            counts[pair] = counts.get(pair, 0) + count
    return counts


def overwrites(documents):
    return {pair: count for document in documents for pair, count in count_pairs(document).items()}


def without_overlaps(documents):
    return {pair: sum(d.count("".join(pair)) for d in documents) for pair in pairs_of(documents)}


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (pairs_of, "exercise 1: correct"),
        (
            lambda documents: count_pairs("".join(documents)),
            "For ['ab', 'ab'] you count ('b', 'a') 1 time; it occurs 0 times.",
        ),
        (lambda documents: count_pairs("\n".join(documents)), r"you count ('b', '\n') 1 time; it occurs 0"),
        (overwrites, "For ['ab', 'ab'] you count ('a', 'b') 1 time; it occurs 2 times."),
        (without_overlaps, "For ['aaa', 'aa'] you count ('a', 'a') 2 times; it occurs 3 times."),
        (lambda documents: list(pairs_of(documents)), "it should be a dictionary"),
        (
            lambda documents: {"".join(pair): count for pair, count in pairs_of(documents).items()},
            "For ['ab', 'ab'] you return the key 'ab'; it should be a pair such as ('a', 'b').",
        ),
        (lambda documents: pairs_of(documents[:-1]), "you count ('a', 'b') 1 time"),
    ],
)
def test_exercise_1(said, answer, verdict):
    assert verdict in said(check.exercise_1, answer)


# Exercise 2


def shortened(tokenizer, text, limit):
    return tokenizer.decode_bytes(tokenizer.encode(text)[:limit]).decode("utf-8", "ignore")


def decoder_that_waits(tokenizer, text, limit):
    return codecs.getincrementaldecoder("utf-8")().decode(
        tokenizer.decode_bytes(tokenizer.encode(text)[:limit])
    )


def as_it_was(tokenizer, text, limit):
    return tokenizer.decode(tokenizer.encode(text)[:limit])


def stripped(tokenizer, text, limit):
    return as_it_was(tokenizer, text, limit).rstrip("�")


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (shortened, "exercise 2: correct"),
        (decoder_that_waits, "exercise 2: correct"),
        (as_it_was, "without merges, '古物静' and the limit 1 you return '�'; it should be ''."),
        (stripped, "without merges, 'ab�' and the limit 5 you return 'ab'; it should be 'ab�'."),
        (lambda tokenizer, text, limit: text[:limit], "the limit 1 you return '古'; it should be ''."),
        (lambda tokenizer, text, limit: text, "the limit 0 you return '古物静'; it should be ''."),
    ],
)
def test_exercise_2(said, answer, verdict):
    assert verdict in said(check.exercise_2, answer)


# Exercise 3


def to_json(vocabulary):
    return json.dumps({i: token.hex() for i, token in vocabulary.items()})


def from_json(string):
    return {int(i): bytes.fromhex(token) for i, token in json.loads(string).items()}


def replacing(vocabulary):
    return json.dumps({i: token.decode(errors="replace") for i, token in vocabulary.items()})


def encoding(string):
    return {int(i): token.encode() for i, token in json.loads(string).items()}


def as_latin(vocabulary):
    return json.dumps({i: token.decode("latin-1") for i, token in vocabulary.items()})


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ((to_json, from_json), "exercise 3: correct"),
        (
            (as_latin, lambda s: {int(i): t.encode("latin-1") for i, t in json.loads(s).items()}),
            "exercise 3: correct",
        ),
        ((stub, stub), "exercise 3: not started"),
        ((to_json, stub), "exercise 3: not yet. `from_json` is not started."),
        ((raises, from_json), "raised RuntimeError: no idea"),
        ((to_json, raises), "raised RuntimeError: no idea"),
        ((replacing, encoding), r"the id 255 comes back as b'\xef\xbf\xbd', not b'\xff'"),
        (
            (to_json, lambda s: {i: bytes.fromhex(t) for i, t in json.loads(s).items()}),
            "the key '256' comes back, which is not an int",
        ),
        ((repr, from_json), "which is not JSON"),
        ((lambda v: v, lambda v: v), "to_json returns a dict, not a string"),
        ((to_json, lambda s: list(from_json(s).items())), "from_json returns a list"),
        ((to_json, lambda s: dict(list(from_json(s).items())[1:])), "the id 256 comes back as None"),
    ],
)
def test_exercise_3(said, answers, verdict):
    assert verdict in said(check.exercise_3, *answers)


# Exercise 4


def promise(merge, symbols, pair):
    return merge(symbols, pair) == merge_pair(symbols, pair, "".join(pair))


def strict(merge, symbols, pair):
    rest = list(symbols)
    for symbol in merge(symbols, pair):
        used = 2 if tuple(rest[:2]) == pair else 1
        if not rest or symbol != "".join(rest[:used]):
            return False
        rest = rest[used:]
    return not rest


def keeps_the_text(merge, symbols, pair):
    return "".join(merge(symbols, pair)) == "".join(symbols)


def makes_nothing_else(merge, symbols, pair):
    return set(merge(symbols, pair)) <= {*symbols, "".join(pair)}


def both(merge, symbols, pair):
    return keeps_the_text(merge, symbols, pair) and makes_nothing_else(merge, symbols, pair)


def leaves_no_pair(merge, symbols, pair):
    return both(merge, symbols, pair) and pair not in count_pairs(merge(symbols, pair))


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (promise, "exercise 4: correct"),
        (strict, "exercise 4: correct"),
        (
            keeps_the_text,
            "For ['ca', 'b', 'c'] and ('a', 'b') your promise accepts a merge that replaces text instead of "
            "symbols, which returns ['cab', 'c'].",
        ),
        (makes_nothing_else, "your promise accepts a merge that uses a symbol twice"),
        (both, "your promise accepts a merge that works from the right"),
        (leaves_no_pair, "your promise accepts a merge that works from the right"),
        (
            lambda merge, symbols, pair: merge(symbols, pair),
            "For [] and ('a', 'b') your promise returns []; it should be True or False.",
        ),
        (lambda *_: True, "your promise accepts a merge that replaces text"),
        (lambda *_: False, "For [] and ('a', 'b') your promise rejects a merge that is right."),
        (
            lambda merge, symbols, pair: promise(merge, symbols, pair) and "".join(pair) in symbols,
            "rejects a merge that is right",
        ),
    ],
)
def test_exercise_4(said, answer, verdict):
    assert verdict in said(check.exercise_4, answer)


@pytest.mark.parametrize(("fault", "merge"), check.FAULTY)
def test_each_faulty_merge_fails_on_some_input_and_is_right_on_another(fault, merge):
    right = [promise(merge, symbols, pair) for symbols, pair in check.INPUTS]
    assert any(right) and not all(right)
