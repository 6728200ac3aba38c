"""The checks of chapter 3: the most frequent pair, a counterexample, encoding in one pass, lost merges."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bpe import BPETokenizer, merge_pair, naive
from bpe.checks import BYTES, case, exercise, is_same, make_hint, shorten

Pair = tuple[int, int]

MOST_FREQUENT = {
    "banana": "an",
    "aaabab": "aa",  # counted without overlaps it would be "ab"
    "abcabcbc": "bc",
    "xyab": "xy",
    "to be or not to be": "to",
    "a b a c": "a ",  # a space is a character like the others
    "月月月": "月月",
    "x": "",
    "": "",
}


@exercise(
    "You have counted pairs in this chapter already.",
    (
        "`count_pairs(text)` keeps the pairs in the order of the text, and `max` returns the first of "
        "several equals."
    ),
    '`max(counts, key=counts.get, default="")` gives the pair; join its two characters.',
)
def exercise_1(most_frequent: Callable[[str], str]) -> str | None:
    for text, expected in MOST_FREQUENT.items():
        got = most_frequent(text)
        if isinstance(got, (tuple, list)) and is_same(got, list(expected)):
            return f"For {text!r} you return {got!r}; join its two characters into a string."
        if got != expected:
            return f"For {text!r} you return {got!r}; it should be {expected!r}."
    return None


def merge_by_replacing(symbols: Sequence[str], pair: tuple[str, str]) -> list[str]:
    """Merge a pair the wrong way, by replacing text instead of symbols."""
    return " ".join(symbols).replace(" ".join(pair), "".join(pair)).split(" ") if symbols else []


@exercise(
    "In the joined string, where does one symbol end and the next begin? And where does `replace` look?",
    (
        "`replace` also finds a pair in the middle of longer symbols: the end of one symbol and the "
        "beginning of the next."
    ),
    (
        "Take a symbol of two letters whose last letter is the left half of the pair, followed by the "
        "right half."
    ),
)
def exercise_2(counterexample: Any) -> str | None:
    try:
        symbols, pair = counterexample
        symbols, (left, right) = list(symbols), pair
    except (TypeError, ValueError):
        return "Give (symbols, pair): a list of strings and a tuple of two strings."
    for symbol in (*symbols, left, right):
        if not isinstance(symbol, str) or not symbol or " " in symbol:
            return f"The symbol {symbol!r} is not allowed: a symbol must not be empty or contain a space."
    if len(symbols) < 2:
        return "Fewer than two symbols hold no pair to merge; take more."
    right_answer = merge_pair(symbols, (left, right), left + right)
    if merge_by_replacing(symbols, (left, right)) == right_answer:
        told = f"For {symbols} and {(left, right)} both ways return {right_answer}."
        return f"{told} Find a case in which they differ."
    return None


def compare_encoding(encode: Callable[..., list[int]], seed: int) -> str | None:
    """Compare a learner's function (ids, merges) -> ids with the naive engine, on texts of this seed."""
    for ids, merges in _texts_and_merges(random.Random(seed)):
        ranks = {pair: (rank, new) for rank, (pair, new) in enumerate(merges.items())}
        expected = naive.apply_merges(ids, ranks)
        given = list(ids)
        got = encode(given, dict(merges))
        if given != ids:
            return f"Your function changes the list that it is given: {ids} became {given}."
        if not is_same(got, expected):
            return f"For the ids {ids} and the merges {merges} you return {got}; it should be {expected}."
    return None


