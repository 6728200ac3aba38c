"""Download files with a known SHA-256, and read files out of archives that may be hostile.

pooch downloads, verifies and retries. It sets no limit on a file's size or on total time, and its unpackers
write whatever an archive holds to disk, so this file adds the limits and reads archives itself.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import logging
import os
import shutil
import stat
import struct
import subprocess
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path, PureWindowsPath
from types import ModuleType
from typing import NamedTuple, TypeVar

from bpe._files import data_folder, locked, remove_left_over

PROBE_SECONDS = 5.0
READ_SECONDS = 20.0  # between two parts of an answer
DOWNLOAD_SECONDS = 300.0  # for one file, including every retry
UNPACKED = {"Accept-Encoding": "identity"}  # a few kilobytes could unpack to a full memory
RETRIES = 4  # pooch waits 1, 2, 3 and 4 seconds before them
COMMAND_SECONDS = 600

LARGEST_ARCHIVE = 1_000_000_000  # bytes
MOST_BYTES = 1_000_000_000  # of its members together, unpacked
MOST_MEMBERS = 20_000
LONGEST_PATH = 4_096  # characters
# The bytes that describe a member of a .tar.gz, those that describe all, and the directory of a .zip. As
# records in memory they take up to 30 times as much.
MOST_OF_HEADER = 100_000
MOST_OF_HEADERS = 20_000_000
MOST_OF_DIRECTORY = 4_000_000

Result = TypeVar("Result")


class SourceError(Exception):
    """A source can't supply its files. The message is for the reader."""


def sha256(content: bytes) -> str:
    """Return the SHA-256 of the content in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def has_sha256(path: Path, digest: str, largest: int) -> bool:
    """Return whether the file exists, has at most `largest` bytes, and this SHA-256. Raises OSError."""
    return path.is_file() and path.stat().st_size <= largest and sha256(path.read_bytes()) == digest


# --- one process at a time


def _fetch_folder() -> Path:
    return data_folder() / "downloads"


@contextlib.contextmanager
def fetching(log: logging.Logger) -> Iterator[None]:
    """Let one process at a time fetch texts and vocabularies into the data folder.

    Another one waits, and says so in the log. Once its turn comes, it should look again what is missing.
    What killed processes left is removed. Raises OSError if the data folder can't be written.
    """
    with locked(_fetch_folder(), wait=log.warning):
        remove_remains()
        shutil.rmtree(_temporary(), ignore_errors=True)
        try:
            yield
        finally:
            shutil.rmtree(_temporary(), ignore_errors=True)


def remove_remains() -> None:
    """Remove unfinished files that killed processes left in the data folder, if it can be written."""
    for name in (".", "downloads/chinese-poetry", "vocabularies", "wikitext2"):
        with contextlib.suppress(OSError):
            remove_left_over(data_folder() / name)


def _temporary() -> Path:
    return _fetch_folder() / ".temporary"


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder in the data folder, and remove it. If this process is killed, `fetching` removes it."""
    _temporary().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_temporary(), ignore_cleanup_errors=True) as folder:
        yield Path(folder)
    with contextlib.suppress(OSError):  # others are still in it
        _temporary().rmdir()


# --- the network


def probe(url: str) -> None:
    """Raise SourceError, naming the address, unless it answers within PROBE_SECONDS."""
    requests = _import("requests")
    try:
        within(PROBE_SECONDS, url, lambda: requests.head(url, timeout=PROBE_SECONDS))
    except requests.RequestException as error:
        raise SourceError(f"{url}: can't be reached ({type(error).__name__})") from error


def download(url: str, digest: str, largest: int) -> bytes:
    """Download a file and return its content.

    digest: its SHA-256. largest: the limit on its size, in bytes.
    Retries after failures that may pass. Raises SourceError, naming the address, if no try gives that file
    or they take more than DOWNLOAD_SECONDS together.
    """
    pooch, requests = _import("pooch"), _import("requests")
    pooch.get_logger().setLevel("WARNING")

    def save(url: str, output: str, _: object) -> None:  # pooch retries after a ValueError
        timeout = (PROBE_SECONDS, READ_SECONDS)
        with requests.get(url, headers=UNPACKED, stream=True, timeout=timeout) as response:
            if (status := response.status_code) != 200:
                may_pass = status == 429 or status >= 500
                raise ValueError(f"status {status}") if may_pass else SourceError(f"{url}: status {status}")
            if (encoding := response.headers.get("Content-Encoding", "identity")) != "identity":
                raise ValueError(f"sent as {encoding!r}, which nobody asked for")
            with Path(output).open("wb") as file:
                for chunk in response.iter_content(chunk_size=65_536):
                    file.write(chunk)
                    if file.tell() > largest:
                        raise ValueError(f"more than {largest:,} bytes")

    def fetch(folder: Path) -> bytes:
        name = url.rpartition("/")[2]
        files = pooch.create(folder, "", registry={name: digest}, urls={name: url}, retry_if_failed=RETRIES)
        return Path(files.fetch(name, downloader=save)).read_bytes()

    with temporary_folder() as folder:
        try:
            return within(DOWNLOAD_SECONDS, url, lambda: fetch(folder))
        except requests.RequestException as error:
            raise SourceError(f"{url}: no complete answer ({type(error).__name__})") from error
        except ValueError as error:
            raise SourceError(f"{url}: {error}") from error


