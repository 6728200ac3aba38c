"""Sampling from a MiniGPT: one token at a time, each given the tokens before it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from bpe._validate import check_id, check_integer, check_number, check_seed, refuse_surrogates
from bpe.minigpt.model import KeyValueCache, MiniGPT
from bpe.tokenizer import Tokenizer

# Dividing logits by a smaller temperature would overflow float32. Long before that, only the likeliest id has
# any probability left.
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
    """Continue a prompt, one sampled token at a time; return the samples, each beginning with the prompt.

    prompt: ids, at least one: the model predicts what follows something.
    num_tokens: number of ids added to each of the `num_samples` samples.
    temperature: 0 always takes the likeliest id; below 1, likely ids become likelier.
    top_k: sample only from the k likeliest ids.
    top_p: sample only from the likeliest ids that together reach this probability.
    banned: ids that are never taken, such as an unknown token.
    seed: the same seed gives the same samples on the same device; torch's global state is left alone.
    use_cache: read each token once, instead of the whole context again for each new token. The ids are the
    same.

    When the context is full, its older half is dropped, and the rest is read again from position 0.
    Raises TypeError or ValueError, naming it, for an argument that is impossible.
    """
    context = _check_prompt(model, prompt)
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
            new = _choose(logits.float(), temperature, top_k, top_p, banned, generator)
            ids = torch.cat((ids, new), 1)
    finally:
        model.train(was_training)
    samples: list[list[int]] = ids.tolist()
    return samples


def sampled(
    model: MiniGPT, tokenizer: Tokenizer, prompt: str, num_tokens: int, num_samples: int, **options: Any
) -> list[str]:
    """Sample texts that begin with the prompt; options are those of `generate`.

    The unknown token is never sampled, since it has no text, nor is an id that has no token.
    Raises TypeError or ValueError as `generate`, and for a prompt that is not a text with UTF-8.
    """
    refuse_surrogates(prompt, "the prompt")
    ids = tokenizer.encode(prompt)
    banned = [
        i for i in range(tokenizer.vocab_size) if i == tokenizer.unknown_id or tokenizer.token(i) is None
    ]
    samples = generate(model, ids, num_tokens, num_samples=num_samples, banned=banned, **options)
    return [prompt + tokenizer.decode(sample[len(ids) :]) for sample in samples]


def window_start(length: int, block_size: int) -> int:
    """Start of the context when there are `length` tokens: half a block is dropped at a time.

    >>> [window_start(length, 4) for length in (1, 4, 5, 6, 7)]
    [0, 0, 2, 2, 4]
    """
    half = max(1, block_size // 2)
    return half * math.ceil(max(0, length - block_size) / half)


def _choose(
    logits: Tensor,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    banned: Sequence[int],
    generator: torch.Generator,
) -> Tensor:
    """Sample one id per row: logits of shape (batch, vocab_size) to ids of shape (batch, 1)."""
    if not logits.isfinite().all():
        raise ValueError(
            "the model's logits are not finite: its weights are damaged, or its training diverged"
        )
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
        # The id with which the sum reaches top_p still counts.
        unlikely = ordered.cumsum(-1) - ordered >= top_p
        unlikely[:, 0] = False  # a top_p too small for float32 becomes 0, and would leave no id
        probabilities = probabilities.masked_fill(unlikely.gather(-1, ids.argsort(-1)), 0.0)
    return torch.multinomial(probabilities, 1, generator=generator)


def _check_prompt(model: MiniGPT, prompt: Sequence[int]) -> list[int]:
    if not isinstance(prompt, Iterable) or isinstance(prompt, (str, bytes)):
        raise TypeError(f"the prompt must be a list of ids, not {type(prompt).__name__}")
    if not len(prompt):
        raise ValueError("the prompt is empty; a newline is a good beginning")
    return [check_id(i, model.config.vocab_size) for i in prompt]


def _check_sampling(
    model: MiniGPT, temperature: float, top_k: int | None, top_p: float | None, banned: Sequence[int]
) -> None:
    if not 0 <= check_number(temperature, "temperature") < math.inf:
        raise ValueError(f"temperature must be 0 or more and finite, not {temperature}")
    if top_k is not None:
        check_integer(top_k, "top_k", least=1)
    if top_p is not None and not 0 < check_number(top_p, "top_p") <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, not {top_p}")
    if len({check_id(i, model.config.vocab_size) for i in banned}) == model.config.vocab_size:
        raise ValueError("all ids are banned, so there is nothing to sample")
