"""WikiText-2: cleaning, its sources, and the command that prepares it."""

import os
import socket
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from bpe import corpora
from bpe.__main__ import main
from bpe.corpora import download, wikitext, wikitext_sources
from bpe.corpora.download import fetching

CHECKOUT = Path(__file__).resolve().parents[2]
RAW = {
    "train": " \n = Moon = \n \n The moon is round . \n = = Phases = = \n",
    "valid": " \n = Sun = \n The sun shines . \n",
    "test": " = Star = \n Stars twinkle . \n",
}
CLEANED = {
    "train": "= Moon =\nThe moon is round .\n= = Phases = =\n",
    "valid": "= Sun =\nThe sun shines .\n",
    "test": "= Star =\nStars twinkle .\n",
}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder."""
    monkeypatch.setenv("BPE_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A folder with the three files."""
    folder = tmp_path / "raw"
    folder.mkdir()
    for split, text in RAW.items():
        (folder / f"{split}.txt").write_bytes(text.encode())
    return folder


def prepare(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["wikitext2", *map(str, arguments)])


# --- cleaning


@given(st.text(" \t\r\n=aé月\u2028"))
def test_cleaning(text: str) -> None:
    cleaned = wikitext.clean(text)
    lines = cleaned.split("\n")
    assert lines.pop() == ""
    assert all(line and line == line.strip() for line in lines)
    assert wikitext.clean(cleaned) == cleaned
    assert "".join(cleaned.split()) == "".join(text.split())


def test_only_newlines_end_a_line() -> None:
    assert wikitext.clean(" a \r\n\r\n b\u2028c \n") == "a\nb\u2028c\n"


def test_figures() -> None:
    assert wikitext.figures(CLEANED["train"]) == wikitext.Figures(44, 18, 3, 1)


# --- the real corpus


@pytest.fixture(scope="module")
def splits() -> dict[str, str]:
    try:
        return {split: corpora.wikitext2(split) for split in corpora.WIKITEXT2_SPLITS}
    except FileNotFoundError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


def test_the_figures_of_the_corpus(splits: dict[str, str]) -> None:
    assert all(wikitext.is_expected(split, text) for split, text in splits.items())
    assert {split: wikitext.figures(text) for split, text in splits.items()} == wikitext.EXPECTED
    assert len(set(splits["train"])) == len(set().union(*splits.values())) == 283
    assert all(wikitext.clean(text) == text for text in splits.values())


# --- a folder of files


@pytest.mark.parametrize(
    "names",
    [
        {"train": "train.txt", "valid": "valid.txt", "test": "test.txt"},
        {"train": "Train.TXT", "valid": "validation.txt", "test": "my test.txt"},
        {"train": "wiki.train.tokens", "valid": "wiki.valid.tokens", "test": "wiki.test.tokens"},
    ],
)
def test_text_files(tmp_path: Path, names: dict[str, str]) -> None:
    (tmp_path / "latest.txt").touch()  # not the name of a split, though it ends like one
    (tmp_path / "test.json").touch()
    for split, name in names.items():
        (tmp_path / name).write_bytes(RAW[split].encode())
    assert wikitext_sources.from_folder(tmp_path) == RAW


def parquet(path: Path, columns: dict[str, list[object]]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), path)


@pytest.mark.parametrize("row_end", ["", "\n"])
def test_parquet_files_as_the_hub_names_them(tmp_path: Path, row_end: str) -> None:
    for split, text in RAW.items():
        name = {"valid": "validation"}.get(split, split)
        rows = [line + row_end for line in text.split("\n")]
        parquet(tmp_path / f"{name}-00000-of-00001.parquet", {"text": rows})
    texts = wikitext_sources.from_folder(tmp_path)
    assert {split: wikitext.clean(text) for split, text in texts.items()} == CLEANED


def no_file(raw: Path) -> None:
    (raw / "valid.txt").unlink()


def two_files(raw: Path) -> None:
    (raw / "wiki.valid.tokens").write_bytes(b"a")


def not_utf8(raw: Path) -> None:
    (raw / "valid.txt").write_bytes(b"caf\xe9 \n")


def empty(raw: Path) -> None:
    (raw / "valid.txt").write_bytes(b"")


def whitespace(raw: Path) -> None:
    (raw / "valid.txt").write_bytes(b" \r\n\n")


def endless(raw: Path) -> None:
    no_file(raw)
    (raw / "valid.txt").symlink_to("/dev/zero")


