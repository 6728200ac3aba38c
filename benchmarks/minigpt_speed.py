"""Speed of the Mini-GPT: its training, beside a plain loop in the style of nanoGPT, and its generation.

    python benchmarks/minigpt_speed.py [DEVICE]

Both models have the same shape and learn from the same ids. They take turns of a few steps, so that other
work of the machine slows both alike. The plain loop is what a reader of nanoGPT would write: the same parts
under their usual names, windows drawn one by one, AdamW, gradient clipping. Generation of 128 tokens is timed
with and without the key-value cache; both give the same ids. Takes two minutes and writes
data/results/minigpt_speed.json.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy
import torch
from torch import Tensor, nn
from torch.nn import functional

from bpe.minigpt import results
from bpe.minigpt.generation import generate
from bpe.minigpt.model import MiniGPT, MiniGPTConfig
from bpe.minigpt.run import machine
from bpe.minigpt.training import Trainer, TrainingSettings, chosen_device, mixed_precision

ROUNDS, STEPS = 11, 4
NEW_TOKENS = 127  # after a prompt of one
VOCABULARIES = {"characters of WikiText-2": 283, "byte BPE of 4,096": 4096}


class PlainBlock(nn.Module):
    """A block in the style of nanoGPT."""

    def __init__(self, config: MiniGPTConfig) -> None:
        super().__init__()
        width = config.embedding_dim
        self.num_heads = config.num_heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.num_heads, -1).transpose(1, 2)
            for part in self.c_attn(self.ln_1(x)).split(width, dim=2)
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).contiguous().view(batch, length, width))
        return x + self.mlp(self.ln_2(x))


class PlainGPT(nn.Module):
    """A model in the style of nanoGPT, its head tied to the embedding."""

    def __init__(self, config: MiniGPTConfig) -> None:
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.embedding_dim)
        self.wpe = nn.Embedding(config.block_size, config.embedding_dim)
        self.h = nn.ModuleList(PlainBlock(config) for _ in range(config.num_layers))
        self.ln_f = nn.LayerNorm(config.embedding_dim)
        self.lm_head = nn.Linear(config.embedding_dim, config.vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


def plain_loop(config: MiniGPTConfig, ids: numpy.ndarray, device: torch.device) -> Callable[[], object]:
    """Return a function that takes one training step."""
    model = PlainGPT(config).to(device)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-3, betas=(0.9, 0.95), fused=device.type == "cuda" or None
    )
    size = config.block_size

    def step() -> None:
        starts = torch.randint(len(ids) - size, (16,))
        inputs = torch.stack([torch.from_numpy(ids[i : i + size].astype(numpy.int64)) for i in starts])
        targets = torch.stack(
            [torch.from_numpy(ids[i + 1 : i + 1 + size].astype(numpy.int64)) for i in starts]
        )
        with mixed_precision(device):
            loss = model(inputs.to(device), targets.to(device))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def seconds(task: Callable[[], object], device: torch.device) -> float:
    """Seconds until the task is done, on the device too."""
    start = time.perf_counter()
    task()
    if device.type != "cpu":
        torch.accelerator.synchronize()
    return time.perf_counter() - start


def repeat(step: Callable[[], object]) -> Callable[[], object]:
    return lambda: [step() for _ in range(STEPS)]


def training(vocab_size: int, device: torch.device) -> dict[str, float]:
    """Tokens per second of both loops: medians over rounds in which they take turns."""
    config = MiniGPTConfig(vocab_size, dropout=0.0)
    ids = numpy.random.default_rng(0).integers(vocab_size, size=200_000).astype(numpy.uint16)
    trainer = Trainer(config, TrainingSettings(steps=10**6), ids, "", str(device))
    plain = plain_loop(config, ids, device)
    for step in (trainer.train_step, plain):
        seconds(repeat(step), device)  # the first steps reserve memory
    ours, theirs = [], []
    for number in range(ROUNDS):
        turns = [(ours, trainer.train_step), (theirs, plain)]
        for times, step in turns if number % 2 else turns[::-1]:
            times.append(seconds(repeat(step), device))
    tokens = STEPS * 16 * config.block_size
    return {
        "vocab_size": vocab_size,
        "tokens_per_second": round(tokens / statistics.median(ours)),
        "plain_tokens_per_second": round(tokens / statistics.median(theirs)),
        "ratio": round(statistics.median(b / a for a, b in zip(ours, theirs, strict=True)), 3),
    }


def generation(vocab_size: int, device: torch.device) -> dict[str, float]:
    """Seconds for 128 tokens, with the cache and without. Raises AssertionError if the ids differ."""
    torch.manual_seed(0)
    model = MiniGPT(MiniGPTConfig(vocab_size)).to(device)
    with_cache, without, samples = [], [], []
    for _ in range(1 + ROUNDS):
        for times, use_cache in ((with_cache, True), (without, False)):
            times.append(
                seconds(
                    lambda use_cache=use_cache: samples.append(
                        generate(model, [0], NEW_TOKENS, temperature=0, use_cache=use_cache)
                    ),
                    device,
                )
            )
    if any(sample != samples[0] for sample in samples):
        raise AssertionError("generation with and without the cache gave different ids")
    fast, slow = statistics.median(with_cache[1:]), statistics.median(without[1:])
    return {
        "vocab_size": vocab_size,
        "seconds": round(fast, 4),
        "seconds_without_cache": round(slow, 4),
        "ratio": round(slow / fast, 2),
    }


def main() -> None:
    device = chosen_device(sys.argv[1] if len(sys.argv) > 1 else "auto")
    outcome = {
        "command": "python benchmarks/minigpt_speed.py",
        "machine": machine(device),
        "training": {name: training(size, device) for name, size in VOCABULARIES.items()},
        "generation": {name: generation(size, device) for name, size in VOCABULARIES.items()},
    }
    for part in ("training", "generation"):
        for name, figures in outcome[part].items():
            print(part, name, figures)
    print(results.write("minigpt_speed", outcome))


if __name__ == "__main__":
    main()
