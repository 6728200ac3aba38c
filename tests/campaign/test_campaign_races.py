"""Commands that run at the same time in one folder: one result or the other, and one clear line."""

from __future__ import annotations

import json
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
from campaign_cases import run_cases, skip_unless_asked
from scenarios import TRAIN, contents, copied, finish, furnish, start, temporary_files

pytest.importorskip("numpy")

Arguments = tuple[str, ...]


class Race(NamedTuple):
    """commands: they start together. pattern: of the names of files that must all be of one of them."""

    commands: list[Arguments]
    pattern: str
    program: str = "bpe"
    number: int = 10


def _run(*lines: str) -> list[Arguments]:
    return [tuple(line.split()) for line in lines]


SPLITS = "data/encoded/x/*"
RACES = {
    "train to one file": Race(
        _run(*(f"train text.txt --vocab-size {size} --output data/t.json" for size in (270, 280, 290))),
        "data/t.json",
    ),
    "encode to one file": Race(
        _run(*(f"encode {name} text.txt --output data/ids.npy" for name in ("a.json", "b.json"))),
        "data/ids.npy",
    ),
    "encode-splits of two": Race(
        _run("encode-splits a.json --name x", "encode-splits b.json --name x"), SPLITS
    ),
    "encode-splits of two, by force": Race(
        _run(*(f"encode-splits {name} --name x --force" for name in ("a.json", "b.json", "a.json"))), SPLITS
    ),
    "the same encode-splits": Race(_run("encode-splits a.json --name x") * 3, SPLITS),
    "wikitext2 from two": Race(
        _run("wikitext2 --source one --force", "wikitext2 --source two --force"), "data/wikitext2/*"
    ),
    "the same poems": Race(_run("--source raw --force") * 3, "data/tang_poems.txt", "poems"),
    "the same vocabularies": Race(_run("vocabularies gpt2") * 3, "data/vocabularies/*", "vocabularies"),
    "the same minigpt train": Race([TRAIN, TRAIN], "data/runs/*/*", number=3),
    "minigpt train by force": Race([(*TRAIN, "--force"), TRAIN], "data/runs/*/*", number=3),
    "two lengths of minigpt train": Race(
        [TRAIN, tuple("2000" if word == "3000" else word for word in TRAIN)], "data/runs/*3000*/*", number=3
    ),
}


def named(folder: Path, pattern: str) -> dict[str, str]:
    found = contents(folder)
    return {name: digest for name, digest in found.items() if Path(name).match(pattern)}


def alone(race: Race, template: Path, parent: Path) -> list[dict[str, str]]:
    """What each of the commands leaves if it runs alone."""
    outcomes = []
    for number, arguments in enumerate(dict.fromkeys(race.commands)):
        folder = parent / f"alone-{number}"
        shutil.copytree(template, folder)
        status, said = finish(start("count", folder, race.program, arguments))
        assert status == 0, said
        outcomes.append(named(folder, race.pattern))
    return [outcome for outcome in outcomes if outcome]


def run_together(race: Race, folder: Path, rng: random.Random, outcomes: list[dict[str, str]]) -> None:
    processes = [start(f"slow:{rng.random()}", folder, race.program, command) for command in race.commands]
    ended = [finish(process, 300) for process in processes]
    assert any(status == 0 for status, _ in ended), ended
    for status, said in ended:
        assert status in (0, 1), said
        assert "Traceback" not in said, said
        if status == 1:
            [line] = [line for line in said.splitlines() if line.startswith("Error: ")]
            assert "damaged" not in line, line
    found = named(folder, race.pattern)
    assert found in outcomes, f"neither of the outcomes: {sorted(found)}, {ended}"
    assert not temporary_files(folder / "data")


def run_races(name: str, tmp_path: Path, number: int) -> None:
    skip_unless_asked(f"race {name}")
    race = RACES[name]
    template = tmp_path / "template"
    template.mkdir()
    furnish(template)
    outcomes = alone(race, template, tmp_path)

    def run(rng: random.Random) -> None:
        folder = copied(template, rng, tmp_path)
        run_together(race, folder, rng, outcomes)
        shutil.rmtree(folder)

    run_cases(f"race {name}", number, run)


@pytest.mark.full
@pytest.mark.parametrize("name", RACES)
def test_at_the_same_time(name: str, tmp_path: Path) -> None:
    if "minigpt" in name and not find_spec("torch"):
        pytest.skip("torch is not installed")
    if name == "the same poems" and not find_spec("opencc"):
        pytest.skip("opencc is not installed")
    run_races(name, tmp_path, RACES[name].number)


def test_two_at_the_same_time(tmp_path: Path) -> None:
    run_races("encode-splits of two", tmp_path, 2)


@pytest.mark.full
def test_tables_written_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of all runs, written by several processes, is one of those that they write."""
    pytest.importorskip("torch")
    from damaged_files import _result

    from bpe.minigpt import results, table

    monkeypatch.setenv("BPE_DATA", str(tmp_path))
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    folder = tmp_path / "runs" / "tang-bytes-tiny-seed0"
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(_result()), encoding="utf-8")
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: table.write("tiny"), range(200)))
    assert len(set(paths)) == 1
    assert results.read("minigpt_tiny")["runs"] == [_result()]
    assert {path.name for path in (tmp_path / "results").iterdir()} <= {"minigpt_tiny.json", ".lock"}
