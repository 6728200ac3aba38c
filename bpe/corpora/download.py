"""Download files with a known SHA-256, and read files out of archives that may be hostile.

pooch downloads, verifies and retries. It sets no limit on a file's size or on total time, and its unpackers
write whatever an archive holds to disk, so this file adds the limits and reads archives itself.
"""

from __future__ import annotations

import gzip
import hashlib
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

PROBE_SECONDS = 5.0
READ_SECONDS = 20.0  # between two parts of an answer
DOWNLOAD_SECONDS = 300.0  # for one file, including every retry
RETRIES = 4  # pooch waits 1, 2, 3 and 4 seconds before them
COMMAND_SECONDS = 600

MOST_BYTES = 1_000_000_000  # of an archive's members together, unpacked
MOST_MEMBERS = 20_000
LONGEST_READ = 4_000_000  # bytes of a .tar.gz at a time

Result = TypeVar("Result")


class SourceError(Exception):
    """A source can't supply its files. The message is for the reader."""


def sha256(content: bytes) -> str:
    """Return the SHA-256 of the content in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


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
        with requests.get(url, stream=True, timeout=(PROBE_SECONDS, READ_SECONDS)) as response:
            if (status := response.status_code) != 200:
                may_pass = status == 429 or status >= 500
                raise ValueError(f"status {status}") if may_pass else SourceError(f"{url}: status {status}")
            with Path(output).open("wb") as file:
                for chunk in response.iter_content(chunk_size=65_536):
                    file.write(chunk)
                    if file.tell() > largest:
                        raise ValueError(f"more than {largest:,} bytes")

    def fetch(folder: str) -> bytes:
        name = url.rpartition("/")[2]
        files = pooch.create(folder, "", registry={name: digest}, urls={name: url}, retry_if_failed=RETRIES)
        return Path(files.fetch(name, downloader=save)).read_bytes()

    with tempfile.TemporaryDirectory(prefix="bpe-download-", ignore_cleanup_errors=True) as folder:
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
        for count, member in enumerate(_list_members(archive), start=1):
            path = PureWindowsPath(member.path)  # splits at / and at \, and knows drives
            wanted = member.is_file and path.name in names
            total += member.size
            fault = _find_fault(member, path, largest if wanted else MOST_BYTES)
            if fault is None and (total > MOST_BYTES or count > MOST_MEMBERS):
                fault = f"exceeds the limit of {MOST_BYTES:,} bytes or {MOST_MEMBERS:,} members"
            if fault:
                raise SourceError(f"{archive} is refused, nothing was taken from it: {member.path!r} {fault}")
            if wanted:
                yield member.path, member.read()
    except _DAMAGE as error:
        raise SourceError(f"{archive} can't be read as an archive: {error}") from error


def _find_fault(member: _Member, path: PureWindowsPath, largest: int) -> str | None:
    if path.anchor:
        return "is an absolute path"
    if ".." in path.parts:
        return "leads out of the archive"
    if not (member.is_file or member.is_folder):
        return "is neither a file nor a folder, but a link or a device"
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
    with zipfile.ZipFile(archive) as zipped:
        for info in zipped.infolist():
            # zipfile unpacks the other kinds without a limit on memory.
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise SourceError(f"{archive}: {info.filename!r} is neither stored nor deflated")
            is_folder = info.filename.endswith("/")  # info.is_dir fails on an empty name before Python 3.12
            kind = stat.S_IFMT(info.external_attr >> 16)  # 0 in archives made outside Unix
            is_file = not is_folder and kind in (0, stat.S_IFREG)
            yield _Member(info.filename, info.file_size, is_file, is_folder, partial(zipped.read, info))


def _list_tar(archive: Path) -> Iterator[_Member]:
    with _BoundedGzip(archive) as unpacked, tarfile.open(fileobj=unpacked, mode="r:") as tar:
        for info in tar:
            read = partial(_read_tar_member, tar, info)
            yield _Member(info.name, info.size, info.isfile(), info.isdir(), read)


def _read_tar_member(tar: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(info)
    assert file is not None, "only asked for files"
    return file.read()


class _BoundedGzip(gzip.GzipFile):
    """A gzip file that refuses long reads and far seeks.

    A tar header may state any length for an extension, and tarfile reads it at once: a few kilobytes of
    archive could fill the memory.
    """

    def read(self, size: int | None = -1) -> bytes:
        self._check(size is not None and 0 <= size <= LONGEST_READ)
        return super().read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        self._check(offset <= 2 * MOST_BYTES)
        return super().seek(offset, whence)

    def _check(self, harmless: bool) -> None:
        if not harmless:
            raise SourceError(f"{self.name} is refused: a header in it has an impossible length")
