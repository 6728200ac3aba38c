"""Unigram against the library sentencepiece: any pieces, models that it trained, and a real one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_models import message, model, numeric, processor

from bpe import Unigram, corpora, formats, pretrained
from bpe.subwords.unigram import BYTES, Piece

pytest.importorskip("sentencepiece")

UNKNOWN = Piece("<unk>", 0.0, "unknown")
BYTE_PIECES = [Piece(name, 0.0, "byte") for name in BYTES]

kinds = st.sampled_from(["normal"] * 6 + ["user-defined", "unused", "control"])
# Scores that make ties, and scores whose sums have to be rounded.
scores = st.sampled_from([-1.0, -2.0, -3.0, -0.1, -0.7, -1 / 3]) | st.floats(-30, 0, width=32)
names = st.text(st.sampled_from("abc▁月"), min_size=1, max_size=5)
vocabularies = st.dictionaries(names, st.tuples(scores, kinds), min_size=1, max_size=14)
texts = st.text(st.sampled_from("abcd▁月 "), max_size=50)


@settings(max_examples=150)
@given(vocabularies, st.lists(texts, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_ids_equal_for_any_pieces(vocabulary, lines, with_bytes, prefix):
    pieces = [UNKNOWN, *(BYTE_PIECES if with_bytes else [])]
    pieces += [Piece(name, score, kind) for name, (score, kind) in vocabulary.items()]
    pieces.append(Piece("a" * 6, -20.0))  # one normal piece at least
    theirs = processor(pieces, prefix=prefix)
    ours = Unigram(pieces, prefix)
    for line in lines:
        assert ours.encode(line, disallowed_special=()) == theirs.encode(line)


# The library restarts its sums beyond a limit: these scores reach it every few characters.
far = st.sampled_from([0.0, -1.5, -0.001, -1e5, -3e4, 2e5, -1e6, 7e4, -99_999.5, -40_000.25, 1e8])


@settings(max_examples=150)
@given(st.dictionaries(names, far, min_size=1, max_size=14), st.lists(texts, min_size=1, max_size=5))
def test_ids_equal_where_sums_are_large(vocabulary, lines):
    pieces = [UNKNOWN, *(Piece(name, score) for name, score in vocabulary.items())]
    ours, theirs = Unigram(pieces), processor(pieces, prefix=True)
    for line in lines:
        assert ours.encode(line) == theirs.encode(line)


def train_with_library(path: Path, texts: list[str], **options) -> tuple[Unigram, object]:
    import sentencepiece

    sentencepiece.set_min_log_level(2)
    prefix = path / "model"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_prefix=str(prefix),
        model_type="unigram",
        num_threads=1,
        **options,
    )
    file = prefix.with_suffix(".model")
    ours = formats.load_sentencepiece(file, caller_normalizes=True)
    return ours, sentencepiece.SentencePieceProcessor(model_file=str(file))


def compare(ours: Unigram, theirs, texts: list[str]) -> tuple[int, int]:
    """Assert that the ids are equal; return the numbers of texts and tokens."""
    tokens = 0
    for text in texts:
        ids = ours.encode_normalized(theirs.normalize(text))
        assert ids == theirs.encode(text), text
        tokens += len(ids)
    return len(texts), tokens


@pytest.mark.skipif(bool(corpora.missing_files("tang_poems")), reason="the poems are not prepared")
def test_a_model_of_the_library_on_poems(tmp_path):
    poems = corpora.tang_poems()
    ours, theirs = train_with_library(
        tmp_path, poems[:1_000], vocab_size=4_000, user_defined_symbols=["春风"]
    )
    assert ours.vocab_size == 4_000 == theirs.vocab_size()
    assert compare(ours, theirs, poems[-300:])[1] > 5_000
    assert "春风" in ours.tokens("春风")


@pytest.mark.skipif(bool(corpora.missing_files("wikitext2")), reason="WikiText-2 is not prepared")
def test_a_model_of_the_library_on_wikitext2(tmp_path):
    train = corpora.wikitext2("train")[:150_000].splitlines()
    ours, theirs = train_with_library(tmp_path, train, vocab_size=1_500, byte_fallback=True)
    text = corpora.wikitext2("test")[:150_000]
    assert compare(ours, theirs, text.splitlines())[1] > 25_000
    assert compare(ours, theirs, [text])[1] > 25_000


def test_a_model_that_puts_the_space_after_the_text(tmp_path):
    texts = ["low lower lowest", "new newer newest", "slow slower"] * 30
    ours, theirs = train_with_library(
        tmp_path,
        texts,
        vocab_size=300,
        byte_fallback=True,
        treat_whitespace_as_suffix=True,
        hard_vocab_limit=False,
    )
    assert not ours.prefix and "low▁" in ours.vocabulary
    compare(ours, theirs, ["low", "slow and low", " a  b ", "", "月"])
    for text in ("low", "slow and low", "月 low"):
        assert ours.decode(theirs.encode(text)) == theirs.decode(theirs.encode(text))


def test_a_piece_that_is_the_null_character(tmp_path):
    pieces = [UNKNOWN, *BYTE_PIECES, Piece("a", -1.0), Piece("\0", -1.0)]
    path = tmp_path / "null.model"
    path.write_bytes(model(pieces))
    ours = formats.load_sentencepiece(path)
    assert ours.encode("a\0a") == processor(pieces).encode("a\0a") == [257, 1, 257]
    path.write_bytes(model([*pieces, Piece("a\0", -1.0)]))
    with pytest.raises(ValueError, match=r"null\.model: piece 259, 'a\\x00', holds a null character"):
        formats.load_sentencepiece(path)
    path.write_bytes(model([UNKNOWN, *pieces[-2:]]))
    with pytest.raises(ValueError, match="holds a null character"):
        formats.load_sentencepiece(path)


@pytest.fixture(scope="module")
def real():
    import sentencepiece

    if pretrained.missing("jurassic2") and not os.environ.get("CI"):
        pytest.skip("the vocabulary jurassic2 is not there: python -m bpe vocabularies")
    ours = pretrained.load_unigram("jurassic2")
    (file,) = pretrained.UNIGRAM_VOCABULARIES["jurassic2"].files
    path = pretrained.folder() / file.name
    return ours, sentencepiece.SentencePieceProcessor(model_file=str(path))


def test_the_real_model(real):
    ours, theirs = real
    assert ours.vocab_size == theirs.vocab_size() == 262_144
    assert list(ours.vocabulary) == [theirs.id_to_piece(i) for i in range(ours.vocab_size)]
    assert [entry.score for entry in ours.entries] == theirs.get_score(list(range(ours.vocab_size)))
    assert not ours.prefix and len(ours.special_tokens) == 26_089


def test_the_real_model_on_texts_of_many_kinds(real):
    ours, theirs = real
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    lines += [
        "",
        " ",
        "  two  spaces ",
        "ﬁ ＡＢ e\u0301",
        "12345.678",
        "\t\n",
        "\U0001f600 ok",
        "\x00a",
        "<|pad|>",
    ]
    if not corpora.missing_files("wikitext2"):
        lines += corpora.wikitext2("test")[:60_000].splitlines()
    if not corpora.missing_files("tang_poems"):
        lines += corpora.tang_poems()[-200:]
    compare(ours, theirs, lines)


def test_its_normalizer_loses_text(real):
    _, theirs = real
    assert theirs.normalize("ﬁ ＡＢ\n\te") == "fi▁AB▁▁e"


@pytest.mark.full
def test_the_real_model_on_both_corpora(real):
    ours, theirs = real
    lines = [line for split in ("train", "valid", "test") for line in corpora.wikitext2(split).splitlines()]
    print("WikiText-2:", compare(ours, theirs, lines))
    print("poems:", compare(ours, theirs, corpora.tang_poems()))


# -- the reader --------------------------------------------------------------------------------------------

GOOD = model([UNKNOWN, Piece("▁a", -1.5), Piece("b", -2.0, "user-defined"), Piece("</s>", 0.0, "control")])


def test_a_model_is_read_as_it_is(tmp_path):
    path = tmp_path / "a.model"
    path.write_bytes(GOOD)
    tokenizer = formats.load_sentencepiece(path)
    assert tokenizer.entries[1:] == (
        ("▁a", -1.5, "normal"),
        ("b", -2.0, "user-defined"),
        ("</s>", 0, "control"),
    )
    assert not tokenizer.prefix and tokenizer.unknown_id == 0
    path.write_bytes(GOOD + message(3, numeric(3, 1)))
    assert formats.load_sentencepiece(path).prefix


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "it has no pieces"),
        (b"{}", "it is not a model of sentencepiece"),
        (GOOD[:20], "it ends within a field"),
        (GOOD + b"\x80", "it ends within a number"),
        (GOOD + b"\xff" * 12, "more than 64 bits"),
        (GOOD + numeric(1, 5), "holds a number"),
        (model([UNKNOWN, Piece("a", -1)], model_type=2), "it is a model of BPE, not of Unigram"),
        (model([UNKNOWN, Piece("a", -1)], model_type=9), "of an unknown kind"),
        (model([UNKNOWN]), "there is no normal piece"),
        (GOOD + message(1, message(1, b"x") + numeric(3, 9)), "is of the unknown kind 9"),
        (GOOD + message(1, message(1, b"\xff")), "can't decode byte 0xff"),
        (GOOD + message(1, message(1, b"b")), "'b' is given twice"),
    ],
)
def test_a_damaged_model_is_named(tmp_path, data, complaint):
    path = tmp_path / "damaged.model"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=rf"damaged\.model: .*{complaint}"):
        formats.load_sentencepiece(path)


def test_a_model_cut_anywhere_is_refused(tmp_path):
    path = tmp_path / "cut.model"
    for length in range(len(GOOD)):
        path.write_bytes(GOOD[:length])
        with pytest.raises(ValueError, match=r"cut\.model: it (ends|has no pieces)"):
            formats.load_sentencepiece(path)


@settings(max_examples=100)
@given(st.integers(0, len(GOOD) - 1), st.binary(max_size=3))
def test_changed_bytes_never_raise_anything_else(tmp_path_factory, at, new):
    path = tmp_path_factory.mktemp("changed") / "a.model"
    path.write_bytes(GOOD[:at] + new + GOOD[at + len(new) :])
    try:
        formats.load_sentencepiece(path)
    except ValueError as error:
        assert str(path) in str(error)


# -- normalizers that `Unigram` does not apply ---------------------------------------------------------------


def with_normalizer(*fields: bytes, trainer: bytes = b"", denormalizer: bytes = b"") -> bytes:
    return GOOD + message(2, trainer) + message(3, b"".join(fields)) + message(5, denormalizer)


@pytest.mark.parametrize(
    ("data", "effect"),
    [
        (with_normalizer(message(1, b"nmt_nfkc"), message(2, b"table")), r"replaces characters \(nmt_nfkc\)"),
        (with_normalizer(numeric(4, 1)), "removes extra spaces"),
        (with_normalizer(numeric(5, 0)), "leaves spaces as they are"),
        (with_normalizer(numeric(3, 1), trainer=numeric(24, 1)), "adds a space after the text"),
        (with_normalizer(denormalizer=message(2, b"table")), "replaces characters after decoding"),
        (message(1, message(1, b"a")) + message(3, b""), "removes extra spaces"),  # which is the default
    ],
)
def test_a_normalizer_is_not_dropped_silently(tmp_path, data, effect):
    path = tmp_path / "a.model"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=rf"a\.model: its normalizer {effect}.* caller_normalizes=True"):
        formats.load_sentencepiece(path)
    assert formats.load_sentencepiece(path, caller_normalizes=True).vocab_size


def test_a_model_of_the_library_that_normalizes_nothing(tmp_path):
    texts = ["low lower lowest", "new newer newest", "slow slower"] * 30
    plain = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    _, theirs = train_with_library(
        tmp_path, texts, vocab_size=300, byte_fallback=True, hard_vocab_limit=False, **plain
    )
    ours = formats.load_sentencepiece(tmp_path / "model.model")
    for text in ("low", "  slow  and ", "ﬁ ＡＢ e\u0301\n", ""):
        assert ours.encode(text) == theirs.encode(text)
    train_with_library(tmp_path, texts, vocab_size=300, byte_fallback=True, hard_vocab_limit=False)
    with pytest.raises(ValueError, match=r"replaces characters \(nmt_nfkc\), removes extra spaces"):
        formats.load_sentencepiece(tmp_path / "model.model")
