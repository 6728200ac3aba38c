"""WordPiece: its training against a plain recount, its encoding against the library `tokenizers`."""

from __future__ import annotations

from collections import Counter

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from bpe import WordPiece, corpora, saving
from bpe.naive import count_pairs, merge_pair
from bpe.subwords import wordpiece
from bpe.subwords.base import count_words

PAPER = {"low": 5, "lower": 2, "newest": 6, "widest": 3}

words = st.text(st.sampled_from("abcd"), min_size=1, max_size=8)
word_counts = st.dictionaries(words, st.integers(1, 9), min_size=1, max_size=12)


def plain_steps(counts: dict[str, int], min_frequency: int) -> list[tuple]:
    """Train by counting everything again at each step."""
    cut = {word: wordpiece.symbols_of(word) for word in counts}
    steps = []
    while True:
        frequency: Counter = Counter()
        count: Counter = Counter()
        for word, times in counts.items():
            for pair, n in count_pairs(cut[word]).items():
                frequency[pair] += n * times
            for piece in cut[word]:
                count[piece] += times
        scores = {
            pair: n / (count[pair[0]] * count[pair[1]]) for pair, n in frequency.items() if n >= min_frequency
        }
        if not scores:
            return steps
        best = min(scores, key=lambda pair: (-scores[pair], -frequency[pair], pair))
        piece = best[0] + best[1][2:]
        steps.append((best, piece, frequency[best], scores[best]))
        cut = {word: merge_pair(pieces, best, piece) for word, pieces in cut.items()}


# -- training ----------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(word_counts, st.integers(1, 4))
def test_training_equals_a_plain_recount(counts, min_frequency):
    assert list(wordpiece.learn_pieces(counts, min_frequency)) == plain_steps(counts, min_frequency)


def test_the_first_step_by_hand():
    step = next(wordpiece.learn_pieces(PAPER))
    # i and d occur three times, only in "widest"; w before i occurs three times, but w is not a rare piece.
    assert step == (("##i", "##d"), "##id", 3, 1 / 3)


def test_the_bare_score_likes_what_occurs_once():
    counts = {"the": 1000, "q!z": 1}
    assert next(wordpiece.learn_pieces(counts, 1)).pair == ("##!", "##z")
    assert next(wordpiece.learn_pieces(counts, 2)).pair == ("##h", "##e")


def test_a_vocabulary_has_the_size_asked_for():
    tokenizer = WordPiece.train_from_counts(PAPER, 20)
    assert tokenizer.vocab_size == 20
    assert tokenizer.vocabulary[-1] == "[UNK]"
    assert tokenizer.vocabulary[:4] == ("##d", "##e", "##i", "##o")


def test_a_text_and_its_counts_teach_the_same():
    text = "It's low, it's lower."
    counts = {"It": 1, "'": 2, "s": 2, "low": 1, ",": 1, "it": 1, "lower": 1, ".": 1}
    assert count_words(text, cut=wordpiece.words) == counts
    expected = WordPiece.train_from_counts(counts, 30).fingerprint
    assert WordPiece.train(text, 30).fingerprint == expected
    assert WordPiece.train([text[:10], text[10:]], 30).fingerprint == expected


def test_special_tokens_cut_the_text():
    tokenizer = WordPiece.train("ab[SEP]ab [SEP] ab", 100, special_tokens=["[SEP]"])
    assert tokenizer.vocabulary == ("##b", "a", "ab", "[UNK]", "[SEP]")
    assert tokenizer.tokens("abb[SEP]ab", allowed_special="all") == ["ab", "##b", "[SEP]", "ab"]


# -- encoding and decoding ---------------------------------------------------------------------------------


def test_the_longest_piece_first_is_not_always_the_best():
    tokenizer = WordPiece(["un", "una", "##able", "##ble", "##b"])
    assert tokenizer.tokens("unable") == ["una", "##ble"]
    assert WordPiece(["un", "una", "##able"]).tokens("unable") == ["[UNK]"]


