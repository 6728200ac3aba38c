"""The experiment: its texts and tokenizers; runs are stopped, continued, repeated, and never mixed up."""

import dataclasses
import io
import json
import threading
from itertools import product
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import numpy  # noqa: E402

from bpe import BPETokenizer  # noqa: E402
from bpe._files import LOCK, InUseError, locked  # noqa: E402
from bpe.minigpt import checkpoints, experiment, generation, results  # noqa: E402
from bpe.minigpt import run as experiment_run  # noqa: E402
from bpe.minigpt import table as experiment_table  # noqa: E402
from bpe.minigpt.experiment import Profile  # noqa: E402
from bpe.minigpt.model import MiniGPT, MiniGPTConfig  # noqa: E402
from bpe.minigpt.run import Run, execute  # noqa: E402

VERSE = "床前明月光，疑是地上霜。举头望明月，低头思故乡。"
POEMS = [VERSE, "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。"] * 400
TINY = Profile(
    body={"block_size": 16, "embedding_dim": 16, "num_heads": 2, "num_layers": 1, "dropout": 0.1},
    settings={"batch_size": 2, "learning_rate": 1e-2},
    characters_seen={"tang": 1500},
    scores=3,
    held_out=300,
    samples=4,
)


def npy(numbers):
    file = io.BytesIO()
    array = numpy.array(numbers)
    numpy.save(file, array.astype("uint16") if array.dtype.kind == "i" else array)
    return file.getvalue()


@pytest.fixture(autouse=True)
def small_world(monkeypatch, tmp_path):
    """A data folder of our own, with few poems, and a profile that takes a second."""
    monkeypatch.setenv("BPE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    monkeypatch.setitem(experiment.PROFILES, "test", TINY)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tang_poems.txt").write_text("\n".join(POEMS) + "\n", encoding="utf-8", newline="\n")


def test_held_out_poems_are_not_learned_from():
    texts = experiment.texts("tang")
    assert texts.train == "\n".join(POEMS[:300]) + "\n"
    assert texts.held_out == "\n".join(POEMS[300:])
    with pytest.raises(ValueError, match="unknown corpus 'song': choose from 'tang', 'wikitext2'"):
        experiment.texts("song")
    with pytest.raises(FileNotFoundError, match="bpe wikitext2"):
        experiment.texts("wikitext2")


def test_characters_that_occur_once_are_unknown():
    tokenizer = experiment.characters("aabbc\n\n")
    assert tokenizer.characters == ("\n", "a", "b")
    assert tokenizer.tokens("abc") == ["a", "b", "<unk>"]


def test_all_tokenizers_have_the_size_in_their_name():
    three_letters = product("abcdefghijklmnopqrst", repeat=3)
    text = "".join(f"{a}{b}{c}，" for a, b, c in three_letters) * 2
    sizes = {name: make(text).vocab_size for name, make in experiment.TOKENIZERS.items()}
    assert sizes == {
        "characters": 22,
        "bytes": 256,
        "bpe-4096-verse": 4096,
        "bpe-4096": 4096,
        "char-bpe-500": 500,
        "char-bpe-2000": 2000,
    }


def test_ids_are_made_once_and_belong_to_their_tokenizer():
    train = experiment.texts("tang").train
    first = experiment.encoded("tang", "bytes", train)
    assert first.tokenizer.decode(first.ids.tolist()) == train
    again = experiment.encoded("tang", "bytes", train)
    assert again.ids.filename == first.ids.filename
    other = experiment.encoded("tang", "bytes", train[:100])
    assert other.ids.filename != first.ids.filename


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[1, 2]",
        npy([0] * 100)[:-5],
        npy([999] * 100),
        npy([[0, 1]]),
        npy([0.5]),
        npy([]),
        None,
    ],
    ids=["empty", "text", "cut", "ids out of range", "a table", "floats", "none", "missing"],
)
def test_ids_that_are_damaged_are_made_again(content):
    train = experiment.texts("tang").train
    path = Path(experiment.encoded("tang", "bytes", train).ids.filename)
    path.unlink() if content is None else path.write_bytes(content)
    again = experiment.encoded("tang", "bytes", train)
    assert again.tokenizer.decode(again.ids.tolist()) == train


