"""Whether the contestants of a work came to the same: our engines must, of the others it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import numpy
from works import ENGINES, Work

Record = dict[str, Any]

# What `import bpe` must not load.
HEAVY = ("numpy", "torch", "numba", "matplotlib", "datasets")


def outcome_file(work: Work, who: str, folder: Path) -> Path:
    return folder / f"{work.name}-{who}.{'json' if work.kind == 'train' else 'npy'}"


def equality(work: Work, runs: dict[str, list[Record]], folder: Path) -> str:
    """How the outcomes compare. Raises ClickException where our engines differ."""
    if work.kind == "train":
        return equal_merges(work, runs, folder)
    if work.kind == "encode":
        return equal_ids(work, list(runs), folder)
    if work.kind == "import":
        heavy = sorted({name for record in runs["bpe"] for name in record["loaded"]})
        if heavy:
            raise click.ClickException(f"`import bpe` loads {', '.join(heavy)}")
        return f"`import bpe` loads none of {', '.join(HEAVY)}"
    return ""


def equal_merges(work: Work, runs: dict[str, list[Record]], folder: Path) -> str:
    engines = [who for who in ENGINES if who in runs]
    fingerprints = {record["fingerprint"] for who in engines for record in runs[who]}
    if len(fingerprints) != 1:
        raise click.ClickException(f"{work.name}: the engines differ: {fingerprints}")
    said = [f"{', '.join(engines)}: the same merges, fingerprint {fingerprints.pop()[:12]}"]
    ours = learned(work, "compiled", folder)
    for who in runs:
        if who not in engines and (theirs := learned(work, who, folder)):
            same = next(
                (k for k, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b),
                min(len(ours), len(theirs)),
            )
            shared = len(set(ours) & set(theirs))
            said.append(f"{who}: the first {same:,} of {len(theirs):,} tokens, and {shared:,} in any order")
    return "; ".join(said)


def learned(work: Work, who: str, folder: Path) -> list[str]:
    tokens: list[str] = json.loads(outcome_file(work, who, folder).read_text(encoding="ascii"))
    return tokens


def equal_ids(work: Work, contestants: list[str], folder: Path) -> str:
    reference = next((who for who in ("tiktoken", "tiktoken (array)") if who in contestants), "compiled")
    expected = numpy.load(outcome_file(work, reference, folder))
    different = []
    for who in contestants:
        ids = numpy.load(outcome_file(work, who, folder))
        if not numpy.array_equal(ids, expected):
            length = min(len(ids), len(expected))
            unequal = numpy.flatnonzero(ids[:length] != expected[:length])
            different.append(f"{who} differs at id {unequal[0] if len(unequal) else length:,}")
            if who in ENGINES:
                raise click.ClickException(f"{work.name}: {different[-1]} from {reference}")
    return "; ".join(different) or f"all give the {len(expected):,} ids of {reference}"
