"""The command line: what it prints, which files it leaves, and how it reports each fault."""

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from local_server import Server, hanging_halfway

import bpe
from bpe.corpora import poem_sources, poems
from bpe.corpora.download import fetching

pytest.importorskip("opencc")
CHECKOUT = Path(bpe.__file__).parent.parent
sys.path.insert(0, str(CHECKOUT))
import prepare_poems  # noqa: E402

RAW_POEMS = [
    "牀前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。",
    "白日依山盡，黃河入海流。欲窮千里目，更上一層樓。",
    "白日依山盡，黃河入海流。欲窮千里目，更上一層樓。",
    "前不見古人，後不見來者。念天地之悠悠，獨愴然而涕下。",
]
KEPT = [
    "床前明月光，疑是地上霜。举头望明月，低头思故乡。",
    "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。",
]
FILES = {
    f"poet.tang.{number}.json": json.dumps([{"paragraphs": [poem]}]).encode()
    for number, poem in enumerate(RAW_POEMS)
}
FIRST = "poet.tang.0.json"
MANIFEST = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}

no_signals = pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C can't be sent to one process there")


@pytest.fixture(autouse=True)
def small_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four small files, an empty data folder, no network, and no npm."""
    monkeypatch.setenv("BPE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(poem_sources, "manifest", lambda: MANIFEST)
    monkeypatch.setattr(poem_sources, "GITHUB", "http://127.0.0.1:9/")  # a port where nobody answers
    monkeypatch.setattr(poem_sources.shutil, "which", lambda _: None)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "data" / "tang_poems.txt"


def prepare(*arguments: object) -> Result:
    result = CliRunner().invoke(prepare_poems.main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def failure(*arguments: object) -> str:
    """The message of a run that fails."""
    result = prepare(*arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    return result.stderr.partition("Error: ")[2]


def without_spaces(text: str) -> str:
    return " ".join(text.split())


# --- what it makes and prints


def test_makes_the_file_and_reports(raw: Path, output: Path) -> None:
    result = prepare("--source", raw)
    assert result.exit_code == 0
    assert output.read_bytes() == "".join(f"{poem}\n" for poem in KEPT).encode()
    report = without_spaces(result.stdout)
    assert "poems read 4 left out 2 irregular (another form) 1 duplicates 1 poems kept 2" in report
    assert "five-syllable quatrains 2 seven-syllable quatrains 0" in report
    assert "characters, without newlines 48" in report
    assert f"different characters {len(set(''.join(KEPT)))}" in report
    assert " ".join(["The first three poems:", *KEPT, "OpenCC's t2s"]) in report
    assert result.stderr == f"Source: {raw}, as requested.\n"


def test_a_second_run_reports_the_same_and_writes_nothing(raw: Path, output: Path) -> None:
    first = prepare("--source", raw)
    written = output.stat().st_mtime_ns
    second = prepare()
    assert second.stdout == first.stdout
    assert second.stderr == f"{output} exists, so this only reports on it; --force makes it again.\n"
    assert output.stat().st_mtime_ns == written


def test_force_makes_it_again(raw: Path, output: Path) -> None:
    prepare("--source", raw)
    output.write_bytes(b"")
    assert prepare("--force").exit_code == 0
    assert poems.from_text(output.read_bytes()) == KEPT


def test_the_report_is_of_the_existing_file(raw: Path, output: Path) -> None:
    prepare("--source", raw)
    output.write_bytes(f"{KEPT[0]}\n无题\n".encode())
    report = without_spaces(prepare().stdout)
    assert "These are not the poems that today's rules and OpenCC choose" in report
    assert "poems kept 2 five-syllable quatrains 1" in report
    assert "irregular (another form) 1 characters, without newlines 26" in report


def test_without_the_raw_files_the_number_left_out_is_unknown(raw: Path, output: Path) -> None:
    prepare("--source", raw)
    (poem_sources.raw_folder() / FIRST).unlink()
    report = prepare().stdout
    assert "The number of poems left out is unknown" in report
    assert "poems kept" in report
    assert "poems read" not in report


def test_another_text_than_that_of_the_course(
    raw: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poems, "installed_opencc", lambda: "9.9")
    assert "Warning: SHA-256" in (report := prepare("--source", raw).stdout)
    assert "OpenCC 1.4.2" in report and "9.9" in report
    monkeypatch.setattr(poems, "TEXT_SHA256", hashlib.sha256(output.read_bytes()).hexdigest())
    assert "Warning" not in (report := prepare().stdout)
    assert "as expected" in report


def test_another_output(raw: Path, output: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "new folder" / "poems.txt"
    assert prepare("--source", raw, "--output", elsewhere).exit_code == 0
    assert poems.from_text(elsewhere.read_bytes()) == KEPT
    assert not output.exists()


def test_a_console_without_chinese(raw: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(run_small("--source", raw), env=environment, capture_output=True, check=True)
    assert b"\\u5e8a\\u524d" in done.stdout


def test_help() -> None:
    assert prepare("-h").stdout == prepare("--help").stdout
    assert "--source" in prepare("-h").stdout


# --- faults


def test_an_unknown_source_is_wrong_use() -> None:
    result = prepare("--source", "nowhere")
    assert result.exit_code == 2
    assert "'nowhere' is neither auto, github, npm nor an existing file or folder" in without_spaces(
        result.stderr
    )


def break_no_network(raw: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    return "auto", poem_sources.BY_HAND


def break_missing(raw: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    (raw / FIRST).unlink()
    return str(raw), f"{FIRST}: missing"


def break_changed(raw: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    (raw / FIRST).write_bytes(b"changed")
    return str(raw), f"expected SHA-256 {MANIFEST[FIRST]}, found {hashlib.sha256(b'changed').hexdigest()}"


def break_entry(raw: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    content = b'[{"title": "no poem"}]'
    (raw / FIRST).write_bytes(content)
    monkeypatch.setitem(MANIFEST, FIRST, hashlib.sha256(content).hexdigest())
    return str(raw), f"{FIRST}, entry 1: not a poem"


def break_opencc(raw: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.setitem(sys.modules, "opencc", None)
    return str(raw), "python -m pip install opencc==1.4.2"


def break_space(raw: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    def no_space(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(prepare_poems, "write_atomically", no_space)
    return str(raw), "tang_poems.txt: No space left on device"


@pytest.mark.parametrize(
    "break_something",
    [break_no_network, break_missing, break_changed, break_entry, break_opencc, break_space],
)
def test_a_fault_is_reported_and_leaves_the_earlier_file(
    raw: Path, output: Path, monkeypatch: pytest.MonkeyPatch, break_something: Callable[..., tuple[str, str]]
) -> None:
    output.parent.mkdir()
    output.write_bytes(b"earlier")
    source, message = break_something(raw, monkeypatch)
    assert message in failure("--source", source, "--force")
    assert output.read_bytes() == b"earlier"
    assert {path.name for path in output.parent.iterdir()} <= {"tang_poems.txt", "downloads"}


def test_a_damaged_output_is_reported(raw: Path, output: Path) -> None:
    prepare("--source", raw)
    output.write_bytes(output.read_bytes()[:-2])
    assert "tang_poems.txt is damaged" in failure()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs a user with limits")
def test_an_output_that_cannot_be_written(raw: Path, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    assert "poems.txt: Permission denied" in failure("--source", raw, "--output", folder / "poems.txt")


def test_an_output_in_a_file_as_folder(raw: Path) -> None:
    assert str(raw / FIRST) in failure("--source", raw, "--output", raw / FIRST / "poems.txt")


# --- Ctrl-C, sent to a real process


def run_small(*arguments: object, url: str = "http://127.0.0.1:9/", before: str = "") -> list[str]:
    """The command for a separate process with the same small files."""
    program = f"""
