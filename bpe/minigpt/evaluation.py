"""How well a model predicts a text, in units that do not depend on its tokens: bits per byte, per character.

Losses per token can't be compared between tokenizers: with longer tokens there are fewer, and each is harder
to predict. What can be compared is the cost of the whole text, divided by its length in bytes, which is the
same for every tokenizer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from bpe import special
from bpe._validate import check_integer, refuse_surrogates
from bpe.minigpt.training import mixed_precision
from bpe.tokenizer import Tokenizer

WINDOWS_AT_ONCE = 16


class Score(NamedTuple):
    """The cost of a text.

    bits: of the whole text. tokens, bytes, characters: the length of the text, special tokens left out.
    """

    bits: float
    tokens: int
    bytes: int
    characters: int

    @property
    def bits_per_byte(self) -> float:
        """The number by which to compare models with different tokenizers."""
        return self.bits / self.bytes

    @property
    def bits_per_character(self) -> float:
        """The same per character; for Chinese, about three times as much."""
        return self.bits / self.characters

    @property
    def nats_per_token(self) -> float:
        """The training loss, plus the cost of unknown characters. Not comparable between tokenizers."""
        return self.bits * math.log(2) / self.tokens


def score(
    model: Any,
    tokenizer: Tokenizer,
    text: str,
    *,
    stride: int | None = None,
    allowed_special: special.Names = (),
) -> Score:
    """The cost of the whole text under the model, which predicts every token once.

    model: takes ids of shape (batch, length) to logits of shape (batch, length, vocab_size), and reads at
    most `config.block_size` tokens. A MiniGPT, or anything like it.
    stride: the model reads overlapping windows; each predicts the `stride` tokens that follow those of the
    window before. So every token after the first window has at least block_size - stride tokens of context.
    By default half of block_size.
    allowed_special: special tokens to recognise in the text, as in `encode`. They are context: neither their
    cost nor their length counts.

    A newline is put before the text, so that the first token has a context too; the newline itself is not
    scored. What the ids can't give back, such as a character that became the unknown token, costs 8 bits for
    each of its bytes in UTF-8, on top of the cost of the unknown token.
    Raises TypeError or ValueError for a text that is not a str with UTF-8, and ValueError for one without
    ordinary tokens, for a tokenizer without a token for the newline, if model and tokenizer do not belong
    together, and for a model that gives no numbers.
    """
    refuse_surrogates(text)
    if model.config.vocab_size != tokenizer.vocab_size:
        raise ValueError(
            f"the model has {model.config.vocab_size:,} ids and the tokenizer {tokenizer.vocab_size:,}: "
            f"they do not belong together"
        )
    block_size = model.config.block_size
    stride = max(1, block_size // 2) if stride is None else check_integer(stride, "stride", least=1)
    if stride > block_size:
        raise ValueError(f"stride {stride} is more than the block_size of {block_size}")
    newline = _encode_newline(tokenizer)
    ids = tokenizer.encode(text, allowed_special=allowed_special)
    special_ids = set(tokenizer.special_tokens.values())
    is_ordinary = torch.tensor([i not in special_ids for i in ids], dtype=torch.bool)
    if not is_ordinary.any():
        raise ValueError("the text is empty or holds special tokens alone, so there is nothing to predict")
    nats = token_costs(model, [*newline, *ids], stride)[len(newline) - 1 :]
    if nats.isnan().any():
        raise ValueError(
            "the model's costs are not numbers: its weights are damaged, or its training diverged"
        )
    bits = float(nats[is_ordinary].sum()) / math.log(2) + 8 * _lost_bytes(tokenizer, text, ids)
    ordinary_text = _remove_special(tokenizer, text, allowed_special)
    return Score(bits, int(is_ordinary.sum()), _num_bytes(ordinary_text), len(ordinary_text))


def token_costs(model: Any, ids: list[int], stride: int) -> Tensor:
    """The cost in nats of each id but the first, given those before it: float64 of shape (len(ids) - 1,)."""
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
    """Yield groups of windows (start, first position to predict from, end), all of the same length.

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


def _encode_newline(tokenizer: Tokenizer) -> list[int]:
    try:
        if ids := tokenizer.encode("\n"):
            return ids
        reason = "the tokenizer drops it"
    except ValueError as error:
        reason = str(error)
    raise ValueError(f"a newline must come before the text, and has no id: {reason}")


def _lost_bytes(tokenizer: Tokenizer, text: str, ids: list[int]) -> int:
    """Number of bytes of the text that its ids can't give back."""
    known = [i for i in ids if i != tokenizer.unknown_id]
    return max(0, _num_bytes(text) - _num_bytes(tokenizer.decode(known)))


def _remove_special(tokenizer: Tokenizer, text: str, allowed_special: special.Names) -> str:
    parts = special.parts(text, tokenizer.special_tokens, allowed_special)
    return "".join(part for part, is_special in parts if not is_special)


def _num_bytes(text: str) -> int:
    return len(text.encode("utf-8"))
