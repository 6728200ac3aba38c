"""The learner's cells: the line that failed, and cells that failed to define what is checked."""

import json
import linecache
import os
import subprocess
import sys
import textwrap

import pytest

from bpe.checks import cells, exercise
from bpe.checks.cells import Cells, find_line


@exercise()
def exercise_1(double):
    return None if list(map(double, (1, 5))) == [2, 10] else "not doubled"


def make(source, name="double", file="<cell 7>"):
    """Run a cell, and return what it defines under the name."""
    source = textwrap.dedent(source)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace = {"__name__": "__main__"}
    exec(compile(source, file, "exec"), namespace)
    return namespace[name]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (
            "def double(n):\n    y = [n]\n    return y[5]",
            "IndexError: list index out of range (line 3: `return y[5]`)",
        ),
        (
            "double = lambda n: n / 0",
            "double(1) raised ZeroDivisionError: division by zero (line 1: `double =",
        ),
        (
            "def half(n):\n    return n / 0\ndef double(n):\n    return 4 * half(n)",
            "double(1) raised ZeroDivisionError: division by zero (line 2: `return n / 0`)",
        ),
        (
            "import json\ndef double(n):\n    return json.loads(\n        'moon')",
            "Expecting value: line 1 column 1 (char 0) (line 3: `return json.loads(`)",
        ),
        (
            "def double(n):\n    yield n\n    raise ValueError('no')",
            "ValueError: no (line 3: `raise ValueError('no')`)",
        ),
    ],
)
def test_the_line_is_the_learners(said, source, told):
    assert told in said(exercise_1, make(source))


def test_a_helper_in_another_cell_counts(said):
    half = make("\n\ndef half(n):\n    return n.x", "half", "<cell 3>")

    def double(n):
        return 4 * half(n)

    assert "(line 4: `return n.x`)" in said(exercise_1, double)


def test_a_line_without_source_has_a_number(said):
    namespace = {}
    exec("def double(n):\n    return n.x", namespace)
    assert said(exercise_1, namespace["double"]).endswith("(line 2)")


def test_nobodys_line():
    try:
        json.loads("moon")
    except ValueError as error:
        assert find_line(error, []) == ""


def test_a_long_line_is_cut(said):
    told = said(exercise_1, make(f"def double(n):\n    return n.x + {'+'.join(['1'] * 100)}"))
    assert "`return n.x + 1+1" in told
    assert told.endswith("…`)")


# -- cells that failed --------------------------------------------------------------------------------------


def old(n):
    return n


def new(n):
    return n


def syntax_error(line="def double(n:"):
    return SyntaxError("'(' was never closed", ("<cell>", 3, 11, line, 3, 0))


def test_a_cell_that_failed_leaves_the_old_function():
    followed = Cells()
    followed.begin({"double"}, {"double": old})
    followed.end({"double"}, {"double": old}, syntax_error())
    assert followed.why_stale("double", old) == "SyntaxError in line 3: `def double(n:`"
    assert followed.why_stale("double", new) is None
    assert followed.why_stale("half", old) is None
    followed.begin({"half"}, {"double": old})  # another cell changes nothing
    followed.end({"half"}, {"double": old, "half": new}, None)
    assert followed.why_stale("double", old)
    followed.begin({"double"}, {"double": old})
    followed.end({"double"}, {"double": new}, None)
    assert followed.why_stale("double", new) is None


def test_a_cell_that_failed_after_the_definition():
    followed = Cells()
    followed.begin({"double"}, {"double": old})
    followed.end({"double"}, {"double": new}, ValueError("later"))
    assert followed.why_stale("double", new) is None


def test_a_cell_that_failed_before_the_definition():
    followed = Cells()
    followed.begin({"double"}, {"double": old})
    followed.end({"double"}, {"double": old}, ModuleNotFoundError("No module named 'nympy'"))
    assert followed.why_stale("double", old) == "ModuleNotFoundError"


def test_a_first_definition_that_failed():
    followed = Cells()
    followed.begin({"double"}, {})
    followed.end({"double"}, {}, syntax_error())
    assert followed.why_stale("double", old) is None


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("def double(n:\n    return 2 * n", {"double"}),
        ("import re\n\nasync def one(): ...\ndef two(): ...", {"one", "two"}),
        ("counterexample = ('a'\nx == 3", {"counterexample"}),
        ("double(3)", set()),
        (None, set()),
    ],
)
def test_what_a_cell_defines(cell, names):
    class Info:
        raw_cell = cell

    assert cells._find_names(Info) == names


def test_a_stale_answer_is_not_judged(said, monkeypatch):
    monkeypatch.setitem(cells.CELLS.stale, "double", (old, "SyntaxError in line 3: `def double(n:`"))
    old.__name__ = "double"
    assert said(exercise_1, old) == (
        "exercise 1: not checked. The cell that defines `double` failed "
        "(SyntaxError in line 3: `def double(n:`), so `double` is still what it was before. "
        "Mend that cell and run it, then this one."
    )


CELLS = [
    "from bpe.checks import chapter_00 as check, record\nfrom pathlib import Path\n"
    "record._files.checkout = lambda: Path('{folder}')",
    "def spaced(text): ...",
    "check.exercise_1(spaced)  # unattended\nprint('kept:', list(Path('{folder}/work').iterdir()))",
    "check.exercise_1(spaced)",
    "def spaced(text:\n    return ' '.join(text)",
    "check.exercise_1(spaced)",
    "def spaced(text):\n    return ' '.join(text)",
    "check.exercise_1(spaced)",
    "check.hint(1)",
    "from bpe.checks import progress_line\nprint(progress_line())",
]


def test_in_a_kernel(tmp_path):
    """A learner's way through an exercise, with a SyntaxError; the verdicts are kept."""
    (tmp_path / "work").mkdir()
    cells_there = [cell.replace("{folder}", tmp_path.as_posix()) for cell in CELLS]
    code = f"""
        from jupyter_client.manager import run_kernel
        with run_kernel(kernel_name="python3") as client:
            for cell in {cells_there!r}:
                watched = "unattended" not in cell  # nbval and nbclient cannot answer `input`
                client.execute_interactive(cell, timeout=60, allow_stdin=watched)
    """
    environment = {
        key: value for key, value in os.environ.items() if key not in ("CI", "PYTEST_CURRENT_TEST")
    }
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        env=environment,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("exercise")]
    assert lines[0] == lines.pop(1) == "exercise 1: not started"
    assert "kept: []\n" in done.stdout
    assert lines[1].startswith(
        "exercise 1: not checked. The cell that defines `spaced` failed (SyntaxError in line"
    )
    assert lines[2] == "exercise 1: correct"
    assert lines[3].startswith("exercise 1, hint 1 of 3: A space goes between two characters")
    assert " exercises done, 0 begun. Next: exercise 1 of chapter 01." in done.stdout
    assert json.loads((tmp_path / "work" / "progress.json").read_text(encoding="utf-8")) == {
        "version": 1,
        "exercises": {"00.1": {"latest": "correct", "reached": True}},
    }
