"""Reading and writing files: UTF-8 text, files that are complete or absent, and where the data are kept."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from pathlib import Path

LEFT_OVER_AFTER = 60.0  # seconds during which nothing was added to a temporary file


# --- text


def decode_utf8(data: bytes, name: object) -> str:
    """Decode UTF-8. Raises ValueError, with name and position, for bytes that are not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name} is not UTF-8: byte 0x{data[error.start]:02x} at position {error.start:,} "
            f"({error.reason})"
        ) from None


def read_text(path: Path) -> str:
    """Read a text file with its line ends as they are. Raises OSError, and ValueError as `decode_utf8`."""
    return decode_utf8(path.read_bytes(), path)


# --- writing


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that `path` holds either all of it or what it held before.

    The bytes go to a temporary file in the same folder, which is then renamed to `path`. If writing is
    interrupted, by Ctrl-C too, the temporary file is removed and an existing file is untouched. The folder
    must exist. If `path` is a symbolic link, its target is written.

    Raises OSError, with `path` as its filename, if the folder is missing, not writable or full, and if
    `path` exists but is not a regular file (a device would be replaced by one).
    """
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "Is not a regular file")
        _write_and_rename(path.resolve(), data)
    except OSError as error:  # its filename is that of the temporary file, or missing
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write_and_rename(path: Path, data: bytes) -> None:
    # The name is chosen before the file exists, so that an interrupt at any moment can clean up.
    temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}.part")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # else a loss of power may leave the new name with an empty file
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o777)
        temporary.replace(path)
    except BaseException:  # KeyboardInterrupt is not an Exception
        temporary.unlink(missing_ok=True)
        raise


def remove_left_over(folder: Path) -> None:
    """Delete the temporary files of processes that were killed while writing into the folder.

    Files touched within the last minute stay, since another process may still be writing them.
    """
    for path in folder.glob(".*.part"):
        with contextlib.suppress(FileNotFoundError):  # the other process has finished
            if time.time() - path.stat().st_mtime > LEFT_OVER_AFTER:
                path.unlink()


# --- folders


def checkout() -> Path | None:
    """The checkout of the course that this module runs from, or None for an installed wheel."""
    folder = Path(__file__).resolve().parent.parent
    return folder if (folder / "prepare_poems.py").is_file() else None


def data_folder() -> Path:
    """The folder where the course reads and writes its data.

    It is the folder named by the environment variable BPE_DATA (a relative path starts at the checkout),
    else `data/` in the checkout this module runs from, else the platform's folder for user data.
    Raises ValueError if BPE_DATA names the home of a user who does not exist, and if it is relative without
    a checkout: the folder never depends on the working directory.
    """
    root = checkout()
    if named := os.environ.get("BPE_DATA"):
        try:
            folder = Path(named).expanduser()
        except RuntimeError as error:
            raise ValueError(f"BPE_DATA is {named!r}: {error}") from None
        if root is None and not folder.is_absolute():
            raise ValueError(f"BPE_DATA is {named!r}: give an absolute path, since there is no checkout here")
        return (root or folder) / folder
    if root:
        return root / "data"
    import platformdirs

    return platformdirs.user_data_path("bpe-course")
