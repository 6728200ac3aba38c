"""The stored notebooks keep the rules; the rules and nbval notice each kind of mistake."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import notebook_rules
import pytest
from jupyter_client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

TESTS = Path(__file__).resolve().parent
CHECKOUT = TESTS.parent
NOTEBOOKS = CHECKOUT / "notebooks"
OURS = {"CI", "BPE_PROGRESS", "OMP_NUM_THREADS", "PYTHONUTF8"}  # variables that change how notebooks run
STORED = sorted(NOTEBOOKS.rglob("[0-9]*.ipynb"))

PROSE = "## Self-test\n" + "<details>an answer</details>\n" * 3 + "## Exercises\n"


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.relative_to(NOTEBOOKS).as_posix())
def test_stored_notebook_keeps_the_rules(path: Path) -> None:
    problems = notebook_rules.problems(path)
    assert not problems, "\n".join(problems)


def test_every_chapter_has_solutions_and_vice_versa() -> None:
    assert notebook_rules.unpaired(NOTEBOOKS) == []


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("[0-9]*.ipynb")), ids=lambda path: path.name)
def test_readme_lists_each_chapter_with_its_minutes(path: Path) -> None:
    minutes = nbformat.read(path, as_version=4).metadata.course.minutes
    lines = (CHECKOUT / "README.md").read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in lines if f"(notebooks/{path.name})" in line]
    assert line.endswith(f"| {minutes} |")


def printing(source: str, text: str, count: int | None) -> NotebookNode:
    """Make a code cell with a stored output on stdout."""
    return new_code_cell(source, execution_count=count, outputs=[new_output("stream", text=text)])


def good_notebook() -> NotebookNode:
    """Make a chapter of three cells that keeps all rules."""
    cells = [new_markdown_cell(PROSE), printing("print(6 * 7)", "42\n", 1), printing("print(1)", "1\n", 2)]
    metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "course": {"corpora": [], "extras": [], "minutes": 1},
    }
    return new_notebook(cells=cells, metadata=metadata)


def write(notebook: NotebookNode, folder: Path) -> Path:
    path = folder / "98_small.ipynb"
    nbformat.write(notebook, path)
    return path


def never_run(notebook: NotebookNode) -> None:
    notebook.cells[2].update(execution_count=None, outputs=[])


def run_out_of_order(notebook: NotebookNode) -> None:
    notebook.cells[1].execution_count, notebook.cells[2].execution_count = 2, 1


def stored_stderr(notebook: NotebookNode) -> None:
    notebook.cells[1].outputs.append(new_output("stream", name="stderr", text="a warning\n"))


def stored_error(notebook: NotebookNode) -> None:
    notebook.cells[1].outputs.append(new_output("error", ename="KeyError", evalue="'x'", traceback=[]))


def long_cell(notebook: NotebookNode) -> None:
    notebook.cells[1].source = "x = 1\n" * 41


def widget_state(notebook: NotebookNode) -> None:
    notebook.metadata["widgets"] = {}


def stored_widget(notebook: NotebookNode) -> None:
    data = {"application/vnd.jupyter.widget-view+json": {"model_id": "0"}}
    notebook.cells[1].outputs.append(new_output("display_data", data=data))


def progress_bar(notebook: NotebookNode) -> None:
    notebook.cells[1].outputs[0].text = " 40%|####      | 4/10 [00:01<00:01]\n"


def other_kernel(notebook: NotebookNode) -> None:
    notebook.metadata.kernelspec.name = "my-env"


def python_version(notebook: NotebookNode) -> None:
    notebook.metadata["language_info"] = {"name": "python", "version": "3.12.1"}


def no_metadata(notebook: NotebookNode) -> None:
    del notebook.metadata["course"]


def unknown_corpus(notebook: NotebookNode) -> None:
    notebook.metadata.course.corpora = ["tang_poem"]


def unknown_vocabulary(notebook: NotebookNode) -> None:
    notebook.metadata.course["vocabularies"] = ["gpt4", "gpt3"]


def no_list_of_vocabularies(notebook: NotebookNode) -> None:
    notebook.metadata.course["vocabularies"] = "gpt4"


def magic(notebook: NotebookNode) -> None:
    notebook.cells[1].source = "%tiemit 6 * 7"


def shell_command(notebook: NotebookNode) -> None:
    notebook.cells[1].source = "files = !ls"


def home_folder(notebook: NotebookNode) -> None:
    notebook.cells[1].outputs[0].text = "read from /home/ada/poems.txt\n"


def this_checkout(notebook: NotebookNode) -> None:
    notebook.cells[1].outputs[0].text = f"{TESTS}"


def dead_link(notebook: NotebookNode) -> None:
    notebook.cells[0].source += "[a chapter](99_nothing.ipynb) [a page](https://example.org/a.ipynb)"


def no_sections(notebook: NotebookNode) -> None:
    notebook.cells[0].source = "# A chapter"


def picture(notebook: NotebookNode, alt: str, source: str = "") -> None:
    output = new_output("display_data", {"image/png": "iVBORw0KGgo="}, metadata={"image/png": {"alt": alt}})
    notebook.cells[1].outputs.append(output)
    notebook.cells[1].source += source


def short_alt(notebook: NotebookNode) -> None:
    picture(notebook, "a curve")


def no_alt(notebook: NotebookNode) -> None:
    picture(notebook, "")
    notebook.cells[1].outputs[1].metadata = {}


def title_as_alt(notebook: NotebookNode) -> None:
    title = "The length of the paragraph after each merge"
    picture(notebook, f"{title}.", f"\nshow.axes('{title}'); show.figure('{title}.')")


def chinese_alt(notebook: NotebookNode) -> None:
    picture(notebook, "Bars: 月光 (moonlight) occurs 50 times, 山 (mountain) 42, and 明月 28 times.")


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (short_alt, ["cell 2: an alternative text of 7 characters: use show.figure"]),
        (no_alt, ["cell 2: an alternative text of 0 characters: use show.figure"]),
        (title_as_alt, ["cell 2: an alternative text that only repeats the title"]),
        (chinese_alt, ["cell 2: an alternative text that does not say what 明月 means"]),
        (never_run, ["cell 3: never run"]),
        (run_out_of_order, ["cell 2: run as number 2, not 1", "cell 3: run as number 1, not 2"]),
        (stored_stderr, ["cell 2: stored stderr: a warning"]),
        (stored_error, ["cell 2: a stored KeyError without the tag raises-exception"]),
        (long_cell, ["cell 2: 41 lines of code, more than 40"]),
        (widget_state, ["metadata hold the state of widgets: store it with `make notebooks`"]),
        (stored_widget, ["cell 2: a stored widget: store it with `make notebooks`"]),
        (progress_bar, ["cell 2: a stored progress bar"]),
        (other_kernel, ["the kernel must be python3"]),
        (python_version, ["metadata name a version of Python: store it with `make notebooks`"]),
        (
            no_metadata,
            [
                "metadata lack course.corpora, a list of names",
                "metadata lack course.extras, a list of names",
                "metadata lack course.minutes, a whole number",
            ],
        ),
        (unknown_corpus, ["course.corpora holds 'tang_poem', which bpe.corpora does not know"]),
        (unknown_vocabulary, ["course.vocabularies holds 'gpt3', which bpe.pretrained does not know"]),
        (
            no_list_of_vocabularies,
            [
                "metadata lack course.vocabularies, a list of names",
                *(
                    f"course.vocabularies holds {letter!r}, which bpe.pretrained does not know"
                    for letter in "gpt4"
                ),
            ],
        ),
        (magic, ["cell 2: not plain Python: invalid syntax, line 1"]),
        (shell_command, ["cell 2: not plain Python: invalid syntax, line 1"]),
        (home_folder, ["cell 2: a path of one machine: …/home/ada/poems.txt\n"]),
        (this_checkout, [f"cell 2: a path of one machine: …{str(TESTS)[:60]}"]),
        (dead_link, ["cell 1: a link to 99_nothing.ipynb, which does not exist"]),
        (
            no_sections,
            [
                "no section '## Self-test'",
                "no section '## Exercises'",
                "0 folded answers (<details>), fewer than 3",
            ],
        ),
    ],
)
def test_broken_rule_is_reported(
    tmp_path: Path, spoil: Callable[[NotebookNode], None], expected: list[str]
) -> None:
    notebook = good_notebook()
    assert notebook_rules.problems(write(notebook, tmp_path)) == []
    spoil(notebook)
    assert notebook_rules.problems(write(notebook, tmp_path)) == expected


def test_empty_cell_need_not_be_run_and_tagged_error_may_stay(tmp_path: Path) -> None:
    notebook = good_notebook()
    stored_error(notebook)
    notebook.cells[1].metadata["tags"] = ["raises-exception"]
    notebook.cells.insert(2, new_code_cell(""))
    assert notebook_rules.problems(write(notebook, tmp_path)) == []


def test_chapter_without_solutions_and_solutions_without_chapter(tmp_path: Path) -> None:
    (tmp_path / "solutions").mkdir()
    for name in ("01_a", "02_b", "solutions/02_b_solutions", "solutions/03_c_solutions"):
        (tmp_path / f"{name}.ipynb").touch()
    assert notebook_rules.unpaired(tmp_path) == [
        "01_a: no solutions",
        "solutions/03_c_solutions: no chapter",
    ]


def changed_number() -> NotebookNode:
    notebook = good_notebook()
    notebook.cells[1].outputs[0].text = "43\n"
    return notebook


def other_durations() -> NotebookNode:
    """Make a notebook with another duration in the first cell and another number in the second."""
    notebook = good_notebook()
    notebook.cells[1:] = [
        printing("print('2.0 s, 1.5 bytes')", "1.0 s, 1.5 bytes\n", 1),
        printing("print('2.0 s, 1.5 bytes')", "1.0 s, 2.5 bytes\n", 2),
    ]
    return notebook


def needing(corpora: list[str], extras: list[str], vocabularies: list[str]) -> NotebookNode:
    notebook = good_notebook()
    notebook.metadata.course.update(corpora=corpora, extras=extras, vocabularies=vocabularies)
    return notebook


def nbval(folder: Path, **environment: str) -> dict[str, list[str]]:
    """Run the notebooks in a folder as `make test` does, with the same conftest and options.

    Returns notebook -> for each cell "passed", "failed", or the reason for skipping it.
    """
    arguments = ["-n", "0", "-c", CHECKOUT / "pyproject.toml", CHECKOUT / "conftest.py", folder]
    return outcomes(arguments, CHECKOUT, folder / "report.xml", **environment)


def outcomes(
    arguments: Sequence[object], folder: Path, report: Path, **environment: str
) -> dict[str, list[str]]:
    """Run pytest in a folder, with none of our own variables; return its outcomes as `nbval` does."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}"]
    inherited = {name: value for name, value in os.environ.items() if name not in OURS}
    subprocess.run(
        [*command, *map(str, arguments)],
        cwd=folder,
        env=inherited | environment,
        capture_output=True,
        timeout=300,
        check=False,
    )
    found: dict[str, list[str]] = {}
    for cell in ElementTree.parse(report).iter("testcase"):
        notebook = cell.attrib["classname"].split(".")[-2]
        found.setdefault(notebook, []).append(outcome(cell))
    return found


