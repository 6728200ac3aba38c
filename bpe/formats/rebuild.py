"""Rebuild the merges of a vocabulary that lists none, or more than can happen.

A rank file has tokens in order and no pairs: any two tokens whose joined bytes are a token may merge, the
lowest rank first. Some files of `tokenizers` list all such pairs. Yet only one pair ever makes each token. A
token is made when the merges within its bytes have left two parts and nothing has merged across its ends.
Until something does, the merges within it happen as if it were the whole text. So encoding the bytes of the
token alone shows its pair, or that it has none.

Most tokens are made of earlier ones. A token made of a later one (Llama 3 has some) can be made as soon as
that token exists, before anything else: its merge belongs right after the merge that makes the later token.
Then every merge uses what earlier merges made, as the engines require.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bpe.bytepair import index_tokens
from bpe.fast.incremental import apply_merges
from bpe.naive import Pair
from bpe.tokenizer import Token

# (pair, id of the joined token) -> the rank of that pair, or None if it has none.
RankOf = Callable[[Pair, int], int | None]
Ranks = dict[Pair, tuple[int, int]]

# When a merge happens: the rank of the merge it must follow, the number of steps after that, its own rank.
Time = tuple[int, int, int]
BEFORE_ALL: Time = (-1, 0, -1)


def rebuild_merges(vocabulary: Sequence[Token | None], rank_of: RankOf) -> list[Pair]:
    """Return the merges that can happen, in an order that gives the same ids as merging by rank.

    Pairs of different tokens must have different ranks.
    Raises ValueError if no such order exists, as for no vocabulary known to be in use.
    """
    ranks = _find_pairs(vocabulary, rank_of)
    times: dict[int, Time] = {}
    for (left, right), (rank, new) in ranks.items():  # shorter tokens come first
        first, steps, _ = max(times.get(left, BEFORE_ALL), times.get(right, BEFORE_ALL))
        times[new] = (rank, 0, rank) if rank > first else (first, steps + 1, rank)
    _refuse_contested(ranks, times, vocabulary)
    return sorted(ranks, key=lambda pair: times[ranks[pair][1]])


def needs_whole_pieces(vocabulary: Sequence[Token | None], merges: Sequence[Pair]) -> bool:
    """Return whether merging the symbols of some token does not give it, so that it must be taken whole."""
    given = {pair: rank for rank, pair in enumerate(merges)}
    made = _find_pairs(vocabulary, lambda pair, _: given.get(pair))
    return len(made) < sum(1 for token in vocabulary if token and len(token) > 1)


def _find_pairs(vocabulary: Sequence[Token | None], rank_of: RankOf) -> Ranks:
    """Return pair -> (rank, id of the joined token), for the one pair of each token that has one."""
    ids = index_tokens(vocabulary)
    symbol_ids: dict[Any, int] = {token[0]: i for token, i in ids.items() if len(token) == 1}
    ranks: Ranks = {}
    # A part is shorter than the whole, so its own pair is already known.
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
    """Raise ValueError if merging all occurrences of a pair before the next pair could break the ranks.

    By rank, a merge of a later token happens at once, before the next occurrence of the pair that made that
    token. In a list of merges, all those occurrences come first. Both give the same result unless two
    occurrences want the same neighbour. So a neighbour may be wanted from one side only, must not itself
    begin another occurrence, and must not be made in the same place.
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
                f"token {new}, {vocabulary[new]!r}, is made of a later token in a way that no fixed order of "
                f"merges reproduces"
            )
