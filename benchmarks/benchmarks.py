"""`make bench`: everything side by side, in one run.

    python benchmarks/benchmarks.py                      all works, half an hour on two cores
    python benchmarks/benchmarks.py --only import        one of them; the others stay as they were
    python benchmarks/benchmarks.py --table-only         write the README's table anew, without measuring
    python benchmarks/benchmarks.py --quick              small texts, one run each, into a temporary folder

Each run is a process of its own (`one_run.py`). The contestants of a work take turns, so that whatever else
the machine does hits all of them, and a run that had to wait for a core is done again. Outcomes are compared
before anything is stored: our engines must agree.

data/results/benchmarks.json is written after each work, and the README's table with it. A work that is not
measured again keeps its figures where machine and versions are the same as before, and is dropped otherwise;
so an interrupted run leaves what it measured so far, and `--only` changes one work.
"""

from __future__ import annotations

import datetime
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import numpy
import tables
import works
from contestants import GIVES, NOTES, PACKAGES
from tqdm import tqdm
from works import ENGINES, GROWTH, GROWTH_CORPUS, GROWTH_MEGABYTES, WORKS, Work

from bpe import results
from bpe.files import write_atomically

Record = dict[str, Any]

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent
COMMAND = "make bench"
REPORTED = ("numba", "numpy", "regex")  # beside the contestants
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
HEAVY = ("numpy", "torch", "numba", "matplotlib", "datasets")


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


def outcome_file(work: Work, who: str, folder: Path) -> Path:
    return folder / f"{work.name}-{who}.{'json' if work.kind == 'train' else 'npy'}"


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
        raise click.ClickException('Numba is missing: pip install "numba", or the extra [fast]')
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


# --- the same outcome


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


# --- what is stored


def machine() -> Record:
    return {
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()}, {platform.machine()}",
        "python": platform.python_version(),
    }


def processor() -> str:
    """The processor's name, by which people know it."""
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
    """How many processes wanted a core over the last minute."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def begun(folder: Path) -> Record:
    """What the file holds before this run measured anything: of an earlier one, what may be kept."""
    content: Record = {
        "command": COMMAND,
        "date": datetime.date.today().isoformat(),
        "load": load(),
        "machine": machine(),
        "versions": versions(),
        "works": [],
        "growth_corpus": GROWTH_CORPUS,
        "growth": [],
    }
    path = folder / "benchmarks.json"
    if path.exists():
        try:
            earlier = json.loads(path.read_text(encoding="utf-8"))
            kept = {key: earlier[key] for key in ("works", "growth")}
            same = all(earlier[key] == content[key] for key in ("machine", "versions"))
        except (ValueError, TypeError, KeyError) as error:
            raise click.ClickException(
                f"{path} is damaged ({error!r}). Delete it, and all is measured anew; or take it from git."
            ) from None
        if same:
            content |= kept
        elif kept["works"]:
            click.echo(f"{path} is of another machine or other versions: what it holds is dropped.", err=True)
    return content


def put(content: Record, measured: Record) -> None:
    """Put a work in its place among the others."""
    order = {work.name: number for number, work in enumerate(WORKS)}
    others = [work for work in content["works"] if work["name"] != measured["name"]]
    content["works"] = sorted([*others, measured], key=lambda work: order.get(work["name"], len(order)))


def put_growth(content: Record, measured: Record) -> None:
    """Put one size of a growth in its place among the others."""
    works = list(GROWTH)
    rows = {(works.index(row["work"]), row["megabytes"]): row for row in [*content["growth"], measured]}
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
    write_atomically(tables.README, tables.rewritten(readme, table).encode("utf-8"))


# --- the command


def install() -> None:
    """Install the libraries of the extra [bench], those that have a wheel for this machine."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in project["optional-dependencies"]["bench"]:
        name, _, version = requirement.partition("==")
        try:
            if metadata.version(name) == version:
                continue
        except metadata.PackageNotFoundError:
            pass
        click.echo(f"Installing {requirement}, to measure against it.", err=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        constraints = str(CHECKOUT / ".ci" / "constraints.txt")
        done = subprocess.run([*pip, "--only-binary", ":all:", "-c", constraints, requirement])
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
