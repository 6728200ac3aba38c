"""The figures of the Tang poems that the course relies on, through each engine."""

import os
from collections import Counter

import pytest
from engines import ENGINES

from bpe import BPETokenizer, CharTokenizer, MergeStep, corpora


@pytest.fixture(scope="module")
def poems() -> list[str]:
    try:
        return corpora.tang_poems()
    except FileNotFoundError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=ENGINES)
def trained(request, poems) -> tuple[BPETokenizer, list[MergeStep]]:
    log: list[MergeStep] = []
    text = "\n".join(poems[:2000])
    return BPETokenizer.train(text, 1756, engine=request.param, progress=log.append), log


def test_training_text(poems):
    text = "\n".join(poems[:2000])
    assert (len(text), len(text.encode("utf-8")), len(set(text))) == (89_863, 265_591, 3_655)
    assert CharTokenizer(text).vocab_size == 3_655


def test_merges(trained):
    tokenizer, log = trained
    assert len(log) == len(tokenizer.merges) == 1500
    assert log[0] == ((0x80, 0x82), 256, 6396, 265_591 - 6396)
    assert [step.frequency for step in log[1:4]] == [6394] * 3
    assert (tokenizer.token(log[5].new_id), log[5].frequency) == ("。\n".encode(), 1999)
    assert (tokenizer.token(log[1000].new_id), log[1000].frequency) == ("，行".encode(), 26)
    assert log[1000].tokens_left == 106_108
    assert (tokenizer.token(log[1499].new_id), log[1499].frequency) == ("祖".encode(), 15)
    assert log[1499].tokens_left == 96_124


def test_kinds_of_tokens(trained):
    tokenizer, _ = trained
    kinds: Counter[str] = Counter()
    for token in tokenizer.vocabulary[256:]:
        try:
            kinds["one character" if len(token.decode("utf-8")) == 1 else "several"] += 1
        except UnicodeDecodeError:
            kinds["pieces"] += 1
    assert kinds == {"one character": 883, "several": 172, "pieces": 445}


@pytest.mark.parametrize("engine", ENGINES)
def test_unseen_poems(poems, engine):
    tokenizer = BPETokenizer.train("\n".join(poems[:2000]), 1756)
    test = "\n".join(poems[-500:])
    ids = tokenizer.encode(test, engine=engine)
    assert (len(test.encode("utf-8")), len(test), len(ids)) == (68_179, 23_059, 25_078)
    assert tokenizer.decode(ids, errors="strict") == test


def test_characters_that_never_occur_in_training(poems):
    known = set("\n".join(poems[:2000]))
    test = "\n".join(poems[-500:])
    unseen = sum(character not in known for character in test)
    assert f"{unseen / len(test):.1%}" == "1.0%"


def test_the_variants_that_the_report_names_are_frequent(poems):
    """The report and the docstring of `to_simplified` call them so."""
    found = Counter("".join(poems))
    assert {character: found[character] for character in "疎著沈鴈劒"} == {
        "疎": 993,
        "著": 768,
        "沈": 694,
        "鴈": 628,
        "劒": 576,
    }
    assert found["着"] == 70 and found["沉"] == 255
