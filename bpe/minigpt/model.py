"""A GPT small enough to read at one sitting. `bpe.training` trains it, `bpe.generation` samples from it.

The layout is that of GPT-2: token and position embeddings, blocks that normalise before attention and before
the feed-forward part, and an output head that is the token embedding again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from bpe._validate import check_finite, check_integer

# The spread of the weights at the start, as in GPT-2.
INITIAL_STD = 0.02


@dataclass(frozen=True)
class MiniGPTConfig:
    """The sizes of a model. Raises ValueError, naming it, for one that cannot be.

    vocab_size: number of ids, special tokens included.
    block_size: the most tokens the model sees at once, its context.
    expansion_factor: how many times wider than the embedding the feed-forward part is.
    """

    vocab_size: int
    block_size: int = 128
    embedding_dim: int = 128
    num_heads: int = 4
    num_layers: int = 4
    expansion_factor: int = 4
    dropout: float = 0.1

    def __post_init__(self) -> None:
        # Kept as Python's own numbers: a checkpoint with numpy's could not be read without trusting it.
        for name in (
            "vocab_size",
            "block_size",
            "embedding_dim",
            "num_heads",
            "num_layers",
            "expansion_factor",
        ):
            object.__setattr__(self, name, check_integer(getattr(self, name), name, least=1))
        object.__setattr__(self, "dropout", check_finite(self.dropout, "dropout"))
        if self.embedding_dim % self.num_heads:
            raise ValueError(
                f"embedding_dim {self.embedding_dim} must be a multiple of num_heads {self.num_heads}"
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be from 0 to below 1, not {self.dropout}")

    @property
    def training_flops_per_token(self) -> int:
        """Floating-point operations that training spends on a token, backward pass included.

        Six for each weight that takes part in a matrix product, the output head among them, and
        12 · layers · width · block_size for the products of attention, counted as if nothing were masked
        (Chowdhery et al., PaLM, 2022, appendix B).
        """
        width, layers = self.embedding_dim, self.num_layers
        weights = layers * (4 + 2 * self.expansion_factor) * width**2 + self.vocab_size * width
        return 6 * weights + 12 * layers * width * self.block_size


class Parameters(NamedTuple):
    """How many numbers a model learns: in its embeddings, and in all the rest."""

    embedding: int
    body: int


class KeyValueCache:
    """The keys and values of the tokens read so far.

    room: how many tokens there is room for, the block_size of the model.
    length: how many have been read.
    layers: for each a tensor of shape (2, batch, heads, room, embedding_dim / heads), keys before values.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.length = 0
        self.layers: list[Tensor] = []

    def extended(self, layer: int, keys: Tensor, values: Tensor) -> Tensor:
        """All keys and values of a layer, after these are written behind those that were read."""
        batch, heads, added, width = keys.shape
        if layer == len(self.layers):
            self.layers.append(keys.new_empty(2, batch, heads, self.room, width))
        end = self.length + added
        self.layers[layer][0, :, :, self.length : end] = keys
        self.layers[layer][1, :, :, self.length : end] = values
        return self.layers[layer][:, :, :, :end]


class CausalSelfAttention(nn.Module):
    """Each position gathers what it needs from itself and from those before it."""

    def __init__(self, config: MiniGPTConfig) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        self.dropout = config.dropout
        self.queries_keys_values = nn.Linear(config.embedding_dim, 3 * config.embedding_dim)
        self.output = nn.Linear(config.embedding_dim, config.embedding_dim)

    def forward(self, x: Tensor, layer: int = 0, cache: KeyValueCache | None = None) -> Tensor:
        """x, of shape (batch, length, embedding_dim), to the same shape."""
        batch, length, width = x.shape
        parts = self.queries_keys_values(x).view(batch, length, 3, self.num_heads, width // self.num_heads)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        first = cache is None or cache.length == 0
        if cache is not None:
            keys, values = cache.extended(layer, keys, values)
        mixed = functional.scaled_dot_product_attention(
            queries,
            keys,
            values,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=first,  # a single token that follows cached ones may look at all of them
        )
        gathered: Tensor = self.output(mixed.transpose(1, 2).reshape(batch, length, width))
        return gathered


class Block(nn.Module):
    """Attention, then a feed-forward part; each is added to what was there."""

    def __init__(self, config: MiniGPTConfig) -> None:
        super().__init__()
        width, inner = config.embedding_dim, config.expansion_factor * config.embedding_dim
        self.norm_1 = nn.LayerNorm(width)
        self.attention = CausalSelfAttention(config)
        self.norm_2 = nn.LayerNorm(width)
        self.expand = nn.Linear(width, inner)
        self.output = nn.Linear(inner, width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, layer: int = 0, cache: KeyValueCache | None = None) -> Tensor:
        """x, of shape (batch, length, embedding_dim), to the same shape."""
        x = x + self.dropout(self.attention(self.norm_1(x), layer, cache))
        inner = functional.gelu(self.expand(self.norm_2(x)), approximate="tanh")
        x = x + self.dropout(self.output(inner))
        return x


class MiniGPT(nn.Module):
    """From ids to the logits of the id that comes next, at every position."""

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
        # Each block adds to the sum twice; narrower last layers keep that sum from growing with depth.
        narrower = INITIAL_STD / math.sqrt(2 * self.config.num_layers)
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            elif parameter.dim() == 2:
                nn.init.normal_(parameter, std=narrower if name.endswith("output.weight") else INITIAL_STD)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of shape (batch, length, vocab_size) for ids of shape (batch, length)."""
        return self.logits(self.hidden(ids))

    def hidden(self, ids: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        """What the last block makes of the ids: (batch, length) to (batch, length, embedding_dim).

        cache: holds what came before the ids, and then holds them too. Where it is not empty, length is 1.
        Raises ValueError when there are more tokens than block_size.
        """
        start = cache.length if cache is not None else 0
        end = start + ids.shape[1]
        if end > self.config.block_size:
            raise ValueError(f"{end} tokens are more than the context of {self.config.block_size}")
        if start and ids.shape[1] != 1:
            raise ValueError(f"one token at a time can follow those in the cache, not {ids.shape[1]}")
        x = self.dropout(self.token_embedding(ids) + self.position_embedding.weight[start:end])
        for layer, block in enumerate(self.blocks):
            x = block(x, layer, cache)
        if cache is not None:
            cache.length = end
        normalised: Tensor = self.norm(x)
        return normalised

    def logits(self, hidden: Tensor) -> Tensor:
        """The tied head: (…, embedding_dim) to (…, vocab_size)."""
        return functional.linear(hidden, self.token_embedding.weight)

    def loss(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """The mean cross-entropy in nats a token; both are ids of shape (batch, length)."""
        return functional.cross_entropy(self(inputs).flatten(0, 1), targets.flatten())

    def num_parameters(self) -> Parameters:
        """The sizes of the embeddings (the head is one of them) and of the rest."""
        embedding = self.token_embedding.weight.numel() + self.position_embedding.weight.numel()
        return Parameters(embedding, sum(p.numel() for p in self.parameters()) - embedding)
