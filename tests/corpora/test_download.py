"""Downloads that end, and archives: honest ones are read, damaged and hostile ones refused."""

import contextlib
import stat
import tarfile
import zipfile
from collections.abc import Callable
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


def test_a_tar_header_of_impossible_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "LONGEST_READ", 10_000)
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo(NAME)
        info.pax_headers = {"comment": "a" * 20_000}
        add_to_tar(tar, info, CONTENT)
    assert "impossible length" in refusal(path)


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
