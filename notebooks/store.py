"""Run the notebooks from top to bottom and store their outputs.

    python notebooks/store.py          all chapters and solutions
    python notebooks/store.py 05 07    those whose names start with 05 or 07

The stored file depends on the outputs alone, so a second run gives the same bytes. A
notebook that fails is reported with its failing cell and stays as it was.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import nbformat
from bpe._files import write_atomically
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError
from nbclient.output_widget import OutputWidget
from nbformat import NotebookNode

CHAPTERS = Path(__file__).resolve().parent
WIDGET = "application/vnd.jupyter.widget-view+json"

# nbclient reports each change of an Output widget to the kernel, and sometimes waits
# forever on `ipywidgets.interact`. The widget's state is not stored, so skip it.
OutputWidget.sync_state = lambda self: None


def run(notebook: NotebookNode, folder: Path) -> str:
    """Run all cells in a new kernel, in `folder`. Return what went wrong, or ""."""
    started = [0]
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
        on_cell_start=lambda cell, cell_index: started.append(cell_index),
    )
    try:
        client.execute()
    except (CellControlSignal, DeadKernelError) as error:
        return f"cell {started[-1] + 1} of {len(notebook.cells)} failed\n{error}"
    return ""


def strip(notebook: NotebookNode) -> None:
    """Drop what differs between runs or machines, and widgets, which no page shows."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET, None)


def store(path: Path) -> str:
    """Run one notebook and store it. Return what went wrong, or ""."""
    notebook = nbformat.read(path, as_version=4)
    problem = run(notebook, path.parent)
    if not problem:
        strip(notebook)
        write_atomically(path, f"{nbformat.writes(notebook)}\n".encode())
    return problem


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Run notebooks and store their outputs."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NB", help="the start of their names, such as 05"
    )
    names = tuple(parser.parse_args().names)
    paths = sorted([*CHAPTERS.glob("*.ipynb"), *CHAPTERS.glob("solutions/*.ipynb")])
    chosen = [path for path in paths if not names or path.name.startswith(names)]
    if not chosen:
        sys.exit(f"No notebook's name starts with {' or '.join(names)}.")

    os.environ["BPE_PROGRESS"] = "0"  # for the kernels
    failed = False
    for path in chosen:
        problem = store(path)
        failed = failed or bool(problem)
        print(f"{path.relative_to(CHAPTERS)}: {problem or 'stored'}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