def _texts_and_merges(rng: random.Random) -> Iterator[tuple[list[int], dict[Pair, int]]]:
    """Ids and merges: a few by hand, then short random texts with merges learned from other texts."""
    yield [1, 2, 1, 2, 3], {(1, 2): 4, (4, 4): 5}
    yield [1, 2, 3], {(2, 3): 4, (1, 2): 5}
    yield [1, 1, 1], {(1, 1): 4}
    yield [0, 1, 2, 3], {(1, 2): 10, (0, 1): 11, (10, 3): 12, (0, 10): 14}  # (0, 1) is no longer there
    yield [], {(1, 2): 4}
    yield [7], {}
    for k in range(200):
        symbols = range(rng.randrange(1, 4 + k % 3))
        steps = naive.learn_merges([rng.choices(symbols, k=40)], [1], 12, len(symbols))
        yield rng.choices(symbols, k=rng.randrange(20)), {step.pair: step.new_id for step in steps}


@exercise(
    "When a pair is merged, can a pair of lower rank appear that was not there before?",
    (
        "A merge makes a new id, and every pair with that id was learned later. So one pass over the "
        "merges in their order is enough."
    ),
    "`for pair, new in merges.items():` replace `ids` by what `merge_pair` makes of it.",
)
def exercise_3(encode_in_one_pass: Callable[..., list[int]]) -> str | None:
    if hint := compare_encoding(encode_in_one_pass, seed=0):
        return hint
    # No training makes these, for 9 is used before it is made: only whoever looks at a merge twice uses both.
    merges = {(9, 3): 8, (1, 2): 9}
    if is_same(found := encode_in_one_pass([1, 2, 3], dict(merges)), [8]):
        return (
            f"The ids are right, but you go through the merges more than once. For [1, 2, 3] and {merges}, "
            f"in this order, a single pass leaves [9, 3]; you return {found}."
        )
    return None


def _tokenizers() -> Iterator[BPETokenizer]:
    yield BPETokenizer.train("low lower lowest", 300, progress=False)
    yield BPETokenizer.train("that hat, what a hat, at that: the bat", 300, progress=False)
    yield BPETokenizer.train("a" * 40, 300, progress=False)
    rng = random.Random(1)
    for _ in range(10):
        yield BPETokenizer.train("".join(rng.choices("abc", k=60)), 280, progress=False)


@exercise(
    (
        "At the moment a token was learned, its text consisted of two tokens. Which merges were known at "
        "that moment?"
    ),
    (
        "Go through the tokens in order. Encode the bytes of each new one with the merges found so far: "
        "two ids are left, and they are its pair."
    ),
    (
        "Start from the positions of its single bytes, apply `encode_in_one_pass(symbols, merges)`, "
        "unpack `left, right`, and set `merges[left, right] = new`."
    ),
)
def exercise_4(recover_merges: Callable[[list[bytes]], list[Pair]]) -> str | None:
    for backwards in (False, True):
        for tokenizer in _tokenizers():
            tokens: list[Any] = list(tokenizer.vocabulary)
            merges = list(tokenizer.merges)
            if backwards:  # the single bytes come first, in any order
                tokens[:256] = reversed(BYTES)
                merges = [(_move(left), _move(right)) for left, right in merges]
            with case(_describe(tokens)):
                got = recover_merges(list(tokens))
            if hint := _compare_merges(got, merges, tokens):
                return hint
    return None


def _move(i: int) -> int:
    return 255 - i if i < 256 else i


def _describe(tokens: list[bytes]) -> str:
    return f"For the tokens {tokens[256:]} after the single bytes, of which {tokens[0]!r} is the first,"


def _compare_merges(got: Any, merges: list[Pair], tokens: list[bytes]) -> str | None:
    if not isinstance(got, (list, tuple)) or len(got) != len(merges):
        return f"{_describe(tokens)} you return {shorten(got)}; it should be a list of {len(merges)} pairs."
    for token, pair, expected in zip(tokens[256:], got, merges, strict=True):
        if not is_same(pair, expected):
            left, right = (tokens[i] for i in expected)
            made = f"{token!r} was made from {left!r} and {right!r}, the pair {expected}"
            return f"{_describe(tokens)} {made}; you return {pair!r}."
    return None


hint = make_hint(__name__)