def within(seconds: float, url: str, action: Callable[[], Result]) -> Result:
    """Return what `action` returns. Raises SourceError, naming address and limit, after `seconds`.

    The timeouts of requests cover neither name resolution nor an answer that arrives byte by byte, so the
    action has a thread of its own. That thread is a daemon: the process can end without it.
    """
    deadline = time.monotonic() + seconds
    with ThreadPool(1) as pool:
        result = pool.apply_async(action)
        while not result.ready():
            if (left := deadline - time.monotonic()) <= 0:
                raise SourceError(f"{url}: not finished within {seconds:g} seconds")
            result.wait(min(left, 0.2))  # short, since Windows notices Ctrl-C only between two waits
        return result.get()


def _import(name: str) -> ModuleType:
    try:
        return __import__(name)
    except ImportError as error:
        raise SourceError(f"{error}; install it with: python -m pip install {name}") from error


def run_fetcher(command: Sequence[str], name: str, folder: Path, pattern: str) -> Path:
    """Run a program that fetches a file into an empty folder. Return the path of that file.

    name: the program's name in messages. pattern: the file's name, as for glob.
    Raises SourceError if the program fails, runs longer than COMMAND_SECONDS, or leaves no such file.
    """
    try:
        subprocess.run(
            command,
            cwd=folder,
            env=os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder)),
            timeout=COMMAND_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        raise SourceError(f"{name} did not finish within {COMMAND_SECONDS} seconds") from None
    except subprocess.CalledProcessError as error:
        first_lines = "; ".join(error.stderr.strip().splitlines()[:3])
        raise SourceError(f"{name} failed with status {error.returncode}: {first_lines}") from None
    fetched = next(folder.glob(pattern), None)
    if fetched is None:
        raise SourceError(f"{name} left no archive")
    return fetched


# --- archives


class _Member(NamedTuple):
    path: str
    size: int  # bytes, unpacked
    is_file: bool
    is_folder: bool
    read: Callable[[], bytes]


# What the standard library raises for damaged archives.
_DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,  # gzip's own error is one, and zipfile may seek to a negative position
    RuntimeError,  # an encrypted member
    ValueError,
    OverflowError,
)


