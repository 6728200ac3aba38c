"""The report of chapter 0: what is there, what is missing, and what it says to do."""

import re
import subprocess
import sys
from importlib import metadata

import pytest

from bpe import pretrained
from bpe.checks import installation
from bpe.checks.installation import Row


def rows_by_name():
    return {row.what: row for row in installation.report()}


def test_every_package_of_the_course_is_reported():
    requirements = metadata.requires("bpe-course")
    ours = [line for line in requirements if not re.search('extra == "(bench|test|vocabularies)"', line)]
    wanted = {re.match(r"[\w.-]+", line)[0] for line in ours}
    assert wanted == set(installation.PURPOSES)
    assert wanted < set(rows_by_name())


def test_what_is_there_needs_nothing():
    rows = rows_by_name()
    assert rows["Python"] == Row("Python", sys.version.split()[0])
    assert rows["regex"] == Row("regex", metadata.version("regex"))


def test_what_is_missing_is_named_with_its_version(monkeypatch):
    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    rows = {row.what: row for row in installation.packages()}
    assert rows["opencc"].found == "missing"
    assert re.match(r'pip install "opencc>=\d+\.\d+\.\d+" +\(preparing the poems\)', rows["opencc"].to_do)
    assert rows["jupyterlab"].to_do.startswith('pip install "jupyterlab>=')


def test_a_module_that_was_never_installed(monkeypatch):
    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    assert len(installation.packages()) == len(installation.PURPOSES)


@pytest.mark.parametrize(
    ("version", "found"),
    [("2.9.0+cpu", "2.9.0+cpu"), ("2.13.0", "2.13.0"), ("2.8.1", "2.8.1, tested: 2.9")],
)
def test_older_versions_are_reported(monkeypatch, version, found):
    monkeypatch.setattr(metadata, "version", lambda name: version)
    assert installation._package("torch", "2.9", "") == Row("torch", found)


@pytest.mark.parametrize(("version", "fits"), [((3, 10, 9), False), ((3, 14, 0), True), ((3, 15, 0), False)])
def test_pythons(monkeypatch, version, fits):
    monkeypatch.setattr(sys, "version_info", version)
    assert installation.python().to_do == ("" if fits else "the course needs 3.11 to 3.14")


