"""Read files out of an archive that may be damaged or made to do harm, without unpacking it to disk."""

from __future__ import annotations

import gzip
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import IO, NamedTuple, cast

MOST_BYTES = 1_000_000_000  # of all members together, unpacked
MOST_MEMBERS = 20_000
LONGEST_READ = 4_000_000  # bytes in one go

_DAMAGED = (
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


class ArchiveError(Exception):
    """An archive that can't be read, or is refused; the message names it, and the member at fault."""


class _Member(NamedTuple):
    path: str
    size: int  # bytes, unpacked
    is_file: bool
    is_folder: bool
    read: Callable[[], bytes]


def archived_files(archive: Path, names: Collection[str], largest: int) -> Iterator[tuple[str, bytes]]:
    """Path and content of every file in a .zip or .tar.gz archive whose name, without folders, is wanted.

    Nothing is written to disk. All members are looked at, wanted or not, and one that no honest archive
    has ends it: use what was yielded only when the end was reached. Damage inside a file is not always
    noticed, so check the content too.

    largest: the most bytes that a wanted file may have.
    Raises ArchiveError, also when the archive isn't there.
    """
    try:
        yield from _wanted_files(archive, names, largest)
    except _DAMAGED as error:
        raise ArchiveError(f"{archive} can't be read as an archive: {error}") from error


def _wanted_files(archive: Path, names: Collection[str], largest: int) -> Iterator[tuple[str, bytes]]:
    seen: set[PureWindowsPath] = set()
    total = 0
    for count, member in enumerate(_members(archive), start=1):
        path = PureWindowsPath(member.path)  # knows / and \ and drives, and that case may not matter
        wanted = member.is_file and path.name in names
        total += member.size
        fault = _fault(member, path, seen, largest if wanted else MOST_BYTES)
        if fault is None and (total > MOST_BYTES or count > MOST_MEMBERS):
            fault = f"is where it exceeds {MOST_BYTES:,} bytes or {MOST_MEMBERS:,} members"
        if fault:
            raise ArchiveError(f"{archive} is refused, nothing was taken from it: {member.path!r} {fault}")
        if member.is_file:
            seen.add(path)
        if wanted:
            yield member.path, member.read()


def _fault(
    member: _Member, path: PureWindowsPath, seen: Collection[PureWindowsPath], largest: int
) -> str | None:
    """What is wrong with a member, as the end of a sentence about it."""
    if path.anchor:
        return "is an absolute path"
    if ".." in path.parts:
        return "leads out of the archive"
    if not (member.is_file or member.is_folder):
        return "is neither a file nor a folder, but a link or a device"
    if path in seen:
        return "is there twice"
    if member.size > largest:
        return f"is too large, with {member.size:,} bytes"
    return None


def _members(archive: Path) -> Iterator[_Member]:
    with archive.open("rb") as file:
        start = file.read(4)
    if start.startswith(b"\x1f\x8b"):
        return _tar_members(archive)
    if start == b"PK\x03\x04":
        return _zip_members(archive)
    raise ArchiveError(f"{archive} is neither a .tar.gz nor a .zip archive")


def _zip_members(archive: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as zipped:
        for info in zipped.infolist():
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ArchiveError(f"{archive}: {info.filename!r} is neither stored nor deflated")
            is_folder = info.filename.endswith("/")  # info.is_dir fails on an empty name before Python 3.12
            kind = stat.S_IFMT(info.external_attr >> 16)  # 0 where the archiver doesn't come from Unix
            yield _Member(
                path=info.filename,
                size=info.file_size,
                is_file=not is_folder and kind in (0, stat.S_IFREG),
                is_folder=is_folder,
                read=partial(zipped.read, info),
            )


def _tar_members(archive: Path) -> Iterator[_Member]:
    with gzip.open(archive) as unpacked:
        reader = cast(IO[bytes], _BoundedReader(archive, unpacked))
        with tarfile.open(fileobj=reader, mode="r:") as tar:
            for info in tar:
                yield _Member(
                    path=info.name,
                    size=info.size,
                    is_file=info.isfile(),
                    is_folder=info.isdir(),
                    read=partial(_read_tar_member, tar, info),
                )


def _read_tar_member(tar: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(info)
    assert file is not None, "only asked for files"
    return file.read()


class _BoundedReader:
    """An unpacked stream that is neither read in long pieces nor far.

    A tar header can have an extension of any length, which tarfile reads in one go before it reports the
    member: a few kilobytes of archive could fill the memory.
    """

    def __init__(self, archive: Path, stream: IO[bytes] | gzip.GzipFile) -> None:
        self._archive = archive
        self._stream = stream

    def tell(self) -> int:
        return self._stream.tell()

    def seek(self, position: int) -> int:
        self._check(position <= 2 * MOST_BYTES)
        return self._stream.seek(position)

    def read(self, size: int) -> bytes:
        self._check(0 <= size <= LONGEST_READ)
        return self._stream.read(size)

    def _check(self, harmless: bool) -> None:
        if not harmless:
            raise ArchiveError(f"{self._archive} is refused: a header in it has an impossible length")
