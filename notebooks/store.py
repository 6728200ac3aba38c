"""Runs the notebooks from top to bottom and stores their outputs.

    python notebooks/store.py           all chapters and solutions
    python notebooks/store.py 05 07     those whose names begin so

The stored files depend on nothing but the outputs: a second run gives the same bytes. A notebook that
fails is reported with its failing cell and stays as it was.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError
from nbclient.output_widget import OutputWidget
from nbformat import NotebookNode

CHAPTERS = Path(__file__).resolve().parent
WIDGET = "application/vnd.jupyter.widget-view+json"

# nbclient answers every change of an Output widget from within the handler of its messages, and with
# ipywidgets.interact now and then waits for ever. Nothing of a widget is stored, so no answer is needed.
OutputWidget.sync_state = lambda self: None


def run(notebook: NotebookNode, folder: Path) -> str | None:
    """Runs all cells in a fresh kernel, in the notebook's folder; returns what went wrong, or None."""
    begun = [0]
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
        on_cell_start=lambda cell, cell_index: begun.append(cell_index),
    )
    try:
        client.execute()
    except (CellControlSignal, DeadKernelError) as error:
        return f"cell {begun[-1] + 1} of {len(notebook.cells)} failed\n{error}"
    return None


def strip(notebook: NotebookNode) -> None:
    """Drops what differs from run to run or from machine to machine, and what no page can show."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET, None)


def write(notebook: NotebookNode, path: Path) -> None:
    """Writes through a temporary file, so that an interruption leaves the old notebook."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8", newline="\n")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def store(path: Path) -> str | None:
    """Runs one notebook and stores it; returns what went wrong, or None."""
    notebook = nbformat.read(path, as_version=4)
    if error := run(notebook, path.parent):
        return error
    strip(notebook)
    write(notebook, path)
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description="Run notebooks and store their outputs.")
    parser.add_argument("names", nargs="*", metavar="NB", help="how the names begin, such as 05; all without")
    names = tuple(parser.parse_args().names)
    paths = sorted([*CHAPTERS.glob("*.ipynb"), *CHAPTERS.glob("solutions/*.ipynb")])
    chosen = [path for path in paths if not names or path.name.startswith(names)]
    if not chosen:
        sys.exit(f"No notebook has a name that begins with {' or '.join(names) or 'anything'}.")

    os.environ["BPE_PROGRESS"] = "0"
    failed = 0
    for path in chosen:
        error = store(path)
        failed += error is not None
        print(f"{path.relative_to(CHAPTERS)}: {error or 'stored'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
