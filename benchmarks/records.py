"""Stores the measurements, in data/results/benchmarks.json and in the README's table."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import tables
from contestants import PACKAGES
from tasks import GROWTH, GROWTH_CORPUS, TASKS

from bpe._files import write_atomically
from bpe.minigpt import results

Record = dict[str, Any]

COMMAND = "make bench"
REPORTED = ("numba", "numpy", "regex")  # beside the contestants


def machine() -> Record:
    return {
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()}, {platform.machine()}",
        "python": platform.python_version(),
    }


def processor() -> str:
    """The processor's name as people know it."""
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        for line in listed.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    if sys.platform == "darwin":
        asked = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(asked, capture_output=True, encoding="utf-8").stdout.strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    found = {}
    for package in sorted({*PACKAGES.values(), *REPORTED}):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def load() -> float | None:
    """The number of processes that wanted a core over the last minute."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def begin(folder: Path) -> Record:
    """Return the content that this run starts from: of an earlier one, what may be kept."""
    content: Record = {
        "command": COMMAND,
        "date": datetime.date.today().isoformat(),
        "load": load(),
        "machine": machine(),
        "versions": versions(),
        "tasks": [],
        "growth_corpus": GROWTH_CORPUS,
        "growth": [],
    }
    path = folder / "benchmarks.json"
    if path.exists():
        try:
            earlier = json.loads(path.read_text(encoding="utf-8"))
            kept = {key: earlier[key] for key in ("tasks", "growth")}
            same = all(earlier[key] == content[key] for key in ("machine", "versions"))
        except (ValueError, TypeError, KeyError) as error:
            raise click.ClickException(
                f"{path} is damaged ({error!r}). Delete it to measure again, or restore it from git."
            ) from None
        if same:
            content |= kept
        elif kept["tasks"]:
            click.echo(
                f"{path} is from another machine or other versions: its figures are dropped.", err=True
            )
    return content


def put(content: Record, measured: Record) -> None:
    """Put a task in its place among the others."""
    order = {task.name: number for number, task in enumerate(TASKS)}
    others = [task for task in content["tasks"] if task["name"] != measured["name"]]
    content["tasks"] = sorted([*others, measured], key=lambda task: order.get(task["name"], len(order)))


def put_growth(content: Record, measured: Record) -> None:
    """Put one size of a growth in its place among the others."""
    tasks = list(GROWTH)
    rows = {(tasks.index(row["task"]), row["megabytes"]): row for row in [*content["growth"], measured]}
    content["growth"] = [rows[place] for place in sorted(rows)]


def store(content: Record, folder: Path) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    write_atomically(folder / "benchmarks.json", text.encode("utf-8"))
    if folder == results.FOLDER:
        write_readme()


def write_readme() -> None:
    """Put the table of the stored measurements into the README."""
    readme = tables.README.read_bytes().decode("utf-8")
    table = tables.markdown(results.read("benchmarks"))
    write_atomically(tables.README, tables.replace_table(readme, table).encode("utf-8"))
