"""A training run in a file, so that it can go on, and so that its model can be used.

A checkpoint is a dictionary written by `torch.save`: tensors, numbers, strings, and containers of these. It
is read with `weights_only=True`, so nothing in a file is ever run. It holds the fingerprint of the tokenizer
whose ids the model has learned: another tokenizer of the same size would fit without an error, and give
garbage.
"""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any

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
    """A checkpoint belongs to a tokenizer with another fingerprint."""


def save(path: Path, trainer: Trainer) -> None:
    """Write the state of a training run; an earlier file is replaced only when all is written."""
    content = {
        "format": FORMAT,
        "config": dataclasses.asdict(trainer.config),
        "settings": dataclasses.asdict(trainer.settings),
        "fingerprint": trainer.fingerprint,
        "step": trainer.step,
        "model": trainer.model.state_dict(),
        "optimizer": trainer.optimizer.state_dict(),
        "random_states": _random_states(trainer.device),
    }
    file = io.BytesIO()
    torch.save(content, file)
    write_atomically(path, file.getvalue())


def resume(path: Path, trainer: Trainer) -> None:
    """Bring a trainer, made with the same settings, to where the run was when it was saved.

    What follows is what would have followed without the stop.
    Raises OtherTokenizerError for a run on the ids of another tokenizer, ValueError for other sizes or
    settings and for a file that is no checkpoint, and FileNotFoundError.
    """
    content = _read(path, trainer.device)
    _refuse_other_tokenizer(path, content["fingerprint"], trainer.fingerprint)
    for name, ours in (("config", trainer.config), ("settings", trainer.settings)):
        _refuse_others(path, content[name], dataclasses.asdict(ours))
    try:
        trainer.model.load_state_dict(content["model"])
        trainer.optimizer.load_state_dict(content["optimizer"])
        _set_random_states(content["random_states"], trainer.device)
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise _damaged(path, error) from error
    trainer.step = content["step"]


def load_model(path: str | Path, tokenizer: Tokenizer, device: str = "auto") -> MiniGPT:
    """The model of a checkpoint, ready to be used with the tokenizer on whose ids it was trained.

    device: as `bpe.training.chosen_device` takes it; the checkpoint may come from another one.
    Raises OtherTokenizerError for any other tokenizer, ValueError for a file that is no checkpoint, and
    FileNotFoundError.
    """
    path, on = Path(path), chosen_device(device)
    content = _read(path, on)
    _refuse_other_tokenizer(path, content["fingerprint"], tokenizer.fingerprint)
    try:
        model = MiniGPT(MiniGPTConfig(**content["config"]))
        model.load_state_dict(content["model"])
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise _damaged(path, error) from error
    return model.to(on).eval()


def load(folder: str | Path, device: str = "auto") -> tuple[MiniGPT, Tokenizer]:
    """Load the model and the tokenizer of a run's folder. Raises as `load_model`."""
    tokenizer: Tokenizer = load_tokenizer(Path(folder) / TOKENIZER)
    return load_model(Path(folder) / "checkpoint.pt", tokenizer, device), tokenizer


def _read(path: Path, device: torch.device) -> dict[str, Any]:
    data = path.read_bytes()
    try:
        content = torch.load(io.BytesIO(data), map_location=device, weights_only=True)
    except Exception as error:  # a file that is no checkpoint fails in many ways; some advise to trust it
        raise ValueError(f"{path} is no checkpoint, or is damaged") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is no checkpoint of this course: it does not say {FORMAT!r}")
    for name, kind in PARTS.items():
        if not isinstance(content.get(name), kind):
            raise _damaged(path, f"its part {name!r} is missing, or is no {kind.__name__}")
    return content


def _damaged(path: Path, reason: object) -> ValueError:
    return ValueError(f"{path} is damaged: {str(reason).splitlines()[0]}")


def _refuse_other_tokenizer(path: Path, stored: str, given: str) -> None:
    if stored != given:
        raise OtherTokenizerError(
            f"{path} was trained on the ids of the tokenizer {stored[:16]}…; this one is {given[:16]}…, "
            f"and its ids mean something else"
        )


def _refuse_others(path: Path, stored: dict[str, Any], ours: dict[str, Any]) -> None:
    for name, value in ours.items():
        if stored.get(name) != value:
            raise ValueError(
                f"{path} was trained with {name} = {stored.get(name)}, not {value}: it cannot be continued so"
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
    # A run that goes on on another kind of device has no state for it, and goes on with another dropout.
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"].cpu(), device)
    elif device.type == "mps" and "mps" in states:
        torch.mps.set_rng_state(states["mps"].cpu())
