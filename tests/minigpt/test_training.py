"""Batches, the learning rate, and checkpoints: a stopped run continues as if it had not been stopped."""

import dataclasses
import math

import pytest

torch = pytest.importorskip("torch")

import numpy  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from bpe import CharTokenizer  # noqa: E402
from bpe.minigpt import checkpoints  # noqa: E402
from bpe.minigpt.model import MiniGPTConfig  # noqa: E402
from bpe.minigpt.training import Batches, Trainer, TrainingSettings, chosen_device  # noqa: E402

TOKENIZER = CharTokenizer("abcdefgh\n")
OTHER = CharTokenizer("abcdefgi\n")
CONFIG = MiniGPTConfig(9, block_size=8, embedding_dim=16, num_heads=2, num_layers=2, dropout=0.2)
SETTINGS = TrainingSettings(steps=20, batch_size=4, learning_rate=1e-2, seed=3)


def make_trainer(settings=SETTINGS, config=CONFIG, tokenizer=TOKENIZER):
    ids = numpy.random.default_rng(0).integers(9, size=200)
    return Trainer(config, settings, ids, tokenizer.fingerprint, device="cpu")


# --- batches


@given(st.integers(1, 9), st.integers(1, 5), st.integers(0, 80), st.integers(0, 3))
def test_a_pass_takes_every_window_once(block_size, batch_size, more, seed):
    ids = numpy.arange(2 * block_size + more)
    batches = Batches(ids, block_size, batch_size, seed)
    steps = batches.windows  # batch_size passes
    inputs = torch.cat([batches[step][0] for step in range(steps)])
    targets = torch.cat([batches[step][1] for step in range(steps)])
    assert inputs.shape == (steps * batch_size, block_size)
    assert torch.equal(targets, inputs + 1)
    for one_pass in inputs.view(batch_size, -1):
        assert len(set(one_pass.tolist())) == batches.windows * block_size


def test_batches_depend_on_seed_and_step_alone():
    ids = numpy.arange(1000)
    first = Batches(ids, 8, 4, seed=1)
    in_order = [first[step][0] for step in range(50)]
    again = Batches(ids, 8, 4, seed=1)
    assert all(torch.equal(again[step][0], in_order[step]) for step in (49, 3, 31, 30))
    assert not torch.equal(Batches(ids, 8, 4, seed=2)[0][0], in_order[0])


def test_batches_from_a_file(tmp_path):
    numpy.save(tmp_path / "ids.npy", numpy.arange(100, dtype=numpy.uint8))
    mapped = numpy.load(tmp_path / "ids.npy", mmap_mode="r")
    inputs, _ = Batches(mapped, 8, 2)[0]
    assert inputs.dtype == torch.int64
    assert torch.equal(inputs, Batches(numpy.arange(100), 8, 2)[0][0])


def test_too_few_ids():
    with pytest.raises(ValueError, match="15 ids are too few: a context of 8 needs at least 16"):
        Batches(numpy.arange(15), 8, 2)


# --- settings


def test_learning_rate_rises_stays_and_falls():
    settings = TrainingSettings(steps=100, learning_rate=1.0, warm_up=0.1, decay=0.2)
    rates = [settings.learning_rate_at(step) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9:81] == [1.0] * 72
    assert rates[99] == pytest.approx(0.05)
    assert rates == sorted(rates[:50]) + sorted(rates[50:], reverse=True)
    constant = TrainingSettings(steps=3, learning_rate=0.5, warm_up=0, decay=0)
    assert [constant.learning_rate_at(step) for step in range(3)] == [0.5] * 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"steps": 0}, "steps must be 1 or more"),
        ({"batch_size": 0}, "batch_size must be 1 or more"),
        ({"seed": -1}, "seed must be 0 or more"),
        ({"seed": 2**64}, r"seed must be below 2\*\*64"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0 and finite, not 0.0"),
        ({"learning_rate": math.inf}, "learning_rate must be above 0 and finite, not inf"),
        ({"learning_rate": math.nan}, "learning_rate must be above 0 and finite, not nan"),
        ({"gradient_clip": 0}, "gradient_clip must be above 0 and finite, not 0"),
        ({"weight_decay": -0.1}, "weight_decay must be 0 or more and finite, not -0.1"),
        ({"warm_up": math.nan}, "warm_up nan and decay 0.2"),
        ({"warm_up": 0.9, "decay": 0.2}, "warm_up 0.9 and decay 0.2"),
        ({"warm_up": -0.1}, "warm_up -0.1 and decay 0.2"),
    ],
)
def test_impossible_settings(changed, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SETTINGS, **changed)


