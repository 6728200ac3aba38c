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


IDS = numpy.arange(100)


@pytest.mark.parametrize(
    "ids",
    [
        list(range(100)),
        tuple(range(100)),
        range(100),
        torch.arange(100),
        torch.arange(100, dtype=torch.uint8),
        IDS.astype("uint64"),
        IDS.astype(">i4"),
        numpy.arange(200)[::2] // 2,
    ],
    ids=["list", "tuple", "range", "tensor", "uint8 tensor", "uint64", "big-endian", "strided"],
)
def test_ids_of_every_kind_make_the_same_batches(ids):
    for ours, theirs in zip(Batches(ids, 8, 2)[5], Batches(IDS, 8, 2)[5], strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (numpy.arange(100.0), TypeError, "ids must be integers, not float64"),
        (torch.rand(100), TypeError, "ids must be integers, not float32"),
        (numpy.ones(100, bool), TypeError, "ids must be integers, not bool"),
        ([0, True] * 50, TypeError, "ids must be integers, not bool"),
        (torch.ones(100, dtype=torch.bool), TypeError, "ids must be integers, not bool"),
        (numpy.ones((10, 10), int), TypeError, r"a row of integers, not an array of shape \(10, 10\)"),
        ([[1, 2], [3]], TypeError, "ids must be a row of integers"),
        (["a"] * 100, TypeError, "ids must be integers"),
        ([2**70] * 100, TypeError, "ids must be integers, not object"),
        (set(range(100)), TypeError, r"ids must be a list, not a set"),
        ("1 2 3", TypeError, r"not an array of shape \(\)"),
        (torch.eye(10).to_sparse(), TypeError, "ids must be a row of integers"),
        ([*range(50), -3, *range(50)], ValueError, "id -3 at position 50 of the ids is out of range"),
        (numpy.array([2**63] * 50, "uint64"), ValueError, "id 9223372036854775808 at position 0"),
        ([], ValueError, "0 ids are too few"),
    ],
)
def test_what_are_not_ids(ids, error, message):
    with pytest.raises(error, match=message):
        Batches(ids, 8, 2)


@pytest.mark.parametrize("sizes", [(0, 2), (8, 0), (-8, 2), (8.0, 2), (8, True), (None, 2), (8, 2, -1)])
def test_impossible_sizes_of_batches(sizes):
    with pytest.raises((TypeError, ValueError), match=r"block_size|batch_size|seed"):
        Batches(numpy.arange(100), *sizes)


def test_a_loop_over_batches_is_one_pass():
    batches = Batches(numpy.arange(100), 8, 4)
    assert batches.windows == 11
    inputs = [inputs for inputs, _ in batches]
    assert len(inputs) == len(batches) == 3
    assert all(torch.equal(found, batches[step][0]) for step, found in enumerate(inputs))
    assert len({row[0] for row in torch.cat(inputs)[:11].tolist()}) == 11
    assert len(list(batches)) == 3  # again from the start


@pytest.mark.parametrize("step", [-1, slice(2), 1.0, True, "0", None])
def test_what_is_not_a_step(step):
    with pytest.raises((TypeError, ValueError), match="step must be"):
        Batches(numpy.arange(100), 8, 2)[step]


@pytest.mark.parametrize("stretch", [1, 7, 1 << 20])
def test_ids_beyond_the_vocabulary_are_named(monkeypatch, stretch):
    monkeypatch.setattr("bpe.minigpt.training.STRETCH", stretch)
    ids = numpy.arange(100) % 9
    ids[57] = 9
    message = "id 9 at position 57 of the ids is out of range: ids go from 0 to 8"
    with pytest.raises(ValueError, match=message):
        Trainer(CONFIG, SETTINGS, ids, TOKENIZER.fingerprint, "cpu")


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
        ({"betas": (0.9, 1.0)}, "betas must be 0 or more and below 1"),
        ({"betas": (0.9, math.nan)}, "betas must be 0 or more and below 1"),
    ],
)
def test_impossible_settings(changed, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SETTINGS, **changed)


@pytest.mark.parametrize(
    "name", ["learning_rate", "warm_up", "decay", "weight_decay", "gradient_clip", "betas"]
)
@pytest.mark.parametrize("value", [None, True, "0.1", [0.1]])
def test_settings_that_are_not_numbers(name, value):
    with pytest.raises(TypeError, match=f"{name} must be"):
        dataclasses.replace(SETTINGS, **{name: value})


def test_devices():
    assert chosen_device("cpu").type == "cpu"
    assert chosen_device("auto").type in ("cpu", "cuda", "mps")
    assert chosen_device(torch.device("cpu")).type == "cpu"


@pytest.mark.parametrize(
    "name", ["abacus", "cuda:99", "meta:nonsense", "meta", "vulkan", "hpu", "", "auto:1", "cpu:x", " cpu"]
)
def test_a_device_that_is_not_here_is_refused_in_one_line(name):
    with pytest.raises(ValueError, match=rf"^no device '{name}' here: [^\n]{{,200}}$"):
        chosen_device(name)