def test_poems_that_are_too_few(tmp_path):
    (tmp_path / "data" / "tang_poems.txt").write_text(f"{VERSE}\n" * 500, encoding="utf-8")
    with pytest.raises(ValueError, match="there are 500 poems and the last 500 are held out"):
        experiment.texts("tang")


def test_a_tokenizer_of_ones_own(tmp_path):
    path = tmp_path / "mine.json"
    tokenizer = BPETokenizer.train(experiment.texts("tang").train, 300, progress=False)
    tokenizer.save(path)
    outcome = execute(Run("tang", str(path), "test"), device="cpu", progress=False)
    assert outcome["fingerprint"] == tokenizer.fingerprint
    assert outcome["tokenizer"] == f"mine-{tokenizer.fingerprint[:8]}"
    with pytest.raises(
        ValueError, match=r"'nothing\.json' is neither one of characters, .* nor a tokenizer's file"
    ):
        execute(Run("tang", "nothing.json", "test"), device="cpu")


@pytest.fixture
def run():
    return Run("tang", "characters", "test", seed=1)


def test_a_run_leaves_all_that_is_promised(run):
    records = []
    outcome = execute(run, device="cpu", report=records.append, progress=False)
    assert {path.name for path in run.folder.iterdir()} - {LOCK} == {
        "run.json",
        "tokenizer.json",
        "metrics.jsonl",
        "checkpoint.pt",
        "samples.txt",
        "result.json",
    }
    lines = (run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0]).keys() == {"step", "samples"}
    assert [json.loads(line) for line in lines[1:]] == records
    assert records[-1]["characters"] == outcome["characters"] == outcome["tokens"] >= 1500
    assert outcome["bytes"] > 2.5 * outcome["characters"]
    assert [set(point) for point in outcome["curve"]] == [{"characters", "flops", "bits_per_byte"}] * 3
    assert outcome["flops"] == outcome["curve"][-1]["flops"]
    assert outcome["held_out"]["characters"] == 300
    samples = (run.folder / "samples.txt").read_text(encoding="utf-8")
    assert samples.count("--- step") == 4
    assert experiment_run.result(run) == json.loads(json.dumps(outcome))


def without_times(record):
    kept = {key: value for key, value in record.items() if key not in ("seconds", "tokens_per_second")}
    return json.loads(json.dumps(kept))


