"""Streams that are closed or full, locales without UTF-8, too little memory, names that a terminal obeys."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from running import CHECKOUT, TEXT, run

import bpe.commands
from bpe import BPETokenizer, load_tokenizer

EVIL = "\x1b]0;evil\x07\u202e"
posix = pytest.mark.skipif(sys.platform == "win32", reason="no such shell there")


def shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a line of a POSIX shell, in which `bpe` is the command."""
    start = f'bpe() {{ "{sys.executable}" -m bpe "$@"; }}; '
    return subprocess.run(
        ["sh", "-c", start + command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)} | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    BPETokenizer.train(TEXT, 270).save(tmp_path / "t.json")
    return tmp_path


GIVE = [
    'decode t.json --ids "104 101"',
    "encode t.json --text the",
    "inspect t.json --text the",
    "compare t.json --text the",
    "fingerprint t.json",
]


@posix
@pytest.mark.parametrize("command", GIVE)
@pytest.mark.parametrize(
    ("where", "reason"), [(">&-", "It is closed"), (">/dev/full", "No space left on device")]
)
def test_a_result_that_nobody_gets_is_a_failure(folder: Path, command: str, where: str, reason: str) -> None:
    done = shell(f"bpe {command} {where}", folder)
    assert done.returncode == 1
    assert re.fullmatch(rf"Error: standard output: {reason}[^\n]*\n", done.stderr)


@posix
@pytest.mark.parametrize("command", [*GIVE, "train text.txt --vocab-size 280 --output new.json"])
@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full", "<&-"])
def test_messages_that_nobody_gets_stop_nothing(folder: Path, command: str, where: str) -> None:
    assert shell(f"bpe {command} {where}", folder).returncode == 0


@posix
def test_training_goes_on_without_streams(folder: Path) -> None:
    done = shell("bpe train text.txt --vocab-size 280 --output new.json >&- 2>&- <&-", folder)
    assert done.returncode == 0
    assert load_tokenizer(folder / "new.json").vocab_size == 280


@posix
def test_an_error_without_a_place_to_print_it_is_still_one(folder: Path) -> None:
    for where in ("2>&-", "2>/dev/full", ">&- 2>&-"):
        done = shell(f"bpe encode t.json nothing.txt {where}", folder)
        assert done.returncode in (1, 2) and "Traceback" not in done.stdout + done.stderr


@posix
@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no limit of this kind")
def test_too_little_memory_gets_one_line(folder: Path) -> None:
    (folder / "long.txt").write_text("the cat sat on the mat\n" * 1_000_000, encoding="utf-8")
    # The engines of numpy reserve memory when they start: one thread each.
    one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = shell(
        "ulimit -v 250000; bpe train long.txt --vocab-size 280 --output new.json",
        folder,
        BPE_ENGINE="x",
        **one,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "not enough memory" in done.stderr
    assert not (folder / "new.json").exists()


@posix
@pytest.mark.parametrize(
    "command", ["encode t.json --text 月", "inspect t.json --text 月", "compare t.json --text 月"]
)
def test_a_locale_without_utf8(folder: Path, command: str) -> None:
    plain = shell(f"bpe {command}", folder, PYTHONUTF8="1")
    other = shell(f"bpe {command}", folder, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    expected = plain.stdout.encode("ascii", "backslashreplace").decode("ascii")
    assert (other.returncode, other.stdout) == (0, expected)


@posix
def test_bytes_that_are_not_utf8_in_the_command_line(folder: Path) -> None:
    done = shell(r"""bpe encode t.json --text "$(printf '\377')" """, folder)
    assert done.returncode == 2
    assert "not UTF-8" in done.stderr


@posix
def test_a_loop_of_links_is_refused_before_training(folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    (folder / "away.json").symlink_to("missing/away.json")
    for name in ("loop", "away.json"):
        done = shell(f"bpe train text.txt --vocab-size 280 --output {name}", folder)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"Error: {name}: ")


def test_no_name_that_a_terminal_obeys_reaches_it(folder: Path) -> None:
    path = folder / f"{EVIL}.json"
    try:
        BPETokenizer.train(TEXT, 270, special_tokens=[EVIL]).save(path)
    except OSError:
        pytest.skip("this file system has no such names")
    done = [
        run("inspect", path, "--text", TEXT),
        run("compare", path, folder / f"{EVIL}missing.json", "--text", "the"),
        run("encode", path, "--text", EVIL),
        run("encode", folder / f"{EVIL}missing.json", "--text", "the"),
        run("train", folder / "text.txt", "--vocab-size", 280, "--output", folder / f"{EVIL}" / "a.json"),
        run("train", folder / "text.txt", "--vocab-size", 280, "--output", folder / f"{EVIL}2.json"),
    ]
    for result in done:
        assert not {"\x1b", "\x07", "\u202e"} & set(result.output)
    assert all(result.output for result in done)


def test_no_command_prints_past_the_console() -> None:
    [folder] = bpe.commands.__path__
    for path in Path(folder).glob("*.py"):
        if path.name != "console.py":
            source = path.read_text(encoding="utf-8")
            assert not re.search(r"click\.(echo|secho)|\bprint\(|sys\.stdout\.write", source), path.name
