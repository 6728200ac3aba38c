"""Byte pair encoding over words."""

from __future__ import annotations

import pytest
from engines import ENGINES
from hypothesis import given, settings
from hypothesis import strategies as st

from bpe import WordBPE, saving
from bpe.subwords.base import count_words

PAPER = {"low": 5, "lower": 2, "newest": 6, "widest": 3}

texts = st.text(st.sampled_from("abc<>/w \n月́"), min_size=1).filter(lambda text: text.split())


def train(text: str = "low low lower lowest newest newest", vocab_size: int = 20, **options) -> WordBPE:
    return WordBPE.train(text, vocab_size, progress=False, **options)


# -- training ----------------------------------------------------------------------------------------------


def test_the_example_of_the_paper():
    steps = []
    tokenizer = WordBPE.train_from_counts(PAPER, 20, progress=steps.append)
    assert [(tokenizer.token(step.new_id), step.frequency) for step in steps] == [
        ("es", 9),
        ("est", 9),
        ("est</w>", 9),
        ("lo", 7),
        ("low", 7),
        ("ne", 6),
        ("new", 6),
        ("newest</w>", 6),
    ]
    assert [tokenizer.token(i) for i in range(11)] == [*"deilnorstw", "</w>"]
    assert tokenizer.unknown_id == 19 and tokenizer.token(19) == "[UNK]"
    assert tokenizer.vocab_size == 20


def test_a_text_and_its_counts_teach_the_same():
    text = " ".join(word for word, count in PAPER.items() for _ in range(count))
    assert WordBPE.train(text, 20).fingerprint == WordBPE.train_from_counts(PAPER, 20).fingerprint
    assert count_words([text]) == PAPER


@settings(max_examples=30)
@given(texts, st.integers(0, 8))
def test_the_engines_agree(text, merges):
    vocab_size = len(set("".join(text.split()))) + 2 + merges
    naive = train(text, vocab_size, engine="naive", min_frequency=1)
    for engine in ENGINES:
        assert train(text, vocab_size, engine=engine, min_frequency=1).fingerprint == naive.fingerprint


def test_training_stops_when_no_pair_is_frequent():
    assert train("ab ab cd", 100).merges == ((0, 1), (5, 4))


def test_special_tokens_cut_words_and_are_not_learned():
    tokenizer = train("ab<sep>ab <sep> ab", 100, special_tokens=["<sep>"])
    assert tokenizer.characters == ("a", "b")
    assert tokenizer.special_tokens == {"<sep>": tokenizer.unknown_id + 1}
    assert tokenizer.tokens("ab<sep>b", allowed_special="all") == ["ab</w>", "<sep>", "b", "</w>"]


# -- encoding and decoding ---------------------------------------------------------------------------------


@settings(max_examples=50)
@given(texts, texts)
def test_words_come_back_and_whitespace_does_not(text, other):
    tokenizer = train(text + " " + other, 30, min_frequency=1)
    assert tokenizer.decode(tokenizer.encode(other)) == " ".join(other.split())


def test_a_long_word_is_decoded_in_time_that_grows_with_its_length():
    tokenizer = WordBPE(["a"])
    assert tokenizer.decode([0] * 1_000_000) == "a" * 1_000_000  # it took minutes


def test_whitespace_is_lost():
    tokenizer = train()
    assert tokenizer.decode(tokenizer.encode(" low\n\n  lower\t")) == "low lower"
    assert tokenizer.encode("") == tokenizer.encode(" \n") == []
    assert tokenizer.decode([]) == ""


def test_a_text_that_spells_the_mark():
    tokenizer = train("a</w>b a</w>b </w> </w>", 30)
    text = "a</w>b </w> a </w>"
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_an_unknown_character():
    tokenizer = train()
    assert tokenizer.tokens("lox 月") == ["lo", "[UNK]", "</w>", "[UNK]", "</w>"]
    assert tokenizer.decode(tokenizer.encode("lox 月")) == "lo[UNK] [UNK]"
    with pytest.raises(ValueError, match=r"character 'x' \(U\+0078\) of 'lox' is not among the 8 characters"):
        train(unknown=None).encode("low lox")


def test_special_tokens_in_a_text():
    tokenizer = train(special_tokens=["<s>"])
    assert tokenizer.encode("[UNK]") == [tokenizer.unknown_id] * 5 + tokenizer.encode("") + [8]
    ids = tokenizer.encode("low<s>low", allowed_special={"<s>"})
    assert tokenizer.decode(ids) == "low <s> low"


