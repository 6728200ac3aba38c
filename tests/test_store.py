"""notebooks/store.py stores the same bytes each time, and leaves a failing notebook as it was."""

from __future__ import annotations

from pathlib import Path

import nbformat
import store
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook


def stored(path: Path, *sources: str) -> Path:
    cells = [new_markdown_cell("Prose"), *map(new_code_cell, sources)]
    nbformat.write(new_notebook(cells=cells, metadata={"widgets": {}}), path)
    return path


def test_outputs_are_stored_and_the_same_when_run_again(tmp_path: Path) -> None:
    slider = "from ipywidgets import IntSlider\nIntSlider()"
    path = stored(tmp_path / "a.ipynb", "print('月')", "from pathlib import Path; Path.cwd().name", slider)
    assert store.store(path) == ""
    first = path.read_bytes()
    assert store.store(path) == ""
    assert path.read_bytes() == first

    notebook = nbformat.read(path, as_version=4)
    assert [cell.get("execution_count") for cell in notebook.cells] == [None, 1, 2, 3]
    assert notebook.cells[1].outputs[0].text == "月\n"
    assert notebook.cells[2].outputs[0].data["text/plain"] == repr(tmp_path.name)
    assert list(notebook.cells[3].outputs[0].data) == ["text/plain"]
    assert "widgets" not in notebook.metadata and "version" not in notebook.metadata.language_info
    assert not any(cell.metadata.get("execution") for cell in notebook.cells)
    assert list(tmp_path.iterdir()) == [path]


def test_a_failing_notebook_is_reported_with_its_cell_and_left_as_it_was(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.ipynb", "1", "nonsense", "2")
    before = path.read_bytes()
    problem = store.store(path)
    assert problem.startswith("cell 3 of 4 failed\n") and "NameError" in problem and "nonsense" in problem
    assert path.read_bytes() == before
