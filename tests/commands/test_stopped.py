"""Commands in processes of their own: stopped, repeated, and with readers or consoles that fail."""

import os
import signal
import sys
from pathlib import Path

import pytest
from running import SPLITS, TEXT, ids_in, run, started, stop

from bpe import load_tokenizer, saving

no_signals = pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")


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
        ".lock",
    }
    assert ids_in(folder) == {split: load_tokenizer(tokenizer).encode(text) for split, text in SPLITS.items()}


@no_signals
def test_ids_of_two_tokenizers_never_lie_together(data: Path, tokenizer: Path, other: Path) -> None:
    folder = data / "encoded" / "small"
    run("encode-splits", other, "--name", "small")
    process = started("encode-splits", tokenizer, "--force", before=HANGS)
    stop(process, signal.SIGKILL, lambda: bool(list(folder.glob(".valid*.part"))))
    assert saving.folder_owner(folder) == load_tokenizer(tokenizer).fingerprint
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
