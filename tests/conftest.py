"""What all tests share: hypothesis profiles, and when a notebook's cells are skipped."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import nbformat
import pytest
from hypothesis import settings

from bpe import corpora, pretrained

os.environ["BPE_PROGRESS"] = (
    "0"  # the kernels inherit it: a progress bar in an output is never the same twice
)

# Two test processes with two threads each on two cores wait for one another most of the time. Set before
# torch is imported; kernels and subprocesses inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No deadline: a first call may import much, and the machine may do other work too.
settings.register_profile("default", deadline=None)
settings.register_profile("full", deadline=None, max_examples=2_000)
settings.load_profile("default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips the cells of notebooks that lack corpora, vocabularies or packages. In CI they fail instead."""
    if os.environ.get("CI"):
        return
    reasons: dict[Path, str | None] = {}
    for item in items:
        if item.path.suffix == ".ipynb":
            if item.path not in reasons:
                reasons[item.path] = missing(item.path)
            if reason := reasons[item.path]:
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Names a case that is a lambda by the line it is on; otherwise pytest would only number it."""
    code = getattr(val, "__code__", None)
    return f"line {code.co_firstlineno}" if code and code.co_name == "<lambda>" else None


def missing(notebook: Path) -> str | None:
    """What a notebook's metadata asks for and this machine lacks, in words, or None."""
    needs = nbformat.read(notebook, as_version=4).metadata.get("course", {})
    lacks = [
        *missing_corpora(needs.get("corpora", [])),
        *missing_vocabularies(needs.get("vocabularies", [])),
        *missing_modules(needs.get("extras", [])),
    ]
    return f"{notebook.name} needs {', '.join(lacks)}" if lacks else None


def missing_corpora(names: Iterable[str]) -> list[str]:
    return [f"the corpus {path}" for name in names for path in corpora.missing_files(name)]


def missing_vocabularies(names: Iterable[str]) -> list[str]:
    return [f"the vocabulary {path}" for name in names for path in pretrained.missing(name)]


def missing_modules(names: Iterable[str]) -> list[str]:
    return [f"the package {name}" for name in names if importlib.util.find_spec(name) is None]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs the check of an exercise on answers, and gives what it printed."""

    def run(exercise: Callable[..., object], *answers: object) -> str:
        exercise(*answers)
        return capsys.readouterr().out.strip()

    return run
