"""Commands of the course, run in this process or in one of their own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from click.testing import CliRunner, Result

from bpe import saving
from bpe.__main__ import main

CHECKOUT = Path(__file__).resolve().parents[2]


TEXT = "the cat sat on the mat, and the dog sat on the cat.\n" * 3


SPLITS = {"train": TEXT, "valid": "the dog sat.\n", "test": "the mat.\n"}


def run(*arguments: object, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)), input=stdin)


def failed(result: Result, status: int = 1) -> str:
    """What a command that failed said; it left no traceback."""
    assert isinstance(result.exception, SystemExit)
    assert result.exit_code == status
    return result.stderr


def train(*arguments: object, output: Path) -> Result:
    return run("train", *arguments, "--output", output)


def ids_in(folder: Path) -> dict[str, list[int]]:
    return {path.stem: saving.read_ids(path) for path in folder.glob("*.npy")}


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
