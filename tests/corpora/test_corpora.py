"""Where the prepared corpora are, and the error if they are missing."""

import pytest

from bpe import corpora


def test_the_folder_is_named_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("BPE_DATA", str(tmp_path))
    assert corpora.data_folder() == tmp_path


def test_the_folder_does_not_depend_on_the_working_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("BPE_DATA", raising=False)
    folder = corpora.data_folder()
    monkeypatch.chdir(tmp_path)
    assert corpora.data_folder() == folder
    assert folder.is_absolute()


def test_a_relative_folder_starts_at_the_checkout(monkeypatch, tmp_path):
    monkeypatch.setenv("BPE_DATA", "elsewhere")
    folder = corpora.data_folder()
    monkeypatch.chdir(tmp_path)
    assert corpora.data_folder() == folder
    assert folder.is_absolute()


def test_the_home_of_an_unknown_user(monkeypatch):
    monkeypatch.setenv("BPE_DATA", "~nosuchuser/data")
    with pytest.raises(ValueError, match="BPE_DATA is '~nosuchuser/data'"):
        corpora.data_folder()


def test_missing_poems(monkeypatch, tmp_path):
    monkeypatch.setenv("BPE_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"tang_poems\.txt is missing.*prepare_poems\.py"):
        corpora.tang_poems()


def test_a_poem_a_line(monkeypatch, tmp_path):
    monkeypatch.setenv("BPE_DATA", str(tmp_path))
    (tmp_path / "tang_poems.txt").write_bytes("床前明月光，\n疑是地上霜。\n".encode())
    assert corpora.tang_poems() == ["床前明月光，", "疑是地上霜。"]


def test_a_notebook_shows_one_sentence_for_a_missing_corpus(monkeypatch, tmp_path, capsys):
    from IPython.core.interactiveshell import InteractiveShell

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("BPE_DATA", str(tmp_path / "a\u200bb"))
    InteractiveShell().run_cell("from bpe import corpora; corpora.wikitext2('test')")
    sentence = (
        f"{tmp_path / 'a[U+200B]b' / 'wikitext2' / 'test.txt'} is missing. To get it, run `make data` in the "
        "course's folder (without make: `python -m bpe wikitext2`)."
    )
    assert capsys.readouterr().out == f"{sentence}\n"
