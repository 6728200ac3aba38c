"""The module as a whole."""

import doctest
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import bpe
from bpe._progress import show_progress, wanted

ROOT = Path(bpe.__file__).parents[1]
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in ROOT.glob("bpe/**/*.py")
    if "    >>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_give_what_they_say(name):
    found = doctest.testmod(pytest.importorskip(name.removesuffix(".__init__")))
    assert found.attempted and not found.failed


def test_the_example_on_the_front_page_gives_what_it_says():
    readme = doctest.DocTestParser().get_doctest(
        (ROOT / "README.md").read_text(encoding="utf-8"), {}, "README.md", None, 0
    )
    assert doctest.DocTestRunner().run(readme) == (0, 3)


def test_importing_is_light():
    heavy = ["numpy", "torch", "numba", "matplotlib", "datasets", "opencc", "requests", "tqdm"]
    code = f"import sys, bpe; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_training_and_encoding_are_light():
    code = (
        "import sys, bpe; bpe.BPETokenizer.train('abab', 257).encode('ab'); bpe.CharTokenizer('a');"
        "print({'numpy', 'torch', 'numba', 'matplotlib', 'datasets'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_public_names_are_there():
    for name in bpe.__all__:
        assert getattr(bpe, name).__doc__
        assert name in dir(bpe)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        bpe.nothing  # noqa: B018


@pytest.mark.parametrize(("variable", "value"), [("CI", "true"), ("BPE_PROGRESS", "0")])
def test_no_progress_bar_where_output_is_compared(monkeypatch, variable, value):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("BPE_PROGRESS", raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert wanted()
    monkeypatch.setenv(variable, value)
    assert not wanted()


def test_watching_changes_nothing(capsys):
    seen: list[int] = []
    assert list(show_progress(range(3), 3, seen.append)) == seen == [0, 1, 2]
    assert list(show_progress(range(3), 3, False)) == [0, 1, 2]
    assert capsys.readouterr().err == ""
    assert list(show_progress(range(3), 3, True, delay=0)) == [0, 1, 2]
    assert "0/3" in capsys.readouterr().err


def test_subword_tokenizers_are_light():
    code = (
        "import sys, bpe; bpe.WordBPE.train('ab ab', 9).encode('ab'); bpe.WordPiece.train('ab ab', 9);"
        "bpe.Unigram.train('ab ab', 290).encode('ab');"
        "print({'numpy', 'torch', 'numba', 'matplotlib', 'datasets', 'sentencepiece'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_dir_shows_the_public_names_and_the_rooms_and_nothing_else():
    tops = {path.stem for path in ROOT.glob("bpe/*.py")} | {
        path.parent.name for path in ROOT.glob("bpe/*/*.py")
    }
    rooms = {name for name in tops if not name.startswith("_")}
    assert set(dir(bpe)) == {*bpe.__all__, *rooms}


def test_the_version_is_that_of_the_installed_package():
    assert bpe.__version__ == metadata.version("bpe-course")