def read_archive(archive: Path, names: Collection[str], largest: int) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the files in a .zip or .tar.gz archive with one of the names, in any folder.

    Writes nothing to disk. Checks every member, wanted or not, and stops at the first that no honest archive
    has: use the files only if the iteration ends without an error. Not all damage is noticed, so verify
    the content too.

    largest: the limit on the size of a wanted file, in bytes.
    Raises SourceError, naming the archive and the member at fault, also if the archive doesn't exist.
    """
    total = 0
    try:
        _refuse_device(archive)
        for count, member in enumerate(_list_members(archive), start=1):
            path = PureWindowsPath(member.path[: LONGEST_PATH + 1])  # splits at / and at \, and knows drives
            wanted = member.is_file and path.name in names
            total += member.size
            fault = _find_fault(member, path, largest if wanted else MOST_BYTES)
            if fault is None and (total > MOST_BYTES or count > MOST_MEMBERS):
                fault = f"exceeds the limit of {MOST_BYTES:,} bytes or {MOST_MEMBERS:,} members"
            if fault:
                raise SourceError(
                    f"{archive} is refused, nothing was taken from it: {member.path[:LONGEST_PATH]!r} {fault}"
                )
            if wanted:
                yield member.path, member.read()
    except _DAMAGE as error:
        raise SourceError(f"{archive} can't be read as an archive: {error}") from error


def _refuse_device(archive: Path) -> None:
    """Raise SourceError for what is not a file, such as a pipe, and for one beyond any honest archive."""
    file = archive.stat()
    if not stat.S_ISREG(file.st_mode):
        raise SourceError(f"{archive} is not a file")
    if file.st_size > LARGEST_ARCHIVE:
        raise SourceError(f"{archive} is too large: {file.st_size:,} bytes")


def _find_fault(member: _Member, path: PureWindowsPath, largest: int) -> str | None:
    if len(member.path) > LONGEST_PATH:
        return f"... is too long a path: {len(member.path):,} characters"
    if path.anchor:
        return "is an absolute path"
    if ".." in path.parts:
        return "leads out of the archive"
    if not (member.is_file or member.is_folder):
        return "is neither a file nor a folder, but a link, a device or sparse"
    if member.size < 0:
        return "has an impossible size"
    if member.size > largest:
        return f"is too large: {member.size:,} bytes"
    return None


def _list_members(archive: Path) -> Iterator[_Member]:
    with archive.open("rb") as file:
        start = file.read(4)
    if start.startswith(b"\x1f\x8b"):
        return _list_tar(archive)
    if start == b"PK\x03\x04":
        return _list_zip(archive)
    raise SourceError(f"{archive} is neither a .tar.gz nor a .zip archive")


def _list_zip(archive: Path) -> Iterator[_Member]:
    with _BoundedFile(archive) as file, zipfile.ZipFile(file) as zipped:
        file.most = LARGEST_ARCHIVE  # the directory has been read
        for info in zipped.infolist():
            # zipfile unpacks the other kinds without a limit on memory.
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise SourceError(f"{archive}: {info.filename!r} is neither stored nor deflated")
            is_folder = info.filename.endswith("/")  # info.is_dir fails on an empty name before Python 3.12
            kind = stat.S_IFMT(info.external_attr >> 16)  # 0 in archives made outside Unix
            is_file = not is_folder and kind in (0, stat.S_IFREG)
            read = partial(_read_zip_member, zipped, info)
            yield _Member(info.filename, info.file_size, is_file, is_folder, read)


def _read_zip_member(zipped: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with zipped.open(info) as file:
        return file.read(info.file_size)  # without a size, it unpacks all, however much more that is


class _BoundedFile(io.FileIO):
    """A file that refuses long reads: zipfile reads the directory at once, whatever its length."""

    most = MOST_OF_DIRECTORY

    def read(self, size: int | None = -1, /) -> bytes:
        size = self.most if size is None or size < 0 else size
        if size > self.most:
            raise SourceError(f"{self.name} is refused: its directory has {size:,} bytes")
        return super().read(size) or b""


def _list_tar(archive: Path) -> Iterator[_Member]:
    with _BoundedGzip(archive) as unpacked, tarfile.open(fileobj=unpacked, mode="r:") as tar:
        while (info := tar.next()) is not None:
            read = partial(_read_tar_member, unpacked, tar, info)
            yield _Member(info.name, info.size, info.isfile() and not info.issparse(), info.isdir(), read)
            unpacked.header = 0
            tar.members.clear()  # type: ignore[attr-defined]  # else all headers stay in memory
            tar.pax_headers = {}


def _read_tar_member(unpacked: _BoundedGzip, tar: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(info)
    assert file is not None, "only asked for files"
    unpacked.allow(info.size)
    return file.read()


class _BoundedGzip(gzip.GzipFile):
    """A gzip file that is read forwards only, and refuses headers of a tar that could fill the memory.

    A header may state any length for its extensions, and be followed by any number of others, which tarfile
    collects. A size below zero leads it back to where it was.
    """

    def __init__(self, archive: Path) -> None:
        super().__init__(archive)
        self.header = self.headers = 0  # bytes read: of the member's headers, and of all

    def allow(self, size: int) -> None:
        """Let the content of a member be read beside the headers."""
        self.header -= size
        self.headers -= size

    def read(self, size: int | None = -1) -> bytes:
        self._check(size is not None and size >= 0)
        self.header += size or 0
        self.headers += size or 0
        self._check(self.header <= MOST_OF_HEADER and self.headers <= MOST_OF_HEADERS)
        return super().read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence == io.SEEK_SET:  # `tell` calls this with another
            self._check(self.tell() <= offset <= 2 * MOST_BYTES)
        return super().seek(offset, whence)

    def _check(self, harmless: bool) -> None:
        if not harmless:
            raise SourceError(f"{self.name} is refused: a header in it has an impossible length")
