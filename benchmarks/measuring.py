"""Measures a task: each run in a process of its own, contestants in turns; and summarises the runs."""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import click
from contestants import GIVES, NOTES, PACKAGES
from outcomes import HEAVY, outcome_file
from tasks import ENGINES, GROWTH, Task
from tqdm import tqdm

Record = dict[str, Any]

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent
LONG, VERY_LONG = 10.0, 60.0  # seconds of a first run, above which there are fewer
REPEATS, LONG_REPEATS = 5, 3
TIME_LIMIT = 1_200  # seconds of one process
UNDISTURBED = 0.8  # share of the time that a process has a core, unless others want it
TRIES = 3
KILLED = -9


class RunFailedError(Exception):
    """A contestant failed at a task; the message says why."""


# --- one process


def run(arguments: Sequence[str | Path], **environment: str) -> Record:
    """Start one process and return what it measured. Raises RunFailedError."""
    try:
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=TIME_LIMIT,
            cwd=CHECKOUT,
            env=os.environ | {"PYTHONUTF8": "1", "BPE_PROGRESS": "0"} | environment,
        )
    except subprocess.TimeoutExpired:
        raise RunFailedError(f"not done after {TIME_LIMIT} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        killed = " (killed, perhaps for want of memory)" if done.returncode == KILLED else ""
        raise RunFailedError(said[-1][:200] + killed)
    try:
        record: Record = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise RunFailedError("it succeeded, but printed no result") from None
    return record


IMPORTS = {
    "bpe": "import bpe",
    "bpe with BPETokenizer": "from bpe import BPETokenizer",
    "tiktoken": "import tiktoken",
    "tokenizers": "import tokenizers",
}


def run_import(who: str) -> Record:
    code = (
        "import time; start = time.perf_counter(); "
        f"{IMPORTS[who]}; seconds = time.perf_counter() - start; import json, sys; "
        f"print(json.dumps({{'seconds': seconds, 'cores': 1, 'peak_mb': None, 'grown_mb': None, "
        f"'loaded': [name for name in {HEAVY} if name in sys.modules]}}))"
    )
    return run(["-c", code])


def run_task(task: Task, who: str, folder: Path, turn: int) -> Record:
    """Execute one run. The first turn leaves its outcome in the folder."""
    if task.kind == "import":
        return run_import(who)
    if task.kind == "compile":
        # Each compilation starts with an empty folder; the other contestant loads what the first one left.
        cache = folder / f"numba-{turn if who == 'compiled' else 0}"
        return run([HERE / "one_run.py", "compile"], NUMBA_CACHE_DIR=str(cache))
    outcome = outcome_file(task, who, folder) if turn == 0 else "-"
    asked: list[str | Path] = [HERE / "one_run.py", task.kind, who, folder / f"{task.corpus}.txt", outcome]
    if task.kind == "train":
        asked += [str(task.merges), *([task.split] if task.split else [])]
    return run(asked)


# --- one task


def measure(
    task: Task, folder: Path, repeats: int, left_out: dict[str, str], bar: tqdm[Any]
) -> dict[str, list[Record]]:
    """Execute all runs of a task: contestant -> its runs. `left_out` tells who failed and why."""
    runs: dict[str, list[Record]] = {}
    wanted = {who: repeats for who in task.contestants if is_installed(who, left_out)}
    for turn in range(repeats):
        for who in list(wanted):
            if turn >= wanted[who]:
                continue
            bar.set_postfix_str(f"{task.name}, {who}, {turn + 1} of {wanted[who]}")
            try:
                record = run_undisturbed(lambda who=who, turn=turn: run_task(task, who, folder, turn))
            except RunFailedError as error:
                if who in ENGINES:
                    raise click.ClickException(f"{task.name}, {who}: {error}") from None
                left_out[who] = str(error)
                del wanted[who]
                continue
            runs.setdefault(who, []).append(record)
            if turn == 0:
                wanted[who] = enough(record["seconds"], repeats)
    bar.update()
    return runs


def run_undisturbed(once: Callable[[], Record]) -> Record:
    """The first run in which the process had a core nearly all the time, else the best of a few."""
    tried = []
    for _ in range(TRIES):
        tried.append(once())
        if tried[-1]["cores"] >= UNDISTURBED:
            return tried[-1]
    return max(tried, key=lambda record: float(record["cores"]))


def enough(seconds: float, repeats: int) -> int:
    """The number of runs for a task whose first run took this long."""
    if seconds > VERY_LONG:
        return 1
    return min(repeats, LONG_REPEATS) if seconds > LONG else repeats


def is_installed(who: str, left_out: dict[str, str]) -> bool:
    """Whether the contestant is installed."""
    try:
        if who in PACKAGES:
            metadata.version(PACKAGES[who])
    except metadata.PackageNotFoundError:
        left_out[who] = "not installed"
        return False
    if who.startswith("compiled") and importlib.util.find_spec("numba") is None:
        raise click.ClickException("Numba is not installed; install it with: python -m pip install numba")
    return True


def row(task: Task, who: str, runs: list[Record], first: float) -> Record:
    """Summarise the runs of one contestant."""
    seconds = [record["seconds"] for record in runs]
    median = statistics.median(seconds)
    return {
        "who": who,
        "seconds": round_to_four(median),
        "runs": [round_to_four(value) for value in seconds],
        "ratio": round_to_four(median / first),
        "peak_mb": middle(runs, "peak_mb"),
        "grown_mb": middle(runs, "grown_mb"),
        "note": note(task, who, runs),
        "cores": statistics.median(record["cores"] for record in runs),
    }


def middle(runs: list[Record], key: str) -> float | None:
    values = [record[key] for record in runs]
    return None if None in values else round(statistics.median(values), 1)


def round_to_four(value: float) -> float:
    """Round to four digits."""
    return float(f"{value:.4g}")


def note(task: Task, who: str, runs: list[Record]) -> str:
    parts = [NOTES.get(who, "")] if task.kind == "train" else []
    if task.kind == "encode":
        parts.append(f"gives {GIVES[who]}")
    if len(runs) == 1:
        parts.append("one run")
    if (busy := statistics.median(record["cores"] for record in runs)) < UNDISTURBED:
        parts.append(f"disturbed: it had a core for {busy:.0%} of the time")
    return "; ".join(part for part in parts if part)


# --- growth


def growth_rows(folder: Path, sizes: Sequence[int], bar: tqdm[Any]) -> Iterator[Record]:
    """Measure ours on growing texts, once each. If one fails, as for want of memory, `failed` says why."""
    for name, task in GROWTH.items():
        for size in sizes:
            bar.set_postfix_str(f"growth, {name}, {size} MB")
            path = folder / f"growth-{size}.txt"
            yield {"task": name, "megabytes": size, "bytes": path.stat().st_size} | growth_of(task, path)
            bar.update()


def growth_of(task: Task, path: Path) -> Record:
    merges = [str(task.merges), *([task.split] if task.split else [])] if task.merges else []
    try:
        record = run_undisturbed(
            lambda: run([HERE / "one_run.py", task.kind, "compiled", path, "-", *merges])
        )
    except RunFailedError as error:
        return {"seconds": None, "peak_mb": None, "grown_mb": None, "failed": str(error)}
    return {
        "seconds": round_to_four(record["seconds"]),
        "peak_mb": middle([record], "peak_mb"),
        "grown_mb": middle([record], "grown_mb"),
    }
