"""A training run saved to a file, so that it can be continued and its model used.

A checkpoint is a dictionary written by `torch.save`: tensors, Python's numbers, strings, and containers of
these. It is read with `weights_only=True`, so nothing in a file is ever executed. It holds the fingerprint of
the tokenizer whose ids the model has learned: another tokenizer of the same size would fit without an error,
and the model would write garbage.
"""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any

import numpy
import torch

from bpe._files import write_atomically
from bpe.minigpt.model import MiniGPT, MiniGPTConfig
from bpe.minigpt.training import Trainer, chosen_device
from bpe.saving import TOKENIZER, load_tokenizer
from bpe.tokenizer import Tokenizer

FORMAT = "bpe-course checkpoint 1"
PARTS = {
    "format": str,
    "config": dict,
    "settings": dict,
    "fingerprint": str,
    "step": int,
    "model": dict,
    "optimizer": dict,
    "random_states": dict,
}


class OtherTokenizerError(ValueError):
    """The checkpoint belongs to a tokenizer with another fingerprint."""


def save(path: Path, trainer: Trainer) -> None:
    """Write the state of a training run; an earlier file is replaced only once the new one is complete."""
    content = {
        "format": FORMAT,
        "config": python_numbers(dataclasses.asdict(trainer.config)),
        "settings": python_numbers(dataclasses.asdict(trainer.settings)),
        "fingerprint": trainer.fingerprint,
        "step": trainer.step,
        "model": trainer.model.state_dict(),
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
    content = _read(path, trainer.device)
    _refuse_other_tokenizer(path, content["fingerprint"], trainer.fingerprint)
    for name, ours in (("config", trainer.config), ("settings", trainer.settings)):
        _refuse_different(path, content[name], dataclasses.asdict(ours))
    try:
        trainer.model.load_state_dict(content["model"])
        trainer.optimizer.load_state_dict(content["optimizer"])
        _set_random_states(content["random_states"], trainer.device)
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise _damage(path, error) from error
    trainer.step = content["step"]


def load_model(path: str | Path, tokenizer: Tokenizer, device: str = "auto") -> MiniGPT:
    """Load the model of a checkpoint, ready for use with the tokenizer on whose ids it was trained.

    device: a name, as for `bpe.minigpt.training.chosen_device`; the checkpoint may come from another device.
    Raises OtherTokenizerError for any other tokenizer, ValueError if the file is not a checkpoint, and
    FileNotFoundError.
    """
    path, target = Path(path), chosen_device(device)
    content = _read(path, target)
    _refuse_other_tokenizer(path, content["fingerprint"], tokenizer.fingerprint)
    try:
        model = MiniGPT(MiniGPTConfig(**content["config"]))
        model.load_state_dict(content["model"])
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise _damage(path, error) from error
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


def _read(path: Path, device: torch.device) -> dict[str, Any]:
    data = path.read_bytes()
    try:
        content = torch.load(io.BytesIO(data), map_location=device, weights_only=True)
    except Exception as error:  # other files fail in many ways, and some errors advise to trust the file
        raise ValueError(f"{path} is not a checkpoint, or is damaged") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is not a checkpoint of this course: it does not say {FORMAT!r}")
    for name, kind in PARTS.items():
        if not isinstance(content.get(name), kind):
            raise _damage(path, f"its part {name!r} is missing, or not of type {kind.__name__}")
    return content


def _damage(path: Path, reason: object) -> ValueError:
    return ValueError(f"{path} is damaged: {str(reason).splitlines()[0]}")


def _refuse_other_tokenizer(path: Path, stored: str, given: str) -> None:
    if stored != given:
        raise OtherTokenizerError(
            f"{path} was trained on the ids of the tokenizer {stored[:16]}…; this one is {given[:16]}…, "
            f"and its ids mean something else"
        )


def _refuse_different(path: Path, stored: dict[str, Any], ours: dict[str, Any]) -> None:
    for name, value in ours.items():
        if stored.get(name) != value:
            raise ValueError(
                f"{path} was trained with {name} = {stored.get(name)}: it can't be continued with {value}"
            )


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
