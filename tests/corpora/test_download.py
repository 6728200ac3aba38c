"""Downloads that end, and archives: honest ones are read, damaged and hostile ones refused."""

import contextlib
import gzip
import os
import stat
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_archives import Members, add_to_tar, tar_of, zip_of

from bpe.corpora import download
from bpe.corpora.download import SourceError, read_archive

NAME = "poet.tang.0.json"
CONTENT = b"[]\n"
LARGEST = 1_000

both_kinds = pytest.mark.parametrize("archive_of", [tar_of, zip_of])
ArchiveOf = Callable[[Path, Members], Path]


def read(archive: Path) -> Members:
    return list(read_archive(archive, {NAME}, LARGEST))


def refusal(archive: Path) -> str:
    with pytest.raises(SourceError) as caught:
        read(archive)
    message = str(caught.value)
    assert str(archive) in message
    assert "\n" not in message
    return message


@both_kinds
def test_wanted_names_are_found_in_any_folder(tmp_path: Path, archive_of: ArchiveOf) -> None:
    members = [(NAME, b"1"), (f"全唐诗/{NAME}", b"2"), ("other.json", b"3"), (f"./a/b/{NAME}", b"4")]
    found = read(archive_of(tmp_path / "a", members))
    assert [content for _, content in found] == [b"1", b"2", b"4"]
    assert [Path(path).name for path, _ in found] == [NAME] * 3


@both_kinds
@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("/etc/passwd", "is an absolute path"),
        ("C:/poem.json", "is an absolute path"),
        ("C:\\poem.json", "is an absolute path"),
        ("../poem.json", "leads out of the archive"),
        (f"a/../../{NAME}", "leads out of the archive"),
        ("a\\..\\poem.json", "leads out of the archive"),
    ],
)
def test_paths_that_lead_elsewhere(tmp_path: Path, archive_of: ArchiveOf, path: str, fault: str) -> None:
    message = refusal(archive_of(tmp_path / "a", [(NAME, CONTENT), (path, b"")]))
    assert repr(path) in message
    assert message.endswith(fault)


@both_kinds
def test_a_wanted_member_that_is_too_large(tmp_path: Path, archive_of: ArchiveOf) -> None:
    message = refusal(archive_of(tmp_path / "a", [(NAME, bytes(LARGEST + 1))]))
    assert message.endswith(f"'{NAME}' is too large: 1,001 bytes")


