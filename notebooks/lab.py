"""Open the course in JupyterLab, on working copies of the chapters.

python notebooks/lab.py                open chapter 0; copy chapters that work/ lacks
python notebooks/lab.py --port 8899    hand other arguments on to JupyterLab
python notebooks/lab.py --reset 05     copy chapter 5 again and keep the old copy
python notebooks/lab.py --edit         let JupyterLab write to notebooks/ too

In JupyterLab the chapters and solutions are read-only (notebooks/lab_contents.py), so
that looking at one does not change it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import sys
from pathlib import Path

CHAPTERS = Path(__file__).resolve().parent
CHECKOUT = CHAPTERS.parent
WORK = CHECKOUT / "work"
FIRST = "work/00_start_here.ipynb"

SETTINGS = {
    # Otherwise JupyterLab asks at its first start whether it may fetch news, and later
    # suggests a version that the course was not tested with.
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    },
    # Otherwise a link to the glossary opens its source text.
    "@jupyterlab/docmanager-extension:plugin": {
        "defaultViewers": {"markdown": "Markdown Preview"}
    },
}


def chapters(number: str = "") -> list[Path]:
    """Return the chapters whose names start with `number`; 5 means 05."""
    start = number.zfill(2) if number.isdigit() else number
    return sorted(
        path for path in CHAPTERS.glob("*.ipynb") if path.name.startswith(start)
    )


def write_copy(path: Path, copy: Path) -> None:
    """Write a chapter without outputs, because readers are asked to predict them."""
    from bpe._files import write_atomically

    notebook = json.loads(path.read_bytes())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    text = json.dumps(notebook, ensure_ascii=False, indent=1)
    write_atomically(copy, f"{text}\n".encode())


def copy_missing() -> list[str]:
    """Copy the chapters that work/ lacks, and return their names."""
    with alone():
        missing = [path for path in chapters() if not (WORK / path.name).exists()]
        for path in missing:
            write_copy(path, WORK / path.name)
    return [path.name for path in missing]


def alone() -> contextlib.AbstractContextManager[None]:
    """Let one process at a time change work/, or two could write the same copy."""
    from bpe._files import locked

    return locked(WORK, wait=print)


def reset(number: str) -> str:
    """Copy one chapter again, keep the old copy, and return a message."""
    found = chapters(number) if number else []
    if len(found) != 1:
        names = ", ".join(path.stem for path in chapters())
        sys.exit(f"Which chapter? {number!r} matches {len(found)} of these: {names}")
    copy = WORK / found[0].name
    with alone():
        kept = keep(copy) if copy.exists() else None
        try:
            write_copy(found[0], copy)
        except OSError:
            if kept:
                kept.rename(copy)
            raise
    if not kept:
        return f"work/{copy.name} is new"
    return (
        f"work/{copy.name} is new; your old copy is now work/{kept.name}\n"
        "A tab that is open still shows the old text: before you save, choose File, "
        "Reload Notebook from Disk. If JupyterLab asks, answer Revert, not Overwrite."
    )


def keep(copy: Path) -> Path:
    """Rename a working copy to the first free name: `NAME old 1`, `NAME old 2`, …"""
    number = 1
    while (kept := copy.with_name(f"{copy.stem} old {number}.ipynb")).exists():
        number += 1
    return copy.rename(kept)


def missing_corpora() -> list[str]:
    """Return a line for each missing corpus: its file, and the command to get it."""
    from bpe import corpora

    return [
        f"Missing: {missing[0]}. To get it: make data (without make: {command})"
        for name, command in corpora.COMMANDS.items()
        if (missing := corpora.missing_files(name))
    ]


def jupyterlab_arguments(own: list[str], edit: bool = False) -> list[str]:
    """Return JupyterLab's arguments: the course's, then the caller's own.

    edit: let JupyterLab write to the chapters.
    """
    arguments = [
        f"--ServerApp.root_dir={CHECKOUT}",
        f"--LabApp.default_url=/lab/tree/{FIRST}",
        "--Application.log_level=WARN",  # the address is still printed
    ]
    if not edit:
        manager = "lab_contents.ReadOnlyChapters"
        arguments.append(f"--ServerApp.contents_manager_class={manager}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")  # JupyterLab refuses root; containers need it
    if any(argument.startswith(("--port", "--ServerApp.port")) for argument in own):
        # Otherwise JupyterLab silently takes the next port if this one is in use.
        arguments.append("--ServerApp.port_retries=0")
    return arguments + own


def add_settings() -> None:
    """Add our settings to JupyterLab's search path. The user's own settings win."""
    from bpe._files import write_atomically

    folder = WORK / ".jupyter"
    settings = folder / "labconfig" / "default_setting_overrides.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(settings, json.dumps(SETTINGS, indent=1).encode())
    paths = [str(folder), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, paths))


def open_course(arguments: list[str], edit: bool) -> None:
    """Copy missing chapters, report missing corpora, start JupyterLab."""
    if not all(map(importlib.util.find_spec, ("bpe", "jupyterlab"))):
        sys.exit(f"{sys.executable} does not have the course installed; see README.md.")
    if copied := copy_missing():
        print(f"New in work/: {', '.join(copied)}")
    print(*missing_corpora(), sep="\n")
    add_settings()
    from jupyterlab.labapp import LabApp

    LabApp.launch_instance(jupyterlab_arguments(arguments, edit))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description="Open the course in JupyterLab. Other arguments go to JupyterLab.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--reset", metavar="NB", help="copy a chapter again (05); keep the old copy"
    )
    parser.add_argument(
        "--edit", action="store_true", help="let JupyterLab write to notebooks/ too"
    )
    options, arguments = parser.parse_known_args()
    try:
        if options.reset is None:
            open_course(arguments, options.edit)
        else:
            print(reset(options.reset))
    except OSError as error:
        sys.exit(f"{error.filename or 'standard output'}: {error.strerror}")


if __name__ == "__main__":
    main()
