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


@pytest.mark.parametrize(
    "content", ["[]", "5", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000, "9" * 5000, "\0"]
)
def test_what_is_not_a_measurement(tmp_path, monkeypatch, content):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    (tmp_path / "speed.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"speed\.json is damaged: "):
        results.read("speed")


@pytest.mark.parametrize(
    "name", ["../speed", "..", ".", "", "/speed", "a/b", "a\\b", "c:x", "a\n", ".hidden", "a..b"]
)
def test_a_name_does_not_leave_the_folder(tmp_path, monkeypatch, name):
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    for use in (lambda: results.read(name), lambda: results.write(name, {})):
        with pytest.raises(ValueError, match="is not the name of a measurement"):
            use()
    assert not list(tmp_path.iterdir())


def test_numbers_that_json_lacks_are_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    with pytest.raises(ValueError, match="not JSON compliant"):
        results.write("speed", {"a": float("nan")})
    assert not list(tmp_path.iterdir())


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
