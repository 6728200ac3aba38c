"""The verdicts that are kept, and the table of what has been done."""

import json
import multiprocessing
import os
import sys
from pathlib import Path

import pytest

from bpe import _files, _progress, checks
from bpe.checks import progress, progress_line, record
from bpe.checks.chapter_00 import example, exercise_1

TOTAL = sum(map(len, record.find_exercises().values()))


def spaced(text):
    return " ".join(text)


def stub(text): ...


@pytest.fixture
def work(monkeypatch, tmp_path):
    """A folder of working copies, and someone who watches."""
    monkeypatch.setattr(_files, "checkout", lambda: tmp_path)
    monkeypatch.setattr(_progress, "is_watched", lambda: True)
    monkeypatch.setattr(record, "_is_test", lambda: False)
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def read(folder):
    return json.loads((folder / record.FILE).read_text(encoding="utf-8"))


def test_verdicts_are_kept(work):
    exercise_1(stub)
    assert read(work)["exercises"] == {"00.1": {"latest": "not started", "reached": False}}
    exercise_1(str.upper)
    assert read(work)["exercises"] == {"00.1": {"latest": "not yet", "reached": False}}
    exercise_1(spaced)
    assert read(work) == {"version": 1, "exercises": {"00.1": {"latest": "correct", "reached": True}}}
    exercise_1(stub)  # a fresh copy of the chapter
    assert read(work)["exercises"] == {"00.1": {"latest": "not started", "reached": True}}
    assert sorted(path.name for path in work.iterdir()) == [record.LOCK, record.FILE] or os.name == "nt"


def test_the_example_and_other_checks_are_not_kept(work):
    @checks.exercise()
    def exercise_7(answer):
        return None

    example(spaced)
    exercise_7(3)
    assert not (work / record.FILE).exists()


@pytest.mark.parametrize("reason", ["CI", "pytest", "no copies", "nobody", "a wheel", "solution", "in Lab"])
def test_nothing_is_written(work, monkeypatch, reason, capsys):
    if reason == "CI":
        monkeypatch.undo()
        monkeypatch.setenv("CI", "1")
        monkeypatch.setattr(_files, "checkout", lambda: work.parent)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        monkeypatch.setattr(record, "_is_test", lambda: False)
    elif reason == "pytest":
        monkeypatch.undo()
        monkeypatch.setattr(_files, "checkout", lambda: work.parent)
        monkeypatch.setattr(_progress, "is_watched", lambda: True)
    elif reason == "no copies":
        work.rmdir()
    elif reason == "nobody":
        monkeypatch.setattr(_progress, "is_watched", lambda: False)
    elif reason == "a wheel":
        monkeypatch.setattr(_files, "checkout", lambda: None)
    elif reason == "solution":
        (solutions := work.parent / "solutions").mkdir()
        monkeypatch.chdir(solutions)
    else:
        monkeypatch.setenv("JPY_SESSION_NAME", "notebooks/solutions/00_start_here.ipynb")
    exercise_1(spaced)
    assert capsys.readouterr().out == "exercise 1: correct\n"
    assert not work.exists() or not list(work.iterdir())
    assert f"0 of {TOTAL} exercises done" in progress_line()


def test_a_folder_that_cannot_be_written(work, monkeypatch, capsys):
    def fail(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(_files, "write_atomically", fail)
    exercise_1(spaced)
    assert capsys.readouterr().out == "exercise 1: correct\n"


DAMAGED = [
    b"",
    b"{",
    b"\xff",
    b"[]",
    b"3",
    b"null",
    b'{"00.1": "correct"}',
    b'{"version": 2, "exercises": {}}',
    b'{"version": 0, "exercises": {"00.1": true}}',
    b'{"version": 1, "exercises": []}',
    b'{"version": 1, "exercises": {"00.1": 3}}',
    b'{"version": 1, "exercises": {"00.1": {"latest": "correct"}}}',
    b'{"version": 1, "exercises": {"00.1": {"latest": "<b>", "reached": true}}}',
    b'{"version": 1, "exercises": {"00.1": {"latest": ["correct"], "reached": true}}}',
    b'{"version": 1, "exercises": {"../x": {"latest": "correct", "reached": true}}}',
    b'{"version": 1, "exercises": {"00.1": {"latest": "correct", "reached": 1}}}',
    b"[" * 100_000,
    b" " * 2_000_000,
]


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_file_is_kept_aside(work, content):
    (work / record.FILE).write_bytes(content)
    assert progress_line().startswith(f"0 of {TOTAL}")
    exercise_1(spaced)
    assert read(work)["exercises"] == {"00.1": {"latest": "correct", "reached": True}}
    assert (work / record.DAMAGED).read_bytes() == content


def remember_many(folder, exercises):
    _files.checkout = lambda: Path(folder).parent
    _progress.is_watched = lambda: True
    record._is_test = lambda: False
    for number in exercises:
        record.remember("03", str(number), record.CORRECT)


def test_two_notebooks_at_once(work):
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=remember_many, args=(str(work), range(k, k + 20))) for k in (100, 200)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert len(read(work)["exercises"]) == 40


def test_a_lock_that_stays(work, monkeypatch, capsys):
    monkeypatch.setattr(record, "PATIENCE", 0.05)
    with record._locked(work):
        exercise_1(spaced)
    assert capsys.readouterr().out == "exercise 1: correct\n"
    assert not (work / record.FILE).exists()


# -- all exercises ------------------------------------------------------------------------------------------


def test_the_table(work):
    record.remember("03", "1", record.CORRECT)
    record.remember("03", "1", record.NOT_YET)
    record.remember("03", "2", record.NOT_YET)
    table = progress()
    assert table.header == ["chapter", "exercises", "done", "not yet", "not started"]
    assert len(table.rows) == 15
    assert table.rows[3] == ["03", "4", "1", "1", "2"]
    assert table.rows[-1] == ["all", str(TOTAL), "1", "1", str(TOTAL - 2)]
    assert progress_line() == f"1 of {TOTAL} exercises done, 1 begun. Next: exercise 2 of chapter 03."


def test_the_chapters_have_their_names():
    """What a stored notebook shows: where nobody watches, nothing is done."""
    assert progress().rows[3] == ["03_naive_bpe", "4", "0", "0", "4"]


def test_all_done(work):
    for chapter, numbers in record.find_exercises().items():
        for number in numbers:
            record.remember(chapter, number, record.CORRECT)
    assert progress_line() == f"All {TOTAL} exercises are done."