def with_mark(raw: Path) -> None:
    """A byte order mark, and nothing else."""
    (raw / "valid.txt").write_bytes(b"\xef\xbb\xbf\n")


def another_column(raw: Path) -> None:
    no_file(raw)
    parquet(raw / "valid.parquet", {"line": ["a"]})


def another_type(raw: Path) -> None:
    no_file(raw)
    parquet(raw / "valid.parquet", {"text": [1]})


def not_parquet(raw: Path) -> None:
    (raw / "valid.txt").rename(raw / "valid.parquet")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (no_file, "must hold one file for the split 'valid', and it has none"),
        (two_files, "has valid.txt, wiki.valid.tokens"),
        (not_utf8, "valid.txt is not UTF-8: byte 0xe9 at position 3"),
        (empty, "the split 'valid' holds no text"),
        (whitespace, "the split 'valid' holds no text"),
        (with_mark, "the split 'valid' holds no text"),
        (endless, "valid.txt has more than 1,000 bytes"),
        (another_column, 'valid.parquet has no column "text" of strings'),
        (another_type, 'valid.parquet has no column "text" of strings'),
        (not_parquet, "valid.parquet is not a parquet file, or is damaged"),
    ],
)
def test_a_folder_that_is_wrong(
    data: Path, raw: Path, spoil, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if spoil is endless and not Path("/dev/zero").exists():
        pytest.skip("no device that never ends")
    monkeypatch.setattr(wikitext_sources, "LARGEST_TEXT", 1_000)
    spoil(raw)
    result = prepare("--source", raw)
    assert result.exit_code == 1
    assert message in result.stderr
    assert not (data / "wikitext2").exists()


# --- the hub


class Rows(dict[str, list[str]]):
    """A split of a data set: its column, and the size of its table."""

    data = types.SimpleNamespace(nbytes=1_000)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """A replacement for `datasets` and `huggingface_hub`. `requests` lists what `datasets` was asked for."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "")
    monkeypatch.setattr(wikitext_sources, "probe", lambda url: None)
    monkeypatch.setattr(
        wikitext, "SHA256", {split: download.sha256(text.encode()) for split, text in CLEANED.items()}
    )
    rows = {split: Rows(text=text.splitlines(keepends=True)) for split, text in RAW.items()}
    fake = types.SimpleNamespace(requests=[], sizes=[1_000, 2_000])

    def load_dataset(*names: str, revision: str) -> dict[str, Rows]:
        fake.requests.append((*names, revision, os.environ["HF_HUB_OFFLINE"]))
        return {"train": rows["train"], "validation": rows["valid"], "test": rows["test"]}

    def list_repo_tree(*names: str, **_: object) -> list[types.SimpleNamespace]:
        assert names == NAMES[:2]
        return [types.SimpleNamespace(), *(types.SimpleNamespace(size=size) for size in fake.sizes)]

    datasets = types.SimpleNamespace(load_dataset=load_dataset, disable_progress_bars=lambda: None)
    monkeypatch.setitem(sys.modules, "datasets", datasets)
    library = types.SimpleNamespace(
        is_offline_mode=lambda: os.environ["HF_HUB_OFFLINE"] == "1", list_repo_tree=list_repo_tree
    )
    monkeypatch.setitem(sys.modules, "huggingface_hub", library)
    return fake


NAMES = ("Salesforce/wikitext", "wikitext-2-v1", "b08601e04326c79dfdd32d625aee71d232d685c3")


def test_from_the_hub(data: Path, hub: types.SimpleNamespace) -> None:
    assert prepare().exit_code == 0
    assert hub.requests == [(*NAMES, "")]
    assert {split: corpora.wikitext2(split) for split in CLEANED} == CLEANED


def no_answer(url: str) -> None:
    raise download.SourceError(f"{url}: can't be reached")


def test_without_a_network_a_copy_fetched_before_is_used(
    data: Path, hub: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wikitext_sources, "probe", no_answer)
    result = prepare()
    assert result.exit_code == 0
    assert "No answer from the hub (https://huggingface.co: can't be reached)" in result.stderr
    assert hub.requests == [(*NAMES, "1")]
    assert corpora.wikitext2("test") == CLEANED["test"]


def test_a_hub_that_never_answers(hub: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr(download, "PROBE_SECONDS", 0.2)
        monkeypatch.setattr(wikitext_sources, "probe", download.probe)
        begun = time.monotonic()
        wikitext_sources.from_hub()
    assert time.monotonic() - begun < 3
    assert hub.requests == [(*NAMES, "1")]


def refused(data: Path) -> str:
    """The message of a run that must not replace what was prepared before."""
    (data / "wikitext2").mkdir(parents=True)
    corpora.wikitext2_path("test").write_bytes(b"earlier")
    result = prepare("--force")
    assert result.exit_code == 1
    assert [path.name for path in (data / "wikitext2").iterdir()] == ["test.txt"]
    assert corpora.wikitext2("test") == "earlier"
    return result.stderr


def test_files_too_large_are_not_downloaded(data: Path, hub: types.SimpleNamespace) -> None:
    hub.sizes = [20_000_000, 20_000_000]
    assert "wikitext-2-v1 has 40,000,000 bytes, more than the limit of 30,000,000" in refused(data)
    assert hub.requests == []


def test_a_table_too_large_is_not_read(
    data: Path, hub: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rows, "data", types.SimpleNamespace(nbytes=20_000_000))
    monkeypatch.setattr(wikitext_sources, "_join", lambda split: pytest.fail("read"))
    assert "wikitext-2-v1 has 60,000,000 bytes, more than the limit" in refused(data)


def test_a_hub_that_takes_too_long(
    data: Path, hub: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wikitext_sources, "HUB_SECONDS", 0.1)
    monkeypatch.setattr(sys.modules["datasets"], "load_dataset", lambda *_, **__: time.sleep(2))
    assert "https://huggingface.co: not finished within 0.1 seconds" in refused(data)


def test_another_text_from_the_hub_is_refused(
    data: Path, hub: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even one with the same totals."""
    monkeypatch.setitem(wikitext.SHA256, "valid", download.sha256(CLEANED["valid"][::-1].encode()))
    told = refused(data)
    assert "the split 'valid' is another text: expected 1,112,672 characters, " in told
    assert "found 25 characters, " in told


def test_datasets_is_missing(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "")
    monkeypatch.setattr(wikitext_sources, "probe", lambda url: None)
    monkeypatch.setitem(sys.modules, "datasets", None)
    result = prepare()
    assert result.exit_code == 1
    assert "datasets" in result.stderr and "--source" in result.stderr


def test_no_network_and_nothing_fetched(tmp_path: Path) -> None:
    """The real `datasets`, in a process of its own: the error comes within seconds and says both ways."""
    environment = os.environ | {
        "PYTHONPATH": str(CHECKOUT),
        "BPE_DATA": str(tmp_path / "data"),
        "HF_HOME": str(tmp_path / "cache"),
        "HF_ENDPOINT": "http://127.0.0.1:9",
    }
    command = [sys.executable, "-m", "bpe", "wikitext2"]
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 1
    assert "can't be fetched from the hub" in done.stderr
    assert "where the hub can be reached" in done.stderr and "--source THEIR_FOLDER" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data" / "wikitext2").exists()


# --- the command


def test_prepared_then_only_reported(data: Path, raw: Path) -> None:
    first = prepare("--source", raw)
    assert first.exit_code == 0
    assert {split: corpora.wikitext2(split) for split in CLEANED} == CLEANED
    assert sorted(path.name for path in (data / "wikitext2").iterdir()) == [
        "test.txt",
        "train.txt",
        "valid.txt",
    ]
    before = [corpora.wikitext2_path(split).stat().st_mtime_ns for split in CLEANED]
    second = prepare()
    assert second.exit_code == 0
    assert second.stdout == first.stdout
    assert "only reports" in second.stderr
    assert [corpora.wikitext2_path(split).stat().st_mtime_ns for split in CLEANED] == before


def test_the_report(data: Path, raw: Path) -> None:
    lines = prepare("--source", raw).stdout.splitlines()
    assert lines[1].split()[:5] == ["train", "44", "18", "3", "1"]
    assert any(line.startswith("Warning: the figures in the course come from another text") for line in lines)
    assert "CC BY-SA" in lines[-2] and "Merity" in lines[-1] and "2016" in lines[-1]


def test_made_again(data: Path, raw: Path) -> None:
    prepare("--source", raw)
    (raw / "test.txt").write_bytes(b"another text")
    prepare("--source", raw)
    assert corpora.wikitext2("test") == CLEANED["test"]
    prepare("--source", raw, "--force")
    assert corpora.wikitext2("test") == "another text\n"


def test_a_run_that_stopped_halfway_is_repeated(data: Path, raw: Path) -> None:
    prepare("--source", raw)
    corpora.wikitext2_path("test").unlink()
    assert prepare("--source", raw).exit_code == 0
    assert corpora.wikitext2("test") == CLEANED["test"]


# --- another text in its place: all of it, or none


OTHER = {split: f"another {split}\n" for split in CLEANED}

REPLACE_AND_DIE = """
import itertools, logging, os, pathlib, signal, sys
from bpe.corpora import wikitext

steps = itertools.count(1)

def killed_at(number, step):
    def counted(*arguments, **options):
        if next(steps) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*arguments, **options)
    return counted

for name in ("mkdir", "rename", "replace", "unlink", "rmdir"):
    setattr(pathlib.Path, name, killed_at(int(sys.argv[1]), getattr(pathlib.Path, name)))
wikitext.write({split: f"another {split}" for split in ("train", "valid", "test")})
"""


def read_all() -> dict[str, str]:
    return {split: corpora.wikitext2(split) for split in CLEANED}


def read_files() -> dict[str, str]:
    paths = {split: corpora.wikitext2_path(split) for split in CLEANED}
    return {split: path.read_text(encoding="utf-8") for split, path in paths.items() if path.exists()}


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal there")
def test_a_run_killed_at_any_step_leaves_one_text_and_what_else_is_there(
    data: Path, raw: Path, tmp_path: Path
) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    data.mkdir()
    (data / "wikitext2").symlink_to(elsewhere)
    (elsewhere / "mine.txt").write_bytes(b"mine")
    texts_seen, step, status = [], 0, -9
    while status:
        step += 1
        assert prepare("--source", raw, "--force").exit_code == 0
        assert read_files() == CLEANED
        command = [sys.executable, "-c", REPLACE_AND_DIE, str(step)]
        status = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(CHECKOUT)}).returncode
        assert status in (-9, 0)
        files, texts = read_files(), read_all()
        assert files.items() <= CLEANED.items() or files.items() <= OTHER.items()
        assert texts in (CLEANED, OTHER)
        assert not corpora.missing_files("wikitext2")
        assert prepare().exit_code == 0
        assert read_files() == texts
        assert {path.name for path in elsewhere.iterdir()} == {*(f"{s}.txt" for s in CLEANED), "mine.txt"}
        assert (data / "wikitext2").is_symlink()
        texts_seen.append(texts)
    assert step > 10 and texts == OTHER
    assert texts_seen == sorted(texts_seen, key=[CLEANED, OTHER].index)  # one moment decides


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal there")
def test_the_second_run_waits_for_the_first_and_reports(data: Path, raw: Path) -> None:
    with fetching(wikitext_sources.log):
        second = start("--source", raw)
        assert second.stderr is not None
        assert f"Another process is using {data / 'downloads'}: waiting" in second.stderr.readline()
        wikitext.write({split: f"another {split}" for split in CLEANED})
    stdout, _ = second.communicate(timeout=20)
    assert second.returncode == 0 and "Licence" in stdout
    assert read_all() == OTHER


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "bpe", "wikitext2", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


