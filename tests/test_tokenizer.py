"""What all kinds of tokenizers have in common: identity, immutability, files, the vocabulary, batches."""

import copy
import inspect
import itertools
import pickle
import re
import sys

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpe
from bpe import BPETokenizer, CharTokenizer, Tokenizer, Unigram, WordBPE, WordPiece
from bpe.tokenizer import Memory

TEXT = "low lower lowest newer widest\n月光 low " * 8
END = "<|end|>"

KINDS = {
    "characters": lambda: CharTokenizer(TEXT, unknown="<unk>"),
    "bytes": lambda: BPETokenizer.train(TEXT, 300, pattern="gpt2", special_tokens=[END]),
    "characters merged": lambda: BPETokenizer.train(TEXT, 60, alphabet="characters"),
    "words": lambda: WordBPE.train(TEXT, 40, special_tokens=[END]),
    "wordpiece": lambda: WordPiece.train(TEXT, 50, special_tokens=[END]),
    "unigram": lambda: Unigram.train(TEXT, 320, special_tokens=[END]),
}


@pytest.fixture(params=KINDS)
def tokenizer(request) -> Tokenizer:
    return KINDS[request.param]()


def content(text: str) -> str:
    """What every kind gives back: some lose whitespace."""
    return "".join(text.split())


# -- identity --------------------------------------------------------------------------------------------


def test_every_kind_is_a_tokenizer(tokenizer):
    assert isinstance(tokenizer, Tokenizer)
    assert bpe.saving.KINDS[tokenizer.KIND].endswith(f":{type(tokenizer).__name__}")


def test_equal_fingerprints_make_equal_tokenizers(tokenizer):
    others = [make() for make in KINDS.values()]
    assert [other for other in others if other == tokenizer] == [tokenizer]
    assert {tokenizer: 1}[next(other for other in others if other == tokenizer)] == 1
    assert len({*others, tokenizer}) == len(others)
    assert tokenizer != tokenizer.fingerprint


def test_pickles_and_copies_carry_what_defines_it_and_nothing_else(tokenizer):
    fresh = pickle.dumps(tokenizer)
    tokenizer.encode(TEXT)
    tokenizer.encode_array(TEXT)
    repr(tokenizer), tokenizer.fingerprint, len(tokenizer), "low" in tokenizer
    assert pickle.dumps(tokenizer) == fresh
    loaded = pickle.loads(fresh)
    assert loaded == tokenizer
    assert loaded.encode(TEXT) == tokenizer.encode(TEXT)
    assert copy.copy(tokenizer) is copy.deepcopy(tokenizer) is tokenizer


def test_the_hash_by_which_datasets_finds_its_cache(tokenizer):
    hasher = pytest.importorskip("datasets.fingerprint").Hasher
    before = hasher.hash(tokenizer)
    tokenizer.encode(TEXT)
    assert hasher.hash(tokenizer) == before == hasher.hash(pickle.loads(pickle.dumps(tokenizer)))


def test_what_defines_a_tokenizer_cannot_be_changed(tokenizer):
    before = tokenizer.fingerprint
    public = [name for name in {*vars(tokenizer), *dir(type(tokenizer))} if not name.startswith("_")]
    assert {"vocabulary", "special_tokens", "unknown_id", "vocab_size", "KIND", "encode"} <= set(public)
    for name in public:
        with pytest.raises(AttributeError, match=f"can't be changed: make another one with the {name}"):
            setattr(tokenizer, name, None)
        with pytest.raises(AttributeError, match="can't be deleted"):
            delattr(tokenizer, name)
        assert not isinstance(getattr(tokenizer, name), (list, set))
    assert type(tokenizer.special_tokens) is not dict
    with pytest.raises(TypeError):
        tokenizer.vocabulary[0] = "x"
    assert tokenizer.fingerprint == before == pickle.loads(pickle.dumps(tokenizer)).fingerprint


