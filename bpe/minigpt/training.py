"""Training a MiniGPT: batches of ids, the learning rate, the training step.

The seed determines everything random, and a step's batch depends only on the seed and the step's number. So a
run that was stopped continues as if nothing had happened (`bpe.minigpt.checkpoints`).
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy
import torch
from torch import Tensor, nn

from bpe._validate import check_integer, check_seed
from bpe.minigpt.model import MiniGPT, MiniGPTConfig

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class TrainingSettings:
    """How a model is trained. Raises TypeError or ValueError, naming the setting, for one that is impossible.

    steps: number of batches, each of `batch_size` windows of block_size tokens.
    learning_rate: the maximum, which most steps use. The rate rises to it during the first `warm_up` share of
    the steps, and falls to zero during the last `decay` share.
    weight_decay: for matrices and embeddings; biases and norms have none.
    gradient_clip: the largest norm of all gradients together.
    """

    steps: int
    batch_size: int = 16
    learning_rate: float = 1e-3
    warm_up: float = 0.05
    decay: float = 0.2
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.95)
    gradient_clip: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer(self.steps, "steps", least=1)
        check_integer(self.batch_size, "batch_size", least=1)
        check_seed(self.seed)
        for name in ("learning_rate", "gradient_clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be above 0 and finite, not {getattr(self, name)}")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay must be 0 or more and finite, not {self.weight_decay}")
        if not (self.warm_up >= 0 and self.decay >= 0 and self.warm_up + self.decay <= 1):
            raise ValueError(
                f"warm_up {self.warm_up} and decay {self.decay} are shares of the steps: "
                f"each must be 0 or more, and their sum at most 1"
            )

    def learning_rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0: warm-up, then constant, then decay."""
        rising = (step + 1) / max(1.0, self.warm_up * self.steps)
        falling = (self.steps - step) / max(1.0, self.decay * self.steps)
        return self.learning_rate * min(1.0, rising, falling)


class Batches:
    """Windows of ids in random order; each pass over the ids takes every window once.

    ids: integers of shape (number of ids,), for example a memory-mapped file; only the windows of a batch are
    read from it. Each pass cuts at a different offset, so its windows differ from those of other passes.
    Raises ValueError if there are too few ids for one window.
    """

    def __init__(self, ids: NDArray[Any], block_size: int, batch_size: int, seed: int = 0) -> None:
        self.ids, self.block_size, self.batch_size, self.seed = ids, block_size, batch_size, seed
        # The offset may be up to block_size - 1, and the targets reach one id further than the inputs.
        self.windows = (len(ids) - block_size) // block_size
        if self.windows < 1:
            raise ValueError(
                f"{len(ids)} ids are too few: a context of {block_size} needs at least {2 * block_size}"
            )
        self._pass: tuple[int, NDArray[Any]] | None = None

    def __getitem__(self, step: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of a step: int64 of shape (batch_size, block_size), the targets one id later."""
        numbers = range(step * self.batch_size, (step + 1) * self.batch_size)
        starts = numpy.array([self._starts(n // self.windows)[n % self.windows] for n in numbers])
        windows = self.ids[starts[:, None] + numpy.arange(self.block_size + 1)]
        tensor = torch.from_numpy(windows.astype(numpy.int64))
        return tensor[:, :-1], tensor[:, 1:]

    def _starts(self, number: int) -> NDArray[Any]:
        """Start positions of a pass's windows, in the order in which they are taken."""
        if self._pass is None or self._pass[0] != number:
            random = numpy.random.default_rng([self.seed, number])
            offset = random.integers(self.block_size)
            self._pass = number, offset + self.block_size * random.permutation(self.windows)
        return self._pass[1]


def chosen_device(name: str = "auto") -> torch.device:
    """The device of that name; "auto" takes CUDA if there is one, else MPS, else the CPU.

    Raises ValueError for a device that this machine does not have.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"no device {name!r} here: {reason}") from None
    return device


class Trainer:
    """A model, its optimizer, and the number of steps they have done.

    ids: the training ids, as for `Batches`.
    fingerprint: of the tokenizer that made the ids. A checkpoint keeps it.
    device: a name, as for `chosen_device`.
    """

    def __init__(
        self,
        config: MiniGPTConfig,
        settings: TrainingSettings,
        ids: NDArray[Any],
        fingerprint: str,
        device: str = "auto",
    ) -> None:
        self.config, self.settings, self.fingerprint = config, settings, fingerprint
        self.device = chosen_device(device)
        torch.manual_seed(settings.seed)  # for the initial weights, and all dropout after that
        self.model = MiniGPT(config).to(self.device)
        self.optimizer = _make_optimizer(self.model, settings, fused=self.device.type == "cuda")
        self.batches = Batches(ids, config.block_size, settings.batch_size, settings.seed)
        self.step = 0

    @property
    def tokens_per_step(self) -> int:
        """Number of tokens predicted in a step."""
        return self.settings.batch_size * self.config.block_size

    def train_step(self) -> Tensor:
        """Learn from the next batch; return its loss in nats per token, still on the device."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.learning_rate_at(self.step)
        inputs, targets = (self._to_device(tensor) for tensor in self.batches[self.step])
        self.model.train()
        with mixed_precision(self.device):
            loss = self.model.loss(inputs, targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.gradient_clip)
        self.optimizer.step()
        self.step += 1
        return loss.detach()

    def _to_device(self, tensor: Tensor) -> Tensor:
        if self.device.type == "cuda":
            # A copy from pinned memory runs while the CPU goes on.
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor.to(self.device)


def mixed_precision(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """A context in which CUDA devices that have bfloat16 use it for matrix products; other devices don't.

    A CPU's bfloat16 is often slower than its float32, and MPS has given wrong results.
    """
    if device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return contextlib.nullcontext()


def _make_optimizer(model: MiniGPT, settings: TrainingSettings, fused: bool) -> torch.optim.AdamW:
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=settings.betas, fused=fused or None)
