"""How well a model predicts a text, in units that do not depend on its tokens: bits per byte, per character.

A loss per token cannot be compared between tokenizers: longer tokens are fewer, and each is harder. What can
be compared is the cost of the whole text, divided by what every tokenizer is given alike, its bytes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from bpe import special
from bpe._validate import check_integer
from bpe.minigpt.training import mixed_precision
from bpe.tokenizer import Tokenizer

WINDOWS_AT_ONCE = 16


class Score(NamedTuple):
    """What a text costs.

    bits: of the whole text. tokens, bytes and characters: how many of each it has, special tokens left out.
    """

    bits: float
    tokens: int
    bytes: int
    characters: int

    @property
    def bits_per_byte(self) -> float:
        """The number by which models with different tokenizers are compared."""
        return self.bits / self.bytes

    @property
    def bits_per_character(self) -> float:
        """The same in characters; for Chinese, about three times as much."""
        return self.bits / self.characters

    @property
    def nats_per_token(self) -> float:
        """The loss in training, once unknown characters are paid for. Not comparable between tokenizers."""
        return self.bits * math.log(2) / self.tokens


def score(
    model: Any,
    tokenizer: Tokenizer,
    text: str,
    *,
    stride: int | None = None,
    allowed_special: special.Names = (),
) -> Score:
    """What the whole text costs under the model; every token is predicted once.

    model: from ids of shape (batch, length) to logits of shape (batch, length, vocab_size); its
    `config.block_size` is the most it can read. A MiniGPT, or anything that has these.
    stride: the model reads windows that overlap, and each predicts the `stride` tokens that the one before
    has not. So all but the first window's tokens have at least block_size - stride tokens before them.
    Half of block_size by default.
    allowed_special: special tokens that are taken as such where the text holds them, as in `encode`. They are
    context, and neither their cost nor their length counts.

    A line feed stands before the text and is not paid for, so that the first token too follows something.
    A character that the tokenizer does not know costs what its unknown token costs, plus 8 bits for each of
    its bytes in UTF-8.
    Raises ValueError for a text without ordinary tokens, and where model and tokenizer do not fit.
    """
    if not text:
        raise ValueError("the text is empty, so there is nothing to predict")
    if model.config.vocab_size != tokenizer.vocab_size:
        raise ValueError(
            f"the model has {model.config.vocab_size:,} ids and the tokenizer {tokenizer.vocab_size:,}: "
            f"they do not belong together"
        )
    block_size = model.config.block_size
    stride = max(1, block_size // 2) if stride is None else check_integer(stride, "stride", least=1)
    if stride > block_size:
        raise ValueError(f"stride {stride} is more than the block_size of {block_size}")
    before = _line_feed(tokenizer)
    ids = tokenizer.encode(text, allowed_special=allowed_special)
    free = set(tokenizer.special_tokens.values())
    charged = torch.tensor([i not in free for i in ids])
    ordinary = [i for i in ids if i not in free]
    if not ordinary:
        raise ValueError("the text holds special tokens alone, so there is nothing to predict")
    nats = token_costs(model, [*before, *ids], stride)[len(before) - 1 :]
    scored = _ordinary_text(tokenizer, text, allowed_special)
    bits = float(nats[charged].sum()) / math.log(2) + 8 * _unknown_bytes(tokenizer, scored)
    return Score(bits, len(ordinary), len(scored.encode("utf-8")), len(scored))


def token_costs(model: Any, ids: list[int], stride: int) -> Tensor:
    """The cost in nats of every id but the first, given those before it: float64 of shape (len(ids) - 1,)."""
    was_training = model.training
    model.eval()
    sequence = torch.tensor(ids)
    costs = torch.empty(len(ids) - 1, dtype=torch.float64)
    device = next(iter(model.parameters()), torch.empty(0)).device
    try:
        with torch.inference_mode(), mixed_precision(device):
            for group in _windows(len(costs), model.config.block_size, stride):
                inputs = torch.stack([sequence[start:end] for start, _, end in group]).to(device)
                logits = model(inputs).float()
                for row, (start, first, end) in zip(logits, group, strict=True):
                    targets = sequence[first + 1 : end + 1].to(device)
                    loss = functional.cross_entropy(row[first - start :], targets, reduction="none")
                    costs[first:end] = loss.cpu().double()  # MPS has no float64
    finally:
        model.train(was_training)
    return costs


def _windows(number: int, block_size: int, stride: int) -> Iterator[list[tuple[int, int, int]]]:
    """Groups of windows (start, first position to predict from, end), all of the same length.

    Together they predict from every position in range(number) once.
    """
    group: list[tuple[int, int, int]] = []
    first, end = 0, min(block_size, number)
    while first < number:
        group.append((max(0, end - block_size), first, end))
        if len(group) == WINDOWS_AT_ONCE:
            yield group
            group = []
        first, end = end, min(end + stride, number)
    if group:
        yield group


def _line_feed(tokenizer: Tokenizer) -> list[int]:
    try:
        return tokenizer.encode("\n")
    except ValueError as error:
        raise ValueError(f"a line feed must come before the text, and has no id: {error}") from None


def _ordinary_text(tokenizer: Tokenizer, text: str, allowed_special: special.Names) -> str:
    """The text without the special tokens that are taken as such."""
    parts = special.parts(text, tokenizer.special_tokens, allowed_special)
    return "".join(part for part, is_special in parts if not is_special)


def _unknown_bytes(tokenizer: Tokenizer, text: str) -> int:
    """The bytes of the characters that become the unknown token."""
    if tokenizer.unknown_id is None:
        return 0
    counts = Counter(text)
    unknown = [c for c in counts if tokenizer.unknown_id in tokenizer.encode(c, disallowed_special=())]
    return sum(counts[character] * len(character.encode("utf-8")) for character in unknown)