@pytest.mark.skipif(torch.backends.mps.is_available(), reason="it has MPS")
def test_mps_where_there_is_none():
    with pytest.raises(ValueError, match=r"^no device 'mps' here: [^\n]{,200}$"):
        chosen_device("mps")


@pytest.mark.parametrize("name", [None, 0, b"cpu", ["cpu"]])
def test_what_is_not_the_name_of_a_device(name):
    with pytest.raises(TypeError, match="device must be a name such as 'cpu', not"):
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
        ("model", {}, "is damaged: it states 2 layers, and has 0 weights"),
        ("step", True, "is damaged: step must be an integer, not bool"),
        ("step", -1, "is damaged: step must be 0 or more, not -1"),
        ("step", 2**70, r"is damaged: it has done step 1,180,.* of 20"),
        ("fingerprint", "\x1b[2J", "is damaged: its fingerprint is not one"),
        ("config", {"vocab_size": 0}, "is damaged: vocab_size must be 1 or more"),
        ("config", {"size": 3}, "is damaged: .*unexpected keyword argument 'size'"),
    ],
)
def test_damaged_checkpoints(checkpoint, part, value, message):
    content = torch.load(checkpoint, weights_only=True)
    torch.save({**content, part: value}, checkpoint)
    with pytest.raises(ValueError, match=message):
        checkpoints.load_model(checkpoint, TOKENIZER, "cpu")


def endless():
    """A list of lists, small in memory and endless when it is shown, copied or compared."""
    lists = []
    for _ in range(60):
        lists = [lists, lists]
    return lists


def put(content, path, value):
    """Replace an entry of nested dicts, or delete it if the value is KeyError."""
    *outer, last = path
    for key in outer:
        content = content[key]
    if value is KeyError:
        del content[last]
    else:
        content[last] = value


@pytest.mark.parametrize("value", [True, "3", 3.0, math.nan, None, (3,), endless(), (endless(),), -1])
@pytest.mark.parametrize(
    "name", ["vocab_size", "num_layers", "dropout", "batch_size", "betas", "learning_rate"]
)
def test_a_checkpoint_with_sizes_or_settings_of_another_type(checkpoint, name, value):
    if name in ("dropout", "learning_rate") and value in (3.0, -1):
        value = math.inf
    content = torch.load(checkpoint, weights_only=True)
    content["config" if name in content["config"] else "settings"][name] = value
    torch.save(content, checkpoint)
    with pytest.raises(ValueError, match=r"checkpoint\.pt is damaged: .{,200}$"):
        checkpoints.load_model(checkpoint, TOKENIZER, "cpu")


@pytest.mark.parametrize(
    "name", ["vocab_size", "block_size", "embedding_dim", "num_layers", "expansion_factor"]
)
@pytest.mark.parametrize("size", [10**6, 10**12, 2**62, 2**200])
def test_a_checkpoint_that_states_more_than_it_holds(checkpoint, name, size):
    content = torch.load(checkpoint, weights_only=True)
    content["config"][name] = size
    torch.save(content, checkpoint)
    with pytest.raises(ValueError, match=r"checkpoint\.pt is damaged: "):
        checkpoints.load_model(checkpoint, TOKENIZER, "cpu")


EMBEDDING = "token_embedding.weight"


@pytest.mark.parametrize(
    "value",
    [
        KeyError,
        None,
        torch.zeros(1).expand(9, 16),
        torch.zeros(16).expand(9, 16),
        torch.zeros(9, 16, dtype=torch.int64),
        torch.zeros(9, 16, dtype=torch.complex64),
        torch.zeros(9, 16, device="meta"),
        torch.zeros(9, 16).to_sparse(),
        torch.zeros(9, 15),
        torch.zeros(0),
        endless(),
    ],
    ids=["none", "None", "one", "one row", "int", "complex", "meta", "sparse", "shape", "empty", "endless"],
)
def test_weights_that_do_not_fit(checkpoint, value):
    content = torch.load(checkpoint, weights_only=True)
    put(content, ("model", EMBEDDING), value)
    torch.save(content, checkpoint)
    with pytest.raises(ValueError, match=r"checkpoint\.pt is "):
        checkpoints.load_model(checkpoint, TOKENIZER, "cpu")


def test_weights_that_share_their_numbers(checkpoint):
    content = torch.load(checkpoint, weights_only=True)
    model = content["model"]
    model["blocks.0.norm_1.weight"] = model["blocks.1.norm_1.weight"]
    torch.save(content, checkpoint)
    with pytest.raises(
        ValueError, match=r"is damaged: its tensors state [\d,]+ bytes, and [\d,]+ are stored"
    ):
        checkpoints.load_model(checkpoint, TOKENIZER, "cpu")