CHANGES = {
    "set": lambda mapping: mapping.__setitem__("x", 1),
    "delete": lambda mapping: mapping.__delitem__(END),
    "update": lambda mapping: mapping.update(x=1),
    "or": lambda mapping: mapping.__ior__({"x": 1}),
    "pop": lambda mapping: mapping.pop(END),
    "popitem": lambda mapping: mapping.popitem(),
    "setdefault": lambda mapping: mapping.setdefault("x", 1),
    "clear": lambda mapping: mapping.clear(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_special_tokens_cannot_be_changed(change):
    for make in KINDS.values():
        tokenizer = make()
        before = dict(tokenizer.special_tokens)
        with pytest.raises(TypeError, match="can't be changed"):
            change(tokenizer.special_tokens)
        assert tokenizer.special_tokens == before
        assert pickle.loads(pickle.dumps(tokenizer.special_tokens)) == before


@pytest.mark.parametrize("kind", ["bytes", "characters merged", "words", "wordpiece", "unigram"])
def test_another_tokenizer_has_more_special_tokens(kind):
    tokenizer = KINDS[kind]()
    before = tokenizer.fingerprint
    larger = tokenizer.with_special_tokens(["<|user|>"])
    assert type(larger) is type(tokenizer)
    assert larger.special_tokens == {**tokenizer.special_tokens, "<|user|>": tokenizer.vocab_size}
    assert larger.vocab_size == tokenizer.vocab_size + 1
    assert larger.encode(TEXT) == tokenizer.encode(TEXT)
    assert larger.encode("<|user|>", allowed_special="all") == [tokenizer.vocab_size]
    assert larger != tokenizer and tokenizer.fingerprint == before
    with pytest.raises(ValueError, match=r"given twice|'<\|user\|>' is a token already"):
        larger.with_special_tokens(["<|user|>"])
    with pytest.raises(TypeError, match="special_tokens must be a list of strings, not the string '<s>'"):
        tokenizer.with_special_tokens("<s>")


# -- the vocabulary --------------------------------------------------------------------------------------


def test_tokens_and_ids_are_each_others_inverse(tokenizer):
    ids = [i for i in range(tokenizer.vocab_size) if tokenizer.token(i) is not None]
    assert len(tokenizer) == len(ids)
    for i in ids:
        token = tokenizer.token(i)
        assert tokenizer.id_of(token) == i
        assert token in tokenizer
    for missing in ("no such token", b"no such token", None, 5, ["a"]):
        assert missing not in tokenizer
        with pytest.raises(ValueError, match="is not a token of this tokenizer"):
            tokenizer.id_of(missing)


def test_special_tokens_are_tokens(tokenizer):
    for name, i in tokenizer.special_tokens.items():
        assert tokenizer.id_of(tokenizer.token(i)) == tokenizer.id_of(name) == i
        assert tokenizer.token(i) in (name, name.encode()) and name in tokenizer


def test_holes_count_for_the_size_and_not_for_the_length():
    tokenizer = BPETokenizer([b"a", None, b"b"], special_tokens={END: 9})
    assert (tokenizer.vocab_size, len(tokenizer)) == (10, 3)
    assert tokenizer.token(1) is tokenizer.token(5) is None and None not in tokenizer


def test_trailing_holes_are_no_ids():
    tokenizer = BPETokenizer([b"a", None, b"<s>"], special_tokens={"<s>": 2})
    assert tokenizer == BPETokenizer([b"a"], special_tokens={"<s>": 2})
    assert BPETokenizer([b"a", None]).vocab_size == 1
    assert BPETokenizer([b"a", None]).with_special_tokens(["x"]).special_tokens == {"x": 1}


def test_a_piece_does_not_become_a_special_token():
    with pytest.raises(ValueError, match="'a' is a token already, with the id 0"):
        WordPiece(["a", "b"]).with_special_tokens(["a"])


def test_an_iterator_of_special_tokens_serves_every_text(tokenizer):
    names = list(tokenizer.special_tokens)
    texts = [*names, "low", *names]
    expected = [tokenizer.encode(text, allowed_special="all") for text in texts]
    assert tokenizer.encode_batch(texts, allowed_special=iter(names)) == expected


def test_ids_that_are_not_ids(tokenizer):
    size = tokenizer.vocab_size
    for i in (-1, size):
        for use in (tokenizer.token, lambda i: tokenizer.decode([i])):
            with pytest.raises(ValueError, match=f"id {i} is out of range: ids go from 0 to {size - 1}"):
                use(i)
    for i in ("a", 1.0, None):
        with pytest.raises(TypeError, match="an id must be an integer"):
            tokenizer.decode([i])


# -- text to ids -----------------------------------------------------------------------------------------


def test_one_call_and_many_give_the_same_ids(tokenizer):
    texts = [TEXT, "", "low 月", "newest"]
    rows = tokenizer.encode_batch(texts)
    assert rows == [tokenizer.encode(text) for text in texts]
    assert tokenizer.decode_batch(rows) == [tokenizer.decode(ids) for ids in rows]
    for text, ids in zip(texts, rows, strict=True):
        array = tokenizer.encode_array(text)
        assert (array.dtype, array.tolist()) == (numpy.dtype("int32"), ids)
        assert tokenizer.tokens(text) == [tokenizer.token(i) for i in ids]
        assert tokenizer.decode_bytes(ids) == tokenizer.decode(ids).encode()
    assert content(tokenizer.decode(rows[0])) == content(TEXT)
    with pytest.raises(TypeError, match="texts must be a list of str"):
        tokenizer.encode_batch("low")


@given(st.sampled_from(list(KINDS)), st.lists(st.sampled_from(TEXT.split())).map(" ".join))
def test_known_words_come_back(kind, text):
    tokenizer = KINDS[kind]()
    assert content(tokenizer.decode(tokenizer.encode(text))) == content(text)


def test_texts_that_are_not_texts(tokenizer):
    with pytest.raises(TypeError, match="text must be a str, not bytes"):
        tokenizer.encode(b"low")
    with pytest.raises(ValueError, match=r"lone surrogate U\+D800 at position 1"):
        tokenizer.encode("l\ud800")


def test_special_tokens_in_a_text(tokenizer):
    if END not in tokenizer.special_tokens:
        with pytest.raises(ValueError, match="not a special token of this tokenizer"):
            tokenizer.encode("low", allowed_special=[END])
        return
    with pytest.raises(ValueError, match=r"the text holds the special token '<\|end\|>' at position 3"):
        tokenizer.encode(f"low{END}")
    i = tokenizer.special_tokens[END]
    assert tokenizer.encode(f"low{END}low", allowed_special="all").count(i) == 1
    assert i not in tokenizer.encode(f"low{END}", disallowed_special=())


# -- files -----------------------------------------------------------------------------------------------


def test_a_file_gives_the_same_tokenizer_of_whatever_kind(tokenizer, tmp_path):
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    for loaded in (bpe.load_tokenizer(path), Tokenizer.load(path), type(tokenizer).load(path)):
        assert type(loaded) is type(tokenizer)
        assert loaded == tokenizer and loaded.encode(TEXT) == tokenizer.encode(TEXT)
    other = CharTokenizer if type(tokenizer) is not CharTokenizer else BPETokenizer
    with pytest.raises(ValueError, match=f"holds a tokenizer of kind '{tokenizer.KIND}', not '{other.KIND}'"):
        other.load(path)


def test_it_shows_what_it_is(tokenizer):
    assert repr(tokenizer).startswith(f"<{type(tokenizer).__name__}: {len(tokenizer):,} tokens")
    assert len(repr(tokenizer)) < 100
    facts = tokenizer.facts()
    assert facts["kind"] == tokenizer.KIND and facts["fingerprint"] == tokenizer.fingerprint
    html = tokenizer._repr_html_()
    assert tokenizer.fingerprint in html and html.count('<th scope="row"') == len(facts)
    assert "<|end|>" not in html  # escaped


# -- what is remembered ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bytes", "characters merged", "words", "wordpiece"])
def test_what_is_remembered_is_bounded_in_bytes(kind, monkeypatch):
    monkeypatch.setattr(Memory, "LARGEST", 20_000)
    tokenizer = KINDS[kind]()
    characters = sorted({*"lowerst"})
    words = ["".join(word) for word in itertools.product(characters, repeat=4)]
    text = " ".join(["low" * 5_000, *words, "low" * 5_000])  # too short for the compiled engine
    ids = tokenizer.encode(text)
    remembered = tokenizer._cache
    assert max(map(len, remembered)) <= 64
    taken = sys.getsizeof(remembered) + sum(sys.getsizeof(o) for item in remembered.items() for o in item)
    assert 0 < remembered.size <= 20_000 and taken < 25_000
    assert tokenizer.encode(text) == ids
    assert pickle.loads(pickle.dumps(tokenizer)).encode(text) == ids


# -- training --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"vocab_size": 0}, "vocab_size 0 is too small"),
        ({"vocab_size": "many"}, "vocab_size must be an integer"),
        ({"min_frequency": 0}, "min_frequency must be 1 or more"),
        ({"special_tokens": [""]}, "must not be empty"),
        ({"engine": "fast"}, "unknown engine 'fast'"),
        ({"alphabet": "letters"}, "unknown alphabet 'letters'"),
        ({"base_tokens": ["ab"], "alphabet": "characters"}, "must be a single character"),
        ({"base_tokens": iter("ab"), "alphabet": "characters", "vocab_size": 1}, "there are 2 base tokens"),
        ({"pattern": "("}, "is not a regular expression"),
    ],
)
@pytest.mark.parametrize("kind", [BPETokenizer, WordBPE, WordPiece])
def test_what_can_fail_does_so_before_the_text_is_read(kind, wrong, message):
    def text():
        raise AssertionError
        yield

    options = {"vocab_size": 300} | wrong
    if options.keys() <= inspect.signature(kind.train).parameters.keys():
        with pytest.raises((ValueError, TypeError), match=re.escape(message)):
            kind.train(text(), **options)
