"""Numbers about counts of tokens: how evenly they are used, and how long they are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal

from bpe._validate import check_finite, check_integer

Unit = Literal["bytes", "characters"]

ALPHA = 2.5


def renyi_efficiency(counts: Mapping[Any, int], alpha: float = ALPHA, vocab_size: int | None = None) -> float:
    """Measure how evenly tokens are used, 0 to 1: Rényi entropy over the largest it could be.

    counts: token -> how often it occurs.
    alpha: 0 or more; the larger, the more the frequent tokens decide.
    vocab_size: the number of tokens there are; by default, of those that occur.

    With p the share of each token,

        H(alpha) = log(sum of p ** alpha) / (1 - alpha),        for alpha = 1 its limit, -(sum of p · log p)
        efficiency = H(alpha) / log(vocab_size)

    It is 1 if all tokens occur equally often, 0 if only one occurs.

    Zouhar et al.: Tokenization and the Noiseless Channel, 2023: with alpha = 2.5 it correlated with the
    quality of translations. That is a hint, not a proof: Cognetta et al.: Two Counterexamples to Tokenization
    and the Noiseless Channel, 2024, raise it and make translations worse.

    Raises ValueError for counts below 0, if no token occurs, for alpha below 0, and for a vocab_size below 2
    or below the number of tokens that occur.
    """
    order = check_finite(alpha, "alpha")
    if order < 0:
        raise ValueError(f"alpha must be 0 or more, not {alpha}")
    occurring = [
        n
        for token, count in counts.items()
        if (n := check_integer(count, f"the count of {token!r}", least=0))
    ]
    if not occurring:
        raise ValueError("there are no tokens, so their distribution is not defined")
    size = len(occurring) if vocab_size is None else check_integer(vocab_size, "vocab_size", least=1)
    if size < len(occurring):
        raise ValueError(f"vocab_size is {size:,}, but {len(occurring):,} different tokens occur")
    if size == 1:
        raise ValueError("with a single token in the vocabulary, the efficiency is not defined")
    total = sum(occurring)
    shares = [n / total for n in occurring]
    if math.isclose(order, 1, abs_tol=1e-9):
        entropy = -math.fsum(p * math.log(p) for p in shares)
    else:
        # Divided by the largest share first: the power of a small share would be rounded to 0.
        top = max(shares)
        power_sum = math.fsum((p / top) ** order for p in shares)
        entropy = (math.log(power_sum) + order * math.log(top)) / (1 - order)
    return min(1.0, max(0.0, entropy / math.log(size)))


def token_lengths(
    counts: Mapping[int, int], token: Callable[[int], bytes | str | None], unit: Unit = "bytes"
) -> dict[int, int]:
    """Count how many tokens have which length, shortest first: {length: number}.

    counts: id -> how often it counts: `Measurement.counts` for a text, `dict.fromkeys(ids, 1)` for a
    vocabulary.
    token: from an id to the token, as bytes or str; None, an unused id, is left out. Marks such as ▁ or ##
    count like any character, so remove them first.
    unit: "bytes" of UTF-8, or "characters": how many of them begin in the token. So a token that is the end
    of a character has the length 0, and the lengths add up to the text's.

    Raises ValueError for another unit and for counts below 0.
    """
    if unit not in ("bytes", "characters"):
        raise ValueError(f"unknown unit {unit!r}: choose 'bytes' or 'characters'")
    lengths: Counter[int] = Counter()
    for i, count in counts.items():
        found = token(i)
        if found is None:
            continue
        encoded = found.encode("utf-8") if isinstance(found, str) else found
        # The bytes 80 to bf continue a character; all others begin one.
        length = len(encoded) if unit == "bytes" else sum(value & 0xC0 != 0x80 for value in encoded)
        lengths[length] += check_integer(count, f"the count of {i!r}", least=0)
    return dict(sorted(lengths.items()))