def test_weights_of_another_precision_become_float32(checkpoint):
    content = torch.load(checkpoint, weights_only=True)
    content["model"] = {name: tensor.bfloat16() for name, tensor in content["model"].items()}
    torch.save(content, checkpoint)
    model = checkpoints.load_model(checkpoint, TOKENIZER, "cpu")
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert all(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("optimizer",), {"state": {}}),
        (("optimizer", "state"), {}),
        (("optimizer", "state"), []),
        (("optimizer", "state", 3), KeyError),
        (("optimizer", "state", 3), {}),
        (("optimizer", "state", 99), {}),
        (("optimizer", "state", 0, "exp_avg"), torch.zeros(1)),
        (("optimizer", "state", 0, "exp_avg"), torch.zeros(1).expand(9, 16)),
        (("optimizer", "state", 0, "exp_avg"), endless()),
        (("optimizer", "state", 0, "step"), torch.tensor(-1.0)),
        (("optimizer", "state", 0, "step"), torch.tensor(math.nan)),
        (("optimizer", "param_groups"), []),
        (("optimizer", "param_groups"), endless()),
        (("random_states",), {}),
        (("random_states", "cpu"), torch.zeros(5056)),
        (("random_states", "cpu"), torch.zeros(7, dtype=torch.uint8)),
        (("random_states", "cpu"), torch.full((5056,), 255, dtype=torch.uint8)),
        (("random_states", "cpu"), None),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_a_state_of_training_that_does_not_fit(tmp_path, path, value):
    trainer = make_trainer()
    losses(trainer, 2)
    checkpoints.save(tmp_path / "checkpoint.pt", trainer)
    content = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    put(content, path, value)
    torch.save(content, tmp_path / "checkpoint.pt")
    with pytest.raises(ValueError, match=r"checkpoint\.pt is damaged: "):
        checkpoints.resume(tmp_path / "checkpoint.pt", make_trainer())


def test_settings_of_the_optimizer_come_from_the_trainer(tmp_path):
    trainer = make_trainer()
    losses(trainer, 2)
    checkpoints.save(tmp_path / "checkpoint.pt", trainer)
    content = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    content["optimizer"]["param_groups"][0] |= {"maximize": True, "betas": "x", "foreach": []}
    torch.save(content, tmp_path / "checkpoint.pt")
    continued = losses(trainer, 3)
    resumed = make_trainer()
    checkpoints.resume(tmp_path / "checkpoint.pt", resumed)
    assert losses(resumed, 3) == continued


# --- wrapped models


WRAPPINGS = {
    "compiled": lambda model: torch.compile(model),
    "parallel": lambda model: torch.nn.DataParallel(model),
    "both": lambda model: torch.compile(torch.nn.DataParallel(model)),
    "the other way": lambda model: torch.nn.DataParallel(torch.compile(model)),
}


@pytest.mark.parametrize("wrap", WRAPPINGS.values(), ids=WRAPPINGS)
def test_a_wrapped_model_is_saved_and_continued_as_itself(tmp_path, wrap):
    trainer = make_trainer()
    losses(trainer, 2)
    plain = trainer.model
    trainer.model = wrap(plain)
    assert trainer.model.state_dict().keys() != plain.state_dict().keys()
    checkpoints.save(tmp_path / "checkpoint.pt", trainer)
    content = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert content["model"].keys() == plain.state_dict().keys()
    resumed = make_trainer()
    resumed.model = wrap(resumed.model)
    checkpoints.resume(tmp_path / "checkpoint.pt", resumed)
    ours, theirs = resumed.model.state_dict(), trainer.model.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


@pytest.mark.parametrize("prefix", ["_orig_mod.", "module.", "_orig_mod.module.", "module._orig_mod."])
def test_a_checkpoint_with_the_names_of_a_wrapped_model(checkpoint, prefix):
    content = torch.load(checkpoint, weights_only=True)
    content["model"] = {prefix + name: tensor for name, tensor in content["model"].items()}
    torch.save(content, checkpoint)
    model = checkpoints.load_model(checkpoint, TOKENIZER, "cpu")
    ours = make_trainer().model.state_dict()
    assert all(torch.equal(ours[name], tensor) for name, tensor in model.state_dict().items())
    checkpoints.resume(checkpoint, make_trainer())
    content["model"]["norm.weight"] = content["model"][f"{prefix}norm.weight"]
    torch.save(content, checkpoint)
    with pytest.raises(ValueError, match="is damaged: it has 29 weights, its model 28"):
        checkpoints.load_model(checkpoint, TOKENIZER, "cpu")


def test_a_checkpoint_that_cannot_be_written_leaves_the_earlier_one(checkpoint, monkeypatch):
    before = checkpoint.read_bytes()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(OSError, match="No space left on device"):
        checkpoints.save(checkpoint, make_trainer())
    assert checkpoint.read_bytes() == before
    assert [path.name for path in checkpoint.parent.iterdir()] == ["checkpoint.pt"]