def test_a_word_that_pieces_cannot_cover():
    tokenizer = WordPiece(["low", "##er"])
    assert tokenizer.tokens("low lowest lower") == ["low", "[UNK]", "low", "##er"]
    with pytest.raises(ValueError, match="pieces can't cover the word 'lowest'"):
        WordPiece(["low"], unknown=None).encode("low lowest")


def test_a_long_word_is_unknown():
    tokenizer = WordPiece(["a", "##a"])
    assert len(tokenizer.encode("a" * 100)) == 100
    assert tokenizer.tokens("a" * 101) == ["[UNK]"]
    assert WordPiece(["a", "##a"], max_characters=1).tokens("a aa") == ["a", "[UNK]"]


@settings(max_examples=50)
@given(word_counts, st.integers(0, 30))
def test_words_of_the_training_text_come_back(counts, more):
    least = len({symbol for word in counts for symbol in wordpiece.symbols_of(word)})
    tokenizer = WordPiece.train_from_counts(counts, least + 1 + more)
    text = " ".join(counts)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.decode(tokenizer.encode(text.replace(" ", " \n"))) == text


def test_special_tokens_in_a_text():
    tokenizer = WordPiece(["[PAD]", "[UNK]", "a", "[CLS]"], ["[PAD]", "[CLS]"])
    assert tokenizer.special_tokens == {"[PAD]": 0, "[CLS]": 3}
    assert tokenizer.unknown_id == 1
    assert tokenizer.encode("[CLS] a", allowed_special="all") == [3, 2]
    assert tokenizer.tokens("[CLS] a", disallowed_special=()) == ["[UNK]"] * 3 + ["a"]
    assert tokenizer.decode([3, 2]) == "[CLS] a"


# -- the library `tokenizers` ------------------------------------------------------------------------------


def library(tokenizer: WordPiece):
    """The same vocabulary in `tokenizers`."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    ids = {piece: i for i, piece in enumerate(tokenizer.vocabulary)}
    theirs = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    theirs.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return theirs


def compare(tokenizer: WordPiece, texts: list[str]) -> tuple[int, int]:
    """Assert that the ids are equal; return the numbers of tokens and of unknown tokens."""
    theirs = library(tokenizer)
    tokens = unknown = 0
    for text in texts:
        ids = tokenizer.encode(text, disallowed_special=())
        assert ids == theirs.encode(text, add_special_tokens=False).ids, text
        tokens += len(ids)
        unknown += ids.count(tokenizer.unknown_id)
    return tokens, unknown


def test_words_equal_those_of_the_library():
    """Except for punctuation that is newer than the library's table; `regex` knows it."""
    pre_tokenizers = pytest.importorskip("tokenizers").pre_tokenizers
    theirs = pre_tokenizers.BertPreTokenizer()
    different = []
    for character in map(chr, [*range(0xD800), *range(0xE000, 0x30000)]):
        text = f"a{character}b"
        if [word for word, _ in theirs.pre_tokenize_str(text)] != wordpiece.words(text):
            different.append(character)
    assert len(different) == 147
    assert [character for character in different if not regex.match(r"\p{P}", character)] == [
        "\u166d",
        "\U000111c9",
    ]
    assert min(different) == "\u061d"


@settings(max_examples=60)
@given(
    word_counts,
    st.text(st.sampled_from("abcd -'.\n\t月é\u3000[]#"), max_size=40),
)
def test_encoding_equals_the_library_on_any_text(counts, text):
    pytest.importorskip("tokenizers")
    compare(WordPiece.train_from_counts(counts, 60), [text])


@pytest.mark.skipif(bool(corpora.missing_files("tang_poems")), reason="the poems are not prepared")
def test_encoding_equals_the_library_on_poems():
    pytest.importorskip("tokenizers")
    poems = corpora.tang_poems()
    tokenizer = WordPiece.train(poems[:500], 6_000)
    tokens, unknown = compare(tokenizer, poems[-500:])
    assert tokens > 8_000 and unknown > 100