def outcome(cell: ElementTree.Element) -> str:
    skipped = cell.find("skipped")
    if skipped is not None:
        return skipped.attrib["message"]
    return "passed" if cell.find("failure") is None and cell.find("error") is None else "failed"


def test_nbval_compares_and_conftest_skips(tmp_path: Path) -> None:
    notebooks = {
        "good": good_notebook(),
        "changed": changed_number(),
        "durations": other_durations(),
        "ready": needing(["tang_poems"], ["json"], []),
        "lacking": needing(["tang_poems", "wikitext2"], ["json", "no_such_module"], ["qwen"]),
    }
    for name, notebook in notebooks.items():
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    (tmp_path / "tang_poems.txt").touch()
    (tmp_path / "wikitext2").mkdir()
    for split in ("train", "valid"):
        (tmp_path / "wikitext2" / f"{split}.txt").touch()
    gone = tmp_path / "wikitext2" / "test.txt"
    vocabulary = tmp_path / "vocabularies" / "qwen.tiktoken"
    reason = f"lacking.ipynb needs the corpus {gone}, the vocabulary {vocabulary}, the package no_such_module"
    assert nbval(tmp_path, BPE_DATA=str(tmp_path)) == {
        "good": ["passed", "passed"],
        "changed": ["failed", "passed"],
        "durations": ["passed", "failed"],
        "ready": ["passed", "passed"],
        "lacking": [reason, reason],
    }


