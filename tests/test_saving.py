"""The file format: what is refused, and what it says."""

import json

import pytest

from bpe import BPETokenizer, CharTokenizer, load_tokenizer


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "tokenizer.json"
    BPETokenizer.train("abab 月月", 300, special_tokens=["<|end|>"]).save(path)
    return path


def change(path, **entries):
    file = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(file | entries), encoding="utf-8")


def test_the_file_states_what_it_is(path):
    file = json.loads(path.read_text(encoding="utf-8"))
    assert (file["format"], file["version"], file["ties"]) == ("bpe-course tokenizer", 1, "first occurrence")
    assert file["fingerprint"] == BPETokenizer.load(path).fingerprint
    assert path.read_bytes().endswith(b"}\n")


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.json"):
        BPETokenizer.load(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"not json", b"[]", b"{}", b'{"format": "other"}', b"[" * 100_000, b"9" * 5000],
)
def test_a_file_that_is_not_ours(tmp_path, content):
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"other\.json is not a tokenizer of this course"):
        BPETokenizer.load(path)


@pytest.mark.parametrize("length", [10, 200, -3])
def test_a_file_that_was_cut(path, length):
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ValueError, match="damaged"):
        BPETokenizer.load(path)


@pytest.mark.parametrize("version", [2, "1", None])
def test_a_later_version(path, version):
    change(path, version=version)
    with pytest.raises(ValueError, match=f"has version {version!r} of the format, and this module reads"):
        BPETokenizer.load(path)


def test_a_tokenizer_of_either_kind(path, tmp_path):
    CharTokenizer("abc").save(tmp_path / "characters.json")
    assert isinstance(load_tokenizer(path), BPETokenizer)
    assert isinstance(load_tokenizer(tmp_path / "characters.json"), CharTokenizer)
    assert load_tokenizer(path).fingerprint == BPETokenizer.load(path).fingerprint


@pytest.mark.parametrize("kind", ["words", None, ["characters"]])
def test_a_kind_that_nobody_knows(path, kind):
    change(path, kind=kind)
    with pytest.raises(ValueError, match=r"tokenizer\.json holds a tokenizer of kind"):
        load_tokenizer(path)


def test_another_kind(path):
    with pytest.raises(ValueError, match="'byte pair encoding', not 'characters'"):
        CharTokenizer.load(path)


@pytest.mark.parametrize("content", [None, [], {}, {"alphabet": "bytes"}])
def test_content_that_was_changed(path, content):
    change(path, content=content)
    with pytest.raises(ValueError, match="damaged"):
        BPETokenizer.load(path)


@pytest.mark.parametrize(
    "entry",
    [
        {"tokens": ["zz"]},
        {"tokens": [5]},
        {"tokens": "6161"},
        {"merges": [[0]]},
        {"merges": 5},
        {"merges": [[97, 400]]},
        {"split": ["("]},
        {"special_tokens": {"<|end|>": "x"}},
        {"special_tokens": [5]},
        {"alphabet": "words"},
        {"alphabet": "martian", "tokens": ["a"]},
        {"whole_pieces": "no"},
        {"special_tokens": {"<|end|>": True}},
        {"special_tokens": {"<|end|>": 2**70}},
        {"merges": [[False, True]]},
    ],
)
def test_content_that_is_wrong_though_its_fingerprint_is_right(path, entry):
    from bpe import saving

    content = json.loads(path.read_text(encoding="utf-8"))["content"] | entry
    saving.save_content(path, BPETokenizer.KIND, content)
    with pytest.raises(ValueError, match=r"tokenizer\.json is damaged: "):
        BPETokenizer.load(path)


def test_an_earlier_file_stays_when_saving_fails(path, monkeypatch):
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(OSError, match="No space"):
        BPETokenizer.train("cdcd", 300).save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["tokenizer.json"]
