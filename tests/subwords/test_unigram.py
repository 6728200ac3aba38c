"""Unigram: the best way to cut against all ways, training, sampling."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpe import Unigram, saving
from bpe.subwords import lattice, unigram_training
from bpe.subwords.unigram import BYTES, Piece

TEXT = "the cat sat on the mat. the cats sat on the mats, and the rats ran 月光 月色\n" * 3

texts = st.text(st.sampled_from("abc d\n月"), max_size=12)
scores = st.sampled_from([-1.0, -2.0, -3.0, -0.5, -0.1, -1 / 3])
vocabularies = st.dictionaries(
    st.text(st.sampled_from("abc▁"), min_size=1, max_size=4), scores, min_size=1, max_size=10
)


def make(pieces: dict[str, float], **options) -> Unigram:
    return Unigram([Piece("<unk>", 0, "unknown"), *pieces.items()], **options)


def train(text=TEXT, vocab_size: int = 330, **options) -> Unigram:
    return Unigram.train(text, vocab_size, progress=False, **options)


def all_ways(text: str, pieces: dict[str, float]) -> list[tuple[list[str], float]]:
    """Every way to cut the text into pieces, with its score."""
    if not text:
        return [([], 0.0)]
    return [
        ([piece, *rest], score + below)
        for piece, score in pieces.items()
        if text.startswith(piece)
        for rest, below in all_ways(text[len(piece) :], pieces)
    ]


# -- the best way ------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(vocabularies, st.text(st.sampled_from("abc"), max_size=7))
def test_the_best_of_all_ways(pieces, text):
    pieces = {"a": -4.0, "b": -4.0, "c": -4.0} | pieces
    ways = all_ways(text, pieces)
    tokenizer = make(pieces, prefix=False)
    found = tokenizer.tokens(text)
    assert sum(pieces[token] for token in found) == pytest.approx(max(score for _, score in ways))
    total = math.log(sum(math.exp(score) for _, score in ways))
    assert tokenizer.log_probability(text) == pytest.approx(total)


@settings(max_examples=50)
@given(vocabularies, st.text(st.sampled_from("abc"), min_size=1, max_size=6))
def test_the_expected_use_of_a_piece(pieces, text):
    pieces = {"a": -4.0, "b": -4.0, "c": -4.0} | pieces
    expected: Counter = Counter()
    ways = all_ways(text, pieces)
    total = sum(math.exp(score) for _, score in ways)
    for way, score in ways:
        for piece in way:
            expected[piece] += math.exp(score) / total
    found: Counter = Counter()
    for piece, share in lattice.shares(unigram_training.lattice_of(text, pieces, 4)):
        found[piece] += share
    assert {piece: share for piece, share in found.items() if share} == pytest.approx(expected)


def test_of_equal_ways_the_one_whose_last_piece_begins_first_wins():
    tokenizer = make({"a": -1, "bc": -2, "ab": -2, "c": -1}, prefix=False)
    assert tokenizer.tokens("abc") == ["a", "bc"]


def test_a_long_text_is_cut_as_well_as_a_short_one():
    pieces = [("u", -1_000.0), ("a", -0.5), ("b", -0.48), ("ab", -1.0)]
    tokenizer = Unigram(pieces, prefix=False)
    for length in (0, 99, 100, 101, 700):
        assert tokenizer.tokens("u" * length + "ab") == ["u"] * length + ["a", "b"]


def test_more_probable_is_not_longer():
    tokenizer = make({"ab": -5, "abc": -5, "bcd": -2, "a": -2, "c": -4, "d": -4}, prefix=False)
    assert tokenizer.tokens("abcd") == ["a", "bcd"]


def test_the_lattice_of_a_text():
    tokenizer = make({"a": -1, "b": -2, "ab": -2.5}, prefix=False)
    assert [tuple(edge) for edge in tokenizer.lattice("abx")] == [
        (0, 1, 1, -1.0),
        (0, 2, 3, -2.5),
        (1, 2, 2, -2.0),
        (2, 3, None, -12.5),
    ]


# -- unknown characters, spaces, special tokens ------------------------------------------------------------


def test_unknown_characters():
    tokenizer = make({"a": -1, "▁": -2})
    assert tokenizer.tokens("a月月a月") == ["▁", "a", "<unk>", "a", "<unk>"]
    assert tokenizer.decode(tokenizer.encode("a月月a")) == "a<unk>a"
    bytes_too = Unigram([*(Piece(name, 0, "byte") for name in BYTES), ("a", -1)], prefix=False)
    assert bytes_too.tokens("a月") == ["a", "<0xE6>", "<0x9C>", "<0x88>"]
    assert bytes_too.decode(bytes_too.encode("a月")[:-1]) == "a\ufffd"
    with pytest.raises(UnicodeDecodeError):
        bytes_too.decode([0xE6], errors="strict")
    with pytest.raises(ValueError, match=r"'月' \(U\+6708\) is not among the pieces, and there is neither"):
        Unigram([("a", -1)], prefix=False).encode("a月")


@settings(max_examples=60)
@given(texts, st.booleans())
def test_with_bytes_every_text_comes_back(text, prefix):
    tokenizer = TRAINED[prefix]
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.decode(tokenizer.sample(text, seed=1, alpha=0.2)) == text


@settings(max_examples=40)
@given(st.lists(st.one_of(texts, st.just("<s>"))), st.booleans())
def test_special_tokens_come_back(parts, prefix):
    text = "".join(parts)
    ids = TRAINED[prefix].encode(text, allowed_special="all")
    assert TRAINED[prefix].decode(ids) == text
    assert ids.count(TRAINED[prefix].special_tokens["<s>"]) == text.count("<s>")


def test_many_ids_are_decoded_in_time_that_grows_with_their_number():
    tokenizer = Unigram([("▁a", -1.0)])  # it took minutes when each token copied all before it
    assert tokenizer.decode([0] * 500_000) == (" a" * 500_000)[1:]


def test_special_tokens_are_refused_by_default():
    with pytest.raises(ValueError, match="'<s>' at position 2"):
        TRAINED[True].encode("a <s>")
    with pytest.raises(ValueError, match="'<s>' at position 2"):
        TRAINED[True].sample("a <s>")
    assert "<s>" not in TRAINED[True].tokens("a <s>", disallowed_special=())


def test_the_name_of_the_unknown_token_is_ordinary_text():
    tokenizer = TRAINED[False]
    assert tokenizer.unknown_id not in tokenizer.encode("<unk>")
    assert tokenizer.decode(tokenizer.encode("<unk>")) == "<unk>"


def test_the_mark_for_a_space_becomes_one():
    assert TRAINED[True].decode(TRAINED[True].encode("a▁b")) == "a b"


def test_user_defined_and_unused_pieces():
    tokenizer = Unigram(
        [
            Piece("<unk>", 0, "unknown"),
            ("a", -1),
            ("b", -1),
            ("ab", -50, "user-defined"),
            ("c", -1, "unused"),
        ],
        prefix=False,
    )
    assert tokenizer.tokens("abcab") == ["ab", "<unk>", "ab"]


# -- sampling ----------------------------------------------------------------------------------------------


def test_samples_come_as_often_as_their_probability_says():
    pieces = {"a": -1.0, "b": -1.5, "ab": -2.0, "ba": -2.2, "aba": -3.0}
    tokenizer = make(pieces, prefix=False)
    for alpha in (1.0, 0.3):
        ways = {tuple(way): math.exp(alpha * score) for way, score in all_ways("aba", pieces)}
        counts = Counter(
            tuple(tokenizer.token(i) for i in tokenizer.sample("aba", seed, alpha=alpha))
            for seed in range(3_000)
        )
        assert set(counts) == set(ways)
        for way, weight in ways.items():
            assert counts[way] / 3_000 == pytest.approx(weight / sum(ways.values()), abs=0.03)


@settings(max_examples=40)
@given(texts, st.integers(0, 2**64 - 1))
def test_a_seed_gives_one_sample(text, seed):
    assert TRAINED[True].sample(text, seed) == TRAINED[True].sample(text, seed)


def test_a_large_alpha_gives_the_best_way():
    text = "the cats sat on the mat"
    assert TRAINED[True].sample(text, alpha=1_000.0) == TRAINED[True].encode(text)


# -- training ----------------------------------------------------------------------------------------------


def test_the_vocabulary_that_was_asked_for():
    tokenizer = TRAINED[True]
    assert tokenizer.vocab_size == 300
    assert tokenizer.vocabulary[:3] == ("<unk>", "<s>", "<0x00>")
    assert tokenizer.unknown_id == 0 and tokenizer.special_tokens == {"<s>": 1}
    learned = [entry.score for entry in tokenizer.entries if entry.kind == "normal"]
    assert learned == sorted(learned, reverse=True)
    assert math.fsum(map(math.exp, learned)) == pytest.approx(1, abs=1e-4)
    assert set("thecasonm.dr月光色,▁\n") <= set(tokenizer.vocabulary)
    assert "▁the" in tokenizer.vocabulary


def test_without_bytes_and_with_the_frequent_characters_only():
    tokenizer = train("aaaa bbbb aaaa bbbb c", 8, byte_fallback=False, character_coverage=0.9)
    assert tokenizer.tokens("a c") == ["▁", "a", "▁", "<unk>"]
    assert tokenizer.vocab_size == 8


def test_fewer_pieces_than_asked_for():
    assert train("ab ab", 1_000, byte_fallback=False).vocab_size < 20


@pytest.mark.parametrize("factor", [1e308, 1 + 1e-9])
def test_no_factor_is_too_large(factor):
    assert train(vocab_size=10**400, byte_fallback=False, seed_factor=factor).vocab_size > 50


def test_a_null_character_is_like_any_other():
    tokenizer = Unigram.train("\0!\0?\0;\0," + "a" * 5, 300, byte_fallback=False, character_coverage=0.6)
    assert "\0" in tokenizer.vocabulary and "!" not in tokenizer.vocabulary


@pytest.mark.parametrize("names", [{"unknown": "low"}, {"special_tokens": ["▁low"]}])
def test_no_piece_takes_the_name_of_another_token(names):
    tokenizer = Unigram.train("low low low lower", 300, byte_fallback=False, **names)
    assert tokenizer.decode(tokenizer.encode("low lower")) == "low lower"
    assert len(set(tokenizer.vocabulary)) == tokenizer.vocab_size


def test_a_list_of_documents():
    parts = TEXT.splitlines(keepends=True)
    assert train(parts).tokens("the cat") == ["▁the", "▁cat"]


def test_every_round_raises_the_probability_of_the_text():
    words = unigram_training.count_words(TEXT, [], True)
    characters = sorted(set("".join(words)))
    scores = unigram_training._seed_scores(words, characters, 60, 8)
    before = -math.inf
    for _ in range(5):
        now = sum(
            count * lattice.sums(unigram_training.lattice_of(word, scores, 8))[-1]
            for word, count in words.items()
        )
        assert now > before - 0.01  # characters that no way needs keep a little
        before = now
        scores = unigram_training.reestimated(words, scores, characters)


def test_the_loss_of_a_piece():
    scores = {"a": -2.0, "b": -3.0, "ab": -1.0, "ba": -1.0}
    words = {"ab": 10, "b": 1}
    assert unigram_training.losses(words, scores, "ab") == {"ab": 10 * (-1.0 + 5.0), "ba": 0.0}
    assert unigram_training.pruned(words, scores, "ab", 3) == {"a": -2.0, "b": -3.0, "ab": -1.0}


@settings(max_examples=50)
@given(
    st.dictionaries(
        st.text(st.sampled_from("ab"), min_size=1, max_size=9), st.integers(1, 3), min_size=1, max_size=6
    )
)
def test_frequent_substrings(counts):
    expected: Counter = Counter()
    for word, count in counts.items():
        for begin in range(len(word)):
            for end in range(begin + 2, min(len(word), begin + 4) + 1):
                expected[word[begin:end]] += count
    frequent = {piece: count for piece, count in expected.items() if count >= 2}
    assert unigram_training.frequent_substrings(counts, 4) == frequent


# -- files and bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pieces", "error", "message"),
    [
        ([], ValueError, "there is no normal piece"),
        ([("<unk>", 0, "unknown")], ValueError, "there is no normal piece"),
        (["a"], TypeError, "piece 0 must be"),
        ([(5, 0.0)], TypeError, "a piece must be a str, not int"),
        ([("a", "b")], TypeError, "the score of piece 0 must be a number"),
        ([("a", math.nan)], ValueError, "the score of piece 0 must be finite"),
        ([("a", -(10**400))], ValueError, "the score of piece 0 is too large"),
        ([("a", -1e300)], ValueError, "the score of piece 0 is beyond 32 bits"),
        ([("a", -1, "strange")], ValueError, "piece 0 is of the unknown kind 'strange'"),
        ([("a", -1), ("a", -2)], ValueError, "piece 'a' is given twice"),
        ([("", -1)], ValueError, "a piece must not be empty"),
        ([("\ud800", -1)], ValueError, "lone surrogate"),
        ([("a", -1), ("<0x00>", 0, "byte")], ValueError, "all 256 of them or none"),
        ([("a", -1), ("?!", 0, "unknown"), ("??", 0, "unknown")], ValueError, "two unknown tokens"),
    ],
)
def test_pieces_that_do_not_fit(tmp_path, pieces, error, message):
    with pytest.raises(error, match=message):
        Unigram(pieces)
    if message != "lone surrogate":
        path = tmp_path / "tokenizer.json"
        saving.save_content(path, Unigram.KIND, {"pieces": pieces, "prefix": True})
        with pytest.raises(ValueError, match="is damaged"):
            Unigram.load(path)


@pytest.mark.parametrize(
    ("text", "vocab_size", "options", "error", "message"),
    [
        ("", 400, {"prefix": False}, ValueError, "the training text is empty"),
        ([], 400, {}, ValueError, "the training text is empty"),
        ("low", 260, {}, ValueError, "training starts with 4 characters and 257 other tokens"),
        ("low", 400, {"character_coverage": 1.5}, ValueError, "character_coverage must be from 0 to 1"),
        ("low", 400, {"character_coverage": "all"}, TypeError, "character_coverage must be a number"),
        ("low", 400, {"max_length": 0}, ValueError, "max_length must be 1 or more"),
        ("low", 400, {"seed_factor": 0.5}, ValueError, "seed_factor must be from 1"),
        ("low", 400, {"shrinking_factor": 1.0}, ValueError, "shrinking_factor must be from 0 to 0.99"),
        ("low", 400, {"sub_iterations": 0}, ValueError, "sub_iterations must be 1 or more"),
        ("low", 400, {"unknown": "?"}, ValueError, "two or more characters"),
        ("low", 400, {"special_tokens": ["<unk>"]}, ValueError, "both the unknown token and a special"),
        ("a b", 400, {"special_tokens": ["▁"]}, ValueError, "'▁' is a special token, but also a character"),
    ],
)
def test_bad_input_to_training(text, vocab_size, options, error, message):
    with pytest.raises(error, match=message):
        Unigram.train(text, vocab_size, **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"alpha": -1}, ValueError, "alpha must be 0 or more"),
        ({"alpha": math.inf}, ValueError, "alpha must be finite"),
        ({"seed": -1}, ValueError, "seed must be 0 or more"),
    ],
)
def test_bad_input_to_sampling(options, error, message):
    with pytest.raises(error, match=message):
        TRAINED[True].sample("low", **options)


def test_each_way_to_read_a_text_refuses_lone_surrogates():
    tokenizer = TRAINED[True]
    for call in (tokenizer.sample, tokenizer.lattice, tokenizer.log_probability, tokenizer.encode_normalized):
        with pytest.raises(ValueError, match="lone surrogate"):
            call("\udfff")


def test_an_empty_text():
    assert TRAINED[True].encode("") == TRAINED[True].sample("") == []
    assert TRAINED[True].decode([]) == ""
    assert TRAINED[True].log_probability("") == 0


def test_paths_add_up():
    rng = random.Random(0)
    path = lattice.random_path([[(0, "a", -1.0)], [(0, "ab", -1.0), (1, "b", -2.0)]], rng)
    assert path[0][0] == 0 and path[-1][1] == 2


TRAINED = {prefix: train(vocab_size=300, prefix=prefix, special_tokens=["<s>"]) for prefix in (True, False)}
