"""Commands killed at random moments: nothing is torn, and the next run finishes the work."""

from __future__ import annotations

import dataclasses
import random
import shutil
import signal
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from campaign_cases import run_cases, skip_unless_asked
from scenarios import SCENARIOS, Files, Scenario, contents, copied, finish, furnish, start, temporary_files

from bpe._files import NEW

pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")

PER_WEIGHT = 6  # kills for each unit of a scenario's weight


@dataclasses.dataclass(frozen=True)
class Undisturbed:
    """template: the folder before. old, new: what is in it before and after. events, seconds: of the run."""

    template: Path
    old: Files
    new: Files
    events: int
    seconds: float


def undisturbed(scenario: Scenario, parent: Path) -> Undisturbed:
    """Run the command once, and note what it does to the folder."""
    template = parent / "template"
    template.mkdir()
    furnish(template)
    for arguments in scenario.before:
        assert finish(start("count", template, scenario.program, arguments))[0] == 0
    old = contents(template)
    folder = parent / "undisturbed"
    shutil.copytree(template, folder)
    clock = time.perf_counter()
    status, said = finish(start("count", folder, scenario.program, scenario.arguments))
    assert status == 0, said
    seconds = time.perf_counter() - clock
    events = int((parent / "undisturbed" / "data.count").read_text(encoding="ascii"))
    return Undisturbed(template, old, contents(folder), events, seconds)


def check_whole(found: Files, run: Undisturbed) -> None:
    """Each file is as before or as afterwards."""
    for name, digest in found.items():
        if name.endswith((".jsonl", "samples.txt", "checkpoint.pt")):
            continue  # these grow during a run, and are checked by going on from them
        assert digest in (run.old.get(name), run.new.get(name)), f"{name} is neither the old nor the new file"
    for name in run.old.keys() & run.new.keys():
        if run.old[name] == run.new[name] and "runs/" not in name and "encoded/" not in name:
            assert name in found, f"{name} is gone"
    # A tokenizer never lies beside the ids of another.
    for folder in {Path(name).parent for name in found if name.endswith(".npy")}:
        states = [
            {name for name in found if Path(name).parent == folder and found[name] == state.get(name)}
            for state in (run.old, run.new)
        ]
        here = {name for name in found if Path(name).parent == folder}
        assert folder.name != "x" or here in states, f"{folder} holds files of two runs"


def kill_once(scenario: Scenario, run: Undisturbed, rng: random.Random, parent: Path) -> None:
    folder = copied(run.template, rng, parent)
    sent = rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    if rng.random() < 0.75:
        process = start(
            f"kill:{int(sent)}:{rng.randint(1, run.events)}", folder, scenario.program, scenario.arguments
        )
        status, said = finish(process)
    else:
        process = start("count", folder, scenario.program, scenario.arguments)
        time.sleep(rng.uniform(0.2, 1.0) * run.seconds)
        process.send_signal(sent)
        status, said = finish(process)
    if status == 130:
        assert "Traceback" not in said and said.count("\n") < 9, said
        assert not temporary_files(folder / "data", but=NEW)  # which is complete, and read as such
        left = (parent / f"{folder.name}-temporary").iterdir()
        assert not [
            path for path in left if not path.name.startswith("torchinductor")
        ]  # PyTorch keeps a cache
    check_whole(contents(folder), run)
    status, said = finish(start("count", folder, scenario.program, scenario.arguments))
    assert status == 0, f"the next run fails: {said}"
    assert contents(folder) == run.new
    assert not temporary_files(folder / "data")
    shutil.rmtree(folder)


@pytest.mark.full
@pytest.mark.parametrize("name", SCENARIOS)
def test_kills(name: str, tmp_path: Path) -> None:
    scenario = SCENARIOS[name]
    if missing := [module for module in scenario.needs if not find_spec(module)]:
        pytest.skip(f"{missing[0]} is not installed")
    skip_unless_asked(f"kill {name}")
    run = undisturbed(scenario, tmp_path)
    run_cases(
        f"kill {name}", PER_WEIGHT * scenario.weight, lambda rng: kill_once(scenario, run, rng, tmp_path)
    )


@pytest.mark.full
def test_a_corpus_of_two_sources_is_never_taken_for_one(tmp_path: Path) -> None:
    """After a kill, a run without --force ends with all splits of one source."""
    skip_unless_asked("mixed corpus")
    scenario = SCENARIOS["wikitext2 from another"]
    run = undisturbed(scenario, tmp_path)

    def once(rng: random.Random) -> None:
        folder = copied(run.template, rng, tmp_path)
        finish(start(f"kill:9:{rng.randint(1, run.events)}", folder, scenario.program, scenario.arguments))
        again = tuple(argument for argument in scenario.arguments if argument != "--force")
        status, said = finish(start("count", folder, scenario.program, again))
        assert status == 0, said
        assert contents(folder) in (run.old, run.new)

    run_cases("mixed corpus", 12, once)


def test_a_few_kills(tmp_path: Path) -> None:
    skip_unless_asked("a few kills")
    scenario = SCENARIOS["encode-splits of another"]
    run = undisturbed(scenario, tmp_path)
    run_cases("a few kills", 4, lambda rng: kill_once(scenario, run, rng, tmp_path))
