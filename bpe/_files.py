"""Reading and writing files: UTF-8 text, files that are complete or absent, and where the data are kept."""

from __future__ import annotations

import codecs
import contextlib
import errno
import itertools
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, BinaryIO, NoReturn

fcntl: Any = import_module("fcntl") if find_spec("fcntl") else None  # Windows has none

LEFT_OVER_AFTER = 60.0  # seconds without a change of a temporary file, where files have no locks
_PART = re.compile(r"\..*\.[0-9a-f]{16}\.part")
CHUNK = 1 << 20  # bytes of a text that are read at once
LOCK = ".lock"  # its name in a folder that one process at a time may use


# --- text


def decode_utf8(data: bytes, name: object) -> str:
    """Decode the content of a UTF-8 file, without the byte order mark that it may begin with.

    Raises ValueError, with name and position, for bytes that are not UTF-8.
    """
    return "".join(_decode([data], name))


def decode_chunks(file: IO[bytes], name: object) -> Iterator[str]:
    """Decode a UTF-8 file as `decode_utf8`, CHUNK bytes at a time."""
    return _decode(iter(lambda: file.read(CHUNK), b""), name)


def _decode(chunks: Iterable[bytes], name: object) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    begun, done = False, 0
    for data in itertools.chain(chunks, [b""]):
        pending = len(decoder.getstate()[0])  # bytes of a character whose others come with these
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{name} is not UTF-8: byte 0x{error.object[error.start]:02x} at position "
                f"{done - pending + error.start:,} ({error.reason})"
            ) from None
        done += len(data)
        if text:
            yield text if begun else text.removeprefix("\ufeff")
            begun = True


def read_text(path: Path, most: int | None = None) -> str:
    """Read a text file with its line ends as they are, without a byte order mark.

    Raises OSError, and ValueError as `decode_utf8` and `read_bytes`.
    """
    return decode_utf8(read_bytes(path, most), path)


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """Read a file. Raises OSError, and ValueError, naming it, if it has more than `most` bytes.

    With a limit, a device that never ends is refused too.
    """
    with path.open("rb") as file:
        if most is None:
            return file.read()
        # Not most + 1 at once: for so many bytes Python would ask for memory before it reads any.
        parts = [file.read(min(most, os.fstat(file.fileno()).st_size) + 1)]
        left = most + 1 - len(parts[0])
        while left > 0 and (part := file.read(min(left, 1 << 20))):  # what has no size, such as a pipe
            parts.append(part)
            left -= len(part)
    if left <= 0:
        raise ValueError(f"{path} has more than {most:,} bytes, the limit for such a file")
    return b"".join(parts)


def read_json(path: Path, most: int | None = None) -> Any:
    """Read a JSON file. Raises OSError, and ValueError as `read_text` and if it is not sound JSON.

    Sound JSON repeats no key in an object, has no NaN and no infinite number, and is not nested thousands of
    levels deep.
    """
    try:
        return json.loads(
            read_text(path, most), object_pairs_hook=_refuse_repeats, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {repeated!r} occurs twice in one object")
    return entries


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


# --- writing


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that `path` holds either all of it or what it held before.

    Raises as `open_atomically`.
    """
    with open_atomically(path) as file:
        file.write(data)


@contextlib.contextmanager
def open_atomically(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that becomes `path` once all is written.

    The bytes go to a temporary file in the same folder, which is brought to disk and then renamed to `path`.
    If writing is interrupted, by Ctrl-C too, the temporary file is removed and an existing file is untouched;
    what a killed process left behind, the next one that writes `path` removes. The folder must exist. If
    `path` is a symbolic link, its target is written.

    Raises OSError, with `path` as its filename, as `refuse_unwritable` and if the disk is full.
    """
    with _naming(path):
        target = _find_target(path)
        temporary, file = _open_temporary(target)
    try:
        remove_left_over(target.parent, target)
        # The file stays open, and so locked, until it has its name: nobody takes it for a left-over.
        with file, _naming(path):
            yield file
            file.flush()
            os.fsync(file.fileno())  # else a loss of power may leave the new name with an empty file
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o777)
            if fcntl:
                temporary.replace(target)
        if not fcntl:  # Windows does not rename an open file
            with _naming(path):
                temporary.replace(target)
    except BaseException:  # KeyboardInterrupt is not an Exception
        temporary.unlink(missing_ok=True)
        raise


