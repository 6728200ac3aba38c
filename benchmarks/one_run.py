"""Executes one task once, by one contestant: `make bench` starts many such processes.

    python benchmarks/one_run.py train WHO TEXT_FILE OUTCOME_FILE MERGES [SPLIT]
    python benchmarks/one_run.py encode WHO TEXT_FILE OUTCOME_FILE
    python benchmarks/one_run.py compile

Prints one line of JSON. The contestant first does the same task on a tiny text, warm-up.txt beside TEXT_FILE,
so imports, loading a vocabulary and loading compiled code are not measured. With "-" for OUTCOME_FILE, the
outcome is not written.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

Record = dict[str, Any]
WARM_UP_MERGES = 100  # sentencepiece takes no fewer: it begins with characters and bytes
STATUS = Path("/proc/self/status")


def on_one_core() -> None:
    """Keep this process, and the threads it will start, on one core, where the system allows it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ |= {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def forget_peak() -> None:
    """Reset the peak memory of this process, as Linux can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def memory() -> tuple[float | None, float | None]:
    """Resident memory of this process, now and at its peak, in MB; None if it can't be known."""
    if STATUS.exists():
        lines = dict(line.split(":", 1) for line in STATUS.read_text(encoding="ascii").splitlines())
        now, peak = (int(lines[key].split()[0]) * 1024 / 1e6 for key in ("VmRSS", "VmHWM"))
        return now, peak
    try:
        import psutil
    except ImportError:
        return None, None
    info = psutil.Process().memory_info()
    if hasattr(info, "peak_wset"):  # Windows
        return info.rss / 1e6, info.peak_wset / 1e6
    import resource

    return info.rss / 1e6, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # bytes on macOS


def measure(task: Callable[[], Any]) -> tuple[Any, Record]:
    """Return the outcome of the task; its seconds, the mean number of busy cores, and its memory in MB."""
    gc.collect()
    forget_peak()
    before, _ = memory()
    cpu, start = time.process_time(), time.perf_counter()
    outcome = task()
    seconds = time.perf_counter() - start
    busy = time.process_time() - cpu
    _, peak = memory()
    return outcome, {
        "seconds": seconds,
        "cores": round(busy / seconds, 1),
        "peak_mb": peak,
        "grown_mb": None if peak is None or before is None else peak - before,
    }


def warm_up(path: Path, who: str) -> Path:
    """The text to warm up with, beside the one that is measured."""
    return path.with_name("warm-up-compiled.txt" if who in ("compiled", "incremental") else "warm-up.txt")


def train(who: str, path: Path, outcome: str, merges: int, split: str | None) -> Record:
    from contestants import TRAIN, Training
    from tasks import ENGINES

    trainer = TRAIN[who]
    trainer(Training(warm_up(path, who), split, WARM_UP_MERGES))
    job = Training(path, split, merges)
    if who not in ENGINES:
        _ = job.documents, job.different_bytes  # made before the clock starts
    result, record = measure(lambda: trainer(job))
    learned = result()
    record["fingerprint"] = learned.fingerprint
    if outcome != "-":
        Path(outcome).write_text(json.dumps([token.hex() for token in learned.tokens]), encoding="ascii")
    return record


def encode(who: str, path: Path, outcome: str) -> Record:
    on_one_core()
    import numpy
    from contestants import ENCODE

    encoder = ENCODE[who]()
    encoder(warm_up(path, who).read_bytes().decode("utf-8"))
    text = path.read_bytes().decode("utf-8")
    ids, record = measure(lambda: encoder(text))
    if outcome != "-":
        with Path(outcome).open("wb") as file:
            numpy.save(file, numpy.asarray(ids, dtype=numpy.int32))
    return record


def compiling() -> Record:
    """The first training, with a split and without, and the first encoding of this process."""
    from tasks import COMPILED_WARM_UP as TEXT

    def task() -> None:
        from bpe import BPETokenizer

        for pattern in (None, "gpt4"):
            tokenizer = BPETokenizer.train(TEXT, 260, pattern=pattern, engine="compiled", progress=False)
            tokenizer.encode_array(TEXT, engine="compiled")

    return measure(task)[1]


def main(kind: str, *given: str) -> None:
    if kind == "train":
        who, path, outcome, merges, *split = given
        record = train(who, Path(path), outcome, int(merges), split[0] if split else None)
    elif kind == "encode":
        who, path, outcome = given
        record = encode(who, Path(path), outcome)
    else:
        record = compiling()
    print(json.dumps(record))


if __name__ == "__main__":
    main(*sys.argv[1:])
