"""Measuring a work: each run a process of its own, contestants in turns, and what is reported of the runs."""

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
from tqdm import tqdm
from works import ENGINES, GROWTH, Work

Record = dict[str, Any]

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent
LONG, VERY_LONG = 10.0, 60.0  # seconds of a first run, after which there are fewer
REPEATS, LONG_REPEATS = 5, 3
TIME_LIMIT = 1_200  # seconds of one process
UNDISTURBED = 0.8  # of the time a process has a core, unless others want it or the machine stands still
TRIES = 3
KILLED = -9


class RunFailedError(Exception):
    """A contestant could not do a work; says why."""


# --- one process


def run(arguments: Sequence[str | Path], **environment: str) -> Record:
    """What one process measured. Raises RunFailedError."""
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
        killed = " (killed, as a system out of memory does it)" if done.returncode == KILLED else ""
        raise RunFailedError(said[-1][:200] + killed)
    try:
        record: Record = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise RunFailedError("it ended well, but printed no result") from None
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


def run_work(work: Work, who: str, folder: Path, turn: int) -> Record:
    """One run. Of the first turn, what came out is left in the folder."""
    if work.kind == "import":
        return run_import(who)
    if work.kind == "compile":
        # Each compilation begins with an empty folder; what the first one left there is loaded by the other.
        cache = folder / f"numba-{turn if who == 'compiled' else 0}"
        return run([HERE / "one_run.py", "compile"], NUMBA_CACHE_DIR=str(cache))
    outcome = outcome_file(work, who, folder) if turn == 0 else "-"
    asked: list[str | Path] = [HERE / "one_run.py", work.kind, who, folder / f"{work.corpus}.txt", outcome]
    if work.kind == "train":
        asked += [str(work.merges), *([work.split] if work.split else [])]
    return run(asked)


# --- one work


def measure(
    work: Work, folder: Path, repeats: int, left_out: dict[str, str], bar: tqdm[Any]
) -> dict[str, list[Record]]:
    """All runs of a work: contestant -> its runs, in turns. Who fails is told in `left_out`."""
    runs: dict[str, list[Record]] = {}
    wanted = {who: repeats for who in work.contestants if present(who, left_out)}
    for turn in range(repeats):
        for who in list(wanted):
            if turn >= wanted[who]:
                continue
            bar.set_postfix_str(f"{work.name}, {who}, {turn + 1} of {wanted[who]}")
            try:
                record = undisturbed(lambda who=who, turn=turn: run_work(work, who, folder, turn))
            except RunFailedError as error:
                if who in ENGINES:
                    raise click.ClickException(f"{work.name}, {who}: {error}") from None
                left_out[who] = str(error)
                del wanted[who]
                continue
            runs.setdefault(who, []).append(record)
            if turn == 0:
                wanted[who] = enough(record["seconds"], repeats)
    bar.update()
    return runs


def undisturbed(once: Callable[[], Record]) -> Record:
    """The first run in which the process had a core nearly all the time, else the best of a few."""
    tried = []
    for _ in range(TRIES):
        tried.append(once())
        if tried[-1]["cores"] >= UNDISTURBED:
            return tried[-1]
    return max(tried, key=lambda record: float(record["cores"]))


def enough(seconds: float, repeats: int) -> int:
    """How many runs there are to be of what took so long."""
    if seconds > VERY_LONG:
        return 1
    return min(repeats, LONG_REPEATS) if seconds > LONG else repeats


def present(who: str, left_out: dict[str, str]) -> bool:
    """Whether the contestant is installed."""
    try:
        if who in PACKAGES:
            metadata.version(PACKAGES[who])
    except metadata.PackageNotFoundError:
        left_out[who] = "not installed"
        return False
    if who.startswith("compiled") and importlib.util.find_spec("numba") is None:
        raise click.ClickException("Numba is not installed; python -m pip install numba brings it.")
    return True


def row(work: Work, who: str, runs: list[Record], first: float) -> Record:
    """What is stored of the runs of one contestant."""
    seconds = [record["seconds"] for record in runs]
    median = statistics.median(seconds)
    return {
        "who": who,
        "seconds": rounded(median),
        "runs": [rounded(value) for value in seconds],
        "ratio": rounded(median / first),
        "peak_mb": middle(runs, "peak_mb"),
        "grown_mb": middle(runs, "grown_mb"),
        "note": note(work, who, runs),
        "cores": statistics.median(record["cores"] for record in runs),
    }


def middle(runs: list[Record], key: str) -> float | None:
    values = [record[key] for record in runs]
    return None if None in values else round(statistics.median(values), 1)


def rounded(value: float) -> float:
    """Four digits."""
    return float(f"{value:.4g}")


def note(work: Work, who: str, runs: list[Record]) -> str:
    parts = [NOTES.get(who, "")] if work.kind == "train" else []
    if work.kind == "encode":
        parts.append(f"gives {GIVES[who]}")
    if len(runs) == 1:
        parts.append("one run")
    if (busy := statistics.median(record["cores"] for record in runs)) < UNDISTURBED:
        parts.append(f"disturbed: it had a core for {busy:.0%} of the time")
    return "; ".join(part for part in parts if part)


# --- growth


def growth_rows(folder: Path, sizes: Sequence[int], bar: tqdm[Any]) -> Iterator[Record]:
    """Ours on more and more text, once each. Of what fails, as for want of memory, `failed` says why."""
    for name, work in GROWTH.items():
        for size in sizes:
            bar.set_postfix_str(f"growth, {name}, {size} MB")
            path = folder / f"growth-{size}.txt"
            yield {"work": name, "megabytes": size, "bytes": path.stat().st_size} | growth_of(work, path)
            bar.update()


def growth_of(work: Work, path: Path) -> Record:
    merges = [str(work.merges), *([work.split] if work.split else [])] if work.merges else []
    try:
        record = undisturbed(lambda: run([HERE / "one_run.py", work.kind, "compiled", path, "-", *merges]))
    except RunFailedError as error:
        return {"seconds": None, "peak_mb": None, "grown_mb": None, "failed": str(error)}
    return {
        "seconds": rounded(record["seconds"]),
        "peak_mb": middle([record], "peak_mb"),
        "grown_mb": middle([record], "grown_mb"),
    }