@pytest.mark.skipif(sys.platform != "linux", reason="no folder that even root can't write")
def test_a_folder_that_cannot_be_written_is_reported_on(
    data: Path, raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare("--source", raw)
    (data / "downloads" / ".lock").unlink(missing_ok=True)
    (data / "wikitext2" / ".new.part").mkdir()

    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    for change in ("mkdir", "rmdir", "unlink", "replace", "rename", "touch"):
        monkeypatch.setattr(Path, change, refuse)
    result = prepare()
    assert result.exit_code == 0 and "Licence" in result.stdout


def test_a_full_disk(data: Path, raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    result = prepare("--source", raw)
    assert result.exit_code == 1
    assert result.stderr.endswith("train.txt: No space left on device\n")
    assert list((data / "wikitext2").iterdir()) == []


def test_a_damaged_file(data: Path, raw: Path) -> None:
    prepare("--source", raw)
    corpora.wikitext2_path("test").write_bytes(b"\xff")
    result = prepare()
    assert result.exit_code == 1
    assert "test.txt is not UTF-8: byte 0xff at position 0" in result.stderr


def test_wrong_use(data: Path, raw: Path) -> None:
    assert prepare("--source", raw / "nothing").exit_code == 2
    assert prepare("--source", raw / "train.txt").exit_code == 2
    assert prepare("train").exit_code == 2


# --- what the rest of the course uses


def test_a_missing_corpus(data: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"valid\.txt is missing.*python -m bpe wikitext2"):
        corpora.wikitext2("valid")


def test_an_unknown_split(data: Path) -> None:
    with pytest.raises(ValueError, match="unknown split 'validation': choose from 'train', 'valid', 'test'"):
        corpora.wikitext2("validation")
