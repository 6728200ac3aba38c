"""A training run saved to a file, so that it can be continued and its model used.

A checkpoint is a dictionary written by `torch.save`: tensors, Python's numbers, strings, and containers of
these. It is read with `weights_only=True`, so nothing in a file is ever executed. It holds the fingerprint of
the tokenizer whose ids the model has learned: another tokenizer of the same size would fit without an error,
and the model would write garbage.
"""

from __future__ import annotations

import dataclasses
import io
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch
from torch import Tensor

from bpe._files import write_atomically
from bpe._tensors import check_stored, load_tensors
from bpe._validate import check_integer
from bpe.minigpt.model import MiniGPT, MiniGPTConfig
from bpe.minigpt.training import Trainer, TrainingSettings, chosen_device
from bpe.saving import TOKENIZER, load_tokenizer
from bpe.tokenizer import Tokenizer

FORMAT = "bpe-course checkpoint 1"
PARTS = {
    "config": dict,
    "settings": dict,
    "fingerprint": str,
    "step": int,
    "model": dict,
    "optimizer": dict,
    "random_states": dict,
}
ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)  # of other content
WRAPPERS = {"_orig_mod", "module"}  # added to names by torch.compile, and by DataParallel and its kind


class OtherTokenizerError(ValueError):
    """The checkpoint belongs to a tokenizer with another fingerprint."""


@dataclass(frozen=True)
class _Checkpoint:
    """What a file holds, checked, except that `optimizer` and `random_states` are checked when they are used.

    model: the weights by name, those of a model with these sizes, in float32.
    """

    config: MiniGPTConfig
    settings: TrainingSettings
    fingerprint: str
    step: int
    model: dict[str, Tensor]
    optimizer: dict[Any, Any]
    random_states: dict[Any, Any]


def save(path: Path, trainer: Trainer) -> None:
    """Write the state of a training run; an earlier file is replaced only once the new one is complete.

    The names of the weights are those of the model itself, although torch.compile wraps it.
    """
    content = {
        "format": FORMAT,
        "config": python_numbers(dataclasses.asdict(trainer.config)),
        "settings": python_numbers(dataclasses.asdict(trainer.settings)),
        "fingerprint": trainer.fingerprint,
        "step": trainer.step,
        "model": {_unwrap(name): tensor for name, tensor in trainer.model.state_dict().items()},
        "optimizer": python_numbers(trainer.optimizer.state_dict()),
        "random_states": _random_states(trainer.device),
    }
    file = io.BytesIO()
    torch.save(content, file)
    write_atomically(path, file.getvalue())


def resume(path: Path, trainer: Trainer) -> None:
    """Bring a trainer with the same sizes and settings to the state that was saved.

    It then takes the steps that it would have taken without the interruption.
    Raises OtherTokenizerError if the run has the ids of another tokenizer, ValueError if it has other sizes
    or settings or if the file is not a checkpoint, and FileNotFoundError.
    """
    content = _read(path)
    _refuse_other_tokenizer(path, content.fingerprint, trainer.fingerprint)
    _refuse_different(path, content.config, trainer.config)
    _refuse_different(path, content.settings, trainer.settings)
    try:
        optimizer = _check_optimizer(content.optimizer, trainer.optimizer, content.step)
        random_states = _check_random_states(content.random_states)
        states = (tensor for state in optimizer["state"].values() for tensor in state.values())
        check_stored([*content.model.values(), *states, *random_states.values()])
        _set_random_states(random_states, trainer.device)
        trainer.optimizer.load_state_dict(optimizer)
        names = {_unwrap(name): name for name in trainer.model.state_dict()}
        trainer.model.load_state_dict({names[name]: tensor for name, tensor in content.model.items()})
    except ERRORS as error:
        raise _damage(path, error) from error
    trainer.step = content.step


def load_model(path: str | Path, tokenizer: Tokenizer, device: str = "auto") -> MiniGPT:
    """Load the model of a checkpoint, ready for use with the tokenizer on whose ids it was trained.

    device: a name, as for `bpe.minigpt.training.chosen_device`; the checkpoint may come from another device.
    Raises OtherTokenizerError for any other tokenizer, ValueError if the file is not a checkpoint, and
    FileNotFoundError.
    """
    path, target = Path(path), chosen_device(device)
    content = _read(path)
    _refuse_other_tokenizer(path, content.fingerprint, tokenizer.fingerprint)
    with torch.device("meta"):  # the weights are in the file
        model = MiniGPT(content.config)
    model.load_state_dict(content.model, assign=True)
    return model.to(target).eval()


def load(folder: str | Path, device: str = "auto") -> tuple[MiniGPT, Tokenizer]:
    """Load the model and the tokenizer in a run's folder. Raises as `load_model`."""
    tokenizer: Tokenizer = load_tokenizer(Path(folder) / TOKENIZER)
    return load_model(Path(folder) / "checkpoint.pt", tokenizer, device), tokenizer


def python_numbers(value: Any) -> Any:
    """Replace numpy's numbers by Python's, in nested dicts, lists and tuples too.

    JSON has no numbers of numpy's, and with them `weights_only=True` would refuse to read a checkpoint.
    """
    if isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: python_numbers(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(python_numbers, value))
    return value


# --- what a file holds, which anyone may have written


def _read(path: Path) -> _Checkpoint:
    content = load_tensors(path, "a checkpoint")
    stated = content.get("format") if isinstance(content, dict) else None
    if not isinstance(stated, str) or stated != FORMAT:
        raise ValueError(f"{path} is not a checkpoint of this course: it does not say {FORMAT!r}")
    for name, kind in PARTS.items():
        if not isinstance(content.get(name), kind):
            raise _damage(path, f"its part {name!r} is missing, or not of type {kind.__name__}")
    try:
        return _check(content)
    except ERRORS as error:
        raise _damage(path, error) from error