def test_a_run_that_is_stopped_and_repeated_ends_the_same(run):
    whole = execute(run, device="cpu", progress=False)
    metrics = (run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    samples = (run.folder / "samples.txt").read_text(encoding="utf-8")

    for following in (3, 18, 30):

        def stop(record, following=following):
            if record["step"] == following:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            execute(run, device="cpu", force=following == 3, report=stop, progress=False)
        assert experiment_run.result(run) is None
    again = execute(run, device="cpu", progress=False)
    assert without_times(again) == without_times(whole)
    assert (run.folder / "samples.txt").read_text(encoding="utf-8") == samples
    repeated = (run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [without_times(json.loads(line)) for line in repeated] == [
        without_times(json.loads(line)) for line in metrics
    ]


class Killed(BaseException):
    """What stops a run as SIGKILL does, with nothing after it."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_run_that_is_killed_at_any_write_ends_the_same(monkeypatch, after):
    run = Run("tang", "characters", "test", characters_seen=120)

    def files():
        kept = {path.name: path.read_text(encoding="utf-8") for path in run.folder.glob("[ms]*s.*")}
        lines = kept.pop("metrics.jsonl").split("\n")
        return kept, [without_times(json.loads(line)) for line in lines if line]

    whole = without_times(execute(run, device="cpu", progress=False))
    expected = files()
    writes, write, left = 0, experiment_run.write_atomically, None

    def kill(path, data):
        nonlocal writes, left
        writes += 1
        if left is not None:
            left -= 1
        if left == 0 and not after:
            raise Killed
        write(path, data)
        if left == 0:
            raise Killed

    monkeypatch.setattr(experiment_run, "write_atomically", kill)
    monkeypatch.setattr(checkpoints, "write_atomically", kill)
    execute(run, device="cpu", force=True, progress=False)
    assert writes > 12
    for number in range(1, writes + 1):
        left = number
        with pytest.raises(Killed):
            execute(run, device="cpu", force=True, progress=False)
        left = None
        assert without_times(execute(run, device="cpu", progress=False)) == whole
        assert files() == expected


def test_one_process_at_a_time_executes_a_run(run):
    with locked(run.folder), pytest.raises(InUseError, match="Another process is using this folder"):
        execute(run, device="cpu", progress=False)
    with locked(run.folder), pytest.raises(InUseError):
        execute(run, device="cpu", force=True, progress=False)
    execute(run, device="cpu", progress=False)
    with locked(run.folder):
        execute(run, device="cpu", progress=False)  # a finished run is only read


def wait_for(function, folder, caplog=None):
    """Call a function in a thread while the folder is locked; return what it gives afterwards."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    with locked(folder):
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
        assert not found
    thread.join(60)
    return found[0]


def test_ids_are_made_by_one_process_and_others_wait(caplog):
    caplog.set_level("INFO")
    train = experiment.texts("tang").train
    folder = Path(experiment.encoded("tang", "bytes", train).ids.filename).parent
    (folder / "train.npy").unlink()
    encoded = wait_for(lambda: experiment.encoded("tang", "bytes", train), folder)
    assert encoded.tokenizer.decode(encoded.ids.tolist()) == train
    assert f"Another process is using {folder}: waiting for it to finish." in caplog.text
    with locked(folder):
        experiment.encoded("tang", "bytes", train)  # complete ids are only read


def test_tables_are_written_one_after_the_other(run):
    execute(run, device="cpu", progress=False)
    path = wait_for(lambda: experiment_table.write("test"), experiment_run.runs_folder())
    assert len(json.loads(path.read_text(encoding="utf-8"))["runs"]) == 1


def test_force_deletes_the_files_of_a_run_and_nothing_else(run, tmp_path):
    execute(run, device="cpu", progress=False)
    (run.folder / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "precious.json").write_text("{}", encoding="utf-8")
    (run.folder / "more").mkdir()
    result = run.folder / "result.json"
    result.unlink()
    try:
        result.symlink_to(tmp_path / "precious.json")
    except OSError:
        pytest.skip("no symbolic links here")
    execute(run, device="cpu", force=True, progress=False)
    assert (run.folder / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert (run.folder / "more").is_dir()
    assert (tmp_path / "precious.json").read_text(encoding="utf-8") == "{}"
    assert not result.is_symlink()


def test_force_does_not_follow_a_link_out(run, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "result.json").write_text("mine", encoding="utf-8")
    run.folder.parent.mkdir(parents=True)
    try:
        run.folder.symlink_to(elsewhere, target_is_directory=True)
    except OSError:
        pytest.skip("no symbolic links here")
    with pytest.raises(ValueError, match="is a link, so --force deletes nothing there"):
        execute(run, device="cpu", force=True, progress=False)
    assert (elsewhere / "result.json").read_text(encoding="utf-8") == "mine"


def test_a_training_that_diverges_says_so(run, monkeypatch):
    wild = dataclasses.replace(TINY, settings={**TINY.settings, "learning_rate": 1e30})
    monkeypatch.setitem(experiment.PROFILES, "test", wild)
    with pytest.raises(ValueError, match=r"the loss is (nan|inf) at step \d+: the training has diverged"):
        execute(run, device="cpu", progress=False)


@pytest.fixture
def stopped(run):
    """A run that has a checkpoint and no result."""
    execute(run, device="cpu", progress=False)
    (run.folder / "result.json").unlink()
    return run


@pytest.mark.parametrize("content", ["", "{", "[1]", "null", "{}", "\0", "\x80"])
@pytest.mark.parametrize("name", ["run.json", "metrics.jsonl", "checkpoint.pt", "result.json"])
def test_a_damaged_run_says_so_and_how_to_start_over(stopped, name, content):
    (stopped.folder / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match=rf"{name} is .*damaged.*delete the run's folder, or give --force"):
        execute(stopped, device="cpu", progress=False)


def test_a_result_with_other_types_is_damaged(run):
    content = json.loads(json.dumps(execute(run, device="cpu", progress=False)))
    changes = [
        {"seed": True},
        {"seed": "1"},
        {"seed": -1},
        {"corpus": ["tang"]},
        {"parameters": []},
        {"parameters": {"embedding": 5, "body": None}},
        {"parameters": {"embedding": 5, "body": 1.5}},
        {"held_out": {}},
        {"held_out": {"bits_per_byte": "2", "bits_per_character": 2}},
        {"held_out": {"bits_per_byte": float("nan"), "bits_per_character": 2}},
        {"held_out": {"bits_per_byte": 10**400, "bits_per_character": 2}},
        {"flops": 10**400},
        {"tokens": {"a": 1}},
        {"corpus": "\ud800"},
    ]
    for change in changes:
        (run.folder / "result.json").write_text(json.dumps(content | change), encoding="utf-8")
        for read in (lambda: experiment_run.result(run), lambda: experiment_table.write("test")):
            with pytest.raises(ValueError, match=r"result\.json is damaged: .*give --force"):
                read()


def test_a_line_of_metrics_with_other_types_is_damaged(stopped):
    path = stopped.folder / "metrics.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    changes = [
        {"step": True},
        {"step": "1"},
        {"seconds": float("nan")},
        {"seconds": -1},
        {"seconds": None},
        {"tokens": "many"},
        {"flops": 10**400},
        {"samples": 5},
        {"samples": [5]},
        {"bits_per_byte": []},
    ]
    for change in changes:
        changed = json.dumps(json.loads(lines[1]) | change)
        path.write_text("\n".join([lines[0], changed, *lines[2:]]) + "\n", encoding="utf-8")
        with pytest.raises(ValueError, match=r"metrics\.jsonl is damaged: .*give --force"):
            execute(stopped, device="cpu", progress=False)


@pytest.mark.parametrize("name", ["run.json", "metrics.jsonl", "result.json"])
def test_a_file_of_a_run_that_no_json_reader_likes(stopped, name):
    for content in ("[" * 100_000, "9" * 5000, '{"a": NaN}', '{"run": 1, "run": 2}'):
        (stopped.folder / name).write_text(content, encoding="utf-8")
        with pytest.raises(ValueError, match=rf"{name} is damaged: .*give --force"):
            execute(stopped, device="cpu", progress=False)


def test_a_line_of_metrics_that_is_missing_is_noticed(stopped):
    path = stopped.folder / "metrics.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for left in (lines[:-1], lines[1:], lines[:5] + lines[6:]):
        path.write_text("".join(left), encoding="utf-8")
        with pytest.raises(ValueError, match="does not hold all lines up to the checkpoint"):
            execute(stopped, device="cpu", progress=False)
    path.unlink()
    with pytest.raises(ValueError, match=r"metrics.jsonl is damaged: .*No such file"):
        execute(stopped, device="cpu", progress=False)


def test_samples_may_hold_characters_at_which_splitlines_cuts(run, monkeypatch):
    monkeypatch.setattr(experiment_run, "sampled", lambda *_, **__: ["a\x85b\u2028c", "d\r\ne"])
    whole = execute(run, device="cpu", progress=False)
    (run.folder / "result.json").unlink()
    assert without_times(execute(run, device="cpu", progress=False)) == without_times(whole)


def test_a_tokenizer_that_was_damaged_is_written_again(stopped):
    (stopped.folder / "tokenizer.json").write_bytes(b"{")
    execute(stopped, device="cpu", progress=False)
    checkpoints.load(stopped.folder, "cpu")


def test_a_corpus_that_has_changed_is_another_run(tmp_path):
    run = Run("tang", "bytes", "test")
    execute(run, device="cpu", progress=False)
    (tmp_path / "data" / "tang_poems.txt").write_text("\n".join(POEMS[::-1]) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"holds a run with another texts.*Only --force deletes it"):
        execute(run, device="cpu", progress=False)


def test_a_wrong_device_deletes_nothing(run):
    execute(run, device="cpu", progress=False)
    with pytest.raises(ValueError, match="no device 'abacus'"):
        execute(run, device="abacus", force=True, progress=False)
    assert experiment_run.result(run)


@pytest.mark.parametrize("texts", ["d516ab1cd1424d38", None], ids=["one hash", "no hash"])
def test_a_run_of_an_earlier_version_continues(stopped, texts):
    path = stopped.folder / "run.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content.pop("texts").keys() == {"train", "along_the_way", "held_out"}
    path.write_text(json.dumps(content | ({"texts": texts} if texts else {})), encoding="utf-8")
    assert execute(stopped, device="cpu", progress=False)["seed"] == 1
    path.write_text(json.dumps(content | {"fingerprint": "d516ab1cd1424d38"}), encoding="utf-8")
    with pytest.raises(ValueError, match="holds a run with another fingerprint"):
        execute(stopped, device="cpu", progress=False)


def test_numbers_may_be_those_of_numpy():
    asked, same = (
        Run("tang", "characters", "test", seed, length)
        for seed, length in ((numpy.int64(1), numpy.int32(900)), (1, 900))
    )
    outcome = execute(asked, device="cpu", progress=False)
    assert asked.folder == same.folder
    assert execute(same, device="cpu", progress=False) == json.loads(
        json.dumps(checkpoints.python_numbers(outcome))
    )


def test_a_finished_run_is_not_done_again(run, monkeypatch):
    outcome = execute(run, device="cpu", progress=False)
    monkeypatch.setattr(experiment_run, "Trainer", None)
    assert execute(run, device="cpu") == json.loads(json.dumps(outcome))


def test_another_run_of_the_same_name_is_refused(run, monkeypatch):
    execute(run, device="cpu", progress=False)
    other = dataclasses.replace(TINY, settings={**TINY.settings, "learning_rate": 2e-2})
    monkeypatch.setitem(experiment.PROFILES, "test", other)
    with pytest.raises(ValueError, match=r"holds a run with another settings.*Only --force deletes it"):
        execute(run, device="cpu", progress=False)
    outcome = execute(run, device="cpu", force=True, progress=False)
    assert outcome["settings"]["learning_rate"] == 2e-2


def test_each_tokenizer_and_seed_has_a_folder_of_its_own():
    folders = {
        Run("tang", name, "test", seed, length).folder
        for name in ("characters", "bytes")
        for seed in (0, 1)
        for length in (None, 500)
    }
    assert len(folders) == 8


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"profile": "huge"}, "unknown profile 'huge': choose from 'tiny', 'small', 'gpu'"),
        (
            {"corpus": "../tang", "characters_seen": 5},
            r"unknown corpus '\.\./tang': choose from 'tang', 'wikitext2'",
        ),
        ({"seed": -1}, "seed must be 0 or more"),
        ({"seed": 2**64}, r"seed must be below 2\*\*64"),
        ({"characters_seen": 0}, "characters_seen must be 1 or more"),
        ({"corpus": "wikitext2"}, "profile 'test' has no length for 'wikitext2': give characters_seen"),
    ],
)
def test_impossible_runs(changed, message):
    with pytest.raises(ValueError, match=message):
        Run(**{"corpus": "tang", "tokenizer": "bytes", "profile": "test", **changed})


