"""`make bench`: what it stores, what it refuses, and that the README shows what was measured."""

from __future__ import annotations

import json
import os

import pytest

numpy = pytest.importorskip("numpy")
pytest.importorskip("numba")

import click  # noqa: E402
import measuring  # noqa: E402
import outcomes  # noqa: E402
import tables  # noqa: E402
import tasks  # noqa: E402
from click.testing import CliRunner  # noqa: E402
from tasks import Task  # noqa: E402

import benchmarks  # noqa: E402
from bpe import corpora  # noqa: E402
from bpe.minigpt import results  # noqa: E402

WORK = Task("train-2000-poems", "training", "train", ("compiled", "rustbpe"), "poems-2000", None, 3)
RUN = {"seconds": 2.0, "cores": 1.0, "peak_mb": 30.04, "grown_mb": 1.0, "fingerprint": "ab"}


def need(corpus: str) -> None:
    if (missing := corpora.missing_files(corpus)) and not os.environ.get("CI"):
        pytest.skip(f"{missing[0]} is not there")


def bar():
    return benchmarks.tqdm(disable=True)


# --- what is committed


def test_the_readme_shows_what_was_measured():
    readme = tables.README.read_text(encoding="utf-8")
    assert tables.replace_table(readme, tables.markdown(results.read("benchmarks"))) == readme


def test_every_work_was_measured():
    content = results.read("benchmarks")
    assert [task["name"] for task in content["tasks"]] == [task.name for task in tasks.TASKS]
    for task in content["tasks"]:
        first = task["rows"][0]
        assert first["who"] in ("compiled", "bpe")
        for row in task["rows"]:
            assert min(row["runs"]) <= row["seconds"] <= max(row["runs"])
            assert row["ratio"] == pytest.approx(row["seconds"] / first["seconds"], rel=0.002)
    assert {row["task"] for row in content["growth"]} == set(tasks.GROWTH)


# --- the command


@pytest.fixture(autouse=True)
def no_second_tries(request, monkeypatch):
    """On a busy machine every run would be disturbed."""
    if "again" not in request.node.name:
        monkeypatch.setattr(measuring, "TRIES", 1)


def quick(folder, *options: str) -> dict:
    done = CliRunner().invoke(benchmarks.main, ["--quick", "--into", str(folder), *options])
    assert done.exit_code == 0, done.output
    return json.loads((folder / "benchmarks.json").read_text(encoding="utf-8"))


def test_two_works_on_little_text(tmp_path):
    need("tang_poems")
    content = quick(tmp_path, "--only", "train-2000-poems", "--only", "import")
    training, importing = content["tasks"]
    assert {row["who"] for row in training["rows"]} >= {"compiled", "incremental", "naive"}
    assert training["equality"].startswith("compiled, incremental, naive: the same merges")
    assert all("one run" in row["note"] for row in training["rows"])
    assert importing["equality"].startswith("`import bpe` loads none of numpy, torch")
    assert "training on 2,000 poems" in tables.markdown(content)
    assert list(tmp_path.iterdir()) == [tmp_path / "benchmarks.json"]


@pytest.mark.full
def test_all_works_on_little_text(tmp_path):
    need("tang_poems")
    need("wikitext2")
    content = quick(tmp_path)
    assert [task["name"] for task in content["tasks"]] == [task.name for task in tasks.TASKS]
    assert [row["megabytes"] for row in content["growth"]] == [1, 1, 1]


def test_a_work_that_is_not_there():
    done = CliRunner().invoke(benchmarks.main, ["--only", "knitting"])
    assert done.exit_code == 2
    assert "train-2000-poems" in done.output


def test_a_corpus_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("BPE_DATA", str(tmp_path))
    done = CliRunner().invoke(
        benchmarks.main, ["--quick", "--into", str(tmp_path), "--only", "encode-wikitext"]
    )
    assert done.exit_code == 1
    assert "python -m bpe wikitext2" in done.output


def test_a_result_that_is_damaged(tmp_path):
    path = tmp_path / "benchmarks.json"
    for content in ("", "{", "[]", "null", '{"tasks": 3}', '{"tasks": [], "growth": []}', "\xff"):
        path.write_text(content, encoding="latin-1")
        done = CliRunner().invoke(benchmarks.main, ["--quick", "--into", str(tmp_path), "--only", "import"])
        assert done.exit_code == 1, content
        assert f"{path} is damaged" in done.output
        assert path.read_text(encoding="latin-1") == content


