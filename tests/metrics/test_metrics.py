"""What is measured of a tokenizer: golden figures, laws, four libraries, and bad input."""

from __future__ import annotations

import io
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpe import BPETokenizer, CharTokenizer, WordPiece, metrics
from bpe.metrics import measure, premiums, renyi_efficiency, token_lengths

TEXT = "the cat sat on the mat, and the rats ran. 月光如水\n" * 4

texts = st.text(st.sampled_from("ab the,.1 \n月é"), min_size=1, max_size=30)
distributions = st.dictionaries(st.integers(0, 50), st.integers(1, 1_000), min_size=2, max_size=20)
few = settings(max_examples=50)


def by_bytes(text: str) -> list[int]:
    return list(text.encode("utf-8"))


def from_bytes(ids: list[int]) -> str:
    return bytes(ids).decode("utf-8", "replace")


# -- what a word is ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" .,! \n", []),
        ("the cat", ["the", "cat"]),
        ("it's o’clock 'tis", ["it's", "o’clock", "tis"]),
        ("well-known snake_case", ["well", "known", "snake", "case"]),
        ("x1 = 3.5", ["x1", "3", "5"]),
        ("床前明月光，疑", ["床", "前", "明", "月", "光", "疑"]),
        ("GPT-4是模型a月b", ["GPT", "4", "是", "模", "型", "a", "月", "b"]),
        ("naïve nai\u0308ve", ["naïve", "nai\u0308ve"]),
        ("ಕನ್ನಡ हिन्दी", ["ಕನ್ನಡ", "हिन्दी"]),
    ],
)
def test_words(text, expected):
    assert metrics.words(text) == expected


# -- golden figures ----------------------------------------------------------------------------------------


def test_by_hand():
    tokens = ["the", " cat", " s", "at", ".", "月", "<unk>"]
    ids = {"the cat sat.": [0, 1, 2, 3, 4], "the": [0], " cat": [1], "月月x": [5, 5, 6], "月": [5]}
    found = measure(
        ["the cat sat.", "月月x"],
        lambda text: ids.get(text, [0, 0]),
        lambda given: "".join(tokens[i] for i in given),
        vocab_size=8,
        unknown=[6],
    )
    assert (found.documents, found.characters, found.bytes) == (2, 15, 19)
    assert (found.tokens, found.words, found.unknown) == (8, 6, 1)
    assert found.whole_words == 4  # the, cat, 月, 月; neither sat nor x
    assert found.counts == {0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 2, 6: 1}
    assert (found.returned, found.unused) == (1, 1)
    assert found.characters_per_token == 15 / 8
    assert found.bytes_per_token == 19 / 8
    assert found.fertility == 8 / 6
    assert found.unknown_share == found.unused_share == 1 / 8
    assert found.whole_word_share == 4 / 6
    assert found.returned_share == 1 / 2


def test_an_unknown_token_is_no_whole_word():
    tokenizer = WordPiece.train("the cat the cat the rat", 20, progress=False)
    plain = measure("the dog", tokenizer.encode)
    told = measure("the dog", tokenizer.encode, unknown=[tokenizer.unknown_id])
    assert tokenizer.tokens("the dog") == ["the", "[UNK]"]
    assert (plain.whole_words, told.whole_words) == (2, 1)
    assert (plain.unknown, told.unknown, told.unknown_share) == (0, 1, 0.5)


def test_a_word_is_whole_with_the_space_before_or_behind_it():
    before = BPETokenizer.train("a cat, a cat", 300, pattern="gpt2", progress=False)
    behind = BPETokenizer.train("at it ot at at ", 258, progress=False)
    assert before.tokens(" cat") == [b" cat"]
    assert behind.tokens("at ") == [b"at "] and behind.tokens("at") == [b"a", b"t"]
    assert measure("cat", before.encode).whole_words == measure("at", behind.encode).whole_words == 1
    # An alphabet without the space can't say more than the word itself.
    assert measure("ab", CharTokenizer("ab").encode).whole_words == 0
    assert measure("ab b", lambda text: [{"a": 0, "b": 1, " ": 2}[c] for c in text]).whole_words == 1
    assert measure("abb", lambda text: [{"a": 0, "b": 1}[c] for c in text]).whole_words == 0


def test_efficiency_by_hand():
    # p = 1/2, 1/4, 1/4; for alpha = 2: -log(3/8) / log 3; for alpha = 1: 1.5 log 2 / log 3
    counts = {"a": 2, "b": 1, "c": 1}
    assert renyi_efficiency(counts, 2) == pytest.approx(math.log(8 / 3) / math.log(3))
    assert renyi_efficiency(counts, 1) == pytest.approx(1.5 * math.log(2) / math.log(3))
    assert renyi_efficiency(counts, 2, vocab_size=9) == pytest.approx(math.log(8 / 3) / math.log(9))
    assert renyi_efficiency(counts, 0) == pytest.approx(1)
    assert renyi_efficiency({"a": 5}, vocab_size=4) == 0
    assert measure("aabc", by_bytes).efficiency == renyi_efficiency(counts)
    assert math.isnan(measure("aa", by_bytes).efficiency)