def test_the_table_of_all_runs():
    for name in ("bytes", "characters"):
        for seed in (1, 0):
            execute(Run("tang", name, "test", seed), device="cpu", progress=False)
    execute(Run("tang", "bytes", "test", 0, characters_seen=700), device="cpu", progress=False)
    path = experiment_table.write("test")
    table = json.loads(path.read_text(encoding="utf-8"))
    assert [(run["tokenizer"], run["seed"]) for run in table["runs"]] == [
        ("characters", 0),
        ("characters", 1),
        ("bytes", 0),
        ("bytes", 1),
    ]
    row = table["summary"][1]
    values = [run["held_out"]["bits_per_byte"] for run in table["runs"][2:]]
    assert row["bits_per_byte"] == pytest.approx(sum(values) / 2, abs=1e-4)
    assert row["bits_per_byte_spread"] == pytest.approx(abs(values[0] - values[1]), abs=1e-4)
    assert row["parameters"]["embedding"] == (256 + 16) * 16
    assert len(list(experiment_table.lines("test"))) == 3


def test_the_table_takes_no_copies_and_no_results_of_other_runs(run):
    execute(run, device="cpu", progress=False)
    whole = (run.folder / "result.json").read_text(encoding="utf-8")
    for name in (f"{run.folder.name} (copy)", f"{run.folder.name}0 copy"):
        copy = run.folder.with_name(name)
        copy.mkdir()
        (copy / "result.json").write_text(whole, encoding="utf-8")
    assert len(experiment_table.outcomes("test")) == 1
    other = run.folder.with_name("tang-characters-test-seed7")
    other.mkdir()
    (other / "result.json").write_text(whole, encoding="utf-8")
    with pytest.raises(ValueError, match=r"seed7.result\.json is the result of another run"):
        experiment_table.outcomes("test")
    with pytest.raises(ValueError, match=r"unknown profile '\.\./\.\.': choose from"):
        experiment_table.outcomes("../..")


