"""Stored measurements: written, read back, and an error that names the command."""

from __future__ import annotations

import pytest

from bpe.minigpt import results


def test_what_was_written_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    path = results.write("speed", {"rows": [{"tokens": 1, "name": "诗"}]})
    assert path.read_text(encoding="utf-8").endswith("}\n")
    assert results.read("speed") == {"rows": [{"tokens": 1, "name": "诗"}]}


def test_a_missing_file_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"python benchmarks/speed\.py"):
        results.read("speed")
    with pytest.raises(FileNotFoundError, match="python -m bpe minigpt experiment --profile gpu"):
        results.read("minigpt_gpu")
    with pytest.raises(FileNotFoundError, match="make bench"):
        results.read("benchmarks")


def test_the_committed_measurements_can_be_read():
    for path in results.FOLDER.glob("*.json"):
        assert results.read(path.stem)["command"].startswith(("python ", "make "))