# -- dropout -----------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(texts, st.floats(0, 1), st.integers(0, 2**64 - 1))
def test_dropout_keeps_the_words(text, dropout, seed):
    tokenizer = train(text, 30, min_frequency=1)
    ids = tokenizer.encode(text, dropout=dropout, seed=seed)
    assert tokenizer.decode(ids) == " ".join(text.split())
    assert ids == tokenizer.encode(text, dropout=dropout, seed=seed)
    assert tokenizer.encode(text, dropout=0) == tokenizer.encode(text)
    assert tokenizer.tokens(text, dropout=1) == [s for word in text.split() for s in (*word, "</w>")]


def test_the_tiniest_dropout_is_plain_encoding():
    tokenizer = train("low low lower lowest newest newest", 30)
    text = "low lower lowest newest"
    assert tokenizer.encode(text, dropout=1e-300) == tokenizer.encode(text)


def test_dropout_varies_with_the_seed():
    tokenizer = train(vocab_size=25)
    assert len({tuple(tokenizer.encode("lowest newest", dropout=0.5, seed=seed)) for seed in range(30)}) > 5


# -- files and bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"merges": [[0, 99]]}, "merge 0 uses the id 99, which no earlier token has"),
        ({"merges": [[-1, 0]]}, "merge 0 uses the id -1, which no earlier token has"),
        ({"merges": [[0, 1], [0, 1]]}, "both"),
        ({"merges": [["a", 1]]}, "must be an integer"),
        ({"characters": ["ab"]}, "a base token must be a single character, not 'ab'"),
        ({"characters": ["a", "a"]}, "are both"),
        ({"unknown": "?"}, "two or more characters"),
        ({"unknown": "<s>", "special_tokens": ["<s>"]}, "both the unknown token and a special token"),
        ({"more": 1}, "unknown entry"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, change, message):
    path = tmp_path / "tokenizer.json"
    content = {"characters": ["a", "b"], "merges": [], "special_tokens": [], "unknown": None}
    saving.save_content(path, WordBPE.KIND, content | change)
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        WordBPE.load(path)


def test_a_lone_surrogate_is_not_a_character():
    with pytest.raises(ValueError, match="lone surrogate"):
        WordBPE(["\ud800"])


@pytest.mark.parametrize(
    ("text", "vocab_size", "options", "error", "message"),
    [
        ("", 20, {}, ValueError, "no words"),
        (" \n", 20, {}, ValueError, "no words"),
        (
            "low",
            4,
            {},
            ValueError,
            "training starts with 3 characters and 2 other tokens, so the least is 5",
        ),
        ("low", 20, {"min_frequency": 0}, ValueError, "min_frequency must be 1 or more"),
        ("low", 20, {"engine": "quick"}, ValueError, "unknown engine 'quick'"),
        ("low", 20, {"unknown": "?"}, ValueError, "two or more characters"),
        ("low", 20, {"special_tokens": ["[UNK]"]}, ValueError, "both the unknown token and a special token"),
    ],
)
def test_bad_input_to_training(text, vocab_size, options, error, message):
    with pytest.raises(error, match=message):
        WordBPE.train(text, vocab_size, **options)


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        ({}, ValueError, "no words"),
        ({"": 1}, ValueError, "'' is not one word"),
        ({"a b": 1}, ValueError, "'a b' is not one word"),
        ({"a\ud800": 1}, ValueError, "lone surrogate"),
        ({"a": 0}, ValueError, "the count of 'a' must be 1 or more"),
        ({"a": 1.5}, TypeError, "the count of 'a' must be an integer"),
    ],
)
def test_bad_counts(counts, error, message):
    with pytest.raises(error, match=message):
        WordBPE.train_from_counts(counts, 20)


def test_counts_may_be_numbers_of_numpy():
    """Small integers of numpy would overflow where the counts of pairs are added up."""
    numpy = pytest.importorskip("numpy")
    counts = {"abab": 100, "ac": 90, "abc": 110}
    small = {word: numpy.uint8(count) for word, count in counts.items()}
    assert WordBPE.train_from_counts(small, 9).merges == WordBPE.train_from_counts(counts, 9).merges


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dropout": 1.5}, ValueError, "from 0 to 1, not 1.5"),
        ({"dropout": -0.1}, ValueError, "from 0 to 1"),
        ({"dropout": float("nan")}, ValueError, "must be finite"),
        ({"dropout": 0.1, "seed": -1}, ValueError, "seed must be 0 or more"),
    ],
)
def test_bad_input_to_encoding(options, error, message):
    with pytest.raises(error, match=message):
        train().encode("low", **options)


def test_a_file_keeps_that_there_is_no_unknown_token(tmp_path):
    tokenizer = train(unknown=None)
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = WordBPE.load(tmp_path / "tokenizer.json")
    assert loaded == tokenizer and loaded.unknown_id is None
