"""Rules for stored notebooks that nbval does not check. Each rule yields its violations, in words.

nbval runs the cells and compares text. It does not notice a cell that was never run, the order of the
cells, stored warnings and errors, or pictures, all of which a reader sees.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from bpe import corpora, pretrained

CHECKOUT = Path(__file__).resolve().parent.parent
LONGEST_CELL = 40
PROGRESS_BAR = re.compile(r"\d+%\|")
ABSOLUTE_PATH = re.compile(
    r"(?<![\w./:-])/(?:home|root|Users|tmp|var|usr|opt|mnt|private)/|\b[A-Z]:\\+Users|ipykernel_\d+"
)
RELATIVE_LINK = re.compile(r"\]\(([^):#]+\.ipynb)\)")
SECTIONS = ("## Self-test", "## Exercises")
QUESTIONS = 3
SHORTEST_ALT = 30
# Chinese that neither a meaning in brackets nor one after a comma follows.
BARE_CHINESE = re.compile(r"[\u3400-\u9fff]+(?![\u3400-\u9fff]| \(|, [a-z])")


def problems(path: Path) -> list[str]:
    """Return the violations of all rules in one stored notebook."""
    notebook = nbformat.read(path, as_version=4)
    rules = [metadata, widgets, execution_order, plain_python, short_cells, outputs, figures]
    if path.parent.name != "solutions":
        rules.append(sections)
    found = [problem for rule in rules for problem in rule(notebook)]
    return [*found, *dead_links(notebook, path.parent)]


def metadata(notebook: NotebookNode) -> Iterator[str]:
    """The metadata say what the notebook needs and name no particular version of Python."""
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        yield "the kernel must be python3"
    if "version" in notebook.metadata.get("language_info", {}):
        yield "metadata name a version of Python: store it with `make notebooks`"
    course = notebook.metadata.get("course", {})
    for key, otherwise in (("corpora", None), ("extras", None), ("vocabularies", [])):
        names = course.get(key, otherwise)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            yield f"metadata lack course.{key}, a list of names"
    for name in course.get("corpora") or []:
        if name not in corpora.FILES:
            yield f"course.corpora holds {name!r}, which bpe.corpora does not know"
    for name in course.get("vocabularies") or []:
        if name not in pretrained.known():
            yield f"course.vocabularies holds {name!r}, which bpe.pretrained does not know"
    if not isinstance(course.get("minutes"), int):
        yield "metadata lack course.minutes, a whole number"


def widgets(notebook: NotebookNode) -> Iterator[str]:
    """No state of a widget is stored: it is useless without its kernel."""
    if "widgets" in notebook.metadata:
        yield "metadata hold the state of widgets: store it with `make notebooks`"
    for number, _, output in stored_outputs(notebook):
        if any("widget" in kind for kind in output.get("data", {})):
            yield f"cell {number}: a stored widget: store it with `make notebooks`"


def execution_order(notebook: NotebookNode) -> Iterator[str]:
    """Every cell was run once, from top to bottom, except empty cells, which the reader fills."""
    expected = 1
    for number, cell in code_cells(notebook):
        count = cell.execution_count
        if not cell.source.strip():
            if count is not None or cell.outputs:
                yield f"cell {number}: empty, but with a count or outputs"
        elif count is None:
            yield f"cell {number}: never run"
        elif count != expected:
            yield f"cell {number}: run as number {count}, not {expected}"
        expected += bool(cell.source.strip())


def plain_python(notebook: NotebookNode) -> Iterator[str]:
    """No magics and no shell commands: nbval passes unknown and failing ones."""
    for number, cell in code_cells(notebook):
        try:
            ast.parse(cell.source)
        except SyntaxError as error:
            yield f"cell {number}: not plain Python: {error.msg}, line {error.lineno}"


def short_cells(notebook: NotebookNode) -> Iterator[str]:
    """Every cell fits on a screen."""
    for number, cell in code_cells(notebook):
        if (lines := len(cell.source.splitlines())) > LONGEST_CELL:
            yield f"cell {number}: {lines} lines of code, more than {LONGEST_CELL}"


def outputs(notebook: NotebookNode) -> Iterator[str]:
    """No warnings, untagged errors, progress bars, or paths of one machine are stored."""
    for number, cell, output in stored_outputs(notebook):
        tags = cell.metadata.get("tags", [])
        if output.get("name") == "stderr":
            yield f"cell {number}: stored stderr: {output.text.strip()[:80]}"
        if output.output_type == "error" and "raises-exception" not in tags:
            yield f"cell {number}: a stored {output.ename} without the tag raises-exception"
        text = shown_text(output)
        if PROGRESS_BAR.search(text):
            yield f"cell {number}: a stored progress bar"
        if found := ABSOLUTE_PATH.search(text) or re.search(re.escape(str(CHECKOUT)), text):
            yield f"cell {number}: a path of one machine: …{text[found.start() :][:60]}"


def figures(notebook: NotebookNode) -> Iterator[str]:
    """Every picture has an alternative text, more than its title, with the meaning of what is Chinese."""
    for number, cell, output in stored_outputs(notebook):
        for kind in output.get("data", {}):
            if not kind.startswith("image/"):
                continue
            alt = output.metadata.get(kind, {}).get("alt", "")
            if len(alt) < SHORTEST_ALT:
                yield f"cell {number}: an alternative text of {len(alt)} characters: use show.figure"
            if alt and strings(cell.source).count(alt.rstrip(".")) > 1:
                yield f"cell {number}: an alternative text that only repeats the title"
            if found := BARE_CHINESE.search(alt):
                yield f"cell {number}: an alternative text that does not say what {found[0]} means"


def strings(source: str) -> list[str]:
    """Return the strings in a cell's code, without their line ends and the last full stop."""
    nodes = ast.walk(ast.parse(source))
    found = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [" ".join(text.split()).rstrip(".") for text in found]


