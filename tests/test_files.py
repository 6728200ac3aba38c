"""write_atomically: all or nothing, whatever happens."""

import errno
import os
import sys
from pathlib import Path

import pytest

from bpe import _files
from bpe._files import data_folder, remove_left_over, write_atomically


def test_writes_and_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_atomically(path, b"one\n")
    write_atomically(path, b"two\n")
    assert path.read_bytes() == b"two\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_a_fault_leaves_the_earlier_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"earlier")

    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(type(fault)):
        write_atomically(path, b"later")
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_the_bytes_are_on_the_disk_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    replace, fsync = Path.replace, os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: (order.append("fsync"), fsync(number))[1])
    monkeypatch.setattr(Path, "replace", lambda *paths: (order.append("replace"), replace(*paths))[1])
    write_atomically(tmp_path / "a.txt", b"one")
    assert order == ["fsync", "replace"]


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "a.txt"
    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(path, b"")
    assert caught.value.filename == str(path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_a_new_file_can_be_read_like_any_other(tmp_path: Path) -> None:
    plain, written = tmp_path / "plain", tmp_path / "written"
    plain.touch()
    write_atomically(written, b"")
    assert written.stat().st_mode == plain.stat().st_mode


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there that users lack")
def test_a_link_stays_one(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"earlier")
    link.symlink_to(target)
    write_atomically(link, b"later")
    assert link.is_symlink()
    assert target.read_bytes() == b"later"


@pytest.mark.skipif(sys.platform == "win32", reason="no such files there")
def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="regular file"):
        write_atomically(pipe, b"")
    assert pipe.is_fifo()


def test_what_killed_processes_left_is_removed_and_what_others_write_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (".old.part", ".new.part", "other.part", ".hidden"):
        (tmp_path / name).write_bytes(b"x")
        os.utime(tmp_path / name, None if "new" in name else (0, 0))
    remove_left_over(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".new.part", "other.part", ".hidden"}
    # Between the listing and the look at it, the other process may have given it its name.
    monkeypatch.setattr(Path, "glob", lambda *_: iter([tmp_path / ".gone.part"]))
    remove_left_over(tmp_path)


def test_without_a_checkout_a_relative_data_folder_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_files, "checkout", lambda: None)
    monkeypatch.setenv("BPE_DATA", "data")
    with pytest.raises(ValueError, match="give an absolute path"):
        data_folder()
    monkeypatch.setenv("BPE_DATA", str(Path.home()))
    assert data_folder() == Path.home()
    monkeypatch.delenv("BPE_DATA")
    assert data_folder().is_absolute()
