"""notebooks/lab.py never loses a reader's work, and starts JupyterLab with the right arguments."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import lab
import pytest


@pytest.fixture(autouse=True)
def small_course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a course of two chapters in a temporary folder."""
    for name, value in {"CHAPTERS": tmp_path / "notebooks", "WORK": tmp_path / "work"}.items():
        monkeypatch.setattr(lab, name, value)
    monkeypatch.setenv("BPE_DATA", str(tmp_path))
    lab.CHAPTERS.mkdir()
    for name in ("00_start.ipynb", "05_poems.ipynb"):
        cell = {"cell_type": "code", "source": f"# {name}", "outputs": ["an output"], "execution_count": 1}
        (lab.CHAPTERS / name).write_text(json.dumps({"cells": [cell]}))


NEW = {"cell_type": "code", "outputs": [], "execution_count": None}
NEW_00 = json.dumps({"cells": [NEW | {"source": "# 00_start.ipynb"}]}, sort_keys=True)
NEW_05 = json.dumps({"cells": [NEW | {"source": "# 05_poems.ipynb"}]}, sort_keys=True)
MINE = json.dumps({"cells": [], "mine": 1})
MINE_TOO = json.dumps({"cells": [], "mine": 2})


def work() -> dict[str, str]:
    paths = sorted(lab.WORK.glob("*.ipynb"))
    return {path.name: json.dumps(json.loads(path.read_text()), sort_keys=True) for path in paths}


def test_chapters_are_copied_once_without_outputs_and_never_over_a_copy() -> None:
    assert lab.copy_missing() == ["00_start.ipynb", "05_poems.ipynb"]
    assert work() == {"00_start.ipynb": NEW_00, "05_poems.ipynb": NEW_05}
    (lab.WORK / "05_poems.ipynb").write_text(MINE)
    (lab.WORK / "00_start.ipynb").unlink()
    assert lab.copy_missing() == ["00_start.ipynb"]
    assert work() == {"00_start.ipynb": NEW_00, "05_poems.ipynb": MINE}


def test_a_copy_that_another_process_makes_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def waits(folder: Path, wait: object) -> Iterator[None]:
        folder.mkdir()
        (folder / "05_poems.ipynb").write_text(MINE)
        yield

    monkeypatch.setattr("bpe._files.locked", waits)
    assert lab.copy_missing() == ["00_start.ipynb"]
    assert work() == {"00_start.ipynb": NEW_00, "05_poems.ipynb": MINE}


def test_reset_keeps_every_older_copy() -> None:
    assert lab.reset("05") == "work/05_poems.ipynb is new"
    (lab.WORK / "05_poems.ipynb").write_text(MINE)
    first, warning = lab.reset("5").split("\n", 1)
    assert first == "work/05_poems.ipynb is new; your old copy is now work/05_poems old 1.ipynb"
    assert "Reload Notebook from Disk" in warning and "Revert, not Overwrite" in warning
    (lab.WORK / "05_poems.ipynb").write_text(MINE_TOO)
    assert "work/05_poems old 2.ipynb" in lab.reset("05_poems")
    assert work() == {
        "05_poems old 1.ipynb": MINE,
        "05_poems old 2.ipynb": MINE_TOO,
        "05_poems.ipynb": NEW_05,
    }


def test_a_reset_that_fails_leaves_the_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    lab.WORK.mkdir()
    (lab.WORK / "05_poems.ipynb").write_text(MINE)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "work")

    monkeypatch.setattr("bpe._files.write_atomically", full)
    with pytest.raises(OSError, match="No space"):
        lab.reset("05")
    assert work() == {"05_poems.ipynb": MINE}
    monkeypatch.setattr("sys.argv", ["lab.py", "--reset", "05"])
    with pytest.raises(SystemExit, match="work: No space left on device"):
        lab.main()


@pytest.mark.parametrize("number", ["", "05_x", "7", "*05", "../notebooks/05", "/05"])
def test_reset_wants_one_chapter(number: str) -> None:
    with pytest.raises(SystemExit, match=r"matches . of these: 00_start, 05_poems"):
        lab.reset(number)
    assert work() == {}


def test_a_missing_corpus_is_reported_with_its_command(tmp_path: Path) -> None:
    poems, wikitext2 = lab.missing_corpora()
    assert poems.startswith(f"Missing: {tmp_path / 'tang_poems.txt'}. ")
    assert "python prepare_poems.py" in poems
    assert "python -m bpe wikitext2" in wikitext2
    (tmp_path / "tang_poems.txt").touch()
    assert lab.missing_corpora() == [wikitext2]


@pytest.mark.parametrize("named", [["--port", "8899"], ["--port=8899"], ["--ServerApp.port=8899"]])
def test_a_port_in_use_is_refused_not_replaced(named: list[str]) -> None:
    assert "--ServerApp.port_retries=0" in lab.jupyterlab_arguments(named)
    assert lab.jupyterlab_arguments(named)[-len(named) :] == named
    assert "--ServerApp.port_retries=0" not in lab.jupyterlab_arguments(["--no-browser"])


def test_chapters_are_read_only_unless_someone_edits_the_course() -> None:
    manager = "--ServerApp.contents_manager_class=lab_contents.ReadOnlyChapters"
    assert manager in lab.jupyterlab_arguments([])
    assert manager not in lab.jupyterlab_arguments([], edit=True)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no root")
@pytest.mark.parametrize(("user", "expected"), [(0, True), (1000, False)])
def test_root_is_allowed_if_the_user_is_root(
    user: int, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert ("--allow-root" in lab.jupyterlab_arguments([])) is expected


def test_settings_are_added_to_the_search_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "elsewhere")
    lab.add_settings()
    folder, rest = os.environ["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    (settings,) = Path(folder).glob("labconfig/*.json")
    assert rest == "elsewhere"
    assert json.loads(settings.read_text()) == lab.SETTINGS
