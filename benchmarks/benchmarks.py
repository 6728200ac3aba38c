"""`make bench`: everything side by side, in one run.

    python benchmarks/benchmarks.py                      all tasks, half an hour on two cores
    python benchmarks/benchmarks.py --only import        one of them; the others stay as they were
    python benchmarks/benchmarks.py --table-only         rewrite the README's table without measuring
    python benchmarks/benchmarks.py --quick              small texts, one run each, into a temporary folder

Each run is a process of its own (`measuring.py`, `one_run.py`). The contestants of a task take turns, so that
whatever else the machine does hits all of them, and a run that had to wait for a core is repeated. Outcomes
are compared before anything is stored (`outcomes.py`): our engines must agree.

data/results/benchmarks.json is written after each task, and the README's table with it (`records.py`). A task
that is not measured again keeps its figures if machine and versions are the same as before, and is dropped
otherwise. So an interrupted run leaves what it has measured, and `--only` changes one task.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import click
import tasks
from measuring import CHECKOUT, REPEATS, growth_rows, is_installed, measure, row
from outcomes import equality
from records import begin, load, put, put_growth, store, write_readme
from tasks import GROWTH, GROWTH_MEGABYTES, TASKS, Task
from tqdm import tqdm

from bpe.minigpt import results


def install() -> None:
    """Install the libraries pinned in .ci/bench.txt, those that have a wheel for this machine."""
    text = (CHECKOUT / ".ci" / "bench.txt").read_text(encoding="utf-8")
    for pin in re.split(r"\n(?=\w)", text)[1:]:  # each with its hashes
        requirement = pin.split()[0]
        name, version = requirement.split("==")
        try:
            if metadata.version(name) == version:
                continue
        except metadata.PackageNotFoundError:
            pass
        click.echo(f"Installing {requirement}, to measure against it.", err=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "requirements.txt"
            file.write_text(pin, encoding="utf-8")
            options = ["--only-binary", ":all:", "--no-deps", "--require-hashes"]
            done = subprocess.run([*pip, *options, "-r", str(file)])
        if done.returncode:
            click.echo(f"{requirement} could not be installed, so it is left out.", err=True)


def quick(task: Task) -> Task:
    """The same task with fewer merges."""
    merges = min(task.merges, tasks.QUICK_MERGES)
    return Task(task.name, task.what, task.kind, task.contestants, task.corpus, task.split, merges)


def prepare(folder: Path, names: set[str], is_quick: bool) -> None:
    """Write the corpora that the tasks need to files, which all contestants read."""
    (folder / "warm-up.txt").write_bytes(tasks.WARM_UP.encode("utf-8"))
    (folder / "warm-up-compiled.txt").write_bytes(tasks.COMPILED_WARM_UP.encode("utf-8"))
    for name in names:
        text = tasks.text_of(name)
        if is_quick:
            text = text[: tasks.QUICK_CHARACTERS]
        (folder / f"{name}.txt").write_bytes(text.encode("utf-8"))


NAMES = [*(task.name for task in TASKS), "growth"]


@click.command(help="Measure this course's tokenizer beside others, and write data/results/benchmarks.json.")
@click.option("--only", multiple=True, type=click.Choice(NAMES), help="Only this task; may be repeated.")
@click.option("--repeats", type=click.IntRange(1), default=REPEATS, show_default=True, help="Runs of each.")
@click.option("--quick", "is_quick", is_flag=True, help="Small texts, one run each: does it work?")
@click.option("--into", type=click.Path(file_okay=False, path_type=Path), help="Folder for the result.")
@click.option("--table-only", is_flag=True, help="Rewrite the README's table without measuring.")
@click.option("--install", "installs", is_flag=True, help="First install the libraries to measure against.")
def main(
    only: tuple[str, ...], repeats: int, is_quick: bool, into: Path | None, table_only: bool, installs: bool
) -> None:
    chosen = [task for task in TASKS if not only or task.name in only]
    sizes = tasks.QUICK_MEGABYTES if is_quick else GROWTH_MEGABYTES
    if only and "growth" not in only:
        sizes = ()
    try:
        if table_only:
            return write_readme()
        if installs:
            install()
        goal = into or (Path(tempfile.mkdtemp(prefix="benchmarks-")) if is_quick else results.FOLDER)
        goal.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=goal).close()  # fail before all the measuring if nothing can be written
        chosen = [quick(task) for task in chosen] if is_quick else chosen
        measure_all(chosen, sizes, goal.resolve(), repeats, is_quick)
    except OSError as error:  # a corpus or results are missing; the message names the command
        raise click.ClickException(str(error)) from None
    click.echo(goal / "benchmarks.json")


def measure_all(
    chosen: Sequence[Task], sizes: tuple[int, ...], goal: Path, repeats: int, is_quick: bool
) -> None:
    content = begin(goal)
    if sizes:
        is_installed("compiled", {})  # else it would fail at every size and replace what was measured before
    with (
        tempfile.TemporaryDirectory(prefix="benchmarks-") as name,
        tqdm(total=len(chosen) + len(GROWTH) * len(sizes), unit="task", file=sys.stderr) as bar,
    ):
        folder = Path(name)
        prepare(folder, {task.corpus for task in chosen} - {""}, is_quick)
        for task in chosen:
            left_out: dict[str, str] = {}
            before = load()
            runs = measure(task, folder, 1 if is_quick else repeats, left_out, bar)
            said = equality(task, runs, folder)
            first = statistics.median(record["seconds"] for record in runs[task.contestants[0]])
            path = folder / f"{task.corpus}.txt"
            put(
                content,
                {
                    "name": task.name,
                    "date": content["date"],
                    "load": before,
                    "what": task.what,
                    "corpus": task.corpus,
                    "bytes": path.stat().st_size if task.corpus else 0,
                    "equality": said,
                    "left_out": left_out,
                    "rows": [row(task, who, runs[who], first) for who in runs],
                },
            )
            store(content, goal)
        if sizes:
            tasks.write_growth(folder, sizes)
            content["growth"] = [row for row in content["growth"] if row["megabytes"] in sizes]
            for grown in growth_rows(folder, sizes, bar):
                put_growth(content, grown)
                store(content, goal)


if __name__ == "__main__":
    main()
