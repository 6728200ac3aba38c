"""The commands of `minigpt`: what they print, what they write, how they fail."""

import json
from pathlib import Path

import pytest
from running import failed

pytest.importorskip("torch")

from click.testing import CliRunner, Result

from bpe import CharTokenizer, corpora
from bpe.__main__ import main
from bpe._files import locked
from bpe.minigpt import experiment, results
from bpe.minigpt.experiment import Profile

POEMS = [
    "床前明月光，疑是地上霜。举头望明月，低头思故乡。",
    "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。",
] * 400
TINY = Profile(
    body={"block_size": 16, "embedding_dim": 16, "num_heads": 2, "num_layers": 1, "dropout": 0.0},
    settings={"batch_size": 4, "learning_rate": 1e-2},
    characters_seen={"tang": 1000},
    scores=2,
    held_out=300,
    samples=2,
)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["minigpt", *map(str, arguments)])


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with few poems; all profiles are small."""
    monkeypatch.setenv("BPE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    for name in experiment.PROFILES:
        monkeypatch.setitem(experiment.PROFILES, name, TINY)
    monkeypatch.setitem(experiment.COMPARED, "tang", ("characters", "bytes"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / corpora.TANG_POEMS).write_bytes(("\n".join(POEMS) + "\n").encode())
    return tmp_path / "data"


def test_train_prints_its_progress_and_is_not_repeated(data):
    arguments = ("train", "--corpus", "tang", "--tokenizer", "characters", "--device", "cpu", "--seed", 2)
    result = run(*arguments)
    assert result.exit_code == 0
    folder = data / "runs" / "tang-characters-tiny-seed2"
    lines = result.stdout.splitlines()
    assert lines[0] == str(folder)
    assert lines[1].startswith("step")
    assert all(word in lines[-2] for word in ("characters", "loss", "tokens/s", "bits per byte"))
    assert "per character of held-out text, after 1,024 characters" in lines[-1]
    again = run(*arguments)
    assert again.stdout.splitlines() == [str(folder), "finished before: " + lines[-1]]
    assert run(*arguments, "--force").stdout.splitlines()[-1] == lines[-1]


def test_force_starts_over_although_the_result_is_damaged(data):
    arguments = ("train", "--corpus", "tang", "--tokenizer", "bytes", "--device", "cpu")
    run(*arguments)
    result = data / "runs" / "tang-bytes-tiny-seed0" / "result.json"
    whole = result.read_bytes()
    result.write_bytes(whole[: len(whole) // 2])
    assert "result.json is damaged" in failed(run(*arguments))
    assert run(*arguments, "--force").exit_code == 0
    assert len(json.loads(result.read_text(encoding="utf-8"))) == len(json.loads(whole))


def test_another_length(data):
    result = run(
        "train", "--corpus", "tang", "--tokenizer", "bytes", "--characters-seen", 500, "--device", "cpu"
    )
    assert result.exit_code == 0
    assert (data / "runs" / "tang-bytes-tiny-500-characters-seed0" / "result.json").is_file()


def test_sample(data):
    run("train", "--corpus", "tang", "--tokenizer", "characters", "--device", "cpu")
    folder = data / "runs" / "tang-characters-tiny-seed0"
    arguments = ("sample", folder, "--prompt", "明月", "--tokens", 20, "--seed", 1, "--number", 2)
    result = run(*arguments, "--device", "cpu")
    assert [len(text.rstrip("\n")) <= 22 for text in result.stdout.split("\n---\n")] == [True, True]
    assert all(text.startswith("明月") for text in result.stdout.split("\n---\n"))
    assert run(*arguments, "--device", "cpu").stdout == result.stdout


def test_samples_that_a_terminal_would_obey(data, monkeypatch):
    """On a terminal what is invisible is shown; a file gets the exact text."""
    from bpe.minigpt import generation

    run("train", "--corpus", "tang", "--tokenizer", "characters", "--device", "cpu")
    folder = data / "runs" / "tang-characters-tiny-seed0"
    monkeypatch.setattr(generation, "sampled", lambda *_, **__: ["\x1b]0;title\x07a\u202eb\r\n月"])
    assert run("sample", folder).stdout_bytes == "\x1b]0;title\x07a\u202eb\r\n月\n".encode()
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True)
    assert run("sample", folder).stdout == "␛]0;title␇a[U+202E]b␍\n月\n"


def test_a_model_that_gives_no_numbers(data):
    import torch

    run("train", "--corpus", "tang", "--tokenizer", "characters", "--device", "cpu")
    folder = data / "runs" / "tang-characters-tiny-seed0"
    content = torch.load(folder / "checkpoint.pt", weights_only=True)
    content["model"]["norm.weight"][:] = float("nan")
    torch.save(content, folder / "checkpoint.pt")
    assert "the model's logits are not finite" in failed(run("sample", folder))
    content["config"]["num_layers"] = 10**6
    torch.save(content, folder / "checkpoint.pt")
    assert "checkpoint.pt is damaged: it states 1000000 layers" in failed(run("sample", folder))


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_run_that_another_process_executes(data, force):
    folder = data / "runs" / "tang-bytes-tiny-seed0"
    arguments = ("train", "--corpus", "tang", "--tokenizer", "bytes", "--device", "cpu", *force)
    with locked(folder):
        message = failed(run(*arguments))
    assert message.strip() == f"Error: {folder}: Another process is using this folder"
    assert run(*arguments).exit_code == 0


@pytest.mark.parametrize("device", ["abacus", "meta", "vulkan", "", "auto:1", "cuda:99"])
def test_a_device_that_is_not_here(device):
    arguments = ("train", "--corpus", "tang", "--tokenizer", "bytes", "--device", device)
    message = failed(run(*arguments)).strip()
    assert message.startswith(f"Error: no device {device!r} here: ")
    assert len(message.splitlines()) == 1
    assert len(message) < 250


def test_experiment_makes_all_runs_and_repeats_none(data):
    prepared = run("experiment", "--prepare")
    assert len(prepared.stdout.splitlines()) == 2
    assert not (data / "runs").exists()
    first = run("experiment", "--seed", 0, "--device", "cpu")
    assert first.exit_code == 0
    assert first.stdout.splitlines()[-1] == str(results.FOLDER / "minigpt_tiny.json")
    result = run("experiment", "--device", "cpu")
    assert result.stdout.count("finished before") == 2
    table = results.read("minigpt_tiny")
    assert [(row["tokenizer"], row["seeds"]) for row in table["summary"]] == [
        ("characters", [0, 1, 2]),
        ("bytes", [0, 1, 2]),
    ]
    assert run("experiment", "--device", "cpu").stdout.count("finished before") == 6


def test_a_trial_of_the_experiment_writes_no_table(data):
    result = run("experiment", "--profile", "gpu", "--characters-seen", 300, "--device", "cpu", "--seed", 0)
    assert result.exit_code == 0
    assert not results.FOLDER.exists()
    names = {path.name for path in (data / "runs").iterdir()}
    assert names == {f"tang-{name}-gpu-300-characters-seed0" for name in ("characters", "bytes")}


def test_wrong_use():
    arguments = ("train", "--corpus", "tang", "--tokenizer")
    assert "neither one of characters" in failed(run(*arguments, "nothing.json"))
    assert "no device 'abacus' here" in failed(run(*arguments, "bytes", "--device", "abacus"))
    failed(run(*arguments, "bytes", "--profile", "huge"), 2)
    failed(run("train", "--corpus", "song", "--tokenizer", "bytes"), 2)
    failed(run(*arguments, "bytes", "--characters-seen", 0), 2)
    assert "give characters_seen" in failed(run("train", "--corpus", "wikitext2", "--tokenizer", "bytes"))


def test_a_missing_corpus_names_its_command(data):
    (data / corpora.TANG_POEMS).unlink()
    message = failed(run("train", "--corpus", "tang", "--tokenizer", "bytes", "--device", "cpu"))
    assert "python prepare_poems.py" in message


def test_another_tokenizer_is_refused_at_training_and_at_sampling(data):
    path = data / "mine.json"
    CharTokenizer("\n".join(POEMS), unknown="<unk>").save(path)
    run("train", "--corpus", "tang", "--tokenizer", path, "--device", "cpu")
    [folder] = (data / "runs").iterdir()
    other = CharTokenizer([chr(0x3400 + k) for k in range(CharTokenizer.load(path).vocab_size)])
    other.save(folder / "tokenizer.json")
    assert "its ids mean something else" in failed(run("sample", folder, "--prompt", chr(0x3400)))
    (folder / "result.json").unlink()
    content = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    content["fingerprint"] = other.fingerprint
    (folder / "run.json").write_text(json.dumps(content), encoding="utf-8")
    message = failed(run("train", "--corpus", "tang", "--tokenizer", path, "--device", "cpu"))
    assert "holds a run with another fingerprint" in message


def test_a_folder_that_is_not_a_run(tmp_path):
    assert "tokenizer.json" in failed(run("sample", tmp_path))