def test_a_folder_that_can_not_be_written(tmp_path, monkeypatch):
    """It is said before anything is measured."""
    monkeypatch.setattr(benchmarks, "measure", None)
    (tmp_path / "file").write_bytes(b"")
    done = CliRunner().invoke(benchmarks.main, ["--into", str(tmp_path / "file" / "folder")])
    assert done.exit_code == 1 and "file" in done.output

    def refused(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(benchmarks.tempfile, "TemporaryFile", refused)
    done = CliRunner().invoke(benchmarks.main, ["--into", str(tmp_path)])
    assert done.exit_code == 1 and "Permission denied" in done.output


def test_a_table_of_results_that_are_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    done = CliRunner().invoke(benchmarks.main, ["--table-only"])
    assert done.exit_code == 1 and "`make bench` measures it" in done.output


def test_growth_that_is_interrupted(tmp_path, monkeypatch):
    """Sizes that were not reached keep their figures, and the README shows what the file holds."""
    readme = tmp_path / "README.md"
    readme.write_text(f"{tables.BEGIN}\n{tables.END}\n", encoding="ascii")
    monkeypatch.setattr(tables, "README", readme)
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(benchmarks, "GROWTH_MEGABYTES", (1, 2))
    monkeypatch.setattr(tasks, "MEGABYTE", 10)
    monkeypatch.setattr(tasks, "growing_lines", lambda: iter(["12345678901234"] * 9))
    seconds = iter([1.0] * 6 + [2.0] * 3)  # after these, Ctrl-C

    def growth_of(task, path):
        try:
            return {"seconds": next(seconds), "peak_mb": None, "grown_mb": None}
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(measuring, "growth_of", growth_of)
    for exit_code, expected in ((0, [1.0] * 6), (1, [2.0] * 3 + [1.0] * 3)):
        done = CliRunner().invoke(benchmarks.main, ["--only", "growth"])
        assert done.exit_code == exit_code
        content = results.read("benchmarks")
        assert [(row["task"], row["megabytes"]) for row in content["growth"]] == [
            (name, size) for name in tasks.GROWTH for size in (1, 2)
        ]
        assert [row["seconds"] for row in content["growth"]] == expected
        shown = readme.read_text(encoding="utf-8")
        assert shown == tables.replace_table(shown, tables.markdown(content))


# --- one run


def test_a_process_that_fails_says_why():
    with pytest.raises(measuring.RunFailedError, match=r"^ValueError: no$"):
        measuring.run(["-c", "raise ValueError('no')"])


@pytest.mark.parametrize("code", ["", "print('hello')"])
def test_a_process_that_gives_no_result(code):
    with pytest.raises(measuring.RunFailedError, match="printed no result"):
        measuring.run(["-c", code])


def test_memory_that_a_work_takes():
    import one_run

    made, record = one_run.measure(lambda: bytes(50_000_000) + b"1")
    assert len(made) == 50_000_001
    if record["grown_mb"] is not None:
        assert record["grown_mb"] > 45
        _, later = one_run.measure(lambda: None)
        assert later["grown_mb"] < record["grown_mb"]
    assert record["seconds"] > 0


# --- several runs


def test_fewer_runs_of_what_takes_long():
    assert [measuring.enough(seconds, 5) for seconds in (0.1, 11.0, 61.0)] == [5, 3, 1]
    assert measuring.enough(11.0, 2) == 2


def test_a_run_that_waited_for_a_core_is_done_again():
    shares = iter([0.3, 0.9])
    assert measuring.run_undisturbed(lambda: {"cores": next(shares)}) == {"cores": 0.9}
    shares = iter([0.3, 0.6, 0.5])
    assert measuring.run_undisturbed(lambda: {"cores": next(shares)}) == {"cores": 0.6}
    assert "disturbed: it had a core for 60%" in measuring.note(WORK, "rustbpe", [{**RUN, "cores": 0.6}])


def test_contestants_take_turns_and_one_that_fails_is_left_out(monkeypatch, tmp_path):
    order = []

    def run_task(task, who, folder, turn):
        order.append((who, turn))
        if who == "rustbpe":
            raise measuring.RunFailedError("no such split")
        return RUN

    monkeypatch.setattr(measuring, "run_task", run_task)
    monkeypatch.setattr(measuring, "is_installed", lambda who, left_out: True)
    left_out: dict[str, str] = {}
    runs = measuring.measure(WORK, tmp_path, 2, left_out, bar())
    assert order == [("compiled", 0), ("rustbpe", 0), ("compiled", 1)]
    assert runs == {"compiled": [RUN, RUN]}
    assert left_out == {"rustbpe": "no such split"}


def test_a_library_that_is_not_installed_is_left_out(monkeypatch):
    def version(package):
        raise measuring.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(measuring.metadata, "version", version)
    left_out: dict[str, str] = {}
    assert not measuring.is_installed("rustbpe", left_out)
    assert left_out == {"rustbpe": "not installed"}


def test_a_row():
    runs = [{**RUN, "seconds": seconds} for seconds in (1.00004, 3.0, 2.0)]
    assert measuring.row(WORK, "rustbpe", runs, first=0.5) == {
        "who": "rustbpe",
        "seconds": 2.0,
        "runs": [1.0, 3.0, 2.0],
        "ratio": 4.0,
        "peak_mb": 30.0,
        "grown_mb": 1.0,
        "note": "other ties",
        "cores": 1.0,
    }


def test_growth_that_fails_says_why(monkeypatch, tmp_path):
    def run(asked):
        if asked[1] == "encode":
            raise measuring.RunFailedError("no memory")
        return RUN

    monkeypatch.setattr(measuring, "run", run)
    (tmp_path / "growth-1.txt").write_bytes(b"abc")
    *trained, failed = measuring.growth_rows(tmp_path, (1,), bar())
    assert [row["seconds"] for row in trained] == [2.0, 2.0]
    assert (failed["bytes"], failed["seconds"], failed["failed"]) == (3, None, "no memory")
    assert tables.growth_cell(failed) == "failed"


# --- equality


def test_merges_are_compared(tmp_path):
    for who, tokens in {"compiled": ["61", "62", "63"], "rustbpe": ["61", "63", "64"]}.items():
        outcomes.outcome_file(WORK, who, tmp_path).write_text(json.dumps(tokens), encoding="ascii")
    said = outcomes.equality(WORK, {"compiled": [RUN], "rustbpe": [RUN]}, tmp_path)
    assert said.endswith("rustbpe: the first 1 of 3 tokens, and 2 in any order")


def test_engines_that_differ_are_an_error(tmp_path):
    runs = {"compiled": [RUN], "naive": [{**RUN, "fingerprint": "cd"}]}
    with pytest.raises(click.ClickException, match="the engines differ"):
        outcomes.equality(WORK, runs, tmp_path)


def test_ids_are_compared(tmp_path):
    task = Task("encode-poems", "", "encode", ())
    ids = {"tiktoken": [1, 2, 3], "quicktok": [1, 2, 4], "compiled": [1, 2, 3]}
    for who, given in ids.items():
        numpy.save(outcomes.outcome_file(task, who, tmp_path), numpy.array(given, dtype=numpy.int32))
    assert outcomes.equality(task, {key: [RUN] for key in ids}, tmp_path) == "quicktok differs at id 2"
    del ids["quicktok"]
    same = outcomes.equality(task, {key: [RUN] for key in ids}, tmp_path)
    assert same == "all give the 3 ids of tiktoken"
    numpy.save(outcomes.outcome_file(task, "compiled", tmp_path), numpy.array([1, 2], dtype=numpy.int32))
    with pytest.raises(click.ClickException, match="compiled differs at id 2 from tiktoken"):
        outcomes.equality(task, {key: [RUN] for key in ids}, tmp_path)


def test_an_import_that_loads_numpy_is_an_error(tmp_path):
    task = Task("import", "", "import", ("bpe",))
    with pytest.raises(click.ClickException, match="`import bpe` loads numpy"):
        outcomes.equality(task, {"bpe": [{"loaded": ["numpy"]}]}, tmp_path)


# --- what is stored


def test_earlier_works_stay_on_the_same_machine(tmp_path):
    content = benchmarks.begin(tmp_path)
    assert content["tasks"] == []
    for name in ("import", "train-poems", "import"):
        benchmarks.put(content, {"name": name})
    assert content["tasks"] == [{"name": "train-poems"}, {"name": "import"}]
    benchmarks.store(content, tmp_path)
    assert benchmarks.begin(tmp_path)["tasks"] == content["tasks"]
    benchmarks.store(content | {"versions": {"numba": "0"}}, tmp_path)
    assert benchmarks.begin(tmp_path)["tasks"] == []


def test_a_readme_without_a_place_for_the_table():
    with pytest.raises(ValueError, match="benchmarks: begin"):
        tables.replace_table("nothing", "table")
    readme = f"a\n{tables.BEGIN}\nold\n{tables.END}\nb\n"
    once = tables.replace_table(readme, "new")
    assert once == f"a\n{tables.BEGIN}\n\nnew\n\n{tables.END}\nb\n"
    assert tables.replace_table(once, "new") == once


# --- the growing text


def test_the_growing_text(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "wikitext2", lambda split: f"{split} one two three four five\n")
    monkeypatch.setattr(corpora, "tang_poems", lambda: ["甲乙丙丁戊，己庚辛壬癸。"])
    monkeypatch.setattr(tasks, "MEGABYTE", 200)
    tasks.write_growth(tmp_path, (1, 2))
    first, second = ((tmp_path / f"growth-{size}.txt").read_bytes().decode() for size in (1, 2))
    assert second.startswith(first)
    assert len(first.encode()) >= 200
    lines = second.splitlines()
    assert sorted(lines[:4]) == sorted(
        [f"{split} one two three four five" for split in corpora.WIKITEXT2_SPLITS]
        + ["甲乙丙丁戊，己庚辛壬癸。"]
    )
    for line in lines[4:]:
        assert sorted(line) in [sorted(other) for other in lines[:4]]
    assert len(set(lines)) > 4
