"""What commands refuse: how they say it, and that nothing is lost."""

import re
import sys
from pathlib import Path

import pytest
from running import CHECKOUT, TEXT, failed, ids_in, run, train

from bpe import CharTokenizer, corpora, load_tokenizer, saving


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["train"],
        ["train", __file__, "--output", "a.json"],
        ["train", __file__, "--vocab-size", "0", "--output", "a.json"],
        ["train", __file__, "--vocab-size", "many", "--output", "a.json"],
        ["train", __file__, "--vocab-size", "300", "--output", "a.json", "--pattern", "("],
        ["train", __file__, "--vocab-size", "300", "--output", "a.json", "--special", ""],
        ["train", __file__, "--vocab-size", "300", "--output", "a.json", "--base-from", __file__],
        ["train", __file__, __file__, "--vocab-size", "300", "--output", "a.json"],
        ["train", __file__, "--vocab-size", "300", "--output", str(CHECKOUT)],
        ["encode"],
        ["encode", "{tokenizer}", "--text", "a", __file__],
        ["encode", "{tokenizer}", "--text", "a", "--output", "ids.txt"],
        ["encode", "{tokenizer}", "--text", "a", "--special-tokens", "maybe"],
        ["decode", "{tokenizer}", "--ids", "1", __file__],
        ["compare", "--text", "a"],
        ["fingerprint"],
        ["encode-splits", "{tokenizer}", "--name", "a/b"],
        ["encode-splits", "{tokenizer}", "--name", ".."],
        ["encode-splits", "{tokenizer}", "--format", "txt"],
    ],
)
def test_wrong_use(tokenizer: Path, arguments: list[str]) -> None:
    assert "Error: " in failed(run(*(a.format(tokenizer=tokenizer) for a in arguments)), status=2)


