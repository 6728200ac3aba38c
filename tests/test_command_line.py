"""The command line: what it gives, how it fails, and what is left when it is stopped."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from bpe import BPETokenizer, CharTokenizer, corpora, idfiles, load_tokenizer
from bpe.__main__ import main

CHECKOUT = Path(__file__).resolve().parent.parent
COMMANDS = ["train", "encode", "decode", "inspect", "compare", "fingerprint", "encode-splits", "wikitext2"]
TEXT = "the cat sat on the mat, and the dog sat on the cat.\n" * 3
SPLITS = {"train": TEXT, "valid": "the dog sat.\n", "test": "the mat.\n"}

no_signals = pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")


def run(*arguments: object, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)), input=stdin)


def failed(result: Result, status: int = 1) -> str:
    """What a command that failed said; it left no traceback."""
    assert isinstance(result.exception, SystemExit)
    assert result.exit_code == status
    return result.stderr


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a small corpus in the place of WikiText-2."""
    monkeypatch.setenv("BPE_DATA", str(tmp_path / "data"))
    for split, text in SPLITS.items():
        path = corpora.wikitext2_path(split)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return tmp_path / "data"


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.encode())
    return path


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    path = tmp_path / "small.json"
    BPETokenizer.train(TEXT, 270, special_tokens=["<|end|>"]).save(path)
    return path


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Of the same size, with another fingerprint."""
    path = tmp_path / "other.json"
    BPETokenizer.train(TEXT[::-1], 270, special_tokens=["<|end|>"]).save(path)
    return path


@pytest.fixture
def characters(tmp_path: Path) -> Path:
    path = tmp_path / "characters.json"
    CharTokenizer(TEXT).save(path)
    return path


# --- help


def test_help_shows_examples() -> None:
    assert all(command in run("--help").stdout for command in COMMANDS)
    for command in COMMANDS:
        result = run(command, "-h")
        assert result.exit_code == 0
        assert re.search(rf"Examples?:\n +(\w+ .*\| )?python -m bpe {command}", result.stdout)


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


# --- train


def train(*arguments: object, output: Path) -> Result:
    return run("train", *arguments, "--output", output)


def test_training(text_file: Path, tmp_path: Path) -> None:
    output = tmp_path / "tokenizer.json"
    result = train(text_file, "--vocab-size", 262, output=output)
    assert result.exit_code == 0
    same = BPETokenizer.train(TEXT, 262)
    assert load_tokenizer(output).fingerprint == same.fingerprint
    lines = result.stdout.splitlines()
    assert lines[0] == "Learning from 156 characters, with 256 base tokens."
    assert lines[1].split() == [
        "merge",
        "1:",
        "15",
        "times,",
        "141",
        "tokens",
        "left,",
        "vocabulary",
        "257:",
        "a",
        "+",
        "t",
    ]
    assert "Stopped after 6 merges: the vocabulary has the 262 tokens asked for." in lines
    assert same.fingerprint in lines
    assert "The longest tokens, in bytes:" in lines


def test_which_merges_are_logged(tmp_path: Path) -> None:
    text = tmp_path / "numbers.txt"
    text.write_text(" ".join(map(str, range(300))) * 2, encoding="utf-8")
    lines = train(text, "--vocab-size", 500, output=tmp_path / "a.json").stdout.splitlines()
    logged = [int(found.group(1)) for line in lines if (found := re.match(r"merge +(\d+):", line))]
    assert logged == [*range(1, 21), 100, 200]


def test_stopped_early(text_file: Path, tmp_path: Path) -> None:
    result = train(text_file, "--vocab-size", 1000, "--min-frequency", 20, output=tmp_path / "tokenizer.json")
    assert result.exit_code == 0
    assert re.search(
        r"at 25\d of the 1,000 tokens asked for: no pair is left that occurs 20 times", result.stdout
    )


def test_all_options_of_training(text_file: Path, tmp_path: Path) -> None:
    wider = tmp_path / "wider"
    wider.mkdir()
    (wider / "a.txt").write_bytes(b"xyz")
    (wider / "b.txt").write_bytes("月\r\n".encode())
    (wider / "c.md").write_bytes(b"\xff")
    output = tmp_path / "tokenizer.json"
    options = ["--alphabet", "characters", "--characters", 40, "--base-from", wider, "--pattern", "words"]
    specials = ["--special", "<a b>", "--special", "|"]
    result = train(text_file, "--vocab-size", 40, *options, *specials, output=output)
    assert result.exit_code == 0
    same = BPETokenizer.train(
        TEXT[:40],
        40,
        alphabet="characters",
        base_tokens={*TEXT[:40], *"xyz月\r\n"},
        pattern="words",
        special_tokens=["<a b>", "|"],
    )
    assert load_tokenizer(output).fingerprint == same.fingerprint


def test_special_tokens_of_the_text_give_no_base_tokens(tmp_path: Path) -> None:
    text, output = tmp_path / "text.txt", tmp_path / "tokenizer.json"
    text.write_bytes(b"abab<end>abab")
    options = ["--alphabet", "characters", "--special", "<end>"]
    assert train(text, "--vocab-size", 5, *options, output=output).exit_code == 0
    same = BPETokenizer.train("abab<end>abab", 5, alphabet="characters", special_tokens=["<end>"])
    assert load_tokenizer(output).fingerprint == same.fingerprint


def test_several_files_are_several_documents(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.txt").write_bytes(b"xyxyxyxy")
    output = tmp_path / "tokenizer.json"
    train(tmp_path / "a.txt", tmp_path / "b.txt", "--vocab-size", 300, "--characters", 12, output=output)
    assert load_tokenizer(output).fingerprint == BPETokenizer.train(["xyxyxyxy", "xyxy"], 300).fingerprint


def test_wikitext2_as_the_course_trains_on_it(tmp_path: Path) -> None:
    try:
        valid = corpora.wikitext2("valid")
    except FileNotFoundError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    output = tmp_path / "tokenizer.json"
    folder = corpora.wikitext2_path("train").parent
    options = ["--alphabet", "characters", "--characters", 500_000, "--base-from", folder]
    result = train(folder / "train.txt", "--vocab-size", 500, *options, output=output)
    first = re.findall(r"merge +\d+: +([\d,]+) times.*: (.*)\n", result.stdout)[:5]
    assert first == [
        ("14,483", "e + ·"),
        ("10,504", "s + ·"),
        ("9,349", "t + h"),
        ("8,772", "d + ·"),
        ("7,557", "n + ·"),
    ]
    assert "Stopped after 217 merges: the vocabulary has the 500 tokens asked for." in result.stdout
    tokenizer = load_tokenizer(output)
    assert len(tokenizer.encode(corpora.wikitext2("train")[:500_000])) == 237_606
    assert len(tokenizer.encode(valid)) == 518_260


# --- encode and decode


ROUND_TRIP = BPETokenizer.train(TEXT, 270)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "tokenizer.json"
    ROUND_TRIP.save(path)
    return path


@given(text=st.text() | st.text("the cat\r\n\t\x00月\U0001f600"))
def test_any_text_comes_back(saved: Path, text: str) -> None:
    ids = run("encode", saved, stdin=text.encode())
    assert ids.exit_code == 0
    assert ids.stdout == " ".join(map(str, ROUND_TRIP.encode(text))) + "\n"
    assert run("decode", saved, stdin=ids.stdout_bytes).stdout_bytes == text.encode()


@pytest.mark.parametrize("text", ["", "a\r\nb\rc\n\n月"])
def test_any_text_comes_back_through_a_real_pipe(tokenizer: Path, text: str) -> None:
    ids = started("encode", tokenizer).communicate(text.encode())[0]
    assert started("decode", tokenizer).communicate(ids)[0] == text.encode()


def test_text_and_files(tokenizer: Path, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(f"{name} cat".encode())
    expected = [
        "".join(f"{i} " for i in load_tokenizer(tokenizer).encode(f"{name} cat")).strip() for name in "ab"
    ]
    assert run("encode", tokenizer, tmp_path / "a", tmp_path / "b").stdout.splitlines() == expected
    assert run("encode", tokenizer, "--text", "a cat").stdout.splitlines() == expected[:1]
    assert run("decode", tokenizer, "--ids", expected[1]).stdout == "b cat"


def test_characters_too(characters: Path) -> None:
    ids = run("encode", characters, "--text", "the cat").stdout
    assert len(ids.split()) == 7
    assert run("decode", characters, "--ids", ids).stdout == "the cat"


@pytest.mark.parametrize(
    ("vocab_size", "suffix", "dtype"),
    [(256, ".npy", "uint8"), (257, ".npy", "uint16"), (65_537, ".npy", "uint32"), (256, ".pt", "int64")],
)
def test_files_of_ids(tmp_path: Path, vocab_size: int, suffix: str, dtype: str) -> None:
    pytest.importorskip("torch" if suffix == ".pt" else "numpy")
    array = idfiles.as_array([0, vocab_size - 1], vocab_size, suffix)
    assert array.dtype == dtype
    idfiles.write(tmp_path / f"ids{suffix}", array)
    assert idfiles.read(tmp_path / f"ids{suffix}") == [0, vocab_size - 1]


@pytest.mark.parametrize("ids", [[-1], [256], [0, 300]])
def test_ids_out_of_range_are_not_stored(ids: list[int]) -> None:
    with pytest.raises(ValueError, match="ids go from"):
        idfiles.as_array(ids, 256)


@pytest.mark.parametrize("suffix", [".npy", ".pt"])
@pytest.mark.parametrize("text", ["the cat", ""])
def test_ids_go_to_a_file_and_come_back(tokenizer: Path, tmp_path: Path, suffix: str, text: str) -> None:
    pytest.importorskip("torch" if suffix == ".pt" else "numpy")
    ids, output = tmp_path / f"ids{suffix}", tmp_path / "text.txt"
    assert run("encode", tokenizer, "--text", text, "--output", ids).exit_code == 0
    assert run("decode", tokenizer, ids, "--output", output).exit_code == 0
    assert output.read_bytes() == text.encode()
    assert run("decode", tokenizer, ids, ids).stdout == text * 2


def test_special_tokens(tokenizer: Path) -> None:
    def encode(*choice: str) -> Result:
        return run("encode", tokenizer, "--text", "cat<|end|>", *choice)

    assert "the text contains the special token '<|end|>' at position 3" in failed(encode())
    assert encode("--special-tokens", "take").stdout.split()[-1] == "269"
    assert "269" not in encode("--special-tokens", "text").stdout


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("ids.npy", b"", "ids.npy is no .npy file of ids, or is damaged"),
        ("ids.npy", b"1 2 3", "ids.npy is no .npy file of ids, or is damaged"),
        ("ids.pt", b"1 2 3", "ids.pt is no .pt file of ids, or is damaged"),
        ("ids.txt", b"1 2 x", "ids.txt: 'x', at position 2, is no id"),
        ("ids.txt", b"1 -2", "ids.txt: '-2', at position 1, is no id"),
        ("ids.txt", b"1 1_0 2", "'1_0', at position 1, is no id"),
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


# --- inspect, compare, fingerprint


def test_inspect(tokenizer: Path) -> None:
    lines = run("inspect", tokenizer, "--text", "the 月").stdout.splitlines()
    assert "tokens          270" in lines
    assert "special tokens  <|end|> = 269" in lines
    assert f"fingerprint     {load_tokenizer(tokenizer).fingerprint}" in lines
    assert lines[-2] == "The text: 5 characters, 4 tokens."
    assert lines[-1] == "the· | [e6] | [9c] | [88]"


def test_inspect_in_colour(tokenizer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bpe.commands.inspect._on_a_colour_terminal", lambda: True)
    result = CliRunner().invoke(main, ["inspect", str(tokenizer), "--text", "the c"], color=True)
    assert "\x1b[" in result.stdout.splitlines()[-1]


def test_inspect_characters(characters: Path) -> None:
    assert run("inspect", characters, "--text", "a cat").stdout.splitlines()[-1] == "a | · | c | a | t"


def test_compare(tokenizer: Path, characters: Path, text_file: Path) -> None:
    lines = run("compare", tokenizer, characters, "--file", text_file).stdout.splitlines()
    assert lines[0] == "The text: 156 characters, 156 bytes."
    num_tokens = len(load_tokenizer(tokenizer).encode(TEXT))
    assert lines[2].split() == ["270", str(num_tokens), *2 * [f"{156 / num_tokens:.3f}"], str(tokenizer)]
    assert lines[3].split()[1:4] == ["156", "1.000", "1.000"]


def test_compare_names_the_tokenizer_that_fails(tokenizer: Path, characters: Path) -> None:
    message = failed(run("compare", tokenizer, characters, stdin="月".encode()))
    assert "characters.json: character '月' (U+6708) at position 0 is not among the" in message


def test_fingerprint(tokenizer: Path, other: Path) -> None:
    lines = run("fingerprint", tokenizer, other).stdout.splitlines()
    assert lines == [f"{load_tokenizer(path).fingerprint}  {path}" for path in (tokenizer, other)]
    assert lines[0][:64] != lines[1][:64]


# --- bad input, whatever the command


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
    assert [path for path in (data / "encoded").rglob("*") if path.is_file()] == []


def test_a_package_that_is_missing(tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    message = failed(run("encode", tokenizer, "--text", "a", "--output", tmp_path / "a.pt"))
    assert "python -m pip install torch" in message


# --- encode-splits


def ids_in(folder: Path) -> dict[str, list[int]]:
    return {path.stem: idfiles.read(path) for path in folder.glob("*.npy")}


def test_encode_splits(data: Path, tokenizer: Path) -> None:
    result = run("encode-splits", tokenizer)
    assert result.exit_code == 0
    loaded, folder = load_tokenizer(tokenizer), data / "encoded" / "small"
    assert ids_in(folder) == {split: loaded.encode(text) for split, text in SPLITS.items()}
    assert idfiles.owner(folder) == loaded.fingerprint
    assert {path.name for path in folder.iterdir()} == {
        "train.npy",
        "valid.npy",
        "test.npy",
        "tokenizer.json",
    }
    lines = result.stdout.splitlines()
    assert lines[0] == f"{folder}, fingerprint {loaded.fingerprint}"
    ids = loaded.encode(TEXT)
    assert lines[1].startswith(f"train.npy  shape ({len(ids)},), uint16, ids {min(ids)} to {max(ids)}, ")
    assert run("decode", tokenizer, folder / "valid.npy").stdout == SPLITS["valid"]


def test_ids_of_characters_are_kept_apart(data: Path, characters: Path) -> None:
    assert run("encode-splits", characters, "--name", "small").exit_code == 0
    assert len(ids_in(data / "encoded" / "characters" / "small")["train"]) == len(TEXT)
    assert not (data / "encoded" / "small").exists()


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
    assert idfiles.owner(folder) == load_tokenizer(other).fingerprint


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
    assert "the ids of train do not give its text back" in failed(run("encode-splits", path))
    assert ids_in(data / "encoded" / "characters" / "unknown") == {}


def test_splits_that_were_not_prepared(data: Path, tokenizer: Path) -> None:
    corpora.wikitext2_path("test").unlink()
    assert "python -m bpe wikitext2" in failed(run("encode-splits", tokenizer))
    assert not (data / "encoded").exists()


# --- real processes


def started(*arguments: object, before: str = "") -> subprocess.Popen[bytes]:
    """A command in a process of its own. before: what to change in it first."""
    program = ["-c", f"{before}\nfrom bpe.__main__ import main; main()"] if before else ["-m", "bpe"]
    return subprocess.Popen(
        [sys.executable, *program, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def stop(process: subprocess.Popen[bytes], with_signal: int, ready: Callable[[], bool]) -> str:
    """Send the signal when the process is ready for it; return what it said on stderr."""
    deadline = time.monotonic() + 30
    while not ready():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    process.send_signal(with_signal)
    return process.communicate(timeout=10)[1].decode()


# The second of the ids' files hangs when all of it is written, but under a temporary name.
HANGS = """
import pathlib, time
replace = pathlib.Path.replace
pathlib.Path.replace = lambda self, to: time.sleep(60) if "valid" in self.name else replace(self, to)
"""


@no_signals
@pytest.mark.parametrize("with_signal", [signal.SIGINT, getattr(signal, "SIGKILL", None)])
def test_encode_splits_is_stopped_and_repeated(data: Path, tokenizer: Path, with_signal: int) -> None:
    folder = data / "encoded" / "small"
    process = started("encode-splits", tokenizer, before=HANGS)
    message = stop(process, with_signal, lambda: bool(list(folder.glob(".valid*.part"))))
    if with_signal == signal.SIGINT:
        assert process.returncode == 130
        assert "Stopped." in message and "Traceback" not in message
        assert not list(folder.glob("*.part"))
    assert ids_in(folder) == {"train": load_tokenizer(tokenizer).encode(TEXT)}
    for left_over in folder.glob(".*.part"):
        os.utime(left_over, (0, 0))
    assert run("encode-splits", tokenizer).exit_code == 0
    assert {path.name for path in folder.iterdir()} == {
        "train.npy",
        "valid.npy",
        "test.npy",
        "tokenizer.json",
    }
    assert ids_in(folder) == {split: load_tokenizer(tokenizer).encode(text) for split, text in SPLITS.items()}


@no_signals
def test_ids_of_two_tokenizers_never_lie_together(data: Path, tokenizer: Path, other: Path) -> None:
    folder = data / "encoded" / "small"
    run("encode-splits", other, "--name", "small")
    process = started("encode-splits", tokenizer, "--force", before=HANGS)
    stop(process, signal.SIGKILL, lambda: bool(list(folder.glob(".valid*.part"))))
    assert idfiles.owner(folder) == load_tokenizer(tokenizer).fingerprint
    assert ids_in(folder) == {"train": load_tokenizer(tokenizer).encode(TEXT)}


@no_signals
def test_training_is_stopped(text_file: Path, tmp_path: Path) -> None:
    output = tmp_path / "tokenizer.json"
    output.write_bytes(b"earlier")
    seen = tmp_path / "seen"
    hang = f"""
