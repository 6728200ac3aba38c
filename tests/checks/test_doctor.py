"""What a report of a bug says about a machine: all that can be found out, and nothing secret."""

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from bpe import corpora
from bpe.checks import doctor, installation
from bpe.checks.doctor import Finding
from bpe.checks.installation import PURPOSES, Row

CHECKOUT = Path(__file__).resolve().parents[2]


def run(*arguments, fakes=None, module="bpe.checks.doctor", **environment):
    """Run the doctor in a process of its own. fakes: a folder with modules that hide the real ones."""
    path = os.pathsep.join(map(str, [*([fakes] if fakes else []), CHECKOUT]))
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=os.environ | {"PYTHONPATH": path} | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=100,
    )


def by_name(output):
    return {line[:16].strip(): line[16:].strip() for line in output.splitlines()}


def as_machine(monkeypatch, *rows):
    """Let these rows be all that the installation reports."""
    monkeypatch.setattr(installation, "report", lambda: list(rows))


def test_everything_is_said():
    found = {finding.what: finding for finding in doctor.findings()}
    assert found["course"].found.startswith(metadata.version("bpe-course"))
    assert {"platform", "Python", *PURPOSES, "device", "Tang poems", "Chinese font"} < set(found)
    assert {"interpreter", "data folder", "disk", "compiled engine", "encodings", "terminal"} < set(found)
    assert found["regex"].found == metadata.version("regex")
    assert found["regex"].note == PURPOSES["regex"]


def test_the_course_can_be_used(monkeypatch):
    as_machine(monkeypatch, Row("Python", "3.12.1"), Row("Chinese font", "missing", "apt install a font"))
    found = doctor.findings()
    assert doctor.status(found) == 0
    assert list(doctor.lines(found))[-1] == "Everything that the course needs is there."


@pytest.mark.parametrize(
    "row",
    [
        Row("torch", "missing", "pip install torch"),
        Row("device", "none: torch does not start"),
        Row("vocabularies", "unknown", "OSError: no"),
    ],
    ids=lambda row: row.what,
)
def test_something_needed_is_missing(monkeypatch, row):
    as_machine(monkeypatch, row, Row("tqdm", "4.70"))
    found = doctor.findings()
    assert doctor.status(found) == 1
    assert list(doctor.lines(found))[-1] == f"Missing or not as expected: {row.what}."


@pytest.mark.parametrize(
    ("error", "told"), [(OSError("no disk"), "OSError: no disk"), (MemoryError(), "Memo")]
)
def test_what_fails_is_unknown(monkeypatch, error, told):
    def fail(*arguments, **options):
        raise error

    for module, name in (
        (doctor, "checkout"),
        (doctor, "data_folder"),
        (doctor.platform, "platform"),
        (doctor.locale, "getlocale"),
        (installation, "data_folder"),
        (installation.hashlib, "sha256"),
        (corpora, "missing_files"),
    ):
        monkeypatch.setattr(module, name, fail)
    unknown = {finding.what: finding.note for finding in doctor.findings() if finding.found == "unknown"}
    assert {"course", "platform", "data folder", "disk", "encodings", "Tang poems", "WikiText-2"} <= set(
        unknown
    )
    assert all(note.startswith(told) for note in unknown.values())


def test_broken_packages_a_damaged_corpus_and_control_characters(tmp_path):
    fakes, data = tmp_path / "fakes", tmp_path / "data"
    (data / "wikitext2").mkdir(parents=True)
    fakes.mkdir()
    for name in ("torch", "numba", "regex", "click"):
        (fakes / f"{name}.py").write_text(
            f"raise OSError('lib{name}.so:\\x1b[2J cannot open')", encoding="utf-8"
        )
    for split in ("train", "valid", "test"):
        (data / "wikitext2" / f"{split}.txt").write_bytes(b"\xff")
    (data / "tang_poems.txt").mkdir()
    done = run(fakes=fakes, BPE_DATA=str(data), BPE_NOTE="a\x1b]0;title\x07b")
    found = by_name(done.stdout)
    assert done.returncode == 1
    assert done.stderr == ""
    assert found["device"] == r"none: torch does not start (libtorch.so:\x1b[2J cannot open)"
    assert re.fullmatch(r"unknown +(IsADirectory|Permission)Error: .+", found["Tang poems"])
    assert re.fullmatch("damaged +python -m bpe wikitext2 --force", found["WikiText-2"])
    assert re.fullmatch(r"unknown +OSError: libregex.so:\\x1b\[2J cannot open", found["vocabularies"])
    assert re.fullmatch(r"unknown +OSError: lib(regex|numba).so.*", found["compiled engine"])
    assert found["BPE_NOTE"] == r"a\x1b]0;title\x07b"
    assert all(line.isprintable() for line in done.stdout.splitlines())


