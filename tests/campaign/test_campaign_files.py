"""Damaged and hostile files: each can be used, or is refused by name, in bounded time and memory."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from campaign_cases import SHOWN, numbers

pytest.importorskip("numpy")
torch_is_there = __import__("importlib.util").util.find_spec("torch")
pyarrow_is_there = __import__("importlib.util").util.find_spec("pyarrow")

HERE = Path(__file__).parent
SECONDS = 120.0  # to wait for a case that does not work; the process ends itself if it works too long

# How many of each kind in `make test-full`; a fiftieth of them in `make test`.
CASES = {
    "bytes": 2_400, "letters": 1_700, "characters": 900, "words": 2_000, "wordpiece": 1_600, "unigram": 1_600,
    "unigram with bytes": 800, "bytes, unsealed": 700, "letters, unsealed": 300, "characters, unsealed": 300,
    "words, unsealed": 300, "wordpiece, unsealed": 300, "unigram, unsealed": 300,
    "unigram with bytes, unsealed": 100,
    "tokenizer.json": 3_500, "vocab.json and merges.txt": 2_000, "ranks": 1_800, "sentencepiece": 2_200,
    "checkpoint": 700, "checkpoint, resumed": 700, "ids.npy": 900, "ids.pt": 500, "ids.txt": 500,
    "archive": 1_200,
    "raw poems": 800, "prepared poems": 200, "results": 700, "result of a run": 700, "wikitext": 300,
}  # fmt: skip
NEEDS = {"checkpoint": torch_is_there, "checkpoint, resumed": torch_is_there, "ids.pt": torch_is_there,
         "result of a run": torch_is_there, "wikitext": pyarrow_is_there}  # fmt: skip


def open_damaged(kind: str, first: int, last: int) -> list[str]:
    """Run the cases in a process of their own, and in another after each that hangs or kills it."""
    faults: list[str] = []
    while first < last and len(faults) < SHOWN:
        first, ended = _one_process(kind, first, last, faults)
        if ended:
            faults.append(ended)
    return faults


def _one_process(kind: str, first: int, last: int, faults: list[str]) -> tuple[int, str]:
    """Return the case after the last one tried, and how the process ended if not as it should."""
    process = subprocess.Popen(
        [sys.executable, "-X", "utf8", str(HERE / "damaged_files.py"), kind, str(first), str(last)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent), str(HERE.parents[1])])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdout is not None and process.stderr is not None
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in process.stdout or []:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    said: list[str] = []
    threading.Thread(target=lambda: said.extend(process.stderr or []), daemon=True).start()
    now = first - 1
    wait = 300.0  # imports
    try:
        while (line := lines.get(timeout=wait)) is not None:
            word, number, *rest = line.split(" ", 2)
            now = int(number)
            wait = SECONDS
            if word == "failed":
                faults.append(f"{kind}-{now}: {rest[0].strip()}")
                if len(faults) >= SHOWN:
                    process.kill()
                    return last, ""
    except queue.Empty:
        process.kill()
        process.wait()
        return now + 1, f"{kind}-{now}: waits for more than {SECONDS:g} seconds"
    if status := process.wait():
        how = "works for too long" if status == -getattr(signal, "SIGPROF", 0) else f"ended with {status}"
        return max(now, first) + 1, f"{kind}-{now}: {how} {''.join(said[-3:])}"
    return last, ""


def check(kind: str, number: int) -> None:
    cases = numbers(kind, number)
    faults = open_damaged(kind, cases.start, cases.stop)
    assert not faults, "\n".join(["Again: CAMPAIGN_SEED=…", *faults])


@pytest.mark.full
@pytest.mark.parametrize("kind", CASES)
def test_damaged_files(kind: str) -> None:
    if not NEEDS.get(kind, True):
        pytest.skip("its package is not installed")
    check(kind, CASES[kind])


@pytest.mark.parametrize("kind", ["bytes", "words", "tokenizer.json"])
def test_a_few_damaged_files(kind: str) -> None:
    check(kind, 60)