def sections(notebook: NotebookNode) -> Iterator[str]:
    """A chapter ends with self-test questions, whose answers are folded, and exercises."""
    prose = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    lines = [line.strip() for text in prose for line in text.splitlines()]
    for section in SECTIONS:
        if section not in lines:
            yield f"no section {section!r}"
    if (folded := sum(text.count("<details>") for text in prose)) < QUESTIONS:
        yield f"{folded} folded answers (<details>), fewer than {QUESTIONS}"


def dead_links(notebook: NotebookNode, folder: Path) -> Iterator[str]:
    """Every relative link leads to a file, from a chapter and from its working copy in work/."""
    for number, cell in enumerate(notebook.cells, 1):
        for link in RELATIVE_LINK.findall(cell.source) if cell.cell_type == "markdown" else ():
            if not (folder / link).is_file():
                yield f"cell {number}: a link to {link}, which does not exist"
            elif folder.name == "notebooks" and link.startswith("solutions"):
                yield f"cell {number}: the link {link} leads nowhere from work/: put ../notebooks/ before it"


def unpaired(folder: Path) -> list[str]:
    """Report chapters without solutions, and solutions without a chapter."""
    chapters = {path.stem for path in folder.glob("*.ipynb")}
    solutions = {path.stem.removesuffix("_solutions") for path in folder.glob("solutions/*_solutions.ipynb")}
    return [f"{name}: no solutions" for name in sorted(chapters - solutions)] + [
        f"solutions/{name}_solutions: no chapter" for name in sorted(solutions - chapters)
    ]


def code_cells(notebook: NotebookNode) -> Iterator[tuple[int, NotebookNode]]:
    """Yield the code cells with their numbers, which count all cells from 1."""
    return ((n, cell) for n, cell in enumerate(notebook.cells, 1) if cell.cell_type == "code")


def stored_outputs(notebook: NotebookNode) -> Iterator[tuple[int, NotebookNode, NotebookNode]]:
    """Yield each output with the number of its cell and the cell."""
    return ((n, cell, output) for n, cell in code_cells(notebook) for output in cell.outputs)


def shown_text(output: NotebookNode) -> str:
    """Return the text of an output: streams, tracebacks, and all data except images."""
    data = output.get("data", {})
    words = [str(value) for kind, value in data.items() if not kind.startswith("image/")]
    return "\n".join([output.get("text", ""), *output.get("traceback", []), *words])
