"""The pins meet what pyproject.toml asks for, and environment.yml repeats them. No test needs a network."""

from __future__ import annotations

import tomllib

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
