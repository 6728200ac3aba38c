"""Training a MiniGPT: batches of ids, the learning rate, the training step.

The seed determines everything random, and a step's batch depends only on the seed and the step's number. So a
run that was stopped continues as if nothing had happened (`bpe.minigpt.checkpoints`).
"""

from __future__ import annotations

import contextlib
import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy
import torch
from torch import Tensor, nn

from bpe._validate import check_integer, check_number, check_seed, refuse_unordered
from bpe.minigpt.model import MiniGPT, MiniGPTConfig

if TYPE_CHECKING:
    from numpy.typing import NDArray


STRETCH = 1 << 20  # ids checked at once


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
        for name in ("learning_rate", "gradient_clip", "weight_decay", "warm_up", "decay"):
            check_number(getattr(self, name), name)
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
        if not isinstance(self.betas, (tuple, list)) or len(self.betas) != 2:
            raise TypeError(f"betas must be two numbers, not {self.betas!r}")
        if not all(0 <= check_number(beta, "each of the betas") < 1 for beta in self.betas):
            raise ValueError(f"betas must be 0 or more and below 1, not {self.betas}")

    def learning_rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0: warm-up, then constant, then decay."""
        rising = (step + 1) / max(1.0, self.warm_up * self.steps)
        falling = (self.steps - step) / max(1.0, self.decay * self.steps)
        return self.learning_rate * min(1.0, rising, falling)


class Batches:
    """Windows of ids in random order; each pass over the ids takes every window once.

    ids: integers, 0 or more, of shape (number of ids,): a list, an array, a tensor, or a memory-mapped file,
    of which only the windows of a batch are read again. Each pass cuts at a different offset, so its windows
    differ from those of other passes.
    block_size, batch_size: number of ids in a window, and of windows in a batch.

    `batches[step]` is the batch of a step, counted from 0 without an end, since training may take many
    passes. `len(batches)` is the number of steps of a pass, and a loop over `batches` takes the first pass:
    every window once, and if the last batch is not full, windows of the second pass to fill it.
    Raises TypeError or ValueError for other ids or sizes, and ValueError if the ids are too few for a window.
    """

    def __init__(
        self, ids: NDArray[Any] | Tensor | Sequence[int], block_size: int, batch_size: int, seed: int = 0
    ) -> None:
        self.ids = to_row(ids)
        self.block_size = check_integer(block_size, "block_size", least=1)
        self.batch_size = check_integer(batch_size, "batch_size", least=1)
        self.seed = check_seed(seed)
        # The offset may be up to block_size - 1, and the targets reach one id further than the inputs.
        self.windows = (len(self.ids) - self.block_size) // self.block_size
        if self.windows < 1:
            raise ValueError(
                f"{len(self.ids)} ids are too few: a context of {block_size} needs at least {2 * block_size}"
            )
        check_range(self.ids)
        self._pass: tuple[int, NDArray[Any]] | None = None

    def __len__(self) -> int:
        """Number of steps of a pass."""
        return math.ceil(self.windows / self.batch_size)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        """The batches of the first pass."""
        return (self[step] for step in range(len(self)))

    def __getitem__(self, step: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of a step: int64 of shape (batch_size, block_size), the targets one id later."""
        step = check_integer(step, "step", least=0)
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


def to_row(ids: NDArray[Any] | Tensor | Sequence[int]) -> NDArray[Any]:
    """The ids as an array of shape (number of ids,); an array stays what it is, a memory-mapped one too.

    Raises TypeError for what is not a row of integers; True and False are not.
    """
    refuse_unordered(ids, "ids")
    if isinstance(ids, (list, tuple)) and any(isinstance(i, bool) for i in ids):
        raise TypeError("ids must be integers, not bool")
    try:
        row = numpy.asarray(ids.detach().cpu() if isinstance(ids, Tensor) else ids)
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:  # such as rows of several lengths
        raise TypeError(f"ids must be a row of integers: {error}") from None
    if row.ndim != 1:
        raise TypeError(f"ids must be a row of integers, not an array of shape {row.shape}")
    if row.dtype.kind not in "iu" and row.size:
        raise TypeError(f"ids must be integers, not {row.dtype}")
    return row


def check_range(ids: NDArray[Any], vocab_size: int = 2**63) -> None:
    """Raise ValueError, with its position, for an id below 0, or not below vocab_size.

    A file that is memory-mapped is read a stretch at a time, and not at all if its type has no other numbers.
    """
    limits = numpy.iinfo(ids.dtype)
    if limits.min == 0 and limits.max < vocab_size:
        return
    for start in range(0, len(ids), STRETCH):
        stretch = ids[start : start + STRETCH]
        if stretch.min() < 0 or stretch.max() >= vocab_size:
            position = int(((stretch < 0) | (stretch >= vocab_size)).argmax())
            raise ValueError(
                f"id {stretch[position]} at position {start + position:,} of the ids is out of range: "
                + (f"ids go from 0 to {vocab_size - 1}" if stretch[position] >= 0 else "ids are 0 or more")
            )


def chosen_device(name: str = "auto") -> torch.device:
    """The device of that name; "auto" takes CUDA if there is one, else MPS, else the CPU.

    Raises TypeError for what is not a name, and ValueError for a device that this machine does not have.
    """
    if not isinstance(name, (str, torch.device)):
        raise TypeError(f"device must be a name such as 'cpu', not {type(name).__name__}")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # the device "meta" has tensors, but no numbers
    except (RuntimeError, AssertionError, ImportError) as error:
        # Torch says much more; the end of the first sentence is all that helps.
        reason = textwrap.shorten(str(error).splitlines()[0].split(". ")[0], 200, placeholder=" …")
        raise ValueError(f"no device {str(name)!r} here: {reason}") from None
    return device


class Trainer:
    """A model, its optimizer, and the number of steps they have done.

    ids: the training ids, as for `Batches`, all below the config's vocab_size.
    fingerprint: of the tokenizer that made the ids. A checkpoint keeps it.
    device: a name, as for `chosen_device`.
    Raises TypeError or ValueError, as these do.
    """

    def __init__(
        self,
        config: MiniGPTConfig,
        settings: TrainingSettings,
        ids: NDArray[Any] | Tensor | Sequence[int],
        fingerprint: str,
        device: str = "auto",
    ) -> None:
        self.config, self.settings, self.fingerprint = config, settings, fingerprint
        self.device = chosen_device(device)
        self.batches = Batches(ids, config.block_size, settings.batch_size, settings.seed)
        check_range(self.batches.ids, config.vocab_size)
        torch.manual_seed(settings.seed)  # for the initial weights, and all dropout after that
        self.model = MiniGPT(config).to(self.device)
        self.optimizer = _make_optimizer(self.model, settings, fused=self.device.type == "cuda")
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
