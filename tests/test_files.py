"""Files: all or nothing, whatever happens; one process at a time; no byte order mark."""

import errno
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe import _files
from bpe._files import (
    InUseError,
    data_folder,
    locked,
    read_text,
    refuse_unwritable,
    remove_left_over,
    write_atomically,
)


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


# A process that is killed in the middle of writing. It says "ready" before.
KILLED = """
import sys, time
from pathlib import Path
from bpe._files import open_atomically
with open_atomically(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("ready", flush=True)
    time.sleep(60)
"""


def start_writing(path: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


def test_what_a_killed_process_left_is_removed_by_the_next_that_writes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with start_writing(path) as process:
        write_atomically(path, b"all")  # the other process is alive: its file stays
        [part] = tmp_path.glob(".a.txt.*.part")
        process.kill()
    if _files.fcntl is None:
        os.utime(part, (0, 0))
    write_atomically(path, b"all")
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"all"


@pytest.mark.parametrize("has_locks", [True, False])
def test_what_others_wrote_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_locks: bool
) -> None:
    if not has_locks:
        monkeypatch.setattr(_files, "fcntl", None)
    elif _files.fcntl is None:
        pytest.skip("this system has no locks of files")
    old, new, digits = ".old.0123456789abcdef.part", ".new.0123456789abcdef.part", "0123456789abcdef"
    others = [".old.part", f"old.{digits}.part", ".hidden", f".old.{digits}.part.txt"]
    for name in (old, new, *others):
        (tmp_path / name).write_bytes(b"x")
        os.utime(tmp_path / name, None if "new" in name else (0, 0))
    (tmp_path / f".folder.{digits}.part").mkdir()
    remove_left_over(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*others, f".folder.{digits}.part"} | (set() if has_locks else {new})


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there that users lack")
@pytest.mark.parametrize("act", [refuse_unwritable, lambda path: write_atomically(path, b"x")])
def test_what_cannot_be_written_is_refused(tmp_path: Path, act: Callable[[Path], None]) -> None:
    loop, link, folder = tmp_path / "loop", tmp_path / "link", tmp_path / "folder"
    loop.symlink_to(loop)
    link.symlink_to(tmp_path / "missing" / "a.txt")
    folder.mkdir()
    for path, number in ((loop, errno.ELOOP), (link, errno.ENOENT), (folder, errno.EINVAL)):
        with pytest.raises(OSError) as caught:
            act(path)
        assert (caught.value.errno, caught.value.filename) == (number, str(path))
    act(tmp_path / "a.txt")
    assert not list(tmp_path.glob(".*"))


def test_a_folder_serves_one_process_at_a_time(tmp_path: Path) -> None:
    script = "import sys, time; from pathlib import Path; from bpe._files import locked\n"
    script += "with locked(Path(sys.argv[1])): print('ready', flush=True); time.sleep(60)"
    command = [sys.executable, "-c", script, tmp_path / "folder"]
    said: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        with pytest.raises(InUseError) as caught, locked(tmp_path / "folder"):
            pass
        assert caught.value.filename == str(tmp_path / "folder")

        def kill(message: str) -> None:
            said.append(message)
            process.kill()

        with locked(tmp_path / "folder", wait=kill):
            assert "Another process is using" in said[0]


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf\xef\xbb\xbfab\r\n")
    assert read_text(path) == "\ufeffab\r\n"


def test_a_file_that_is_too_long_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc")
    assert read_text(path, 3) == "abc"
    with pytest.raises(ValueError, match=r"a\.txt has more than 2 bytes"):
        read_text(path, 2)
    if Path("/dev/zero").exists():
        with pytest.raises(ValueError, match="/dev/zero has more than"):
            read_text(Path("/dev/zero"), 1000)


def test_a_limit_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc")
    assert read_text(path, 10**17) == "abc"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes there")
def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    text = "abc" * 1_000_000
    for most in (3_000_000, 2_999_999):
        with subprocess.Popen([sys.executable, "-c", f"open({str(path)!r}, 'w').write('abc' * 1_000_000)"],
                              stderr=subprocess.DEVNULL):  # fmt: skip
            if most == len(text):
                assert read_text(path, most) == text
            else:
                with pytest.raises(ValueError, match="more than"):
                    read_text(path, most)


def test_an_interrupt_while_trying_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlink, interrupts = Path.unlink, [KeyboardInterrupt()]

    def interrupted(self: Path, missing_ok: bool = False) -> None:
        if interrupts:
            raise interrupts.pop()
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", interrupted)
    with pytest.raises(KeyboardInterrupt):
        refuse_unwritable(tmp_path / "a.txt")
    assert not list(tmp_path.iterdir())


def test_without_a_checkout_a_relative_data_folder_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_files, "checkout", lambda: None)
    monkeypatch.setenv("BPE_DATA", "data")
    with pytest.raises(ValueError, match="give an absolute path"):
        data_folder()
    monkeypatch.setenv("BPE_DATA", str(Path.home()))
    assert data_folder() == Path.home()
    monkeypatch.delenv("BPE_DATA")
    assert data_folder().is_absolute()


# --- text in chunks

TRICKY = st.lists(
    st.sampled_from(["a", "月", "\U0001f600", "\r\n", "\ufeff", "é"]).map(str.encode)
    | st.sampled_from([b"\xff", b"\xe6", b"\xe6\x9c", b"\x80", b"\xf0\x9f", b"\xed\xa0\x80"]),
    max_size=8,
).map(b"".join)


@given(data=TRICKY | st.binary(max_size=20), size=st.integers(1, 7))
def test_chunks_are_decoded_as_the_whole(data, size):
    """With the same error at the same place, wherever a character is cut."""

    def outcome(decode):
        try:
            return decode()
        except ValueError as error:
            return str(error)

    def whole():
        try:
            return data.decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            byte = data[error.start]
            return f"F is not UTF-8: byte 0x{byte:02x} at position {error.start:,} ({error.reason})"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_files, "CHUNK", size)
        in_chunks = outcome(lambda: "".join(_files.decode_chunks(io.BytesIO(data), "F")))
    assert in_chunks == whole() == outcome(lambda: _files.decode_utf8(data, "F"))
