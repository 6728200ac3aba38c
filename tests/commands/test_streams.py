"""Commands read and write files bit by bit: long files, pipes, and two runs at once."""

import os
import sys
import threading
from pathlib import Path

import numpy
import pytest
from running import SPLITS, TEXT, failed, ids_in, run, started, train

from bpe import BPETokenizer, CharTokenizer, WordBPE, _files, load_tokenizer, saving

no_pipes = pytest.mark.skipif(sys.platform == "win32", reason="no named pipes there")
LONG = "".join(f"line {n}: the cat, the dog;\r\n床前明月光，疑是地上霜。\n" for n in range(35_000))


@pytest.fixture
def long_file(tmp_path: Path) -> Path:
    """Longer than what is read, and encoded, at once."""
    path = tmp_path / "long.txt"
    path.write_bytes(b"\xef\xbb\xbf" + LONG.encode())
    assert path.stat().st_size > 2 * _files.CHUNK
    return path


@pytest.fixture(params=["gpt4", "verse", None])
def learned(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "learned.json"
    tokenizer = BPETokenizer.train(LONG[:20_000], 300, pattern=request.param, special_tokens=["<|end|>"])
    tokenizer.save(path)
    return path


def test_a_long_file_gives_the_ids_of_the_whole(learned: Path, long_file: Path, tmp_path: Path) -> None:
    expected = load_tokenizer(learned).encode(LONG)
    output, text = tmp_path / "ids.npy", tmp_path / "decoded.txt"
    result = run("encode", learned, long_file, long_file, "--output", output)
    assert f"Wrote {2 * len(expected):,} ids" in result.stderr
    assert numpy.load(output).tolist() == expected * 2
    assert run("encode", learned, long_file).stdout == " ".join(map(str, expected)) + "\n"
    assert run("decode", learned, output, "--output", text).exit_code == 0
    assert text.read_bytes() == LONG.encode() * 2
    row = run("compare", learned, "--file", long_file).stdout.splitlines()[-1]
    assert row.split()[1] == run("compare", learned, stdin=LONG.encode()).stdout.splitlines()[-1].split()[1]
    assert row.split()[1] == f"{len(expected):,}"


def test_whitespace_without_ids_prints_nothing(tmp_path: Path) -> None:
    path = tmp_path / "words.json"
    WordBPE.train(TEXT, 30).save(path)
    assert (
        run("encode", path, "--text", "the cat \n ").stdout == run("encode", path, "--text", "the cat").stdout
    )


def test_errors_name_the_place_in_the_whole_file(learned: Path, tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes((LONG + "<|end|>" + LONG).encode())
    output = tmp_path / "ids.npy"
    message = failed(run("encode", learned, path, "--output", output))
    assert f"'<|end|>' at position {len(LONG):,}: use --special-tokens" in message
    path.write_bytes(LONG.encode() + b"\xe6\x9c")
    message = failed(run("encode", learned, path, "--output", output))
    assert f"long.txt is not UTF-8: byte 0xe6 at position {len(LONG.encode()):,}" in message
    assert not output.exists()
    tokenizer = load_tokenizer(learned)
    saving.write_ids(output, numpy.array([*tokenizer.encode(LONG), 999], dtype="uint16"))
    assert "id 999 is out of range" in failed(
        run("decode", learned, output, "--output", tmp_path / "new.txt")
    )
    assert not (tmp_path / "new.txt").exists()


# Its own peak: that of `wait4` includes what the starting process took.
TELLS_ITS_PEAK = """
import atexit, re, sys
status = lambda: open("/proc/self/status", encoding="utf-8").read()
atexit.register(lambda: print("peak", re.search(r"VmHWM:\\s+(\\d+) kB", status())[1], file=sys.stderr))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak")
@pytest.mark.parametrize("kind", [CharTokenizer, lambda text: BPETokenizer.train(text, 300, pattern="gpt4")])
def test_memory_does_not_grow_with_the_file(kind, tmp_path: Path) -> None:
    def peak(*arguments: object) -> int:
        process = started(*arguments, before=TELLS_ITS_PEAK)
        message = process.communicate()[1].decode()
        assert process.returncode == 0
        return 1024 * int(message.split()[-1])

    tokenizer, files, ids = tmp_path / "t.json", [], []
    kind(LONG[:10_000] + "0123456789").save(tokenizer)
    for times in (4, 12):
        files.append(tmp_path / f"{times}.txt")
        files[-1].write_bytes(LONG.encode() * times)
        ids.append(tmp_path / f"{times}.npy")
    grown = files[1].stat().st_size - files[0].stat().st_size
    for commands in (
        [("encode", tokenizer, file, "--output", row) for file, row in zip(files, ids, strict=True)],
        [("decode", tokenizer, row, "--output", tmp_path / "text") for row in ids],
    ):
        less, more = (peak(*command) for command in commands)
        assert more - less < grown


@pytest.mark.parametrize("rows", [[], [[]], [[1, 2], [], [299]], [[0] * 70_000, [5] * 70_000]])
@pytest.mark.parametrize("suffix", [".npy", ".pt"])
def test_rows_give_the_file_of_the_whole(rows: list[list[int]], suffix: str, tmp_path: Path) -> None:
    if suffix == ".pt":
        pytest.importorskip("torch")
    row, path = [i for row in rows for i in row], tmp_path / f"rows{suffix}"
    with saving.open_ids(path, 300) as file:
        for ids in rows:
            file.write(ids)
        assert not path.exists()
    assert file.number == len(row)
    assert (file.lowest, file.highest) == ((min(row), max(row)) if row else (300, -1))
    assert saving.read_ids(path) == list(saving.stream_ids(path)) == row
    if suffix == ".npy":
        numpy.save(tmp_path / "whole.npy", numpy.array(row, dtype="uint16"))
        assert path.read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_rows_of_ids_that_are_out_of_range(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="ids go from 1 to 300"),
        saving.open_ids(tmp_path / "a.npy", 300) as f,
    ):
        f.write([1, 300])
    with (
        pytest.raises(ValueError, match=r"ids are written as \.npy or \.pt"),
        saving.open_ids(tmp_path / "a.txt", 300),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


# --- pipes


def fill(path: Path, data: bytes, times: int | None) -> threading.Thread:
    """Write into a pipe as often as told, or until nobody reads."""

    def write() -> None:
        with path.open("wb", buffering=0) as pipe:
            try:
                while times is None or left.pop():
                    pipe.write(data)
            except (BrokenPipeError, IndexError):
                pass

    left = [1] * (times or 0)
    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


@no_pipes
def test_a_named_pipe_is_read_once(learned: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    expected = load_tokenizer(learned).encode(TEXT)
    for _ in range(5):
        thread = fill(pipe, TEXT.encode(), 1)
        assert run("encode", learned, pipe).stdout.split() == list(map(str, expected))
        thread.join(timeout=10)
    fill(pipe, TEXT.encode(), 1)
    assert run("compare", learned, learned, "--file", pipe).stdout.count(f" {len(expected)} ") == 2


def test_standard_input_among_files(tokenizer: Path, text_file: Path) -> None:
    lines = run("encode", tokenizer, "-", text_file, stdin=b"\xef\xbb\xbfthe cat").stdout.splitlines()
    loaded = load_tokenizer(tokenizer)
    assert [list(map(int, line.split())) for line in lines] == [loaded.encode("the cat"), loaded.encode(TEXT)]


@no_pipes
def test_training_reads_no_more_than_it_needs(tmp_path: Path) -> None:
    pipe, output = tmp_path / "pipe", tmp_path / "new.json"
    os.mkfifo(pipe)
    thread = fill(pipe, TEXT.encode(), None)
    assert train(pipe, "--vocab-size", 270, "--characters", 1000, output=output).exit_code == 0
    thread.join(timeout=10)
    assert not thread.is_alive()
    same = BPETokenizer.train((TEXT * 10)[:1000], 270)
    assert load_tokenizer(output) == same


# --- training


@pytest.mark.parametrize("pattern", ["gpt4o", "deepseek", "words", r"\w+"])
def test_long_files_teach_what_their_texts_teach(pattern: str, long_file: Path, tmp_path: Path) -> None:
    other, output = tmp_path / "other.txt", tmp_path / "new.json"
    other.write_bytes(LONG[::-1].encode())
    limit = len(LONG) + 1_200_000
    options = ["--vocab-size", 400, "--pattern", pattern, "--special", "dog", "--characters", limit]
    result = train(long_file, other, *options, output=output)
    assert f"Learning from {limit:,} characters" in result.stdout
    texts = [LONG, LONG[::-1][:1_200_000]]
    same = BPETokenizer.train(texts, 400, pattern=pattern, special_tokens=["dog"], progress=False)
    assert load_tokenizer(output).fingerprint == same.fingerprint


def test_what_can_fail_does_so_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bpe.counting.count", None)
    text, wide, output = tmp_path / "text.txt", tmp_path / "wide.txt", tmp_path / "new.json"
    text.write_bytes(b"ab")
    wide.write_bytes(b"abcdef")
    assert "vocab_size 256 is too small" in failed(
        train(text, "--vocab-size", 256, "--special", "x", output=output)
    )
    options = ["--alphabet", "characters", "--base-from", wide]
    assert "there are 6 base tokens" in failed(train(text, "--vocab-size", 5, *options, output=output))
    wide.write_bytes(b"\xff")
    assert "wide.txt is not UTF-8" in failed(train(text, "--vocab-size", 9, *options, output=output))


# --- two runs at once

# The tokenizer is in its place, and no ids are, for a while.
SLOW = """
import time
from bpe import saving
claim = saving.claim_folder
saving.claim_folder = lambda *arguments: (claim(*arguments), time.sleep(0.3))
"""


@pytest.mark.parametrize("number", range(3))
def test_two_runs_never_mix_their_ids(data: Path, tokenizer: Path, other: Path, number: int) -> None:
    folder = data / "encoded" / "both"
    runs = [
        started("encode-splits", path, "--name", "both", before=SLOW)
        for path in (tokenizer, other)[:: 1 - number % 2 * 2]
    ]
    messages = [process.communicate(timeout=60)[1].decode() for process in runs]
    assert sorted(process.returncode for process in runs) == [0, 1]
    [refused] = [message for message, process in zip(messages, runs, strict=True) if process.returncode]
    assert "holds ids of another tokenizer" in refused and "--force" in refused
    [owner] = [
        loaded
        for loaded in map(load_tokenizer, (tokenizer, other))
        if loaded.fingerprint == saving.folder_owner(folder)
    ]
    assert ids_in(folder) == {split: owner.encode(text) for split, text in SPLITS.items()}


def test_ids_that_do_not_decode_are_not_written(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "words.json"
    WordBPE.train(TEXT, 40).save(path)
    assert "the ids of train do not decode to its text" in failed(run("encode-splits", path))
    assert ids_in(data / "encoded" / "words") == {}


def test_a_folder_that_is_not_claimed_is_not_made(tmp_path: Path, tokenizer: Path, other: Path) -> None:
    folder = tmp_path / "new" / "ids"
    saving.claim_folder(folder, load_tokenizer(tokenizer))
    saving.write_ids(folder / "a.npy", numpy.array([1]))
    with pytest.raises(ValueError, match="another tokenizer"):
        saving.claim_folder(folder, load_tokenizer(other))
    assert {path.name for path in folder.iterdir()} == {"a.npy", "tokenizer.json"}


def test_a_file_named_like_standard_input(
    tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_bytes(b"the cat")
    assert run("encode", tokenizer, "./-").stdout == run("encode", tokenizer, "--text", "the cat").stdout
    assert (
        run("encode", tokenizer, "-", stdin=b"mat").stdout == run("encode", tokenizer, "--text", "mat").stdout
    )
