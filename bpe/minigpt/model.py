"""A GPT small enough to read in one sitting: the model that chapter 7 builds.

It has the layout of GPT-2: token and position embeddings, blocks that normalise before attention and before
the feed-forward part, and an output head that shares its weights with the token embedding. Beyond chapter 7
it has dropout, a cache for generation, and checks of its sizes. `bpe.minigpt.training` trains it,
`bpe.minigpt.generation` samples from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from bpe._validate import check_integer, check_number

INITIAL_STD = 0.02  # standard deviation of the initial weights, as in GPT-2


@dataclass(frozen=True)
class MiniGPTConfig:
    """The sizes of a model. Raises TypeError or ValueError, naming the size, for one that is impossible.

    vocab_size: number of ids, special tokens included.
    block_size: the context: the largest number of tokens the model sees at once.
    expansion_factor: width of the feed-forward part, in embedding_dim.
    """

    vocab_size: int
    block_size: int = 128
    embedding_dim: int = 128
    num_heads: int = 4
    num_layers: int = 4
    expansion_factor: int = 4
    dropout: float = 0.1

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name != "dropout":
                check_integer(value, name, least=1)
        if self.embedding_dim % self.num_heads:
            raise ValueError(
                f"embedding_dim {self.embedding_dim} must be a multiple of num_heads {self.num_heads}"
            )
        if not 0 <= check_number(self.dropout, "dropout") < 1:
            raise ValueError(f"dropout must be 0 or more and below 1, not {self.dropout}")

    @property
    def training_flops_per_token(self) -> int:
        """Floating-point operations per training token, backward pass included.

        Six per weight used in a matrix product, the output head included, plus
        12 · layers · width · block_size for the products of attention, as if nothing were masked
        (Chowdhery et al., PaLM, 2022, appendix B).
        """
        width, layers = self.embedding_dim, self.num_layers
        weights = layers * (4 + 2 * self.expansion_factor) * width**2 + self.vocab_size * width
        return 6 * weights + 12 * layers * width * self.block_size


class Parameters(NamedTuple):
    """Number of weights: in the embeddings, and in the rest of the model."""

    embedding: int
    body: int


class KeyValueCache:
    """The keys and values of the tokens read so far.

    capacity: largest number of tokens, the block_size of the model.
    length: number of tokens read.
    layers: one tensor per layer, of shape (2, batch, heads, capacity, columns of one head), keys before
    values.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.length = 0
        self.layers: list[Tensor] = []

    def append(self, layer: int, keys: Tensor, values: Tensor) -> Tensor:
        """Add the keys and values of new tokens to a layer; return those of all its tokens, stacked."""
        batch, heads, added, columns = keys.shape
        if layer == len(self.layers):
            self.layers.append(keys.new_empty(2, batch, heads, self.capacity, columns))
        end = self.length + added
        self.layers[layer][0, :, :, self.length : end] = keys
        self.layers[layer][1, :, :, self.length : end] = values
        return self.layers[layer][:, :, :, :end]


class Attention(nn.Module):
    """Each position gathers what it needs from itself and from the positions before it."""

    def __init__(self, config: MiniGPTConfig) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        self.dropout = config.dropout
        self.queries_keys_values = nn.Linear(config.embedding_dim, 3 * config.embedding_dim)
        self.output = nn.Linear(config.embedding_dim, config.embedding_dim)

    def forward(self, x: Tensor, layer: int = 0, cache: KeyValueCache | None = None) -> Tensor:
        """Input and output have shape (batch, length, width)."""
        batch, length, width = x.shape
        parts = self.queries_keys_values(x)  # batch, length, 3 · width
        parts = parts.view(batch, length, 3, self.num_heads, width // self.num_heads)
        # three times: batch, heads, length, columns of one head
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        if cache is not None:
            keys, values = cache.append(layer, keys, values)  # now of all tokens read
        mixed = functional.scaled_dot_product_attention(
            queries,
            keys,
            values,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=length > 1,  # one new token may see all tokens in the cache
        )
        gathered: Tensor = self.output(mixed.transpose(1, 2).reshape(batch, length, width))
        return gathered


class Block(nn.Module):
    """Attention, then a feed-forward part; each is added to its input."""

    def __init__(self, config: MiniGPTConfig) -> None:
        super().__init__()
        width = config.embedding_dim
        inner = config.expansion_factor * width
        self.norm_1 = nn.LayerNorm(width)
        self.attention = Attention(config)
        self.norm_2 = nn.LayerNorm(width)
        self.expand = nn.Linear(width, inner)
        self.output = nn.Linear(inner, width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, layer: int = 0, cache: KeyValueCache | None = None) -> Tensor:
        """Input and output have shape (batch, length, width)."""
        x = x + self.dropout(self.attention(self.norm_1(x), layer, cache))
        inner = functional.gelu(self.expand(self.norm_2(x)), approximate="tanh")  # batch, length, inner
        x = x + self.dropout(self.output(inner))
        return x


class MiniGPT(nn.Module):
    """From ids to the logits of the next id, at every position."""

    def __init__(self, config: MiniGPTConfig) -> None:
        super().__init__()
        self.config = config
        self.token_embedding = nn.Embedding(config.vocab_size, config.embedding_dim)
        self.position_embedding = nn.Embedding(config.block_size, config.embedding_dim)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.norm = nn.LayerNorm(config.embedding_dim)
        self._initialise()

    def _initialise(self) -> None:
        # Each block adds to its input twice; smaller output weights keep that sum from growing with depth.
        smaller = INITIAL_STD / math.sqrt(2 * self.config.num_layers)
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            elif parameter.dim() == 2:
                nn.init.normal_(parameter, std=smaller if "output" in name else INITIAL_STD)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of shape (batch, length, vocab_size) for ids of shape (batch, length)."""
        return self.logits(self.hidden(ids))

    def hidden(self, ids: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        """The output of the last block, normalised: (batch, length) to (batch, length, width).

        cache: holds the tokens before the ids, and takes up the ids. If it is not empty, length must be 1.
        Raises ValueError for more tokens than block_size.
        """
        start = cache.length if cache is not None else 0
        end = start + ids.shape[1]
        if end > self.config.block_size:
            raise ValueError(f"{end} tokens are more than the context of {self.config.block_size}")
        if start and ids.shape[1] != 1:
            raise ValueError(f"one token at a time can follow those in the cache, not {ids.shape[1]}")
        positions = torch.arange(start, end, device=ids.device)
        x = self.dropout(self.token_embedding(ids) + self.position_embedding(positions))
        for layer, block in enumerate(self.blocks):
            x = block(x, layer, cache)
        if cache is not None:
            cache.length = end
        normalised: Tensor = self.norm(x)
        return normalised

    def logits(self, hidden: Tensor) -> Tensor:
        """The output head, tied to the token embedding: (…, width) to (…, vocab_size)."""
        return functional.linear(hidden, self.token_embedding.weight)

    def loss(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy in nats per token; inputs and targets are ids of shape (batch, length)."""
        logits = self(inputs)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def num_parameters(self) -> Parameters:
        """Number of weights in the embeddings (the head is one of them), and in the rest."""
        embedding = self.token_embedding.weight.numel() + self.position_embedding.weight.numel()
        return Parameters(embedding, sum(p.numel() for p in self.parameters()) - embedding)
