"""The file formats of tokenizers and of ids: what is refused, and what it says."""

import json
import struct

import numpy
import pytest

from bpe import BPETokenizer, CharTokenizer, formats, load_tokenizer, saving


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


@pytest.mark.parametrize("entry", ["version", "kind", "content"])
def test_what_a_message_quotes_is_short(path, entry):
    long = "a" * 100_000
    content = json.loads(path.read_text(encoding="utf-8"))["content"] | {"special_tokens": {"<|end|>": long}}
    change(path, **{"version": 1, entry: long if entry != "content" else content})
    change(path, fingerprint=saving.fingerprint("byte pair encoding", content))
    with pytest.raises(ValueError, match="aaaa") as info:
        load_tokenizer(path)
    assert len(str(info.value)) < 2_000


def test_a_file_of_another_library_is_recognised(path, tmp_path):
    tokenizer = BPETokenizer.load(path)
    formats.save_tokenizers_json(tokenizer, tmp_path / "hf.json")
    formats.save_tiktoken(tokenizer, tmp_path / "a.tiktoken")
    formats.save_gpt2(tokenizer, tmp_path / "vocab.json", tmp_path / "merges.txt")
    for name, reader in (
        ("hf.json", "load_tokenizers_json"),
        ("a.tiktoken", "load_tiktoken"),
        ("vocab.json", "load_gpt2"),
        ("merges.txt", "load_gpt2"),
    ):
        with pytest.raises(
            ValueError, match=rf"{name} is not a tokenizer of this course.*bpe\.formats\.{reader}"
        ):
            load_tokenizer(tmp_path / name)


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


# --- ids


@pytest.mark.parametrize(
    "text", ["104 101\n", "[104, 101]", "104,101", " [ 104\t101 ] ", "104 ,\n101", "0104, 101"]
)
def test_ids_may_have_commas_and_brackets(text):
    assert saving.parse_ids(text, "--ids") == [104, 101]


@pytest.mark.parametrize("text", ["", " \n", "[]", "[ ]"])
def test_no_ids(text):
    assert saving.parse_ids(text, "--ids") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 -2", "--ids: '-2', at position 1, is not an id"),
        ("1, 2.0", "--ids: '2.0', at position 1"),
        ("[[1, 2]]", r"--ids: '\[1', at position 0"),
        ("[1, 2", r"--ids: '\[1', at position 0"),
        ("1, 2]", r"--ids: '2\]', at position 1"),
        ("1,, 2", "--ids: '', at position 1"),
        ("1, 2,", "--ids: '', at position 2"),
        ("(1, 2)", r"--ids: '\(1', at position 0"),
        ("1;2", "--ids: '1;2', at position 0"),
        ("true", "--ids: 'true', at position 0"),
        ("1 ٣", "--ids: '٣', at position 1"),
        ("7 " + "9" * 5000, rf"--ids: '{'9' * 40}…', at position 1, is not an id"),
    ],
)
def test_words_that_are_not_ids(text, message):
    with pytest.raises(ValueError, match=message):
        saving.parse_ids(text, "--ids")


def test_a_file_with_a_number_of_5000_digits_is_named(tmp_path):
    path = tmp_path / "ids.txt"
    path.write_text("1 " + "9" * 5000, encoding="utf-8")
    with pytest.raises(ValueError, match=r"ids\.txt: '9{40}…', at position 1, is not an id"):
        saving.read_ids(path)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "uint64", ">i4", "<u2"])
def test_integers_of_every_type_are_read(tmp_path, dtype):
    numpy.save(tmp_path / "ids.npy", numpy.array([1, 200 % 128, 3], dtype))
    assert saving.read_ids(tmp_path / "ids.npy") == [1, 72, 3]
    numpy.save(tmp_path / "ids.npy", numpy.array([], dtype))
    assert saving.read_ids(tmp_path / "ids.npy") == []