def test_lengths():
    tokenizer = BPETokenizer.train("the 月月月", 258, progress=False)
    found = measure("the 月", tokenizer.encode)
    assert tokenizer.tokens("the 月") == [b"t", b"h", b"e", b" ", "月".encode()]
    assert token_lengths(found.counts, tokenizer.token) == {1: 4, 3: 1}
    assert token_lengths(found.counts, tokenizer.token, "characters") == {1: 5}
    assert token_lengths({0xE6: 1, 256: 2}, tokenizer.token, "characters") == {1: 3}
    assert token_lengths({0x9C: 2}, tokenizer.token, "characters") == {0: 2}
    assert token_lengths({1: 3, 2: 4}, {1: None, 2: "月"}.get) == {3: 4}


def test_premiums_by_hand():
    same = {"en": ["moon", "sea"], "zh": ["月", "海"], "ja": ["月", "うみ"]}
    assert premiums(by_bytes, same, "zh") == {"en": 7 / 6, "zh": 1, "ja": 9 / 6}
    assert premiums(lambda text: range(len(text)), same, "en") == {"en": 1, "zh": 2 / 7, "ja": 3 / 7}


# -- laws --------------------------------------------------------------------------------------------------


@few
@given(st.lists(texts, min_size=1, max_size=4))
def test_bytes_are_the_yardstick(documents):
    found = measure(documents, by_bytes, from_bytes, vocab_size=256)
    assert found.bytes_per_token == 1
    assert found.tokens == found.bytes == sum(found.counts.values())
    assert found.returned_share == 1
    assert found.unused == 256 - len(set("".join(documents).encode()))
    assert 0 <= found.efficiency <= 1


@pytest.mark.parametrize(
    ("text", "alpha", "expected"),
    [
        ("pick @@ed pick @@l @@ed pick @@les", 2.5, 0.8265064834225245),
        ("pick @@e @@d pick @@l @@e @@d pick @@l @@e @@s", 2.5, 0.9204840242168808),
        ("pick @@ed pick @@l @@ed pick @@les", 1, 0.9211854965885544),
        ("pick @@e @@d pick @@l @@e @@d pick @@l @@e @@s", 1, 0.9609557933859342),
    ],
)
def test_efficiency_as_its_authors_compute_it(text, alpha, expected):
    # The texts and figures of the tests of tokenization-scorer, the package of the paper's first author.
    assert renyi_efficiency(Counter(text.split()), alpha) == pytest.approx(expected, abs=1e-12)


@few
@given(st.lists(texts, min_size=1, max_size=4))
def test_documents_add_up(documents):
    tokenizer = BPETokenizer.train(TEXT, 280, pattern="gpt2", progress=False)
    whole = measure(documents, tokenizer.encode, tokenizer.decode)
    parts = [measure(document, tokenizer.encode, tokenizer.decode) for document in documents]
    for name in ("documents", "characters", "bytes", "words", "tokens", "whole_words", "returned"):
        assert getattr(whole, name) == sum(getattr(part, name) for part in parts)
    assert whole.counts == sum((Counter(part.counts) for part in parts), Counter())


@few
@given(texts)
def test_lengths_add_up_to_the_text(text):
    tokenizer = BPETokenizer.train(TEXT, 290, progress=False)
    counts = measure(text, tokenizer.encode).counts
    for unit, length in (("bytes", len(text.encode())), ("characters", len(text))):
        lengths = token_lengths(counts, tokenizer.token, unit)
        assert sum(size * number for size, number in lengths.items()) == length


@given(distributions, st.floats(0, 20))
def test_efficiency_is_a_share(counts, alpha):
    assert 0 <= renyi_efficiency(counts, alpha) <= 1
    again = dict(reversed([(i, 3 * n) for i, n in counts.items()]))
    assert renyi_efficiency(again, alpha) == pytest.approx(renyi_efficiency(counts, alpha))


@given(distributions, st.floats(0, 20), st.floats(0, 20))
def test_efficiency_falls_with_alpha(counts, one, other):
    low, high = sorted((one, other))
    assert renyi_efficiency(counts, high) <= renyi_efficiency(counts, low) + 1e-6


@given(st.integers(2, 500), st.integers(1, 9), st.floats(0, 50))
def test_even_use_is_all_there_can_be(size, times, alpha):
    assert renyi_efficiency(dict.fromkeys(range(size), times), alpha) == pytest.approx(1)


