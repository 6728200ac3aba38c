"""A GPT small enough to read in one sitting: model, training, sampling, scoring, and the experiment.

model           MiniGPT, and MiniGPTConfig for its sizes
training        batches, the learning rate, the training step
generation      sampling text
evaluation      bits per byte
checkpoints     a training run saved to a file
experiment      characters against BPE: the texts, the tokenizers, the sizes
run             one run of the experiment
table, results  what the runs gave
"""

from __future__ import annotations

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from bpe.minigpt.model import MiniGPT, MiniGPTConfig

__all__ = ["MiniGPT", "MiniGPTConfig"]


def __getattr__(name: str) -> object:
    # Lazily: the model needs torch, and `results` does not.
    if name in __all__:
        return getattr(_importlib.import_module("bpe.minigpt.model"), name)
    raise AttributeError(f"module 'bpe.minigpt' has no attribute {name!r}")
