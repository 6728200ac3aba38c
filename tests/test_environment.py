"""The pins meet what pyproject.toml asks for, and environment.yml repeats them. No test needs a network."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import lock
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bpe import pretrained

PYPROJECT = tomllib.loads((lock.CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
WANTED = [
    *PYPROJECT["build-system"]["requires"],
    *PYPROJECT["project"]["dependencies"],
    *(line for extra in (*lock.EXTRAS, "bench") for line in EXTRAS[extra]),
]


PINS = [
    lock.without_hashes(pin).split(" ;")[0].split("==")
    for name in ("requirements", "torch", "bench")
    for pin in lock.pins(lock.read(name))
]


@pytest.mark.parametrize("line", WANTED)
def test_pins_meet_each_requirement(line: str) -> None:
    requirement = Requirement(line)
    name = canonicalize_name(requirement.name)
    versions = [version for pinned, version in PINS if pinned == name]
    assert versions and all(map(requirement.specifier.contains, versions)), "run `make lock`"


def test_environment_repeats_the_pins() -> None:
    environment = (lock.CHECKOUT / "environment.yml").read_text(encoding="utf-8")
    assert environment == lock.environment(lock.read("requirements"), lock.read("torch")), "run `make lock`"


def test_the_extra_of_vocabularies_names_the_packages_that_the_module_opens() -> None:
    files = [file for vocabulary in pretrained.known().values() for file in vocabulary.files]
    assert EXTRAS["vocabularies"] == sorted({file.carrier.requirement for file in files})


# --- how make installs, with a Python that only pretends to

needs_make = pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("make") is None, reason="there is no make"
)

# Makes a .venv whose Python writes down what it is asked for, and whether that .venv was made again since.
PRETENDS = f"""#!/bin/sh
if [ "$2" != venv ]; then exec '{sys.executable}' "$@"; fi
echo venv >> log
rm -rf .venv; mkdir -p .venv/bin; touch .venv/$$
cat > .venv/bin/python <<END
#!/bin/sh
echo "\\$2" >> log
sleep 0.1
test -e .venv/$$ || echo 'made again' >> log
END
chmod +x .venv/bin/python
"""
ONCE = ["venv", "pip", "pip", "pip", "bpe"]


def fresh_checkout(folder: Path) -> Path:
    (folder / ".ci").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", ".ci/alone.py", ".ci/requirements.txt", ".ci/torch.txt"):
        shutil.copy(lock.CHECKOUT / name, folder / name)
    (folder / "python").write_text(PRETENDS, encoding="utf-8")
    (folder / "python").chmod(0o755)
    return folder


def start_make(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = ["make", "PYTHON=./python", *(arguments or (".venv/installed",))]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )


def logged(folder: Path) -> list[str]:
    return (folder / "log").read_text(encoding="utf-8").splitlines()


@needs_make
@pytest.mark.parametrize("time", range(5))
def test_two_makes_at_once_install_once(tmp_path: Path, time: int) -> None:
    folder = fresh_checkout(tmp_path / "course")
    both = [start_make(folder), start_make(folder)]
    told = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert logged(folder) == ONCE
    assert sum("Another make is setting up the course" in stderr for _, stderr in told) == 1
    assert start_make(folder).communicate()[1] == ""
    assert logged(folder) == ONCE


@needs_make
def test_a_make_that_was_killed_holds_up_nobody(tmp_path: Path) -> None:
    folder = fresh_checkout(tmp_path / "course")
    first = start_make(folder)
    while not (folder / "log").exists():
        pass
    first.kill()
    first.communicate()
    assert start_make(folder).wait(timeout=60) == 0
    assert (folder / ".venv" / "installed").exists()
    assert "made again" not in logged(folder)


@needs_make
@pytest.mark.parametrize(
    "name", ["a b", " a ", "line\nfeed", "quotes'\"", "$HOME", "#hash", "100%", "back\\slash", "a;b", "月"]
)
def test_an_odd_path_installs_once(tmp_path: Path, name: str) -> None:
    folder = fresh_checkout(tmp_path / name / "course ")
    for _ in range(2):
        assert start_make(folder).wait(timeout=60) == 0
    assert logged(folder) == ONCE
    folder = folder.rename(folder.with_name("moved"))
    assert start_make(folder).wait(timeout=60) == 0
    assert logged(folder) == ONCE * 2


@needs_make
@pytest.mark.parametrize("path", ["a b", "it's", '"', "$(HOME)", "`x`", "#"])
def test_a_path_given_to_make_arrives_as_it_is(tmp_path: Path, path: str) -> None:
    folder = fresh_checkout(tmp_path / "course")
    command, _ = start_make(folder, "--dry-run", "data", f"POEMS_SOURCE={path}").communicate()
    line = next(line for line in command.splitlines() if "prepare_poems.py" in line)
    assert shlex.split(line)[-1] == path
