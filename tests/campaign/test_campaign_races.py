"""Commands that run at the same time in one folder: one result or the other, and one clear line."""

from __future__ import annotations

import random
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from campaign_cases import run_cases
from scenarios import TRAIN, contents, copied, finish, furnish, start, temporary_files

pytest.importorskip("numpy")

Arguments = tuple[str, ...]

# name -> (the commands, the names of the files that must all be of one of them)
PAIRS: dict[str, tuple[list[Arguments], str]] = {
    "train to one file": (
        [
            ("train", "text.txt", "--vocab-size", str(size), "--output", "data/t.json")
            for size in (270, 280, 290)
        ],
        "data/t.json",
    ),
    "encode to one file": (
        [("encode", name, "text.txt", "--output", "data/ids.npy") for name in ("a.json", "b.json")],
        "data/ids.npy",
    ),
    "encode-splits of two": (
        [("encode-splits", name, "--name", "x") for name in ("a.json", "b.json")],
        "data/encoded/x/*",
    ),
    "encode-splits of two, by force": (
        [("encode-splits", name, "--name", "x", "--force") for name in ("a.json", "b.json", "a.json")],
        "data/encoded/x/*",
    ),
    "the same encode-splits": ([("encode-splits", "a.json", "--name", "x")] * 3, "data/encoded/x/*"),
    "wikitext2 from two": (
        [("wikitext2", "--source", source, "--force") for source in ("one", "two")],
        "data/wikitext2/*",
    ),
    "the same minigpt train": ([TRAIN, TRAIN], "data/runs/*/*"),
    "minigpt train by force": ([(*TRAIN, "--force"), TRAIN], "data/runs/*/*"),
    "two lengths of minigpt train": (
        [TRAIN, tuple("2000" if word == "3000" else word for word in TRAIN)],
        "data/runs/*3000*/*",
    ),
}
NUMBERS = {name: 3 if "minigpt" in name else 10 for name in PAIRS}


def named(folder: Path, pattern: str) -> dict[str, str]:
    found = contents(folder)
    return {name: digest for name, digest in found.items() if Path(name).match(pattern)}


def alone(template: Path, parent: Path, commands: list[Arguments], pattern: str) -> list[dict[str, str]]:
    """What each of the commands leaves if it runs alone."""
    outcomes = []
    for number, arguments in enumerate(dict.fromkeys(commands)):
        folder = parent / f"alone-{number}"
        shutil.copytree(template, folder)
        status, said = finish(start("count", folder, "bpe", arguments))
        assert status == 0, said
        outcomes.append(named(folder, pattern))
    return [outcome for outcome in outcomes if outcome]


def race(
    template: Path,
    rng: random.Random,
    parent: Path,
    commands: list[Arguments],
    pattern: str,
    outcomes: list[dict[str, str]],
) -> None:
    folder = copied(template, rng, parent)
    processes = [start(f"slow:{rng.random()}", folder, "bpe", arguments) for arguments in commands]
    ended = [finish(process, 300) for process in processes]
    assert any(status == 0 for status, _ in ended), ended
    for status, said in ended:
        assert status in (0, 1), said
        assert "Traceback" not in said, said
        if status == 1:
            [line] = [line for line in said.splitlines() if line.startswith("Error: ")]
            assert "damaged" not in line, line
    found = named(folder, pattern)
    assert found in outcomes, f"neither of the outcomes: {sorted(found)}, {ended}"
    assert not temporary_files(folder / "data")
    shutil.rmtree(folder)


def run_races(name: str, number: int, tmp_path: Path) -> None:
    commands, pattern = PAIRS[name]
    template = tmp_path / "template"
    template.mkdir()
    furnish(template)
    outcomes = alone(template, tmp_path, commands, pattern)
    run_cases(f"race {name}", number, lambda rng: race(template, rng, tmp_path, commands, pattern, outcomes))


@pytest.mark.full
@pytest.mark.parametrize("name", PAIRS)
def test_at_the_same_time(name: str, tmp_path: Path) -> None:
    if "minigpt" in name and not find_spec("torch"):
        pytest.skip("torch is not installed")
    run_races(name, NUMBERS[name], tmp_path)


def test_two_at_the_same_time(tmp_path: Path) -> None:
    run_races("encode-splits of two", 2, tmp_path)


@pytest.mark.full
def test_tables_written_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of all runs, written by several processes, is one of those that they write."""
    pytest.importorskip("torch")
    from concurrent.futures import ThreadPoolExecutor

    from damaged_files import _result

    from bpe.minigpt import results, table

    monkeypatch.setenv("BPE_DATA", str(tmp_path))
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    folder = tmp_path / "runs" / "tang-bytes-tiny-seed0"
    folder.mkdir(parents=True)
    import json

    (folder / "result.json").write_text(json.dumps(_result()), encoding="utf-8")
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: table.write("tiny"), range(200)))
    assert len(set(paths)) == 1
    assert results.read("minigpt_tiny")["runs"] == [_result()]
    assert {path.name for path in (tmp_path / "results").iterdir()} <= {"minigpt_tiny.json", ".lock"}
