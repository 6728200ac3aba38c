"""Merges for a vocabulary that states none, or more than can happen.

A rank file has tokens in order and no pairs: in it, any two tokens whose joined bytes are a token may be
merged, the lowest rank first. Some files of `tokenizers` list all such pairs. Yet each token is only ever
made by one pair. For a token is made when the merges within its bytes have left two parts, with nothing
merged across its ends; and as long as nothing is, the merges within it happen as if it stood alone. So
encoding the bytes of the token alone shows its pair, or that it has none.

Most tokens are made of earlier ones. Where one is made of a later token (some of Llama 3's are), it can be
made as soon as that token is there, before anything else: its merge has its place right after the merge
that makes the later token. Then every merge uses what earlier ones made, on which the engines rely.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bpe.bytepair import index_tokens
from bpe.fast.incremental import apply_merges
from bpe.naive import Pair
from bpe.tokenizer import Token

# (pair, id of the joined token) -> the rank of that pair, or None where the pair has none.
RankOf = Callable[[Pair, int], int | None]
Ranks = dict[Pair, tuple[int, int]]

# When a merge happens: the rank of the merge that must come first, how many steps after it, its own rank.
Time = tuple[int, int, int]
BEFORE_ALL: Time = (-1, 0, -1)


def rebuilt(vocabulary: Sequence[Token | None], rank_of: RankOf) -> list[Pair]:
    """The merges that can happen, in an order that gives the same ids as merging by rank does.

    No two pairs of different tokens may have the same rank.
    Raises ValueError where no order does, which no vocabulary in use is known to need.
    """
    ranks = _one_pair_a_token(vocabulary, rank_of)
    times: dict[int, Time] = {}
    for (left, right), (rank, new) in ranks.items():  # shorter tokens come first
        first, steps, _ = max(times.get(left, BEFORE_ALL), times.get(right, BEFORE_ALL))
        times[new] = (rank, 0, rank) if rank > first else (first, steps + 1, rank)
    _refuse_contested(ranks, times, vocabulary)
    return sorted(ranks, key=lambda pair: times[ranks[pair][1]])


def needs_whole_pieces(vocabulary: Sequence[Token | None], merges: Sequence[Pair]) -> bool:
    """Whether some token is not what merging its own symbols gives, and only comes up when taken whole."""
    given = {pair: rank for rank, pair in enumerate(merges)}
    made = _one_pair_a_token(vocabulary, lambda pair, _: given.get(pair))
    return len(made) < sum(1 for token in vocabulary if token and len(token) > 1)


def _one_pair_a_token(vocabulary: Sequence[Token | None], rank_of: RankOf) -> Ranks:
    """pair -> (rank, id of the joined token), for the one pair of each token that has one."""
    ids = index_tokens(vocabulary)
    symbol_ids: dict[Any, int] = {token[0]: i for token, i in ids.items() if len(token) == 1}
    ranks: Ranks = {}
    # A part is shorter than the whole, so its own pair is known by then.
    for token in sorted((token for token in ids if len(token) > 1), key=len):
        if all(symbol in symbol_ids for symbol in token):
            left = apply_merges([symbol_ids[symbol] for symbol in token], ranks)
            if len(left) == 2:
                pair = left[0], left[1]
                rank = rank_of(pair, ids[token])
                if rank is not None:
                    ranks[pair] = rank, ids[token]
    return ranks


def _refuse_contested(ranks: Ranks, times: Mapping[int, Time], vocabulary: Sequence[Token | None]) -> None:
    """Raise ValueError where merging all of one pair before the next could differ from the ranks.

    By rank, a merge of a later token happens at once, before the next occurrence of the pair that made
    that token. In a list, all those occurrences come first. Both come to the same unless two occurrences
    want the same neighbour: so a neighbour may be wanted from one side only, must not itself begin another
    occurrence, and must not be made in the same place.
    """
    pair_of_rank = {rank: pair for pair, (rank, _) in ranks.items()}
    wanted: dict[tuple[int, int], int] = {}  # (place, neighbour) -> the side on which it is wanted
    for pair, (_, new) in ranks.items():
        place, steps, _ = times[new]
        if steps == 0:
            continue
        made_there = [times.get(part, BEFORE_ALL)[0] == place for part in pair]
        side = 1 if made_there[0] else 0
        neighbour = pair[side]
        begins_another = side == 1 and neighbour == pair_of_rank[place][0]
        if all(made_there) or begins_another or wanted.setdefault((place, neighbour), side) != side:
            raise ValueError(
                f"token {new}, {vocabulary[new]!r}, is made of a later token in a way that merges in a fixed "
                f"order cannot follow"
            )