def npy(dtype, shape, content=bytes(40), version=1):
    """A .npy file with any header."""
    header = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-len(header) - 11) + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + size + header + content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy("<i8", "(6,)"), "is damaged: it states more ids than its 40 bytes hold"),
        (npy("<i8", f"({10**11},)"), "is damaged: it states more ids"),
        (npy("<i8", f"({2**62},)"), "is damaged: it states more ids"),
        (npy("<i8", "(True,)"), "is damaged"),
        (npy("<i8", "(-1,)"), "is damaged: it states more ids|is not a .npy file"),
        (npy("<i8", "(5, 1)"), r"not hold a row of integers, but int64 of shape \(5, 1\)"),
        (npy("<i8", "()"), r"not hold a row of integers, but int64 of shape \(\)"),
        (npy("|b1", "(5,)"), r"not hold a row of integers, but bool of shape \(5,\)"),
        (npy("<f8", "(5,)"), "not hold a row of integers, but float64"),
        (npy("|O", "(5,)"), "not hold a row of integers, but object"),
        (npy("|S0", f"({2**62},)"), "not hold a row of integers, but"),
        (npy("|V0", "(0,)"), "not hold a row of integers, but"),
        (npy("<i8", "(1,) * 3"), "is not a .npy file of ids, or is damaged"),
        (npy("<i8", "(5,)", version=9), "is not a .npy file of ids, or is damaged"),
        (npy("<i8", "(1,)", struct.pack("<q", -5)), "holds numbers from -5 to -5, which are not all ids"),
        (npy("<u8", "(1,)", struct.pack("<Q", 2**63)), "which are not all ids"),
        (b"", "is not a .npy file of ids, or is damaged"),
        (b"PK\x03\x04", "is not a .npy file of ids, or is damaged"),
    ],
)
def test_a_npy_file_that_does_not_hold_ids(tmp_path, content, message):
    path = tmp_path / "ids.npy"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"ids\.npy.* {message}"):
        saving.read_ids(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda torch: torch.zeros(1, dtype=torch.int64).expand(10**10), "is damaged: its tensors state"),
        (lambda torch: torch.tensor([True]), r"a row of integers, but torch.bool of shape \(1,\)"),
        (lambda torch: torch.zeros(3), "a row of integers, but torch.float32"),
        (lambda torch: torch.zeros(3, dtype=torch.complex64), "a row of integers, but torch.complex64"),
        (lambda torch: torch.zeros(2, 2, dtype=torch.int64), r"but torch.int64 of shape \(2, 2\)"),
        (lambda torch: torch.tensor(5), "but torch.int64 of shape"),
        (lambda torch: torch.tensor([1, -5]), "holds numbers from -5 to 1, which are not all ids"),
        (
            lambda torch: torch.zeros(3, dtype=torch.int64).to_sparse(),
            "is not a .pt file of ids, or is damaged",
        ),
        (lambda torch: torch.zeros(10**12, dtype=torch.int64, device="meta"), "is not a .pt file of ids"),
        (lambda torch: [1, 2], "a row of integers, but list"),
    ],
)
def test_a_pt_file_that_does_not_hold_ids(tmp_path, make, message):
    torch = pytest.importorskip("torch")
    path = tmp_path / "ids.pt"
    torch.save(make(torch), path)
    with pytest.raises(ValueError, match=rf"ids\.pt.* {message}"):
        saving.read_ids(path)


def test_a_part_of_a_tensor_is_read(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.arange(10, dtype=torch.int32)[2:5], tmp_path / "ids.pt")
    assert saving.read_ids(tmp_path / "ids.pt") == [2, 3, 4]


@pytest.mark.parametrize("suffix", [".npy", ".pt"])
def test_arrays_hold_integers_within_the_vocabulary(suffix):
    assert saving.to_array([0, 299], 300, suffix).tolist() == [0, 299]
    assert saving.to_array(numpy.arange(3), 300, suffix).tolist() == [0, 1, 2]
    assert saving.to_array([], 300, suffix).shape == (0,)
    assert saving.to_array([], 0, suffix).shape == (0,)
    for ids in ([300], [-1], [2**63]):
        with pytest.raises(ValueError, match="but the vocabulary from 0 to 299"):
            saving.to_array(ids, 300, suffix)
    for ids in ([0.5], [True], [[1]], ["1"], [2**70]):
        with pytest.raises(TypeError, match="ids must be a row of integers"):
            saving.to_array(ids, 300, suffix)
    with pytest.raises(ValueError, match="no array holds the ids"):
        saving.to_array([0], 2**70, suffix)