def test_ci_skips_no_notebook(tmp_path: Path) -> None:
    nbformat.write(needing(["gone"], ["no_such_module"], ["gone"]), tmp_path / "lacking.ipynb")
    assert nbval(tmp_path, BPE_DATA=str(tmp_path), CI="true") == {"lacking": ["passed", "passed"]}


BAR = """from bpe._progress import show_progress
print(sum(show_progress([1, 2], 2, None, delay=0)))"""
SURROUNDINGS = """import os, sys
print(os.environ["OMP_NUM_THREADS"], sys.flags.utf8_mode)"""


@pytest.fixture(scope="module")
def small_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like the checkout, with one notebook, the same as a chapter and as its solutions."""
    root = tmp_path_factory.mktemp("course")
    for name in ("pyproject.toml", "conftest.py", "tests/nbval_sanitize.cfg"):
        (root / name).parent.mkdir(exist_ok=True)
        shutil.copy(CHECKOUT / name, root / name)
    notebook = other_durations()
    notebook.cells += [printing(BAR, "3\n", 3), printing(SURROUNDINGS, "1 1\n", 4)]
    for name in ("notebooks/98_small.ipynb", "notebooks/solutions/98_small.ipynb"):
        (root / name).parent.mkdir()
        nbformat.write(notebook, root / name)
    nbformat.write(needing(["tang_poems"], ["no_such_module"], []), root / "notebooks" / "99_lacking.ipynb")
    return root


@pytest.mark.parametrize(
    ("folder", "arguments"),
    [
        (".", ["notebooks/98_small.ipynb"]),
        (".", ["--nbval", "notebooks/98_small.ipynb"]),
        (".", ["-p", "no:xdist", "notebooks/solutions/98_small.ipynb"]),
        ("notebooks", ["-n0", "98_small.ipynb"]),
        ("..", ["-n0", "{root}/notebooks/98_small.ipynb"]),
        ("..", ["{root}/notebooks/solutions"]),
    ],
    ids=str,
)
def test_every_way_of_running_a_notebook_is_the_same(
    small_course: Path, tmp_path: Path, folder: str, arguments: list[str]
) -> None:
    given = [argument.format(root=small_course) for argument in arguments]
    found = outcomes(given, small_course / folder, tmp_path / "report.xml")
    assert found == {"98_small": ["passed", "failed", "passed", "passed"]}


def test_all_notebooks_by_hand(small_course: Path, tmp_path: Path) -> None:
    found = outcomes(["-n0"], small_course / "notebooks", tmp_path / "report.xml", BPE_DATA=str(tmp_path))
    reason = f"99_lacking.ipynb needs the corpus {tmp_path / 'tang_poems.txt'}, the package no_such_module"
    assert found == {
        "98_small": ["passed", "failed", "passed", "passed"] * 2,
        "99_lacking": [reason, reason],
    }


def test_the_command_line_overrides_our_options(small_course: Path, tmp_path: Path) -> None:
    sanitizer = tmp_path / "all.cfg"
    sanitizer.write_text("[numbers]\nregex: [0-9]\nreplace: N\n", encoding="ascii")
    for options in (["--nbval-lax"], ["--nbval-sanitize-with", sanitizer]):
        arguments = ["-n0", *options, "notebooks/98_small.ipynb"]
        found = outcomes(arguments, small_course, tmp_path / "report.xml")
        assert found == {"98_small": ["passed"] * 4}


def test_a_notebook_has_a_progress_bar_only_if_someone_watches() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "BPE_PROGRESS")}
    manager, client = start_new_kernel(kernel_name="python3", env=environment)
    try:
        seen = [outputs_of(client, BAR, allow_stdin) for allow_stdin in (True, False)]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert "0/2" in seen[0]
    assert seen[1] == "3\n"


def outputs_of(client: BlockingKernelClient, source: str, allow_stdin: bool) -> str:
    """Run code in a kernel as a front end does that takes input, or none; return the text it prints."""
    printed: list[str] = []
    client.execute_interactive(
        source,
        allow_stdin=allow_stdin,
        timeout=60,
        output_hook=lambda message: printed.append(message["content"].get("text", "")),
    )
    return "".join(printed)
