"""The command line: what it gives."""

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from running import SPLITS, TEXT, failed, ids_in, run, started, train

from bpe import BPETokenizer, corpora, load_tokenizer, saving
from bpe.__main__ import main

COMMANDS = ["train", "encode", "decode", "inspect", "compare", "fingerprint", "encode-splits", "wikitext2"]


# --- help


def test_help_shows_examples() -> None:
    assert all(command in run("--help").stdout for command in COMMANDS)
    for command in COMMANDS:
        result = run(command, "-h")
        assert result.exit_code == 0
        assert re.search(rf"Examples?:\n +(\w+ .*\| )?python -m bpe {command}", result.stdout)


# --- train


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
    assert "Stopped after 6 merges: the vocabulary has the target size, 262 tokens." in lines
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
        r"with 25\d of the target of 1,000 tokens: no pair occurs 20 times any more", result.stdout
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
    assert "Stopped after 217 merges: the vocabulary has the target size, 500 tokens." in result.stdout
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
    array = saving.to_array([0, vocab_size - 1], vocab_size, suffix)
    assert array.dtype == dtype
    saving.write_ids(tmp_path / f"ids{suffix}", array)
    assert saving.read_ids(tmp_path / f"ids{suffix}") == [0, vocab_size - 1]


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

    assert "the text holds the special token '<|end|>' at position 3" in failed(encode())
    assert encode("--special-tokens", "take").stdout.split()[-1] == "269"
    assert "269" not in encode("--special-tokens", "text").stdout


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


def test_inspect_prints_one_pattern_a_line(tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    BPETokenizer.train(TEXT, 260, pattern=["verse", "a  b"]).save(path)
    lines = run("inspect", path).stdout.splitlines()
    first, second = load_tokenizer(path).split
    start = next(i for i, line in enumerate(lines) if line.endswith(first))
    assert lines[start + 1] == f"{'':<16}{second}"


def test_every_kind(any_kind: Path, tmp_path: Path) -> None:
    loaded = load_tokenizer(any_kind)
    ids = loaded.encode("the cat")
    printed = run("encode", any_kind, "--text", "the cat").stdout
    assert printed == " ".join(map(str, ids)) + "\n"
    assert run("decode", any_kind, "--ids", printed).stdout == loaded.decode(ids)
    assert run("encode", any_kind, "--text", "the cat", "--output", tmp_path / "ids.npy").exit_code == 0
    assert run("decode", any_kind, tmp_path / "ids.npy").stdout == loaded.decode(ids)
    assert run("fingerprint", any_kind).stdout == f"{loaded.fingerprint}  {any_kind}\n"
    row = run("compare", any_kind, "--text", "the cat").stdout.splitlines()[-1]
    assert row.split()[:2] == [f"{loaded.vocab_size:,}", str(len(ids))]
    lines = run("inspect", any_kind, "--text", "the cat").stdout.splitlines()
    assert f"kind            {loaded.KIND}" in lines
    assert not any("<0x00>" in line for line in lines)  # a byte of Unigram, not a learned token
    assert lines[-2] == f"The text: 7 characters, {len(ids)} tokens."
    assert len(lines[-1].split(" | ")) == len(ids)


def test_compare(tokenizer: Path, characters: Path, text_file: Path) -> None:
    lines = run("compare", tokenizer, characters, "--file", text_file).stdout.splitlines()
    assert lines[0] == "The text: 156 characters, 156 bytes."
    num_tokens = len(load_tokenizer(tokenizer).encode(TEXT))
    assert lines[2].split() == ["270", str(num_tokens), *2 * [f"{156 / num_tokens:.3f}"], str(tokenizer)]
    assert lines[3].split()[1:4] == ["156", "1.000", "1.000"]


def test_fingerprint(tokenizer: Path, other: Path) -> None:
    lines = run("fingerprint", tokenizer, other).stdout.splitlines()
    assert lines == [f"{load_tokenizer(path).fingerprint}  {path}" for path in (tokenizer, other)]
    assert lines[0][:64] != lines[1][:64]


# --- encode-splits


def test_encode_splits(data: Path, tokenizer: Path) -> None:
    result = run("encode-splits", tokenizer)
    assert result.exit_code == 0
    loaded, folder = load_tokenizer(tokenizer), data / "encoded" / "small"
    assert ids_in(folder) == {split: loaded.encode(text) for split, text in SPLITS.items()}
    assert saving.folder_owner(folder) == loaded.fingerprint
    assert {path.name for path in folder.iterdir()} == {
        "train.npy",
        "valid.npy",
        "test.npy",
        "tokenizer.json",
        ".lock",
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
