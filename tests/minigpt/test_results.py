"""Stored measurements: where they are, that they come back, and that an error names the command."""

from __future__ import annotations

import pytest

from bpe.minigpt import results


def test_what_was_written_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    path = results.write("speed", {"rows": [{"tokens": 1, "name": "诗"}]})
    assert path.read_text(encoding="utf-8").endswith("}\n")
    assert results.read("speed") == {"rows": [{"tokens": 1, "name": "诗"}]}


def test_results_are_in_the_checkout_or_else_in_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("BPE_DATA", str(tmp_path))
    assert results._folder() == results.checkout() / "data" / "results"
    monkeypatch.setattr(results, "checkout", lambda: None)
    assert results._folder() == tmp_path / "results"


def test_a_damaged_file_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    (tmp_path / "speed.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"speed\.json is damaged"):
        results.read("speed")


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
