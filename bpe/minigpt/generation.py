"""Sampling from a MiniGPT: one token after the other, each given those before it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from bpe._validate import check_id, check_integer, check_seed
from bpe.minigpt.model import KeyValueCache, MiniGPT
from bpe.tokenizer import Tokenizer

# Divided by less, logits would leave the range of float32; long before, only the likeliest id is left.
COLDEST = 1e-30


@torch.inference_mode()
def generate(
    model: MiniGPT,
    prompt: Sequence[int],
    num_tokens: int,
    *,
    num_samples: int = 1,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    banned: Sequence[int] = (),
    seed: int | None = None,
    use_cache: bool = True,
) -> list[list[int]]:
    """Continue a prompt, one sampled token after the other.

    prompt: at least one id, since a model predicts what follows something.
    num_tokens: how many ids are added to each of the `num_samples` samples.
    temperature: 0 takes the likeliest id; below 1 the likely ones become likelier.
    top_k: only the k likeliest ids. top_p: only the likeliest ids that together reach this probability.
    banned: ids that are never taken, such as an unknown token.
    seed: the same seed gives the same samples on the same device; torch's own state is left alone.
    use_cache: read each token once, instead of all of the context for every new one. The ids are the same.

    When the context is full, its older half is forgotten, and the rest read again from position 0.
    Returns the samples, each beginning with the prompt.
    """
    context = _checked_prompt(model, prompt)
    _check_sampling(model, temperature, top_k, top_p, banned)
    device = model.token_embedding.weight.device
    generator = torch.Generator(device)
    generator.seed() if seed is None else generator.manual_seed(check_seed(seed))
    ids = torch.tensor([context] * check_integer(num_samples, "num_samples", least=1), device=device)
    was_training = model.training
    model.eval()
    block_size = model.config.block_size
    cache, start = KeyValueCache(block_size), 0
    try:
        for _ in range(check_integer(num_tokens, "num_tokens", least=0)):
            if not use_cache or window_start(ids.shape[1], block_size) != start:
                start, cache = window_start(ids.shape[1], block_size), KeyValueCache(block_size)
            unread = ids[:, start + cache.length :]
            logits = model.logits(model.hidden(unread, cache)[:, -1])
            chosen = _sampled(logits.float(), temperature, top_k, top_p, banned, generator)
            ids = torch.cat((ids, chosen), 1)
    finally:
        model.train(was_training)
    samples: list[list[int]] = ids.tolist()
    return samples


def sampled(
    model: MiniGPT, tokenizer: Tokenizer, prompt: str, num_tokens: int, num_samples: int, **options: Any
) -> list[str]:
    """Sample texts that begin with the prompt; options are those of `generate`.

    An unknown token is never sampled, since it has no text, and neither is an id that no token has.
    """
    ids = tokenizer.encode(prompt)
    banned = [
        i for i in range(tokenizer.vocab_size) if i == tokenizer.unknown_id or tokenizer.token(i) is None
    ]
    samples = generate(model, ids, num_tokens, num_samples=num_samples, banned=banned, **options)
    return [prompt + tokenizer.decode(sample[len(ids) :]) for sample in samples]


def window_start(length: int, block_size: int) -> int:
    """Where the context begins once there are `length` tokens: half a block is forgotten at a time.

    >>> [window_start(length, 4) for length in (1, 4, 5, 6, 7)]
    [0, 0, 2, 2, 4]
    """
    half = max(1, block_size // 2)
    return half * math.ceil(max(0, length - block_size) / half)


def _sampled(
    logits: Tensor,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    banned: Sequence[int],
    generator: torch.Generator,
) -> Tensor:
    """One id a row, of shape (batch, 1), from logits of shape (batch, vocab_size)."""
    if len(banned):
        logits[:, list(banned)] = -math.inf
    if temperature < COLDEST:
        return logits.argmax(-1, keepdim=True)
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits < least, -math.inf)
    probabilities = (logits / temperature).softmax(-1)
    if top_p is not None:
        ordered, ids = probabilities.sort(-1, descending=True)
        # The one with which the sum reaches top_p still counts.
        unlikely = ordered.cumsum(-1) - ordered >= top_p
        unlikely[:, 0] = False  # a top_p too small for float32 is 0 for it, and would leave none
        probabilities = probabilities.masked_fill(unlikely.gather(-1, ids.argsort(-1)), 0.0)
    return torch.multinomial(probabilities, 1, generator=generator)


def _checked_prompt(model: MiniGPT, prompt: Sequence[int]) -> list[int]:
    if not len(prompt):
        raise ValueError("the prompt is empty; a line feed is a good beginning")
    return [check_id(i, model.config.vocab_size) for i in prompt]


def _check_sampling(
    model: MiniGPT, temperature: float, top_k: int | None, top_p: float | None, banned: Sequence[int]
) -> None:
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature must be 0 or more, not {temperature}")
    if top_k is not None:
        check_integer(top_k, "top_k", least=1)
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, not {top_p}")
    if len({check_id(i, model.config.vocab_size) for i in banned}) == model.config.vocab_size:
        raise ValueError("all ids are banned, so there is nothing to sample")
