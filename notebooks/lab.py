"""Opens the course in JupyterLab, on working copies of the chapters.

    python notebooks/lab.py                 copies the chapters that work/ lacks, and opens chapter 0
    python notebooks/lab.py --port 8899     the same; what is not an option here goes to JupyterLab
    python notebooks/lab.py --reset 05      makes the copy of chapter 5 anew, and keeps the old one beside it

Needs nothing but the standard library until JupyterLab itself starts.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path

CHAPTERS = Path(__file__).resolve().parent
CHECKOUT = CHAPTERS.parent
WORK = CHECKOUT / "work"
FIRST = "work/00_start_here.ipynb"

# Without this, JupyterLab asks at its first start whether it may fetch news.
SETTINGS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}


def copy_missing() -> list[str]:
    """Copies the chapters that work/ does not hold yet, and returns their names."""
    WORK.mkdir(exist_ok=True)
    missing = [path for path in sorted(CHAPTERS.glob("*.ipynb")) if not (WORK / path.name).exists()]
    for path in missing:
        shutil.copyfile(path, WORK / path.name)
    return [path.name for path in missing]


def reset(number: str) -> str:
    """Makes one working copy anew, keeps the old one under a free name, and says so."""
    found = sorted(CHAPTERS.glob(f"{number}*.ipynb")) if number else []
    if len(found) != 1:
        names = ", ".join(path.stem for path in sorted(CHAPTERS.glob("*.ipynb")))
        sys.exit(f"Which chapter? {number!r} names {len(found)} of them: {names}. Try NB=05 or --reset 05.")
    chapter = found[0]
    copy = WORK / chapter.name
    WORK.mkdir(exist_ok=True)
    kept = keep(copy) if copy.exists() else None
    shutil.copyfile(chapter, copy)
    return f"work/{copy.name} is new" + (f"; your old one is work/{kept.name}" if kept else "")


def keep(copy: Path) -> Path:
    """Renames a working copy to the first free name `… old 1`, `… old 2`, and so on."""
    number = 1
    while (kept := copy.with_name(f"{copy.stem} old {number}.ipynb")).exists():
        number += 1
    return copy.rename(kept)


def missing_poems() -> str | None:
    """The line that says what is missing, or None."""
    from bpe.corpora import TANG_POEMS, data_folder

    if (data_folder() / TANG_POEMS).exists():
        return None
    return f"The Tang poems are missing: {data_folder() / TANG_POEMS}. Get them with: python prepare_poems.py"


def jupyterlab_arguments(own: list[str]) -> list[str]:
    """What JupyterLab is started with: our settings, then the caller's own arguments."""
    arguments = [f"--ServerApp.root_dir={CHECKOUT}", f"--LabApp.default_url=/lab/tree/{FIRST}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # as in containers; refused otherwise
        arguments.append("--allow-root")
    if any(argument.startswith(("--port", "--ServerApp.port")) for argument in own):
        arguments.append("--ServerApp.port_retries=0")  # else a taken port silently becomes the next one
    return arguments + own


def add_settings() -> None:
    """Puts our JupyterLab settings on its search path; what the user has set already wins over them."""
    folder = WORK / ".jupyter"
    settings = folder / "labconfig" / "default_setting_overrides.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps(SETTINGS, indent=1), encoding="utf-8")
    paths = [str(folder), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, paths))


def open_course(arguments: list[str]) -> None:
    """Copies what is missing, says what could not be had, and hands over to JupyterLab."""
    if not all(map(importlib.util.find_spec, ("bpe", "jupyterlab"))):
        sys.exit(f"The course is not installed in {sys.executable}. The README says how, in two commands.")
    if copied := copy_missing():
        print(f"New in work/: {', '.join(copied)}")
    if line := missing_poems():
        print(line)
    add_settings()
    from jupyterlab.labapp import LabApp

    LabApp.launch_instance(jupyterlab_arguments(arguments))


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Open the course in JupyterLab. Further arguments go to JupyterLab.", allow_abbrev=False
    )
    parser.add_argument("--reset", metavar="NB", help="make the working copy of a chapter anew, such as 05")
    options, arguments = parser.parse_known_args()
    if options.reset is None:
        open_course(arguments)
    else:
        print(reset(options.reset))


if __name__ == "__main__":
    main()