def test_a_data_folder_that_is_none(tmp_path):
    (tmp_path / "file").touch()
    found = by_name(run(BPE_DATA=str(tmp_path / "file")).stdout)
    assert found["data folder"].startswith("unknown")
    assert found["disk"].endswith("GB free")
    found = by_name(run(BPE_DATA=str(tmp_path / "new" / "folder")).stdout)
    assert found["data folder"].endswith("(BPE_DATA names it; it does not exist yet)")
    assert found["disk"].endswith("GB free")


def test_nothing_secret_is_shown(tmp_path):
    done = run(
        "doctor",
        module="bpe",
        HOME=str(tmp_path),
        USERPROFILE=str(tmp_path),
        BPE_DATA=str(tmp_path / "data"),
        HTTPS_PROXY="http://ada:hunter2@proxy:8080",
        no_proxy="hunter2.example.org",
        HF_ENDPOINT="https://ada:hunter2@hub.example.org/?token=hunter2",
        HF_TOKEN="hunter2",
        PASSWORD="hunter2",
    )
    found = by_name(done.stdout)
    assert "hunter2" not in done.stdout
    assert str(tmp_path) not in done.stdout
    assert found["BPE_DATA"] == f"~{os.sep}data"
    assert found["HF_ENDPOINT"] == "https://hub.example.org/"
    assert {name.upper() for name, what in found.items() if what == "set"} >= {"HTTPS_PROXY", "NO_PROXY"}


@pytest.mark.parametrize(
    ("home", "text", "shown"),
    [
        ("/home/ada", "/home/ada/bpe and /home/ada", "~/bpe and ~"),
        ("/home/ada", "/home/adalbert /home/ada-2", "/home/adalbert /home/ada-2"),
        ("/", "/bpe", "/bpe"),
        ("", "/bpe", "/bpe"),
    ],
)
def test_the_home_folder_is_a_tilde(monkeypatch, home, text, shown):
    monkeypatch.setattr(os.path, "expanduser", lambda path: home)
    assert doctor.without_home(text) == shown


def test_json():
    done = run("doctor", "--json", module="bpe")
    found = [Finding(**finding) for finding in json.loads(done.stdout)]
    assert {"course", "regex", "terminal"} < {finding.what for finding in found}
    assert done.returncode == doctor.status(found)


def test_a_checkout_without_git_and_with_one_that_does_not_run(monkeypatch, tmp_path):
    assert doctor._commit(None) == doctor._commit(tmp_path) == ""
    (tmp_path / ".git").write_text("gitdir: /nowhere", encoding="utf-8")
    assert doctor._commit(tmp_path) == "commit unknown, "
    monkeypatch.setenv("PATH", "")
    assert doctor._commit(tmp_path) == "commit unknown, "


def test_it_compiles_nothing(tmp_path):
    pytest.importorskip("numba")
    found = by_name(run(NUMBA_CACHE_DIR=str(tmp_path)).stdout)
    assert re.fullmatch(
        r"loads, 0 of \d\d functions compiled *python -m bpe compile", found["compiled engine"]
    )
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_an_engine_that_is_compiled():
    class Cached:
        targetctx = property(lambda self: self)
        codegen = magic_tuple = lambda self: self
        _cache = _cache_file = property(lambda self: self)

        def __init__(self, index):
            self.index = index

        def _load_index(self):
            return {("signature", self if ours else None, "code"): "file" for ours in self.index}

    assert doctor._is_compiled(Cached([True]))
    assert not doctor._is_compiled(Cached([False]))
    assert not doctor._is_compiled(Cached([]))
    assert not doctor._is_compiled(object())