import pathlib, time, bpe.commands.train as command
command._MergeLog.__call__ = lambda self, step: (pathlib.Path({str(seen)!r}).touch(), time.sleep(60))
"""
    process = started("train", text_file, "--vocab-size", 300, "--output", output, before=hang)
    message = stop(process, signal.SIGINT, seen.exists)
    assert process.returncode == 130
    assert "Stopped." in message and "Traceback" not in message
    assert output.read_bytes() == b"earlier"
    assert {path.name for path in tmp_path.iterdir()} == {"text.txt", "tokenizer.json", "seen"}


@no_signals
def test_a_reader_that_goes_away(tokenizer: Path) -> None:
    process = started("encode", tokenizer)
    assert process.stdout is not None and process.stdin is not None and process.stderr is not None
    process.stdout.close()
    process.stdin.write(b"the cat")
    process.stdin.close()
    assert process.wait(timeout=20) == 1
    assert process.stderr.read() == b""


def test_a_console_without_chinese(tokenizer: Path) -> None:
    process = started(
        "inspect",
        tokenizer,
        "--text",
        "月",
        before="import sys; sys.stdout.reconfigure(encoding='iso8859-2')",
    )
    stdout, _ = process.communicate()
    assert process.returncode == 0
    assert rb"\xb7" in stdout  # the dot that stands for a space


# --- what is read is not replaced


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
        assert "would replace a file that is read" in result.output
    assert (text_file.read_bytes(), tokenizer.read_bytes()) == before


def test_a_file_given_twice_in_two_spellings(tmp_path: Path, text_file: Path) -> None:
    again = tmp_path / "folder" / ".." / text_file.name
    again.parent.parent.mkdir()
    result = run("train", text_file, again, "--vocab-size", 260, "--output", tmp_path / "t.json")
    assert result.exit_code == 2
    assert "among FILES twice" in result.output


def test_more_files_than_a_program_may_have_open(tmp_path: Path, tokenizer: Path) -> None:
    resource = pytest.importorskip("resource")
    for number in range(300):
        (tmp_path / f"{number}.txt").write_text("ab")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
    try:
        result = run("encode", tokenizer, *tmp_path.glob("*.txt"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert result.exit_code == 0, result.output
    assert len(result.output.splitlines()) == 300
