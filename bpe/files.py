"""Files that are either complete or not there: nobody ever reads one that is half-written."""

from __future__ import annotations

import contextlib
import errno
import secrets
import time
from pathlib import Path

LEFT_OVER_AFTER = 60.0  # seconds in which nothing was added to a temporary file


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that `path` holds all of it or stays as it was.

    The bytes go to a temporary file in the same folder, which then takes the name of `path` in one
    step. Whatever interrupts the writing, Ctrl-C too, the temporary file is removed and an earlier
    file at `path` is untouched. The folder must be there. Where `path` is a symbolic link, what it
    points to is written.

    Raises OSError, with `path` as its filename, when the folder is missing, can't be written, or is full,
    and when `path` is there but no file: a device would be replaced by one.
    """
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "Is not a regular file")
        _write_and_rename(path.resolve(), data)
    except OSError as error:  # it names the temporary file, or none
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write_and_rename(path: Path, data: bytes) -> None:
    # Its name is known before it is there, so that Ctrl-C at any moment finds it.
    temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}.part")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o777)
        temporary.replace(path)
    except BaseException:  # KeyboardInterrupt is not an Exception
        temporary.unlink(missing_ok=True)
        raise


def remove_left_over(folder: Path) -> None:
    """Delete the temporary files of processes that were killed while they wrote into the folder.

    Those of the last minute stay, since another process may be writing them.
    """
    for path in folder.glob(".*.part"):
        with contextlib.suppress(FileNotFoundError):  # the other process is done with it
            if time.time() - path.stat().st_mtime > LEFT_OVER_AFTER:
                path.unlink()
