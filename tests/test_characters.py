"""The character tokenizer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe import CharTokenizer, saving
from bpe._validate import STRETCH, refuse_surrogates

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(texts)
def test_round_trip(text):
    tokenizer = CharTokenizer(text)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.tokens(text) == list(text)
    assert len(ids) == len(text)
    assert max(ids) < tokenizer.vocab_size == len(set(text))


@given(texts, st.none() | st.just("<unk>"))
def test_save_load_and_fingerprint(tmp_path_factory, text, unknown):
    path = tmp_path_factory.mktemp("characters") / "tokenizer.json"
    tokenizer = CharTokenizer(text, unknown=unknown)
    tokenizer.save(path)
    loaded = CharTokenizer.load(path)
    assert loaded.fingerprint == tokenizer.fingerprint
    assert loaded.encode(text) == tokenizer.encode(text)


def test_ids_follow_the_order_of_code_points():
    tokenizer = CharTokenizer("月b白a")
    assert [tokenizer.token(i) for i in range(tokenizer.vocab_size)] == ["a", "b", "月", "白"]


def test_documents_share_one_vocabulary():
    assert CharTokenizer(["ab", "bc"]).fingerprint == CharTokenizer("abc").fingerprint


def test_an_unseen_character_is_named_with_its_position():
    with pytest.raises(ValueError, match=r"'猫' \(U\+732B\) at position 2 is not among the 2 characters"):
        CharTokenizer("ab").encode("ab猫a猫")


def test_an_unknown_token_takes_its_place():
    tokenizer = CharTokenizer("ab", unknown="<unk>")
    assert tokenizer.encode("a猫b") == [0, 2, 1]
    assert tokenizer.decode([0, 2, 1]) == "a<unk>b"
    assert tokenizer.vocab_size == 3
    assert tokenizer.fingerprint != CharTokenizer("ab").fingerprint


@pytest.mark.parametrize("unknown", ["", "?", 5])
def test_an_unknown_token_is_no_character(unknown):
    with pytest.raises(ValueError, match="two or more characters"):
        CharTokenizer("ab", unknown=unknown)


def test_lone_surrogates_are_refused():
    with pytest.raises(ValueError, match=r"U\+D800 at position 1"):
        CharTokenizer("a\ud800")
    with pytest.raises(ValueError, match="lone surrogate"):
        CharTokenizer("ab", unknown="\ud800\ud800")
    with pytest.raises(ValueError, match=r"U\+DFFF at position 0"):
        CharTokenizer("ab", unknown="<unk>").encode("\udfff")


@pytest.mark.parametrize(("text", "error"), [(b"ab", TypeError), (5, TypeError), (["a", 5], TypeError)])
def test_what_is_no_text_is_refused(text, error):
    with pytest.raises(error, match="must be a str"):
        CharTokenizer(text)


@pytest.mark.parametrize("text", ["", [], [""]])
def test_an_empty_text_makes_no_vocabulary(text):
    with pytest.raises(ValueError, match="empty"):
        CharTokenizer(text)


def test_ids_out_of_range_or_no_integers_are_refused():
    tokenizer = CharTokenizer("ab")
    for i in (-1, 2):
        with pytest.raises(ValueError, match=f"id {i} is out of range: ids go from 0 to 1"):
            tokenizer.decode([0, i])
    for i in ("a", 1.0, None):
        with pytest.raises(TypeError, match="must be an integer"):
            tokenizer.decode([i])


@pytest.mark.parametrize(
    "entry",
    [
        {"characters": []},
        {"characters": ["b", "a"]},
        {"characters": ["ab"]},
        {"unknown": 5},
        {"unknown": "?"},
    ],
)
def test_content_that_is_wrong_though_its_fingerprint_is_right(tmp_path, entry):
    path = tmp_path / "tokenizer.json"
    saving.save_content(path, CharTokenizer.KIND, {"characters": ["a", "b"], "unknown": None} | entry)
    with pytest.raises(ValueError, match=r"tokenizer\.json is damaged: "):
        CharTokenizer.load(path)


def test_a_changed_file_is_refused(tmp_path):
    path = tmp_path / "tokenizer.json"
    CharTokenizer("ab").save(path)
    file = json.loads(path.read_text(encoding="utf-8"))
    file["content"]["characters"] = ["a", "c"]
    path.write_text(json.dumps(file), encoding="utf-8")
    with pytest.raises(ValueError, match="damaged"):
        CharTokenizer.load(path)


@pytest.mark.parametrize("position", [0, STRETCH - 1, STRETCH, 2 * STRETCH + 7])
def test_a_lone_surrogate_is_found_wherever_it_stands(position):
    with pytest.raises(ValueError, match=rf"lone surrogate U\+D83D at position {position}:"):
        refuse_surrogates("a" * position + "\ud83d" + "b" * STRETCH)
