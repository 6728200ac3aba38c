"""The figures of WikiText-2 that the course relies on, through each engine."""

import os

import pytest
from engines import ENGINES

from bpe import BPETokenizer, MergeStep, corpora

SPLITS = {"train": 10_707_001, "valid": 1_112_672, "test": 1_246_302}


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    try:
        return {split: corpora.wikitext2(split) for split in SPLITS}
    except FileNotFoundError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=ENGINES)
def trained(request, texts) -> tuple[BPETokenizer, list[MergeStep]]:
    log: list[MergeStep] = []
    tokenizer = BPETokenizer.train(
        texts["train"][:500_000],
        500,
        alphabet="characters",
        base_tokens=set().union(*texts.values()),
        engine=request.param,
        progress=log.append,
    )
    return tokenizer, log


def test_splits(texts):
    assert {split: len(text) for split, text in texts.items()} == SPLITS
    assert len(set().union(*texts.values())) == len(set(texts["train"])) == 283


def test_merges(trained):
    tokenizer, log = trained
    assert len(log) == len(tokenizer.merges) == 217
    assert [(tokenizer.token(step.new_id), step.frequency) for step in log[:5]] == [
        ("e ", 14_483),
        ("s ", 10_504),
        ("th", 9_349),
        ("d ", 8_772),
        ("n ", 7_557),
    ]
    assert log[-1].tokens_left == 237_606


def test_validation_text(texts, trained):
    tokenizer, _ = trained
    ids = tokenizer.encode(texts["valid"])
    assert len(ids) == 518_260
    assert f"{len(texts['valid']) / len(ids):.3f}" == "2.147"
    assert tokenizer.decode(ids) == texts["valid"]
    # Encoding line by line gives the same number: no merge joins a newline to what follows it.
    lines = texts["valid"].splitlines(keepends=True)
    assert sum(len(tokenizer.encode(line)) for line in lines) == 518_260


def test_cutting_at_words_first_gives_other_ids(texts, trained):
    tokenizer, _ = trained
    cut = BPETokenizer(tokenizer.vocabulary, tokenizer.merges, r"\S+\s*")
    assert len(cut.encode(texts["valid"])) == 532_420
