"""The steps of training on a text, worked out by the loop of chapter 3, for a slider to walk through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from bpe import naive, presplit
from bpe.bytepair import BPETokenizer
from bpe.live.packing import to_string
from bpe.naive import Pair

TOP = 8  # pairs shown at each step
OTHERS = 5  # tied pairs named beside the one that is taken


def take_steps(tokenizer: BPETokenizer, text: str, num_merges: int) -> list[dict[str, Any]]:
    """What the text has before each merge and after the last: its pairs, the next one, the ties.

    pair, times: the next merge and how often it occurs; pair is None after the last.
    most, tied: the highest count, and how many pairs have it.
    is_first: whether the next merge is the first of those, as in training on this text.
    """
    steps = []
    pieces = _pieces(tokenizer, text)
    new_ids = [tokenizer.id_of(_join(tokenizer, pair)) for pair in tokenizer.merges[:num_merges]]
    for pair, new_id in zip([*tokenizer.merges[:num_merges], None], [*new_ids, 0], strict=True):
        counts: Counter[Pair] = Counter()
        for ids in pieces:
            counts.update(naive.count_pairs(ids))
        steps.append(_describe(counts, pair))
        if pair:
            pieces = [naive.merge_pair(ids, pair, new_id) for ids in pieces]
    return steps


def _describe(counts: Counter[Pair], pair: Pair | None) -> dict[str, Any]:
    ordered = counts.most_common()
    most = ordered[0][1] if ordered else 0
    tied = [each for each, times in ordered if times == most]
    return {
        "pair": pair,
        "times": counts[pair] if pair else 0,
        "most": most,
        "tied": len(tied),
        "is_first": bool(tied) and pair == tied[0],
        "others": [each for each in tied if each != pair][:OTHERS],
        "top": [(*each, times) for each, times in ordered[:TOP]],
    }


def find_ends(tokenizer: BPETokenizer, text: str, num_merges: int) -> tuple[list[str], list[int]]:
    """Return the symbols of a text and, for each boundary of two, the merge at which it goes; 0 for never."""
    symbols: list[str] = []
    ends: list[int] = []
    for ids in _pieces(tokenizer, text):
        ends += [0] if symbols else []
        symbols += [to_string(tokenizer.vocabulary[i] or "") for i in ids]
        gone = [0] * len(ids)
        before = _boundaries(tokenizer, ids)
        for number, pair in enumerate(tokenizer.merges[:num_merges], 1):
            ids = naive.merge_pair(ids, pair, tokenizer.id_of(_join(tokenizer, pair)))
            after = _boundaries(tokenizer, ids)
            for place in before - after:
                gone[place - 1] = number
            before = after
        ends += gone[:-1]
    return symbols, ends


def rows_after(tokenizer: BPETokenizer, text: str, numbers: Sequence[int]) -> Iterator[list[Any]]:
    """Yield the tokens of the text after each of these numbers of merges."""
    for number in numbers:
        row: list[Any] = []
        for ids in _pieces(tokenizer, text):
            for pair in tokenizer.merges[:number]:
                ids = naive.merge_pair(ids, pair, tokenizer.id_of(_join(tokenizer, pair)))
            row += [tokenizer.vocabulary[i] for i in ids]
        yield row


def _pieces(tokenizer: BPETokenizer, text: str) -> list[list[int]]:
    """The text in pieces, each as the ids of its symbols. Raises ValueError for a symbol without an id."""
    unmerged = BPETokenizer(tokenizer.vocabulary, (), special_tokens=tokenizer.special_tokens)
    return [unmerged.encode(piece, disallowed_special=()) for piece in presplit.pieces(text, tokenizer.split)]


def _join(tokenizer: BPETokenizer, pair: Pair) -> Any:
    left, right = pair
    return tokenizer.vocabulary[left] + tokenizer.vocabulary[right]  # type: ignore[operator]


def _boundaries(tokenizer: BPETokenizer, ids: Sequence[int]) -> set[int]:
    """The places, in symbols, at which tokens end."""
    return set(accumulate(len(tokenizer.vocabulary[i] or "") for i in ids))