@both_kinds
def test_members_that_are_too_large_together(
    tmp_path: Path, archive_of: ArchiveOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = archive_of(tmp_path / "a", [("one", bytes(600)), ("two", bytes(600))])
    assert read(archive) == []
    monkeypatch.setattr(download, "MOST_BYTES", 1_000)
    assert "'two' exceeds the limit of 1,000 bytes" in refusal(archive)


@both_kinds
def test_too_many_members(tmp_path: Path, archive_of: ArchiveOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "MOST_MEMBERS", 2)
    assert "'three' exceeds the limit" in refusal(
        archive_of(tmp_path / "a", [("one", b""), ("two", b""), ("three", b"")])
    )


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_a_link_or_device_in_a_tar(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz") as tar:
        info = tarfile.TarInfo(NAME)
        info.type, info.linkname = kind, "/etc/passwd"
        add_to_tar(tar, info)
    assert f"'{NAME}' is neither a file nor a folder" in refusal(path)


def test_a_link_in_a_zip(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    info = zipfile.ZipInfo(NAME)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as zipped:
        zipped.writestr(info, "/etc/passwd")
    assert f"'{NAME}' is neither a file nor a folder" in refusal(path)


def test_folders_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz") as tar:
        folder = tarfile.TarInfo("a")
        folder.type = tarfile.DIRTYPE
        add_to_tar(tar, folder)
        add_to_tar(tar, tarfile.TarInfo(f"a/{NAME}"), CONTENT)
    assert read(path) == [(f"a/{NAME}", CONTENT)]
    assert read(zip_of(tmp_path / "a.zip", [("a/", b""), (f"a/{NAME}", CONTENT)])) == [(f"a/{NAME}", CONTENT)]


@pytest.mark.parametrize("length", [50_000, 200_000])
def test_a_tar_header_of_impossible_length(tmp_path: Path, length: int) -> None:
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo(NAME)
        info.pax_headers = {"comment": "a" * length}
        add_to_tar(tar, info, CONTENT)
    if length < download.MOST_OF_HEADER:
        assert read(path) == [(NAME, CONTENT)]
    else:
        assert "impossible length" in refusal(path)


# --- archives that could fill the memory, or take for ever


def long_names(path: Path) -> None:
    """310 long names for one member, each of 3.9 MB."""
    tar_blocks(path, [(b"a" * 3_900_000, tarfile.GNUTYPE_LONGNAME)] * 310)


def records(path: Path) -> None:
    """200,000 records for each of 20 members."""
    tar_blocks(path, [(pax_records(200_000), tarfile.XHDTYPE), (b"", tarfile.REGTYPE)] * 20)


def global_records(path: Path) -> None:
    """Records for all members that follow, which add up: each header is small enough."""
    for_all = [(pax_records(7_000, first=k), tarfile.XGLTYPE) for k in range(300)]
    tar_blocks(path, [member for header in for_all for member in (header, (b"", tarfile.REGTYPE))])


def negative_size(path: Path) -> None:
    """A member of a size that leads back to its own header: older versions of tarfile go there for ever."""
    tar_blocks(path, [(b"", tarfile.REGTYPE)], sizes=[-512])


def many_entries(path: Path) -> None:
    """A directory of a million entries."""
    zip_of(path, [("a", b"")])
    local, entry, _ = parts_of_zip(path.read_bytes())
    number = 1_000_000
    size = number * len(entry)
    end = b"PK\x06\x06" + struct.pack("<Q2H2L4Q", 44, 45, 45, 0, 0, number, number, size, len(local))
    end += b"PK\x06\x07" + struct.pack("<LQL", 0, len(local) + size, 1)
    end += b"PK\x05\x06" + b"\xff" * 16 + bytes(2)
    path.write_bytes(local + entry * number + end)


def a_lie(path: Path) -> None:
    """A member that states 100 bytes and unpacks to a billion."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = b"".join(packer.compress(bytes(1_000_000)) for _ in range(1_000)) + packer.flush()
    sizes = struct.pack("<H3L", zipfile.ZIP_DEFLATED, 0, len(packed), 100)
    zip_of(path, [(NAME, bytes(100))])
    local, entry, end = parts_of_zip(path.read_bytes())
    local = local[:8] + sizes[:2] + local[10:14] + sizes[2:] + local[26 : 30 + len(NAME)] + packed
    entry = entry[:10] + sizes[:2] + entry[12:16] + sizes[2:] + entry[28:]
    path.write_bytes(local + entry + end[:16] + struct.pack("<L", len(local)) + end[20:])


def tar_blocks(path: Path, members: Iterable[tuple[bytes, bytes]], sizes: Iterable[int] = ()) -> None:
    stated = iter(sizes)
    with gzip.open(path, "wb", compresslevel=1) as file:
        for content, kind in members:
            info = tarfile.TarInfo("a")
            info.type, info.size = kind, next(stated, len(content))
            file.write(info.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % tarfile.BLOCKSIZE))
        file.write(bytes(2 * tarfile.BLOCKSIZE))


def pax_records(number: int, first: int = 0) -> bytes:
    return b"".join(b"14 %08x=1\n" % (first * number + k) for k in range(number))


def parts_of_zip(content: bytes) -> tuple[bytes, bytes, bytes]:
    """The member, its entry in the directory, and the end of the directory."""
    directory, end = content.index(b"PK\x01\x02"), content.index(b"PK\x05\x06")
    return content[:directory], content[directory:end], content[end:]


WITH_LIMITS = """
import resource, sys
from pathlib import Path
from bpe.corpora.download import SourceError, read_archive

resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    print(list(read_archive(Path(sys.argv[1]), {"poet.tang.0.json"}, 1_000)))
except SourceError as error:
    print(error)
unit = 1 if sys.platform == "darwin" else 1024
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows doesn't tell a process its peak of memory")
@pytest.mark.parametrize(
    "attack",
    [
        long_names,
        records,
        global_records,
        negative_size,
        many_entries,
        a_lie,
    ],
)
def test_an_attack_on_memory_or_time_takes_neither(tmp_path: Path, attack: Callable[[Path], None]) -> None:
    attack(path := tmp_path / "attack")
    command = [sys.executable, "-c", WITH_LIMITS, path]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, timeout=60)
    message, peak = done.stdout.splitlines()
    assert str(path) in message
    assert int(peak) < 30_000_000


@both_kinds
def test_a_path_that_is_too_long(tmp_path: Path, archive_of: ArchiveOf) -> None:
    message = refusal(archive_of(tmp_path / "a", [("a" * 5_000, b"")]))
    assert message.endswith("is too long a path: 5,000 characters") and len(message) < 5_000


def test_a_sparse_file_in_a_tar(tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz") as tar:
        info = tarfile.TarInfo(NAME)
        info.type = tarfile.GNUTYPE_SPARSE
        add_to_tar(tar, info)
    assert "a device or sparse" in refusal(path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes with names there")
    os.mkfifo(path := tmp_path / "pipe.tgz")
    assert refusal(path).endswith("is not a file")


def test_a_zip_with_another_compression(tmp_path: Path) -> None:
    pytest.importorskip("bz2")
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as zipped:
        zipped.writestr(NAME, CONTENT)
    assert "neither stored nor deflated" in refusal(path)


def test_a_file_that_is_not_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    path.write_bytes(b"<!DOCTYPE html>")
    assert refusal(path).endswith("is neither a .tar.gz nor a .zip archive")


@both_kinds
@settings(deadline=None)
@given(data=st.data())
def test_damage_raises_nothing_but_source_error(
    tmp_path_factory: pytest.TempPathFactory, archive_of: ArchiveOf, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / f"damaged_{archive_of.__name__}"
    damaged = bytearray(archive_of(path, [(f"a/{NAME}", bytes(range(256)))]).read_bytes())
    if data.draw(st.booleans(), label="cut"):
        del damaged[data.draw(st.integers(0, len(damaged) - 1)) :]
    else:
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(damaged)
    with contextlib.suppress(SourceError):
        read(path)