@pytest.mark.parametrize("ids", [[-1], [256], [0, 300]])
def test_ids_out_of_range_are_not_stored(ids: list[int]) -> None:
    with pytest.raises(ValueError, match="ids go from"):
        saving.to_array(ids, 256)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("ids.npy", b"", "ids.npy is not a .npy file of ids, or is damaged"),
        ("ids.npy", b"1 2 3", "ids.npy is not a .npy file of ids, or is damaged"),
        ("ids.pt", b"1 2 3", "ids.pt is not a .pt file of ids, or is damaged"),
        ("ids.txt", b"1 2 x", "ids.txt: 'x', at position 2, is not an id"),
        ("ids.txt", b"1 -2", "ids.txt: '-2', at position 1, is not an id"),
        ("ids.txt", b"1 1_0 2", "'1_0', at position 1, is not an id"),
        ("ids.txt", b"\xff", "ids.txt is not UTF-8: byte 0xff at position 0"),
        ("ids.txt", b"1 270", "id 270 is out of range: ids go from 0 to 269"),
    ],
)
def test_ids_that_are_wrong(tokenizer: Path, tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert message in failed(run("decode", tokenizer, tmp_path / name))


def test_arrays_that_are_wrong(tokenizer: Path, tmp_path: Path) -> None:
    import numpy

    for array, described in [
        (numpy.array([1.0]), "float64 of shape (1,)"),
        (numpy.array([[1]]), "int64 of shape (1, 1)"),
        (numpy.array(1), "int64 of shape ()"),
    ]:
        numpy.save(tmp_path / "ids.npy", array)
        assert described in failed(run("decode", tokenizer, tmp_path / "ids.npy"))


def test_compare_names_the_tokenizer_that_fails(tokenizer: Path, characters: Path) -> None:
    message = failed(run("compare", tokenizer, characters, stdin="月".encode()))
    assert "characters.json: character '月' (U+6708) at position 0 is not among the" in message


@pytest.mark.parametrize(
    "command", ["encode", "decode", "inspect", "compare", "fingerprint", "encode-splits"]
)
def test_a_tokenizer_file_that_is_wrong(data: Path, tmp_path: Path, command: str) -> None:
    path = tmp_path / "tokenizer.json"
    assert "does not exist" in failed(run(command, path), status=2)
    assert "is a directory" in failed(run(command, tmp_path), status=2)
    for content in (b"", b"\xff", b"{}", b'{"format": "bpe-course tokenizer", "version": 1, "kind": "new"}'):
        path.write_bytes(content)
        assert "tokenizer.json" in failed(run(command, path, stdin=b"a"))


def test_text_that_is_wrong(tokenizer: Path, characters: Path, tmp_path: Path) -> None:
    path, output = tmp_path / "text.txt", tmp_path / "new.json"
    path.write_bytes(b"caf\xe9!")
    for command in (
        ["encode", tokenizer, path],
        ["compare", tokenizer, "--file", path],
        ["train", path, "--vocab-size", 300, "--output", output],
        [
            "train",
            tokenizer,
            "--alphabet",
            "characters",
            "--base-from",
            path,
            "--vocab-size",
            300,
            "--output",
            output,
        ],
    ):
        assert "text.txt is not UTF-8: byte 0xe9 at position 3" in failed(run(*command))
        missing = [tmp_path / "nothing" if argument == path else argument for argument in command]
        assert "nothing" in failed(run(*missing), status=2)
    assert "standard input is not UTF-8" in failed(run("encode", tokenizer, stdin=b"\xff"))
    assert "character '月' (U+6708) at position 2" in failed(run("encode", characters, "--text", "a 月"))
    assert not output.exists()


def test_empty_text(tokenizer: Path, tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.touch()
    assert run("encode", tokenizer, path).stdout == "\n"
    assert run("decode", tokenizer, path).stdout == ""
    assert "the text is empty" in failed(run("compare", tokenizer, "--file", path))
    for alphabet in ("bytes", "characters"):
        result = train(path, "--vocab-size", 300, "--alphabet", alphabet, output=tmp_path / "new.json")
        assert "the training text is empty" in failed(result)


def test_too_small_a_vocabulary(text_file: Path, tmp_path: Path) -> None:
    result = train(text_file, "--vocab-size", 200, output=tmp_path / "new.json")
    assert "vocab_size 200 is too small: there are 256 base tokens" in failed(result)


def test_a_target_that_cannot_be_written(
    data: Path, tokenizer: Path, text_file: Path, tmp_path: Path
) -> None:
    missing = tmp_path / "missing"
    result = train(text_file, "--vocab-size", 300, output=missing / "a.json")
    assert "a.json: No such file or directory" in failed(result)
    assert "merge" not in result.stdout
    for command in (
        ["encode", tokenizer, "--text", "a", "--output", missing / "a.npy"],
        ["decode", tokenizer, "--ids", "1", "--output", missing / "a.txt"],
    ):
        assert re.search(r"a\.(npy|txt): No such file or directory", failed(run(*command)))
    (data / "encoded").touch()
    assert "encoded" in failed(run("encode-splits", tokenizer))


def test_a_full_disk(data: Path, tokenizer: Path, text_file: Path, tmp_path: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(Path, "replace", full)
    for command in (
        ["train", text_file, "--vocab-size", 300, "--output", tokenizer],
        ["encode", tokenizer, "--text", "a", "--output", tmp_path / "a.npy"],
        ["decode", tokenizer, "--ids", "1", "--output", tmp_path / "a.txt"],
    ):
        assert "No space left on device" in failed(run(*command))
    assert sorted(tmp_path.rglob("*")) == before
    assert "tokenizer.json: No space left on device" in failed(run("encode-splits", tokenizer))
    assert [path for path in (data / "encoded").rglob("*") if path.is_file()] == [
        data / "encoded" / "small" / ".lock"
    ]


def test_a_package_that_is_missing(tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    message = failed(run("encode", tokenizer, "--text", "a", "--output", tmp_path / "a.pt"))
    assert "python -m pip install torch" in message


def test_ids_of_another_tokenizer(data: Path, tokenizer: Path, other: Path) -> None:
    folder = data / "encoded" / "small"
    run("encode-splits", tokenizer)
    before = ids_in(folder)
    message = failed(run("encode-splits", other, "--name", "small"))
    assert (
        "holds ids of another tokenizer: test.npy, train.npy, valid.npy" in message and "--force" in message
    )
    assert ids_in(folder) == before
    assert "holds ids of another tokenizer" in failed(run("decode", other, folder / "valid.npy"))
    assert run("encode-splits", other, "--name", "small", "--force").exit_code == 0
    assert ids_in(folder)["train"] == load_tokenizer(other).encode(TEXT) != before["train"]
    assert saving.folder_owner(folder) == load_tokenizer(other).fingerprint


def test_ids_of_nobody(data: Path, tokenizer: Path) -> None:
    folder = data / "encoded" / "small"
    run("encode-splits", tokenizer)
    for spoil in (lambda path: path.write_bytes(b"{"), Path.unlink):
        spoil(folder / "tokenizer.json")
        assert "fingerprint unknown" in failed(run("encode-splits", tokenizer))
    assert run("encode-splits", tokenizer, "--force").exit_code == 0


def test_a_text_that_does_not_come_back(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "unknown.json"
    CharTokenizer("the cat\n", unknown="<unk>").save(path)
    assert "the ids of train do not decode to its text" in failed(run("encode-splits", path))
    assert ids_in(data / "encoded" / "characters" / "unknown") == {}


def test_splits_that_were_not_prepared(data: Path, tokenizer: Path) -> None:
    corpora.wikitext2_path("test").unlink()
    assert "python -m bpe wikitext2" in failed(run("encode-splits", tokenizer))
    assert not (data / "encoded").exists()


def test_output_may_not_be_an_input(tmp_path: Path, text_file: Path, tokenizer: Path) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("97")
    before = text_file.read_bytes(), tokenizer.read_bytes()
    for arguments in (
        ["train", text_file, "--vocab-size", 260, "--output", text_file],
        ["decode", tokenizer, "--ids", "97", "--output", tokenizer],
        ["decode", tokenizer, ids, "--output", ids],
    ):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "would replace an input file" in result.output
    assert (text_file.read_bytes(), tokenizer.read_bytes()) == before


def test_a_file_given_twice_in_two_spellings(tmp_path: Path, text_file: Path) -> None:
    again = tmp_path / "folder" / ".." / text_file.name
    again.parent.parent.mkdir()
    result = run("train", text_file, again, "--vocab-size", 260, "--output", tmp_path / "t.json")
    assert result.exit_code == 2
    assert "in FILES twice" in result.output


def test_a_file_name_that_would_lead_out_of_the_folder(data: Path, tokenizer: Path) -> None:
    odd = tokenizer.rename(tokenizer.with_name("...json"))  # its stem is ".."
    outside = corpora.data_folder() / "kept.npy"
    outside.write_bytes(b"kept")
    message = failed(run("encode-splits", odd, "--force"), 2)
    assert "'..' is not the name of a folder: give another with --name" in message
    assert outside.read_bytes() == b"kept"