def _check(content: dict[str, Any]) -> _Checkpoint:
    """Compare the weights with the sizes that the file states, before anything of these sizes is made."""
    _check_numbers(content["config"] | content["settings"])
    config, settings = MiniGPTConfig(**content["config"]), TrainingSettings(**content["settings"])
    if not content["fingerprint"].isprintable():
        raise ValueError("its fingerprint is not one")
    if (step := check_integer(content["step"], "step", least=0)) > settings.steps:
        raise ValueError(f"it has done step {step:,} of {settings.steps:,}")
    model = {_unwrap(name): tensor for name, tensor in content["model"].items()}
    shapes = _shapes(config, len(content["model"]))
    if missing := [name for name in shapes if name not in model]:
        raise ValueError(f"it has no weight {missing[0]}")
    if len(content["model"]) > len(shapes):
        raise ValueError(f"it has {len(content['model']):,} weights, its model {len(shapes):,}")
    for name, shape in shapes.items():
        _check_tensor(model[name], name, shape)
    check_stored(model.values())
    model = {name: tensor.detach().float() for name, tensor in model.items()}
    return _Checkpoint(
        config, settings, content["fingerprint"], step, model, content["optimizer"], content["random_states"]
    )


def _check_numbers(stated: dict[Any, Any]) -> None:
    """Raise TypeError unless all are numbers, without showing the others: nested lists may be endless."""
    for name, value in stated.items():
        several = value if isinstance(value, tuple) else (value,)
        if not isinstance(name, str) or not all(type(number) in (int, float) for number in several):
            raise TypeError(f"{str(name)[:40]!r} is not a number")


def _shapes(config: MiniGPTConfig, most: int) -> dict[str, torch.Size]:
    """The shapes of a model's weights by name. Raises ValueError if it has more layers than `most`."""
    if config.num_layers > most:
        raise ValueError(f"it states {config.num_layers} layers, and has {most:,} weights")
    with torch.device("meta"):  # where tensors have shapes and no elements
        one_layer = MiniGPT(dataclasses.replace(config, num_layers=1))
    shapes = {}
    for name, parameter in one_layer.named_parameters():
        for layer in range(config.num_layers if name.startswith("blocks.0.") else 1):
            shapes[name.replace("blocks.0.", f"blocks.{layer}.")] = parameter.shape
    return shapes


def _check_optimizer(stored: dict[Any, Any], optimizer: torch.optim.Optimizer, step: int) -> dict[str, Any]:
    """The state to load. Of the settings none is taken: they are the trainer's, which were compared."""
    groups = optimizer.state_dict()["param_groups"]
    if [group["params"] for group in stored["param_groups"]] != [group["params"] for group in groups]:
        raise ValueError("its optimizer has other parameters than its model")
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state = stored["state"]
    if state.keys() != set(range(len(parameters) if step else 0)):
        raise ValueError(f"its optimizer has the state of {len(state):,} parameters of {len(parameters):,}")
    for number, parameter in enumerate(parameters if step else []):
        if state[number].keys() != {"step", "exp_avg", "exp_avg_sq"}:
            raise ValueError(f"its optimizer has no or another state of parameter {number}")
        for name, tensor in state[number].items():
            shape = torch.Size() if name == "step" else parameter.shape
            _check_tensor(tensor, f"{name} of parameter {number}", shape)
        if state[number]["step"].item() != step:
            raise ValueError(f"its optimizer is not at step {step:,}")
    return {"state": state, "param_groups": groups}


def _check_random_states(states: dict[Any, Any]) -> dict[str, Tensor]:
    states = {name: states[name] for name in ("cpu", "cuda", "mps") if name in states or name == "cpu"}
    for name, state in states.items():
        if not isinstance(state, Tensor) or state.dtype != torch.uint8 or state.dim() != 1:
            raise ValueError(f"its random state {name!r} is not a row of bytes")
    return states


def _check_tensor(tensor: object, name: str, shape: torch.Size) -> None:
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        raise TypeError(f"{name} is not a tensor of floating-point numbers")
    if tensor.shape != shape:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}, and its model {tuple(shape)}")


def _damage(path: Path, reason: object) -> ValueError:
    line = textwrap.shorten(str(reason), 200, placeholder=" …") or type(reason).__name__
    return ValueError(f"{path} is damaged: {line}")


def _refuse_other_tokenizer(path: Path, stored: str, given: str) -> None:
    if stored != given:
        raise OtherTokenizerError(
            f"{path} was trained on the ids of the tokenizer {stored[:16]}…; this one is {given[:16]}…, "
            f"and its ids mean something else"
        )


def _refuse_different(path: Path, stored: Any, ours: Any) -> None:
    for name, value in vars(ours).items():
        if (kept := getattr(stored, name)) != value:
            raise ValueError(f"{path} was trained with {name} = {kept}: it can't be continued with {value}")


def _unwrap(name: str) -> str:
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


def _random_states(device: torch.device) -> dict[str, torch.Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return states


def _set_random_states(states: dict[str, torch.Tensor], device: torch.device) -> None:
    torch.set_rng_state(states["cpu"].cpu())
    # A run that moves to another kind of device has no state for it, and continues with other dropout.
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"].cpu(), device)
    elif device.type == "mps" and "mps" in states:
        torch.mps.set_rng_state(states["mps"].cpu())