def refuse_unwritable(path: Path) -> None:
    """Raise OSError, with `path` as its filename, if it can't be written: before the work, not after it.

    That is so if its folder is missing, not writable or full, if links lead in a loop, and if `path` exists
    but is not a regular file (a device would be replaced by one).
    """
    with _naming(path):
        temporary, file = _open_temporary(_find_target(path))
        try:
            file.close()
            temporary.unlink(missing_ok=True)
        except BaseException:  # an interrupt between the two
            temporary.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Give an OSError of the temporary file, or of none, `path` as its filename."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and not _PART.search(str(error.filename)):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _find_target(path: Path) -> Path:
    """Return the file that `path` names, links followed. Raises OSError for a loop and for a device."""
    try:
        target = path.resolve()
        if target.is_symlink():  # Python 3.13 and later resolve a loop to one of its links
            raise RuntimeError
    except RuntimeError:  # Python 3.12 and earlier raise it for a loop
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "Is not a regular file")
    return target


def _open_temporary(target: Path) -> tuple[Path, BinaryIO]:
    while True:
        temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}.part")
        try:
            file = temporary.open("xb")
            if _is_mine(file):
                return temporary, file
            file.close()
        except BaseException:  # an interrupt between opening and returning
            temporary.unlink(missing_ok=True)
            raise


def _is_mine(file: BinaryIO) -> bool:
    """Lock a new file; return False if another process has taken it for a left-over before that."""
    if fcntl:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(file.fileno()).st_nlink > 0
    return True


def remove_left_over(folder: Path, target: Path | None = None) -> None:
    """Delete the temporary files of processes that were killed while writing into the folder.

    target: only those for this file. A file that another process is still writing stays: it is locked, or,
    where files have no locks, was touched within the last minute.
    """
    start = f".{target.name[:40]}." if target else "."
    for path in folder.iterdir():
        if path.name.startswith(start) and _PART.fullmatch(path.name):
            with contextlib.suppress(OSError):  # the other process has finished, or owns the file
                if path.is_file() and not path.is_symlink() and _is_left_over(path):
                    path.unlink()


def _is_left_over(path: Path) -> bool:
    if fcntl:
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                return False
            except OSError:  # a file system without locks
                pass
    return time.time() - path.stat().st_mtime > LEFT_OVER_AFTER


# --- one process at a time


class InUseError(OSError):
    """Another process uses the folder."""


@contextlib.contextmanager
def locked(folder: Path, wait: Callable[[str], object] | None = None) -> Iterator[None]:
    """Let one process at a time use a folder, which is made if it is missing.

    wait: called with a message if another process has the folder; then this one waits for it. Without, it
    raises InUseError. The lock goes with the process that holds it, however that ends.
    """
    import filelock

    folder.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        if wait is None:
            raise InUseError(errno.EBUSY, "Another process is using this folder", str(folder)) from None
        wait(f"Another process is using {folder}: waiting for it to finish.")
        lock.acquire(poll_interval=0.2)
    try:
        yield
    finally:
        lock.release()


# --- several files that belong together

NEW = ".new"  # in their folder: complete, and better than those beside it
NEW_PART = ".new.part"  # not complete


def replace_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files so that the folder holds all of them, or what it held under their names before.

    The files are written to a folder in it, which is renamed to NEW once it is complete; then they take their
    places. If this process is killed meanwhile, `newest` finds them, and `finish_replacing` goes on. Other
    files in the folder stay. Let one process at a time call it. Raises OSError.
    """
    finish_replacing(folder)
    part = folder / NEW_PART
    part.mkdir(parents=True)
    try:
        for name, data in files.items():
            write_atomically(part / name, data)
        part.rename(folder / NEW)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    finish_replacing(folder)


def finish_replacing(folder: Path) -> None:
    """Finish what a killed process began with `replace_files`, or remove it. Raises OSError.

    The old files go first, so that no moment shows some old and some new ones.
    """
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder / NEW_PART)
    if (new := folder / NEW).is_dir():
        names = sorted(path.name for path in new.iterdir())
        for name in names:
            (folder / name).unlink(missing_ok=True)
        for name in reversed(names):  # the first to go is the last to come
            (new / name).replace(folder / name)
        new.rmdir()


def is_replacing(folder: Path) -> bool:
    """Return whether `replace_files` is at work in the folder, or was killed there."""
    return (folder / NEW).is_dir() or (folder / NEW_PART).is_dir()


def newest(path: Path) -> Path:
    """Return the path of a file that `replace_files` writes: where it is to be, or for now still is."""
    new = path.parent / NEW / path.name
    return new if new.is_file() else path


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