@pytest.mark.skipif(bool(corpora.missing_files("wikitext2")), reason="WikiText-2 is not prepared")
def test_encoding_equals_the_library_on_wikitext2():
    pytest.importorskip("tokenizers")
    tokenizer = WordPiece.train(corpora.wikitext2("train")[:200_000], 2_000, min_frequency=5)
    tokens, unknown = compare(tokenizer, corpora.wikitext2("test")[:300_000].splitlines())
    assert tokens > 70_000 and unknown > 5


@pytest.mark.full
def test_encoding_equals_the_library_on_both_corpora():
    pytest.importorskip("tokenizers")
    english = WordPiece.train(corpora.wikitext2("train")[:900_000], 8_000, min_frequency=5)
    lines = [line for split in ("train", "valid", "test") for line in corpora.wikitext2(split).splitlines()]
    print("WikiText-2:", len(lines), "texts, tokens and unknown:", compare(english, lines))
    poems = corpora.tang_poems()
    print("poems:", len(poems), "texts:", compare(WordPiece.train(poems[:5_000], 20_000), poems))


def test_the_library_trains_by_frequency():
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=23, special_tokens=["[UNK]"], show_progress=False
    )
    text = " ".join(word for word, count in PAPER.items() for _ in range(count))
    theirs.train_from_iterator([text], trainer)
    assert theirs.get_vocab_size() == 23
    learned = {piece for piece in theirs.get_vocab() if len(piece.removeprefix("##")) > 1} - {"[UNK]"}
    assert "##es" in learned  # the most frequent pair, nine times; its score is 9 / (17 · 9)
    ours = [step.piece for step in wordpiece.learn_pieces(PAPER)]
    assert ours[:2] == ["##id", "wid"]


# -- files and bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pieces": ["a", "a"]}, "piece 'a' is given twice"),
        ({"pieces": ["a", ""]}, "must not be empty"),
        ({"pieces": [5]}, "a piece must be a str, not int"),
        ({"pieces": "abc"}, "its 'pieces' is of the wrong type, str"),
        ({"max_characters": 0}, "max_characters must be 1 or more"),
        ({"unknown": "?"}, "two or more characters"),
        ({"more": 1}, "unknown entry"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, change, message):
    path = tmp_path / "tokenizer.json"
    content = {"pieces": ["a", "b"], "special_tokens": [], "unknown": None, "max_characters": 100}
    saving.save_content(path, WordPiece.KIND, content | change)
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        WordPiece.load(path)


@pytest.mark.parametrize(
    ("text", "vocab_size", "options", "error", "message"),
    [
        ("", 20, {}, ValueError, "no words"),
        (
            "low",
            3,
            {},
            ValueError,
            "training starts with 3 characters and 1 other tokens, so the least is 4",
        ),
        ("low", 20, {"min_frequency": 0}, ValueError, "min_frequency must be 1 or more"),
        ("low", 20, {"unknown": "?"}, ValueError, "two or more characters"),
    ],
)
def test_bad_input_to_training(text, vocab_size, options, error, message):
    with pytest.raises(error, match=message):
        WordPiece.train(text, vocab_size, **options)


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        ({}, ValueError, "no words"),
        ({"a b": 1}, ValueError, "'a b'"),
        ({"a": 1.5}, TypeError, "count of 'a'"),
    ],
)
def test_bad_counts(counts, error, message):
    with pytest.raises(error, match=message):
        WordPiece.train_from_counts(counts, 20)


def test_a_file_keeps_that_there_is_no_unknown_token(tmp_path):
    tokenizer = WordPiece(["a", "##b"], unknown=None)
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = WordPiece.load(tmp_path / "tokenizer.json")
    assert loaded == tokenizer and loaded.unknown_id is None