from bpe.corpora import poem_sources
import prepare_poems
poem_sources.manifest = lambda: {MANIFEST!r}
poem_sources.GITHUB = {url!r}
{before}
prepare_poems.main()
"""
    return [sys.executable, "-c", program, *map(str, arguments)]


def stop(process: subprocess.Popen[str], ready: Callable[[], bool]) -> str:
    """Send Ctrl-C when the process is ready for it. Returns its stderr."""
    deadline = time.monotonic() + 20
    while not ready():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=5)
    return stderr


def start(command: list[str], **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "NO_PROXY": "127.0.0.1", **variables}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )


@no_signals
def test_ctrl_c_while_downloading(output: Path, tmp_path: Path) -> None:
    (temporary := tmp_path / "temporary").mkdir()
    with Server(FILES) as server:
        server.acts = {FIRST: [hanging_halfway]}
        process = start(run_small("--source", "github", url=server.url), TMPDIR=str(temporary))
        stderr = stop(process, lambda: len(list(poem_sources.raw_folder().glob("*.json"))) == len(FILES) - 1)
    assert process.returncode == prepare_poems.CTRL_C == 130
    assert "Stopped." in stderr and "Traceback" not in stderr
    assert not output.exists()
    assert {path.name for path in poem_sources.raw_folder().iterdir()} == set(FILES) - {FIRST}
    assert list(temporary.iterdir()) == []


@no_signals
def test_what_a_killed_run_left_is_removed_by_the_next(output: Path) -> None:
    with Server(FILES) as server:
        server.acts = {name: [hanging_halfway] for name in FILES}
        process = start(run_small("--source", "github", url=server.url))
        temporary = output.parent / "downloads" / ".temporary"
        deadline = time.monotonic() + 20
        while len(list(temporary.glob("*/*"))) < len(FILES):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
        process.kill()
        process.communicate()
        assert len(list(temporary.iterdir())) == len(FILES)
        (output.parent / f".{output.name}.{'0' * 16}.part").touch()
        _, stderr = start(run_small("--source", "github", url=server.url)).communicate(timeout=20)
    assert "waiting" not in stderr
    assert poems.from_text(output.read_bytes()) == KEPT
    assert {path.name for path in output.parent.iterdir()} == {output.name, "downloads"}
    assert {path.name for path in temporary.parent.iterdir()} <= {"chinese-poetry", ".lock"}


@no_signals
def test_a_second_run_waits_for_the_first_and_reports(raw: Path, output: Path) -> None:
    with fetching(poem_sources.log):
        second = start(run_small("--source", raw))
        assert second.stderr is not None
        assert f"Another process is using {output.parent / 'downloads'}" in second.stderr.readline()
        output.write_bytes(poems.to_text(KEPT))
    stdout, stderr = second.communicate(timeout=20)
    assert second.returncode == 0 and "poems kept" in stdout
    assert "Source" not in stderr and not poem_sources.raw_folder().exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_standard_output_that_is_full_or_closed(raw: Path, output: Path) -> None:
    prepare("--source", raw)
    command = run_small()
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, encoding="utf-8")
    assert done.returncode == 1
    assert done.stderr.endswith("Error: standard output: No space left on device\n")
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
    done = subprocess.run(closed, env=environment, stderr=subprocess.PIPE, encoding="utf-8")
    assert done.returncode == 1 and "Error: standard output: It is closed" in done.stderr


def test_an_output_that_cannot_be_written_is_found_before_fetching(raw: Path, tmp_path: Path) -> None:
    (loop := tmp_path / "loop").symlink_to(loop)
    assert "loop: " in failure("--source", raw, "--output", loop)
    assert not poem_sources.raw_folder().exists()


def test_a_byte_order_mark_is_no_part_of_a_poem(raw: Path, output: Path) -> None:
    (raw / FIRST).write_bytes(b"\xef\xbb\xbf" + FILES[FIRST])
    assert len(poems.read_entries(raw / FIRST)) == 1
    (raw / FIRST).write_bytes(b"[" * 100_000)
    with pytest.raises(poems.EntryError, match=f"{FIRST} isn't JSON"):
        poems.read_entries(raw / FIRST)
    assert poems.from_text(b"\xef\xbb\xbf" + poems.to_text(KEPT)) == KEPT


@no_signals
def test_ctrl_c_while_writing(raw: Path, output: Path, tmp_path: Path) -> None:
    output.parent.mkdir()
    output.write_bytes(b"earlier")
    hang = f"""
import os, time
from pathlib import Path
rename = Path.replace
def slow(path, target):
    if Path(target).name == {output.name!r}:
        time.sleep(20)
    return rename(path, target)
Path.replace = slow
"""
    process = start(run_small("--source", raw, "--force", before=hang))
    stderr = stop(process, lambda: any(output.parent.glob(".*.part")))
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert output.read_bytes() == b"earlier"
    assert {path.name for path in output.parent.iterdir()} == {output.name, "downloads"}