@pytest.mark.parametrize(
    "name", ["...json", "..json.json", "a b\u3000.json", "\x1b[2J.json", "x" * 100 + ".json"]
)
def test_no_name_of_a_tokenizer_leaves_the_folder_of_runs(tmp_path, monkeypatch, name):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    path = tmp_path / name
    try:
        BPETokenizer([bytes([value]) for value in range(256)]).save(path)
    except OSError:
        pytest.skip("no such name here")
    for given in (path, Path("..") / name):
        run = Run("tang", str(given), "test")
        folder = run.folder.resolve()
        assert folder.parent == experiment_run.runs_folder().resolve()
        execute(run, device="cpu", progress=False)
    assert {entry.name for entry in tmp_path.iterdir()} <= {name, "here", "data", "results"}


def test_ids_without_a_token_are_never_sampled():
    letters = [None, *"ab\n", None, None]
    tokenizer = BPETokenizer(letters, special_tokens={"<end>": 9})
    model = MiniGPT(MiniGPTConfig(10, block_size=8, embedding_dim=8, num_heads=1, num_layers=1))
    [sample] = generation.sampled(model, tokenizer, "a", 200, 1, seed=0)
    assert set(sample.replace("<end>", "")) == set("ab\n")


def test_samples_begin_with_the_prompt_although_it_is_unknown():
    tokenizer = experiment.characters("aabb\n\n")
    model = MiniGPT(MiniGPTConfig(4, block_size=8, embedding_dim=8, num_heads=1, num_layers=1))
    [sample] = generation.sampled(model, tokenizer, "xa", 5, 1, seed=0)
    assert sample.startswith("xa") and len(sample) == 7


def test_a_model_is_used_only_with_its_own_tokenizer(run):
    execute(run, device="cpu", progress=False)
    model, tokenizer = checkpoints.load(run.folder, "cpu")
    samples = generation.sampled(model, tokenizer, "明", 30, 2, seed=0)
    assert [len(sample) for sample in samples] == [31, 31]
    assert all(sample.startswith("明") and "<unk>" not in sample for sample in samples)
    other = experiment.characters("".join(chr(0x4E00 + k) for k in range(tokenizer.vocab_size - 1)) * 2)
    assert other.vocab_size == tokenizer.vocab_size
    other.save(run.folder / "tokenizer.json")
    with pytest.raises(ValueError, match="its ids mean something else"):
        checkpoints.load(run.folder, "cpu")
