"""environment.yml, pyproject.toml and .ci/constraints.txt name the same versions."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from bpe import pretrained

CHECKOUT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENVIRONMENT = yaml.safe_load((CHECKOUT / "environment.yml").read_text(encoding="utf-8"))
OPTIONAL = PROJECT["optional-dependencies"]
CARRIERS = OPTIONAL["vocabularies"]  # nothing of them is installed
MEASURED = OPTIONAL["bench"]  # installed by `make bench` alone
EXTRAS = [line for extra in ("course", "fast", "test") for line in OPTIONAL[extra]]


def versions(lines: list[str]) -> dict[str, SpecifierSet]:
    """Name of the package -> the versions asked for."""
    requirements = [Requirement(line) for line in lines]
    return {canonicalize_name(requirement.name): requirement.specifier for requirement in requirements}


def constraints() -> dict[str, SpecifierSet]:
    lines = (CHECKOUT / ".ci" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return versions([line for line in lines if not line.startswith("#")])


def pip_lines() -> list[str]:
    return next(part["pip"] for part in ENVIRONMENT["dependencies"] if isinstance(part, dict))


def test_environment_names_the_packages_of_the_extras_and_their_versions() -> None:
    assert versions(pip_lines()[:-1]) == versions(EXTRAS)


def test_environment_installs_the_course_itself() -> None:
    assert pip_lines()[-1] == "-e .[course,fast,test]"


def test_environment_has_a_python_that_the_course_allows() -> None:
    python = ENVIRONMENT["dependencies"][0].removeprefix("python=")
    assert SpecifierSet(PROJECT["requires-python"]).contains(python)


def test_every_pin_is_exact_and_a_constraint_too() -> None:
    pinned = constraints()
    assert all(str(specifier).startswith("==") for specifier in pinned.values())
    wanted = versions([*EXTRAS, *CARRIERS, *MEASURED])
    assert {name: pinned.get(name) for name in wanted} == wanted


def test_carriers_are_those_that_the_module_opens() -> None:
    files = [file for vocabulary in pretrained.known().values() for file in vocabulary.files]
    assert sorted({file.carrier.requirement for file in files}) == CARRIERS


def test_no_extra_is_forgotten() -> None:
    assert set(OPTIONAL) == {"course", "fast", "test", "vocabularies", "bench"}


@pytest.mark.parametrize("line", PROJECT["dependencies"])
def test_light_dependencies_have_a_lower_bound_that_the_constraint_meets(line: str) -> None:
    requirement = Requirement(line)
    assert str(requirement.specifier).startswith(">=")
    (exact,) = constraints()[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(exact.version)


def test_what_the_course_needs_is_constrained_and_so_is_all_that_comes_along() -> None:
    assert reached("bpe-course", {"course", "test"}) <= set(constraints())


def reached(name: str, extras: set[str], seen: set[str] | None = None) -> set[str]:
    """The installed packages that a package asks for, directly or not, without itself."""
    seen = set() if seen is None else seen
    for line in metadata.requires(name) or []:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in ["", *extras]):
            continue
        needed = canonicalize_name(requirement.name)
        # CUDA's packages come with torch on some machines; torch itself pins them.
        if needed not in seen and not needed.startswith(("nvidia-", "cuda-", "triton")):
            seen.add(needed)
            reached(needed, requirement.extras, seen)
    return seen
