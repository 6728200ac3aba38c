"""Compares the outcomes of a task: our engines must agree; for the others, the difference is reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import numpy
from tasks import ENGINES, Task

Record = dict[str, Any]

# What `import bpe` must not load.
HEAVY = ("numpy", "torch", "numba", "matplotlib", "datasets")


def outcome_file(task: Task, who: str, folder: Path) -> Path:
    return folder / f"{task.name}-{who}.{'json' if task.kind == 'train' else 'npy'}"


def equality(task: Task, runs: dict[str, list[Record]], folder: Path) -> str:
    """Describe how the outcomes compare. Raises ClickException if our engines differ."""
    if task.kind == "train":
        return equal_merges(task, runs, folder)
    if task.kind == "encode":
        return equal_ids(task, list(runs), folder)
    if task.kind == "import":
        heavy = sorted({name for record in runs["bpe"] for name in record["loaded"]})
        if heavy:
            raise click.ClickException(f"`import bpe` loads {', '.join(heavy)}")
        return f"`import bpe` loads none of {', '.join(HEAVY)}"
    return ""


def equal_merges(task: Task, runs: dict[str, list[Record]], folder: Path) -> str:
    engines = [who for who in ENGINES if who in runs]
    fingerprints = {record["fingerprint"] for who in engines for record in runs[who]}
    if len(fingerprints) != 1:
        raise click.ClickException(f"{task.name}: the engines differ: {fingerprints}")
    said = [f"{', '.join(engines)}: the same merges, fingerprint {fingerprints.pop()[:12]}"]
    ours = learned(task, "compiled", folder)
    for who in runs:
        if who not in engines and (theirs := learned(task, who, folder)):
            same = next(
                (k for k, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b),
                min(len(ours), len(theirs)),
            )
            shared = len(set(ours) & set(theirs))
            said.append(f"{who}: the first {same:,} of {len(theirs):,} tokens, and {shared:,} in any order")
    return "; ".join(said)


def learned(task: Task, who: str, folder: Path) -> list[str]:
    tokens: list[str] = json.loads(outcome_file(task, who, folder).read_text(encoding="ascii"))
    return tokens


def equal_ids(task: Task, contestants: list[str], folder: Path) -> str:
    reference = next((who for who in ("tiktoken", "tiktoken (array)") if who in contestants), "compiled")
    expected = numpy.load(outcome_file(task, reference, folder))
    different = []
    for who in contestants:
        ids = numpy.load(outcome_file(task, who, folder))
        if not numpy.array_equal(ids, expected):
            length = min(len(ids), len(expected))
            unequal = numpy.flatnonzero(ids[:length] != expected[:length])
            different.append(f"{who} differs at id {unequal[0] if len(unequal) else length:,}")
            if who in ENGINES:
                raise click.ClickException(f"{task.name}: {different[-1]} from {reference}")
    return "; ".join(different) or f"all give the {len(expected):,} ids of {reference}"