def test_devices():
    assert chosen_device("cpu").type == "cpu"
    assert chosen_device("auto").type in ("cpu", "cuda", "mps")
    for name in ("abacus", "cuda:99", "meta:nonsense"):
        with pytest.raises(ValueError, match=f"no device '{name}' here"):
            chosen_device(name)


def test_weights_decay_and_biases_do_not():
    decaying, others = make_trainer().optimizer.param_groups
    assert decaying["weight_decay"] == 0.1
    assert others["weight_decay"] == 0.0
    assert all(p.dim() >= 2 for p in decaying["params"])
    assert all(p.dim() < 2 for p in others["params"])


# --- checkpoints


def losses(trainer, number):
    return [trainer.train_step().item() for _ in range(number)]


def test_a_run_that_was_stopped_has_the_same_losses(tmp_path):
    whole = make_trainer()
    uninterrupted = losses(whole, 20)
    stopped = make_trainer()
    assert losses(stopped, 7) == uninterrupted[:7]
    checkpoints.save(tmp_path / "checkpoint.pt", stopped)
    torch.manual_seed(99)  # another process would start with other random states
    resumed = make_trainer()
    losses(resumed, 2)
    checkpoints.resume(tmp_path / "checkpoint.pt", resumed)
    assert resumed.step == 7
    assert losses(resumed, 13) == uninterrupted[7:]
    for ours, theirs in zip(resumed.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_the_seed_determines_the_run():
    assert losses(make_trainer(), 3) == losses(make_trainer(), 3)
    assert losses(make_trainer(dataclasses.replace(SETTINGS, seed=4)), 3) != losses(make_trainer(), 3)


@pytest.fixture
def checkpoint(tmp_path):
    path = tmp_path / "checkpoint.pt"
    checkpoints.save(path, make_trainer())
    return path


def test_the_model_of_a_checkpoint(checkpoint):
    model = checkpoints.load_model(checkpoint, TOKENIZER, "cpu")
    assert not model.training
    ids = torch.zeros(1, 3, dtype=torch.long)
    assert torch.equal(model(ids), make_trainer().model.eval()(ids))


def test_sizes_and_settings_may_be_numpy_numbers(tmp_path):
    config = dataclasses.replace(CONFIG, vocab_size=numpy.int64(9), dropout=numpy.float32(0.25))
    settings = dataclasses.replace(
        SETTINGS,
        steps=numpy.int32(20),
        batch_size=numpy.uint8(4),
        seed=numpy.int64(3),
        learning_rate=numpy.float32(1e-2),
        weight_decay=numpy.float64(0.1),
        betas=(numpy.float64(0.9), numpy.float64(0.95)),
    )
    path = tmp_path / "checkpoint.pt"
    trainer = make_trainer(settings, config)
    uninterrupted = losses(trainer, 3)
    checkpoints.save(path, trainer)
    uninterrupted += losses(trainer, 3)
    resumed = make_trainer(settings, config)
    checkpoints.resume(path, resumed)
    assert losses(resumed, 3) == uninterrupted[3:]
    content = torch.load(path, weights_only=True)
    assert type(content["config"]["vocab_size"]) is int
    assert type(content["settings"]["learning_rate"]) is float
    assert checkpoints.load_model(path, TOKENIZER, "cpu").config == config


def test_another_tokenizer_is_refused_although_it_fits(checkpoint):
    assert OTHER.vocab_size == TOKENIZER.vocab_size
    theirs, ours = TOKENIZER.fingerprint[:16], OTHER.fingerprint[:16]
    message = f"trained on the ids of the tokenizer {theirs}…; this one is {ours}"
    with pytest.raises(checkpoints.OtherTokenizerError, match=message):
        checkpoints.load_model(checkpoint, OTHER, "cpu")
    with pytest.raises(checkpoints.OtherTokenizerError, match=message):
        checkpoints.resume(checkpoint, make_trainer(tokenizer=OTHER))


def test_other_sizes_and_settings_are_refused(checkpoint):
    with pytest.raises(ValueError, match="trained with num_layers = 2: it can't be continued with 3"):
        checkpoints.resume(checkpoint, make_trainer(config=dataclasses.replace(CONFIG, num_layers=3)))
    with pytest.raises(ValueError, match="trained with steps = 20: it can't be continued with 30"):
        checkpoints.resume(checkpoint, make_trainer(dataclasses.replace(SETTINGS, steps=30)))


class Exploding:
    """An object that runs a function when it is unpickled."""

    def __reduce__(self):
        return (print, ("a file was believed",))


def test_nothing_in_a_file_is_executed(tmp_path, capsys):
    path = tmp_path / "hostile.pt"
    torch.save({"format": checkpoints.FORMAT, "model": Exploding()}, path)
    with pytest.raises(ValueError, match=r"hostile\.pt is not a checkpoint, or is damaged"):
        checkpoints.load_model(path, TOKENIZER, "cpu")
    assert capsys.readouterr().out == ""


def test_files_that_are_not_checkpoints(tmp_path, checkpoint):
    with pytest.raises(FileNotFoundError):
        checkpoints.load_model(tmp_path / "missing.pt", TOKENIZER, "cpu")
    whole = checkpoint.read_bytes()
    for content in (b"", b"\x89PNG", whole[:1000], whole[:-100]):
        checkpoint.write_bytes(content)
        with pytest.raises(ValueError, match="is not a checkpoint, or is damaged"):
            checkpoints.load_model(checkpoint, TOKENIZER, "cpu")
    torch.save({"weights": torch.zeros(3)}, checkpoint)
    with pytest.raises(ValueError, match="is not a checkpoint of this course"):
        checkpoints.load_model(checkpoint, TOKENIZER, "cpu")


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("step", None, "its part 'step' is missing, or not of type int"),
        ("model", [], "its part 'model' is missing, or not of type dict"),
        ("model", {}, "is damaged: Error.* in loading state_dict"),
        ("config", {"vocab_size": 0}, "is damaged: vocab_size must be 1 or more"),
        ("config", {"size": 3}, "is damaged: .*unexpected keyword argument 'size'"),
    ],
)
def test_damaged_checkpoints(checkpoint, part, value, message):
    content = torch.load(checkpoint, weights_only=True)
    torch.save({**content, part: value}, checkpoint)
    with pytest.raises(ValueError, match=message):
        checkpoints.load_model(checkpoint, TOKENIZER, "cpu")


def test_an_optimizer_state_that_does_not_fit(checkpoint):
    content = torch.load(checkpoint, weights_only=True)
    torch.save({**content, "optimizer": {"state": {}}}, checkpoint)
    with pytest.raises(ValueError, match="is damaged"):
        checkpoints.resume(checkpoint, make_trainer())


def test_a_checkpoint_that_cannot_be_written_leaves_the_earlier_one(checkpoint, monkeypatch):
    before = checkpoint.read_bytes()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bpe._files._write_and_rename", full)
    with pytest.raises(OSError, match="No space left on device"):
        checkpoints.save(checkpoint, make_trainer())
    assert checkpoint.read_bytes() == before
    assert [path.name for path in checkpoint.parent.iterdir()] == ["checkpoint.pt"]
