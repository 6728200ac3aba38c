"""`make bench`: everything side by side, in one run.

    python benchmarks/benchmarks.py                      all works, half an hour on two cores
    python benchmarks/benchmarks.py --only import        one of them; the others stay as they were
    python benchmarks/benchmarks.py --table-only         write the README's table anew, without measuring
    python benchmarks/benchmarks.py --quick              small texts, one run each, into a temporary folder

Each run is a process of its own (`measuring.py`, `one_run.py`). The contestants of a work take turns, so that
whatever else the machine does hits all of them, and a run that had to wait for a core is done again. Outcomes
are compared before anything is stored (`outcomes.py`): our engines must agree.

data/results/benchmarks.json is written after each work, and the README's table with it (`records.py`). A work
that is not measured again keeps its figures where machine and versions are the same as before, and is dropped
otherwise; so an interrupted run leaves what it measured so far, and `--only` changes one work.
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
import works
from measuring import CHECKOUT, REPEATS, growth_rows, measure, present, row
from outcomes import equality
from records import begun, load, put, put_growth, store, write_readme
from tqdm import tqdm
from works import GROWTH, GROWTH_MEGABYTES, WORKS, Work

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
            click.echo(f"{requirement} could not be had; it is left out, and the report says so.", err=True)


def quick(work: Work) -> Work:
    """The same with fewer merges."""
    merges = min(work.merges, works.QUICK_MERGES)
    return Work(work.name, work.what, work.kind, work.contestants, work.corpus, work.split, merges)


def prepare(folder: Path, names: set[str], is_quick: bool) -> None:
    """Write the corpora that are needed as files, which all contestants read."""
    (folder / "warm-up.txt").write_bytes(works.WARM_UP.encode("utf-8"))
    (folder / "warm-up-compiled.txt").write_bytes(works.COMPILED_WARM_UP.encode("utf-8"))
    for name in names:
        text = works.text_of(name)
        if is_quick:
            text = text[: works.QUICK_CHARACTERS]
        (folder / f"{name}.txt").write_bytes(text.encode("utf-8"))


NAMES = [*(work.name for work in WORKS), "growth"]


@click.command(help="Measure this course's tokenizer beside others, and write data/results/benchmarks.json.")
@click.option("--only", multiple=True, type=click.Choice(NAMES), help="This work; may be repeated.")
@click.option("--repeats", type=click.IntRange(1), default=REPEATS, show_default=True, help="Runs of each.")
@click.option("--quick", "is_quick", is_flag=True, help="Small texts, one run each: does it work?")
@click.option("--into", type=click.Path(file_okay=False, path_type=Path), help="Folder for the result.")
@click.option("--table-only", is_flag=True, help="Write the README's table of what was measured before.")
@click.option("--install", "installs", is_flag=True, help="First install the libraries to measure against.")
def main(
    only: tuple[str, ...], repeats: int, is_quick: bool, into: Path | None, table_only: bool, installs: bool
) -> None:
    chosen = [work for work in WORKS if not only or work.name in only]
    sizes = works.QUICK_MEGABYTES if is_quick else GROWTH_MEGABYTES
    if only and "growth" not in only:
        sizes = ()
    try:
        if table_only:
            return write_readme()
        if installs:
            install()
        goal = into or (Path(tempfile.mkdtemp(prefix="benchmarks-")) if is_quick else results.FOLDER)
        goal.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=goal).close()  # where nothing can be written, it fails before all the work
        chosen = [quick(work) for work in chosen] if is_quick else chosen
        measure_all(chosen, sizes, goal.resolve(), repeats, is_quick)
    except OSError as error:  # of a corpus or of results that are not there; it names the command
        raise click.ClickException(str(error)) from None
    click.echo(goal / "benchmarks.json")


def measure_all(
    chosen: Sequence[Work], sizes: tuple[int, ...], goal: Path, repeats: int, is_quick: bool
) -> None:
    content = begun(goal)
    if sizes:
        present("compiled", {})  # it would fail at every size, and take the place of what was measured before
    with (
        tempfile.TemporaryDirectory(prefix="benchmarks-") as name,
        tqdm(total=len(chosen) + len(GROWTH) * len(sizes), unit="work", file=sys.stderr) as bar,
    ):
        folder = Path(name)
        prepare(folder, {work.corpus for work in chosen} - {""}, is_quick)
        for work in chosen:
            left_out: dict[str, str] = {}
            before = load()
            runs = measure(work, folder, 1 if is_quick else repeats, left_out, bar)
            said = equality(work, runs, folder)
            first = statistics.median(record["seconds"] for record in runs[work.contestants[0]])
            path = folder / f"{work.corpus}.txt"
            put(
                content,
                {
                    "name": work.name,
                    "date": content["date"],
                    "load": before,
                    "what": work.what,
                    "corpus": work.corpus,
                    "bytes": path.stat().st_size if work.corpus else 0,
                    "equality": said,
                    "left_out": left_out,
                    "rows": [row(work, who, runs[who], first) for who in runs],
                },
            )
            store(content, goal)
        if sizes:
            works.write_growth(folder, sizes)
            content["growth"] = [row for row in content["growth"] if row["megabytes"] in sizes]
            for grown in growth_rows(folder, sizes, bar):
                put_growth(content, grown)
                store(content, goal)


if __name__ == "__main__":
    main()
