"""Opens the course in JupyterLab, on working copies of the chapters.

python notebooks/lab.py                opens chapter 0; copies what work/ lacks
python notebooks/lab.py --port 8899    hands other arguments on to JupyterLab
python notebooks/lab.py --reset 05     makes the copy of chapter 5 anew, and keeps
                                       the old one beside it
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from pathlib import Path

CHAPTERS = Path(__file__).resolve().parent
CHECKOUT = CHAPTERS.parent
WORK = CHECKOUT / "work"
FIRST = "work/00_start_here.ipynb"

# Without these, JupyterLab asks at its first start whether it may fetch news, and later
# proposes a version of itself that the course was not tested with.
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    }
}


def chapters(number: str = "") -> list[Path]:
    """The chapters whose names begin so; 5 means 05."""
    start = number.zfill(2) if number.isdigit() else number
    return sorted(
        path for path in CHAPTERS.glob("*.ipynb") if path.name.startswith(start)
    )


def write_copy(path: Path, copy: Path) -> None:
    """Writes a chapter without outputs, for a reader is asked to predict them."""
    from bpe._files import write_atomically

    notebook = json.loads(path.read_bytes())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    text = json.dumps(notebook, ensure_ascii=False, indent=1)
    write_atomically(copy, f"{text}\n".encode())


def copy_missing() -> list[str]:
    """Copies the chapters that work/ does not hold yet, and returns their names."""
    WORK.mkdir(exist_ok=True)
    missing = [path for path in chapters() if not (WORK / path.name).exists()]
    for path in missing:
        write_copy(path, WORK / path.name)
    return [path.name for path in missing]


def reset(number: str) -> str:
    """Makes one working copy anew, keeps the old one, and says so."""
    found = chapters(number) if number else []
    if len(found) != 1:
        names = ", ".join(path.stem for path in chapters())
        sys.exit(f"Which chapter? {number!r} fits {len(found)} of these: {names}")
    copy = WORK / found[0].name
    WORK.mkdir(exist_ok=True)
    kept = keep(copy) if copy.exists() else None
    try:
        write_copy(found[0], copy)
    except OSError:
        if kept:
            kept.rename(copy)
        raise
    return f"work/{copy.name} is new" + (
        f"; what you had is now work/{kept.name}" if kept else ""
    )


def keep(copy: Path) -> Path:
    """Renames a working copy to the first free one of `NAME old 1`, `NAME old 2`, …"""
    number = 1
    while (kept := copy.with_name(f"{copy.stem} old {number}.ipynb")).exists():
        number += 1
    return copy.rename(kept)


def missing_corpora() -> list[str]:
    """A line for each corpus that is missing: what, and how to get it."""
    from bpe import corpora

    return [
        f"Missing: {missing[0]}. To get it: make data (without make: {command})"
        for name, command in corpora.COMMANDS.items()
        if (missing := corpora.missing_files(name))
    ]


def jupyterlab_arguments(own: list[str]) -> list[str]:
    """What JupyterLab is started with: ours, then the caller's own."""
    arguments = [
        f"--ServerApp.root_dir={CHECKOUT}",
        f"--LabApp.default_url=/lab/tree/{FIRST}",
        "--Application.log_level=WARN",  # the address is still printed
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")  # as in containers; refused otherwise
    if any(argument.startswith(("--port", "--ServerApp.port")) for argument in own):
        # Otherwise a port that is taken silently becomes the next one.
        arguments.append("--ServerApp.port_retries=0")
    return arguments + own


def add_settings() -> None:
    """Puts our settings on JupyterLab's search path. What the user has set wins."""
    folder = WORK / ".jupyter"
    settings = folder / "labconfig" / "default_setting_overrides.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps(SETTINGS, indent=1), encoding="utf-8")
    paths = [str(folder), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, paths))


def open_course(arguments: list[str]) -> None:
    """Copies what is missing, says what could not be had, starts JupyterLab."""
    if not all(map(importlib.util.find_spec, ("bpe", "jupyterlab"))):
        sys.exit(f"{sys.executable} does not have the course installed: see README.md.")
    if copied := copy_missing():
        print(f"New in work/: {', '.join(copied)}")
    print(*missing_corpora(), sep="\n")
    add_settings()
    from jupyterlab.labapp import LabApp

    LabApp.launch_instance(jupyterlab_arguments(arguments))


def main() -> None:
    """Does what the command line asks for."""
    parser = argparse.ArgumentParser(
        description="Open the course in JupyterLab. Other arguments go to JupyterLab.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--reset", metavar="NB", help="make the working copy of a chapter anew (05)"
    )
    options, arguments = parser.parse_known_args()
    try:
        if options.reset is None:
            open_course(arguments)
        else:
            print(reset(options.reset))
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}")


if __name__ == "__main__":
    main()