@pytest.mark.parametrize(
    ("cuda", "mps", "device"), [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")]
)
def test_devices_in_their_order(monkeypatch, cuda, mps, device):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    nothing = torch.zeros(1)
    monkeypatch.setattr(torch, "zeros", lambda *sizes, device: nothing)  # which tries the device
    assert installation.device() == device


def test_a_device_that_fails(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)

    def fail(*sizes, device):
        raise RuntimeError("the driver is too old")

    monkeypatch.setattr(torch, "zeros", fail)
    assert installation.device() == "none: no device 'cuda' here: the driver is too old"


def test_no_device_without_torch(monkeypatch):
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it would fail
    assert installation.device() == "none: torch is not installed"


def test_a_torch_that_does_not_start(monkeypatch, tmp_path):
    (tmp_path / "torch.py").write_text("raise OSError('libgomp.so.1: cannot open')", encoding="utf-8")
    for module in ("torch", "bpe.minigpt.training"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    assert installation.device() == "none: torch does not start (libgomp.so.1: cannot open)"


def test_poems_missing_or_other_ones(monkeypatch, tmp_path):
    monkeypatch.setenv("BPE_DATA", str(tmp_path))
    assert installation.poems() == Row("Tang poems", "missing", "python prepare_poems.py")
    (tmp_path / "tang_poems.txt").write_text("春眠不觉晓\n处处闻啼鸟\n", encoding="utf-8")
    found = installation.poems()
    assert found == Row("Tang poems", "2 poems, different", "python prepare_poems.py --force")


def test_vocabularies_missing_or_there(monkeypatch, tmp_path):
    monkeypatch.setenv("BPE_DATA", str(tmp_path))
    row = Row("vocabularies", "0 of 7", "python -m bpe vocabularies")
    assert installation.vocabularies() == row
    monkeypatch.setattr(pretrained, "missing", lambda name: ["qwen.tiktoken"] if name == "qwen" else [])
    assert installation.vocabularies() == row._replace(found="6 of 7")
    monkeypatch.setattr(pretrained, "missing", lambda name: [])
    assert installation.vocabularies() == Row("vocabularies", "7 of 7")


def test_wikitext2_missing_or_another_text(monkeypatch, tmp_path):
    monkeypatch.setenv("BPE_DATA", str(tmp_path))
    assert installation.wikitext2() == Row("WikiText-2", "missing", "python -m bpe wikitext2")
    (tmp_path / "wikitext2").mkdir()
    for split in ("train", "valid", "test"):
        (tmp_path / "wikitext2" / f"{split}.txt").write_text("= A title =\n", encoding="utf-8")
    found = installation.wikitext2()
    assert found == Row("WikiText-2", "12 characters, different", "python -m bpe wikitext2 --force")


def answering(output):
    return lambda *arguments, **options: output


def test_fonts(monkeypatch):
    monkeypatch.setattr(installation.platform, "system", lambda: "Linux")
    monkeypatch.setattr(subprocess, "check_output", answering(b"Noto Sans CJK SC\n"))
    assert installation.chinese_font() == Row("Chinese font", "found")
    monkeypatch.setattr(subprocess, "check_output", answering(b""))
    assert installation.chinese_font().found == "missing"


def test_fonts_where_nothing_can_tell(monkeypatch):
    def no_such_command(*arguments, **options):
        raise FileNotFoundError("fc-list")

    monkeypatch.setattr(subprocess, "check_output", no_such_command)
    monkeypatch.setattr(installation.platform, "system", lambda: "Linux")
    assert installation.chinese_font().found == "unknown"
    monkeypatch.setattr(installation.platform, "system", lambda: "Windows")
    assert installation.chinese_font() == Row("Chinese font", "part of the system")


def test_a_row_reads_as_a_line():
    assert (
        str(Row("torch", "missing", "pip install torch"))
        == f"torch          missing{' ' * 18}pip install torch"
    )
    assert str(Row("device", "cpu")) == "device         cpu"


def test_looking_up_is_light():
    code = (
        "import sys; from bpe.checks import installation;"
        "installation.packages(), installation.poems(), installation.chinese_font();"
        "print({'numpy', 'torch', 'matplotlib', 'datasets', 'opencc', 'regex'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


@pytest.mark.parametrize("kind", [OSError, RuntimeError, AttributeError])
def test_a_torch_that_fails_in_any_way(monkeypatch, kind):
    def fail(name):
        raise kind("no")

    monkeypatch.setattr(installation, "find_spec", fail)
    assert installation.device() == "none: torch does not start (no)"


def test_a_package_without_its_metadata(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: None)
    row = Row("opencc", "unknown", "pip install --force-reinstall opencc")
    assert row in installation.packages()


def test_a_damaged_corpus(monkeypatch, tmp_path):
    monkeypatch.setenv("BPE_DATA", str(tmp_path))
    (tmp_path / "wikitext2").mkdir()
    for split in ("train", "valid", "test"):
        (tmp_path / "wikitext2" / f"{split}.txt").write_bytes(b"\xff")
    assert installation.wikitext2() == Row("WikiText-2", "damaged", "python -m bpe wikitext2 --force")


def test_data_that_cannot_be_read_do_not_stop_the_report(monkeypatch):
    monkeypatch.setenv("BPE_DATA", "~no_such_user/data")
    rows = {row.what: row for row in installation.report()}
    for what in ("Tang poems", "WikiText-2", "vocabularies"):
        assert rows[what].found == "unknown"
        assert rows[what].to_do.startswith("ValueError: BPE_DATA is '~no_such_user/data'")


def test_a_row_shows_what_is_invisible():
    assert str(Row("a", "b\x1b[2J\u202e", "c")).split() == ["a", r"b\x1b[2J\u202e", "c"]
