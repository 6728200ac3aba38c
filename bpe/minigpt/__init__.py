"""A GPT small enough to read at one sitting: model, training, generation, evaluation, and the experiment.

model          MiniGPT and its sizes, MiniGPTConfig
training       batches, the learning rate, one step after another
generation     sampling text
evaluation     bits per byte
checkpoints    a training run in a file
experiment     characters against BPE: which texts, which tokenizers, how large, how long
run            one run of the experiment
table, results its outcome
"""

from __future__ import annotations

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from bpe.minigpt.model import MiniGPT, MiniGPTConfig

__all__ = ["MiniGPT", "MiniGPTConfig"]


def __getattr__(name: str) -> object:
    # Lazily, since the model needs torch and the rest of the room does not always.
    if name in __all__:
        return getattr(_importlib.import_module("bpe.minigpt.model"), name)
    raise AttributeError(f"module 'bpe.minigpt' has no attribute {name!r}")