@given(distributions)
def test_shannon_is_the_limit(counts):
    assert renyi_efficiency(counts, 1 + 1e-6) == pytest.approx(renyi_efficiency(counts, 1), abs=1e-4)


@given(st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=4))
def test_premiums_are_ratios(rows):
    languages = dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True))
    to_a, to_b = premiums(by_bytes, languages, "a"), premiums(by_bytes, languages, "b")
    assert to_a["a"] == to_b["b"] == 1
    assert to_a["b"] * to_b["a"] == pytest.approx(1)
    assert to_a["c"] == pytest.approx(to_a["b"] * to_b["c"])


# -- any library -------------------------------------------------------------------------------------------


def test_of_tokenizers_and_ours_are_the_same(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    from bpe import formats

    ours = BPETokenizer.train(TEXT, 290, pattern="gpt2", progress=False)
    formats.save_tokenizers_json(ours, tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    found = measure(TEXT, lambda text: theirs.encode(text).ids, theirs.decode, vocab_size=290)
    assert found == measure(TEXT, ours.encode, ours.decode, vocab_size=290)
    assert found.returned == 1 and found.whole_words > 0


def test_of_tiktoken_and_ours_are_the_same():
    tiktoken = pytest.importorskip("tiktoken")
    from bpe import presplit

    ours = BPETokenizer.train(TEXT, 290, pattern="gpt2", progress=False)
    ranks = {token: i for i, token in enumerate(ours.vocabulary)}
    theirs = tiktoken.Encoding("test", pat_str=presplit.GPT2, mergeable_ranks=ranks, special_tokens={})
    found = measure(TEXT, theirs.encode, theirs.decode, vocab_size=theirs.n_vocab)
    assert found == measure(TEXT, ours.encode, ours.decode, vocab_size=ours.vocab_size)
    lengths = token_lengths(found.counts, theirs.decode_single_token_bytes)
    assert lengths == token_lengths(found.counts, ours.token)


def test_of_sentencepiece():
    sentencepiece = pytest.importorskip("sentencepiece")
    sentencepiece.set_min_log_level(2)
    model = io.BytesIO()
    lines = ["the cat", "the mat", "the rats", "cats ran", "the the the"]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=40, hard_vocab_limit=False
    )
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    texts = ["the cat", "the  rats ran", "the dog"]
    found = measure(texts, theirs.encode, theirs.decode, vocab_size=40, unknown=[theirs.unk_id()])
    assert found.returned == 1  # it joins spaces, and d, o, g are unknown
    assert (found.unknown, found.words, found.whole_words) == (1, 7, 4)
    assert found.tokens == sum(len(theirs.encode(text)) for text in texts)


def test_of_numpy_ids():
    numpy = pytest.importorskip("numpy")
    tokenizer = BPETokenizer.train(TEXT, 290, progress=False)
    assert measure(TEXT, tokenizer.encode_array) == measure(TEXT, tokenizer.encode)
    assert measure("ab", lambda text: numpy.array([1, 2], dtype=numpy.uint16)).counts == {1: 1, 2: 1}


# -- tables and plots --------------------------------------------------------------------------------------


def measured(text: str) -> metrics.Measurement:
    return measure(text, by_bytes, from_bytes, vocab_size=256)


def test_table():
    rows = {"bytes": measured("ab月"), "bare": measure("...", by_bytes)}
    assert repr(metrics.table(rows, ["tokens", "bytes/token", "tokens/word", "unused", "returned"])) == (
        "       tokens  bytes/token  tokens/word  unused  returned\n"
        "bytes       5         1.00         2.50   98.0%      100%\n"
        "bare        3         1.00            –       –         –"
    )
    assert metrics.table(rows).header == ["", *metrics.COLUMNS]


def test_compare():
    both = {"bytes": {"en": measured("ab"), "zh": measured("月")}}
    both["pairs"] = {name: measure(text, lambda text: [0]) for name, text in (("en", "ab"), ("zh", "月"))}
    found = metrics.compare(both, "chars/token")
    assert found.header == ["", "en", "zh"]
    assert found.rows == [["bytes", "1.00", "0.33"], ["pairs", "2.00", "1.00"]]


def test_plot():
    pytest.importorskip("matplotlib").use("agg")
    both = {"bytes": {"en": measured("ab"), "zh": measured("月")}}
    panels = metrics.plot(both, "chars/token")
    assert [panel.patches[0].get_width() for panel in panels] == [1, pytest.approx(1 / 3)]
    assert [panel.texts[0].get_text() for panel in panels] == ["1.00", "0.33"]
    assert [panel.get_title() for panel in panels] == ["en", "zh"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.table({}, ["speed"]), "unknown column 'speed'"),
        (lambda: metrics.compare({}, "tokens"), "no measurements"),
        (lambda: metrics.compare({"a": {"x": measured("a")}, "b": {}}, "tokens"), "'b' was measured on"),
        (lambda: metrics.plot({}, "tokens"), "no measurements"),
    ],
)
def test_bad_tables(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# -- bad input ---------------------------------------------------------------------------------------------


def broken(*_):
    raise KeyError(7)


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "message"),
    [
        (("", by_bytes), {}, ValueError, "the text is empty"),
        (([], by_bytes), {}, ValueError, "the text is empty"),
        ((["", ""], by_bytes), {}, ValueError, "the text is empty"),
        ((b"ab", by_bytes), {}, TypeError, "must be a str or an iterable of str, not bytes"),
        ((["a", 3], by_bytes), {}, TypeError, "document 1: text must be a str, not int"),
        (("a\ud800", by_bytes), {}, ValueError, r"lone surrogate U\+D800"),
        (
            ("ab", lambda text: 3),
            {},
            ValueError,
            "document 0 can't be encoded: TypeError: 'int' object is not iter",
        ),
        (
            ("ab", lambda text: text),
            {},
            ValueError,
            "document 0 can't be encoded: TypeError: 'str' object can",
        ),
        (("ab", str.split), {}, ValueError, "cannot be interpreted as an integer"),
        (("ab", lambda text: [1.5]), {}, ValueError, "cannot be interpreted as an integer"),
        (("ab", lambda text: [-1]), {}, ValueError, "the id -1 for document 0"),
        (("ab", by_bytes), {"vocab_size": 98}, ValueError, "the id 98 for document 0, and vocab_size is 98"),
        (("ab", by_bytes), {"vocab_size": 0}, ValueError, "vocab_size must be 1 or more"),
        (("ab", by_bytes), {"vocab_size": "256"}, TypeError, "vocab_size must be an integer"),
        (
            ("ab", by_bytes),
            {"words": lambda text: text},
            TypeError,
            "words must give a list of str, not a str",
        ),
        (
            ("ab", by_bytes),
            {"words": lambda text: {text: 2}},
            TypeError,
            "words must give a list of str, not a dict",
        ),
        (("ab", by_bytes), {"unknown": [-1]}, ValueError, "an unknown token's id must be 0 or more"),
        (
            (["a", "b"], CharTokenizer("a").encode),
            {},
            ValueError,
            "document 1 can't be encoded: character 'b'",
        ),
        ((["a"], broken), {}, ValueError, "document 0 can't be encoded: KeyError: 7"),
        (("ab", by_bytes, broken), {}, ValueError, "the 2 ids of document 0 can't be decoded: KeyError: 7"),
        (("é", by_bytes, lambda ids: bytes(ids[:1]).decode()), {}, ValueError, "decoded: UnicodeDecodeError"),
        (("ab", by_bytes, bytes), {}, TypeError, "decode must give a str, but gave bytes for document 0"),
    ],
)
def test_bad_input(arguments, options, kind, message):
    with pytest.raises(kind, match=message):
        measure(*arguments, **options)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (({},), ValueError, "there are no tokens"),
        (({1: 0},), ValueError, "there are no tokens"),
        (({1: -1},), ValueError, "the count of 1 must be 0 or more"),
        (({1: 0.5},), TypeError, "the count of 1 must be an integer"),
        (({1: 2},), ValueError, "single token"),
        (({1: 2, 2: 1}, -1), ValueError, "alpha must be 0 or more"),
        (({1: 2, 2: 1}, math.inf), ValueError, "alpha must be finite"),
        (({1: 2, 2: 1}, "2"), TypeError, "alpha must be a number"),
        (({1: 2, 2: 1}, 2, 1), ValueError, "vocab_size is 1, but 2 different tokens occur"),
    ],
)
def test_bad_distributions(arguments, kind, message):
    with pytest.raises(kind, match=message):
        renyi_efficiency(*arguments)


def test_bad_lengths():
    with pytest.raises(ValueError, match="unknown unit 'words'"):
        token_lengths({1: 1}, chr, "words")
    with pytest.raises(ValueError, match="the count of 1 must be 0 or more"):
        token_lengths({1: -1}, chr)


@pytest.mark.parametrize(
    ("languages", "kind", "message"),
    [
        ({}, ValueError, "'en' is not among the languages"),
        ({"en": []}, ValueError, "at least one"),
        ({"en": ["a"], "zh": ["月", "海"]}, ValueError, "'zh' has 2 sentences and 'en' 1"),
        ({"en": "a"}, TypeError, "must be a list of str, not one str"),
        ({"en": [""], "zh": ["月"]}, ValueError, "the sentences of 'en' give no tokens"),
        ({"en": ["a"], "zh": [3]}, TypeError, "document 0: text must be a str, not int"),
    ],
)
def test_bad_languages(languages, kind, message):
    with pytest.raises(kind, match=message):
        premiums(by_bytes, languages, "en")
