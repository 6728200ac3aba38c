"""What every run of pytest on this checkout shares, be it `make test`, `pytest notebooks` or one notebook.

It is in the root because pytest reads it there from wherever it is started, and whatever it is told to run.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path

import nbformat
import pytest

from bpe import corpora, pretrained

# Kernels and subprocesses inherit both. Two test processes with two threads each on two cores wait for one
# another most of the time; and without UTF-8 mode, Python on Windows prints in the encoding of the country.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("PYTHONUTF8", "1")

# Options of plugins, which the command line may override. In pyproject.toml they would be errors if a plugin
# is switched off, as with `-p no:xdist`, and the path would start at the working directory.
OPTIONS = {
    "nbval": True,
    "nbval_current_env": True,
    "nbval_cell_timeout": 300.0,  # seconds
    "nbval_sanitize_with": str(Path(__file__).resolve().parent / "tests" / "nbval_sanitize.cfg"),
    # One process takes all cells of a notebook: loadscope. Files keep their order: those with the fewest
    # tests would otherwise come last, and ours of that kind take longest.
    "numprocesses": 2,
    "dist": "loadscope",
    "loadscopereorder": False,
}


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Set the options; the command line is parsed after this, so it has the last word."""
    vars(pluginmanager.get_plugin("pytestconfig").option).update(OPTIONS)


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
