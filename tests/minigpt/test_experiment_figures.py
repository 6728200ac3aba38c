"""The experiment's texts: figures of both corpora on which chapter 7 relies."""

import os

import pytest

from bpe.minigpt import experiment


def held_out_and_vocabulary(corpus: str) -> tuple[experiment.Texts, set[str], int]:
    try:
        texts = experiment.texts(corpus)
    except FileNotFoundError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    tokenizer = experiment.characters(texts.train)
    return texts, set(tokenizer.characters), tokenizer.vocab_size


def test_poems():
    texts, known, size = held_out_and_vocabulary("tang")
    assert (len(texts.train), len(texts.held_out)) == (1_569_851, 23_059)
    assert len(texts.held_out.encode("utf-8")) == 68_179
    # 905 of 6,277 characters occur once in training, so they are unknown.
    assert (len(set(texts.train)), size) == (6_277, 5_373)
    assert len(set(texts.held_out) - set(texts.train)) == 12
    assert sum(character not in known for character in texts.held_out) == 19


def test_wikitext2():
    texts, known, size = held_out_and_vocabulary("wikitext2")
    assert (len(texts.held_out), len(texts.along_the_way)) == (400_000, 30_000)
    assert size == 284
    assert set(texts.held_out) <= known
