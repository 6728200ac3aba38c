"""What a report of a bug should say about a machine. Needs only Python: `python -m bpe.checks.doctor`."""

from __future__ import annotations

import json
import locale
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from bpe._files import checkout, data_folder
from bpe.checks import installation, one_line
from bpe.checks.installation import PURPOSES, Row, known

# Everything else can be used without it.
OPTIONAL = {"Chinese font", "compiled engine"}

# The only variables whose values are shown.
VARIABLES = re.compile("BPE_.*|CI|OMP_NUM_THREADS|HF_ENDPOINT|HF_HUB_OFFLINE")
PROXIES = re.compile("(https?|all|no)_proxy", re.IGNORECASE)


class Finding(NamedTuple):
    """One line for a report. note: what to do, or what it is for. missing: the course needs it."""

    what: str
    found: str
    note: str = ""
    missing: bool = False

    def __str__(self) -> str:
        return one_line(f"{self.what:<16} {self.found:<28} {self.note}".rstrip())


def findings() -> list[Finding]:
    """Return all that is known of this machine, without the name of the home folder. Raises nothing."""
    rows = [
        known("course", course),
        known("platform", lambda: Row("platform", platform.platform())),
        *installation.report(),
        known("interpreter", interpreter),
        known("data folder", folder_of_data),
        known("disk", disk),
        known("compiled engine", compiled_engine),
        known("encodings", encodings),
        known("terminal", terminal),
        *variables(),
    ]
    return [_finding(row) for row in rows]


def _finding(row: Row) -> Finding:
    is_broken = row.what == "device" and row.found.startswith("none")
    missing = (bool(row.to_do) or is_broken) and row.what not in OPTIONAL
    note = row.to_do or PURPOSES.get(row.what, "")
    return Finding(row.what, without_home(row.found), without_home(note), missing)


def without_home(text: str) -> str:
    """Return the text with `~` for the folder of the user."""
    home = os.path.expanduser("~")  # noqa: PTH111  Path.home() may raise
    if len(Path(home).parts) < 2:  # none, or the root
        return text
    return re.sub(rf"{re.escape(home)}(?![\w.-])", "~", text)


def lines(found: list[Finding]) -> Iterator[str]:
    """Yield the findings as lines; the last says what the course needs and lacks."""
    yield from map(str, found)
    lacks = ", ".join(finding.what for finding in found if finding.missing)
    yield f"Missing or not as expected: {lacks}." if lacks else "Everything that the course needs is there."


def to_json(found: list[Finding]) -> str:
    """Return the findings as JSON: a list of objects, in ASCII."""
    return json.dumps([finding._asdict() for finding in found], indent=1)


def status(found: list[Finding]) -> int:
    """Return the exit status: 0 if the course can be used, 1 if something that it needs is missing."""
    return int(any(finding.missing for finding in found))


def course() -> Row:
    """Return the row of the course's version, of its commit if that can be told, and of where it is."""
    try:
        version = metadata.version("bpe-course")
    except metadata.PackageNotFoundError:
        version = "not installed"
    root = checkout()
    where = root or Path(__file__).resolve().parents[2]
    return Row("course", f"{version}, {_commit(root)}in {where}")


def _commit(root: Path | None) -> str:
    if root is None or not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        found = subprocess.run(command, capture_output=True, timeout=20, check=True, encoding="utf-8")
    except (OSError, subprocess.SubprocessError):
        return "commit unknown, "
    return f"commit {found.stdout.strip()}, "


def interpreter() -> Row:
    return Row("interpreter", f"{platform.python_implementation()}, {sys.executable}")


def folder_of_data() -> Row:
    """Return the row of the data folder: where it is, and why there."""
    folder = data_folder()
    why = (
        "BPE_DATA names it"
        if os.environ.get("BPE_DATA")
        else "in the checkout"
        if checkout()
        else "the platform's folder for user data"
    )
    if not folder.exists():
        return Row("data folder", f"{folder} ({why}; it does not exist yet)")
    os.listdir(folder)  # noqa: PTH208  raises if it can't be read
    return Row("data folder", f"{folder} ({why})")


def disk() -> Row:
    """Return the row of the space that is free where the data folder is or will be."""
    folder = data_folder()
    existing = next(path for path in (folder, *folder.parents) if path.is_dir())
    return Row("disk", f"{shutil.disk_usage(existing).free / 1e9:.1f} GB free")


def compiled_engine() -> Row:
    """Return the row of the compiled engine: whether it loads, and is compiled already. Compiles nothing."""
    from bpe.fast import arrays, encoding, pieces, scanner, training

    modules = (arrays, encoding, pieces, scanner, training)
    kernels = {id(value): value for module in modules for value in vars(module).values() if _is_kernel(value)}
    number = sum(map(_is_compiled, kernels.values()))
    found = f"loads, {number} of {len(kernels)} functions compiled"
    return Row("compiled engine", found, "" if number == len(kernels) else "python -m bpe compile")


def _is_kernel(value: Any) -> bool:
    return hasattr(value, "py_func")


def _is_compiled(kernel: Any) -> bool:
    """Whether Numba's index of a function names machine code for this processor, Numba and source."""
    try:
        index = kernel._cache._cache_file._load_index()
        processor = kernel.targetctx.codegen().magic_tuple()
    except Exception:  # no cache, or a damaged one
        return False
    return any(key[1] == processor for key in index)


def encodings() -> Row:
    mode = "on" if sys.flags.utf8_mode else "off"
    language = ".".join(part or "none" for part in locale.getlocale())
    names = f"files {locale.getencoding()}, names {sys.getfilesystemencoding()}"
    return Row("encodings", f"UTF-8 mode {mode}, locale {language}, {names}")


def terminal() -> Row:
    if sys.stdout is None:
        return Row("terminal", "closed")
    kind = "terminal" if sys.stdout.isatty() else "no terminal"
    return Row("terminal", f"{kind}, {sys.stdout.encoding}, errors {sys.stdout.errors}")


def variables() -> list[Row]:
    """Return a row for each variable that changes what the course does: no values of any others."""
    rows = [Row(name, _public(value)) for name, value in os.environ.items() if VARIABLES.fullmatch(name)]
    proxies = [Row(name, "set") for name in os.environ if PROXIES.fullmatch(name)]
    return sorted(rows + proxies)


def _public(value: str) -> str:
    """Return the value of a variable without the name, password and query that an address may hold."""
    return re.sub(r"[?#].*", "", re.sub("//[^/]*@", "//", value)) if "://" in value else repr(value)[1:-1]


def main() -> int:
    """Print the findings, without any package. Returns the exit status."""
    found = findings()
    for line in lines(found):
        print(line.encode("ascii", "backslashreplace").decode("ascii"))  # any terminal can show it
    return status(found)


if __name__ == "__main__":
    sys.exit(main())
