"""Training a MiniGPT: batches of ids, the learning rate, one step after the other.

Everything random follows from the seed, and the batch of a step from the seed and the step's number; so a run
that was stopped goes on as if nothing had happened (`bpe.checkpoints`).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy
import torch
from torch import Tensor, nn

from bpe._validate import check_finite, check_integer, check_seed
from bpe.minigpt.model import MiniGPT, MiniGPTConfig

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class TrainingSettings:
    """How a model is trained. Raises ValueError, naming it, for a setting that cannot be.

    steps: how many batches, each of `batch_size` windows of block_size tokens.
    learning_rate: the highest, which most steps have. It rises to it during the first `warm_up` share of the
    steps, and falls to zero during the last `decay` share.
    weight_decay: of matrices and embeddings; biases and norms have none.
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
        self._take_python_numbers()
        for name in ("learning_rate", "gradient_clip"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}")
        if self.weight_decay < 0:
            raise ValueError(f"weight_decay must be 0 or more, not {self.weight_decay}")
        if self.warm_up < 0 or self.decay < 0 or self.warm_up + self.decay > 1:
            raise ValueError(
                f"warm_up {self.warm_up} and decay {self.decay} are shares of the steps: "
                f"0 or more each, and together at most 1"
            )

    def _take_python_numbers(self) -> None:
        """A checkpoint with numpy's numbers could not be read without trusting it."""
        for name in ("steps", "batch_size"):
            object.__setattr__(self, name, check_integer(getattr(self, name), name, least=1))
        for name in ("learning_rate", "warm_up", "decay", "weight_decay", "gradient_clip"):
            object.__setattr__(self, name, check_finite(getattr(self, name), name))
        object.__setattr__(self, "betas", tuple(check_finite(beta, "each of betas") for beta in self.betas))
        object.__setattr__(self, "seed", check_seed(self.seed))

    def learning_rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0: warm-up, then constant, then decay."""
        rising = (step + 1) / max(1.0, self.warm_up * self.steps)
        falling = (self.steps - step) / max(1.0, self.decay * self.steps)
        return self.learning_rate * min(1.0, rising, falling)


class Batches:
    """Windows of ids, in random order; in each pass over the ids every window is taken once.

    ids: a row of integers, such as a memory-mapped file; only the windows of a batch are read from it.
    Each pass cuts at another offset, so that the windows differ.
    Raises ValueError where the ids are too few for one window.
    """

    def __init__(self, ids: NDArray[Any], block_size: int, batch_size: int, seed: int = 0) -> None:
        self.ids, self.block_size, self.batch_size, self.seed = ids, block_size, batch_size, seed
        # The offset may be as large as a block, and the targets go one further than the inputs.
        self.windows = (len(ids) - block_size) // block_size
        if self.windows < 1:
            raise ValueError(
                f"{len(ids)} ids are too few: with a context of {block_size} at least {2 * block_size}"
            )
        self._pass: tuple[int, NDArray[Any]] | None = None

    def __getitem__(self, step: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of a step: int64 of shape (batch_size, block_size), each target one further."""
        numbers = range(step * self.batch_size, (step + 1) * self.batch_size)
        starts = numpy.array([self._starts(n // self.windows)[n % self.windows] for n in numbers])
        windows = self.ids[starts[:, None] + numpy.arange(self.block_size + 1)]
        tensor = torch.from_numpy(windows.astype(numpy.int64))
        return tensor[:, :-1], tensor[:, 1:]

    def _starts(self, number: int) -> NDArray[Any]:
        """Where the windows of a pass begin, in the order in which they are taken."""
        if self._pass is None or self._pass[0] != number:
            random = numpy.random.default_rng([self.seed, number])
            offset = random.integers(self.block_size)
            self._pass = number, offset + self.block_size * random.permutation(self.windows)
        return self._pass[1]


def chosen_device(name: str = "auto") -> torch.device:
    """The device of that name; for "auto" CUDA before MPS before the CPU.

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
    """A model, its optimizer, and how far they have come.

    ids: what it learns from, as for `Batches`.
    fingerprint: that of the tokenizer which made the ids. A checkpoint keeps it.
    device: where to compute, as `chosen_device` takes it.
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
        torch.manual_seed(settings.seed)  # the weights come from it, and every dropout afterwards
        self.model = MiniGPT(config).to(self.device)
        self.optimizer = _optimizer(self.model, settings, fused=self.device.type == "cuda")
        self.batches = Batches(ids, config.block_size, settings.batch_size, settings.seed)
        self.step = 0

    @property
    def tokens_per_step(self) -> int:
        """Number of tokens that a step predicts."""
        return self.settings.batch_size * self.config.block_size

    def train_step(self) -> Tensor:
        """Learn from the next batch; returns its loss in nats a token, still on the device."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.learning_rate_at(self.step)
        inputs, targets = (self._moved(tensor) for tensor in self.batches[self.step])
        self.model.train()
        with mixed_precision(self.device):
            loss = self.model.loss(inputs, targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.gradient_clip)
        self.optimizer.step()
        self.step += 1
        return loss.detach()

    def _moved(self, tensor: Tensor) -> Tensor:
        if self.device.type == "cuda":
            # From pinned memory the copy goes on while the CPU prepares what comes next.
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor.to(self.device)


def mixed_precision(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Within it, products are computed in bfloat16 on CUDA devices that have it, otherwise as usual.

    A CPU's bfloat16 is often slower than its float32, and MPS has been wrong in places.
    """
    if device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return contextlib.nullcontext()


def _optimizer(model: MiniGPT, settings: TrainingSettings, fused: bool) -> torch.optim.AdamW:
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=settings.betas, fused=fused or None)
