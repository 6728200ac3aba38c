"""The parts of a tokenizer, looked over when it is made: each must be sound, and they must fit together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from bpe.inputs import integer, refuse_surrogates

Token = bytes | str
Pair = tuple[int, int]
Alphabet = Literal["bytes", "characters"]


def pairs_of(merges: Iterable[Pair]) -> list[Pair]:
    """The merges as tuples of int. Raises TypeError, naming the rank, for what is no pair of integers."""
    pairs: list[Pair] = []
    for rank, pair in enumerate(merges):
        if type(pair) is tuple and list(map(type, pair)) == [int, int]:  # all of a trained tokenizer are
            pairs.append(pair)
            continue
        if not isinstance(pair, Sequence) or len(pair) != 2:
            raise TypeError(f"merge {rank} must be a pair of ids, not {pair!r}")
        left, right = (integer(i, f"an id of merge {rank}") for i in pair)
        pairs.append((left, right))
    return pairs


def alphabet_of(vocabulary: Sequence[Token | None]) -> Alphabet:
    """Whether the tokens are bytes or str. Raises TypeError where they are mixed, neither, or none."""
    kinds = {type(token) for token in vocabulary if token is not None}
    if kinds not in ({bytes}, {str}):
        names = ", ".join(sorted(kind.__name__ for kind in kinds)) or "none at all"
        raise TypeError(f"tokens must be all bytes or all str (None where an id is not in use), not {names}")
    return "bytes" if kinds == {bytes} else "characters"


def ids_of(vocabulary: Sequence[Token | None]) -> dict[Token, int]:
    """token -> id. Raises ValueError for an empty token, a lone surrogate, and for the same token twice."""
    ids: dict[Token, int] = {}
    for i, token in enumerate(vocabulary):
        if token is None:
            continue
        if not token:
            raise ValueError(f"token {i} is empty")
        if isinstance(token, str):
            refuse_surrogates(token)
        if ids.setdefault(token, i) != i:
            raise ValueError(f"tokens {ids[token]} and {i} are both {token!r}")
    return ids


def ranks_of(
    merges: Sequence[Pair], vocabulary: Sequence[Token | None], ids: Mapping[Token, int]
) -> dict[Pair, tuple[int, int]]:
    """pair -> (rank, id of the joined token).

    Raises ValueError unless each merge joins tokens that are single symbols or made by an earlier merge,
    into a token of the vocabulary that no other merge makes: then a merge never makes a pair of a lower
    rank than its own, on which the engines rely.
    """
    ranks: dict[Pair, tuple[int, int]] = {}
    made: set[int] = set()
    for rank, pair in enumerate(merges):
        joining: list[Any] = []
        for i in pair:
            token = vocabulary[i] if 0 <= i < len(vocabulary) else None
            if token is None:
                raise ValueError(f"merge {rank} uses the id {i}, which no token has")
            if len(token) > 1 and i not in made:
                raise ValueError(f"merge {rank} uses token {i}, {token!r}, which no earlier merge makes")
            joining.append(token)
        joined = joining[0] + joining[1]
        if joined not in ids:
            raise ValueError(f"merge {rank} makes {joined!r}, which is not among the tokens")
        if ids[joined] in made:
            raise ValueError(f"merge {rank} makes {joined!r}, which an earlier merge makes already")
        made.add(ids[joined])
        ranks[pair] = rank, ids[joined]
    return ranks
