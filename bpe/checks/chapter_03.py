"""The checks of chapter 3: a pair counted, a wrong merge found, encoding in one pass, merges recovered."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from bpe import BPETokenizer, merge_pair, naive
from bpe.checks import NotStartedError, ReturnedNoneError, exercise

Pair = tuple[int, int]

MOST_FREQUENT = {
    "banana": "an",
    "aaabab": "aa",  # counted without overlaps it would be "ab"
    "abcabcbc": "bc",
    "xyab": "xy",
    "to be or not to be": "to",
    "月月月": "月月",
    "x": "",
    "": "",
}


@exercise
def exercise_1(most_frequent: Callable[[str], str]) -> str | None:
    for text, expected in MOST_FREQUENT.items():
        got = most_frequent(text)
        if isinstance(got, tuple) and "".join(got) == expected:
            return f"For {text!r} you give the tuple {got!r}: join it to a string"
        if got != expected:
            return f"For {text!r} you give {got!r}; it should be {expected!r}"
    return None


def _merge_by_replacing(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    return " ".join(symbols).replace(" ".join(pair), "".join(pair)).split(" ")


@exercise
def exercise_2(counterexample: Any) -> str | None:
    try:
        symbols, pair = counterexample
        symbols, (left, right) = list(symbols), pair
    except (TypeError, ValueError):
        return "Give (symbols, pair): a list of strings, and a tuple of two strings"
    for symbol in (*symbols, left, right):
        if not isinstance(symbol, str) or not symbol or " " in symbol:
            return f"The symbol {symbol!r} is not allowed: take strings that are not empty and hold no space"
    if len(symbols) < 2:
        return "With fewer than two symbols there is nothing to merge; take more"
    right_answer = merge_pair(symbols, (left, right), left + right)
    if _merge_by_replacing(symbols, (left, right)) == right_answer:
        return f"Both ways give {right_answer!r} for {symbols!r} and {(left, right)!r}"
    return None


def _trained(rng: random.Random) -> tuple[list[int], dict[Pair, int]]:
    """A short text over few symbols, and merges learned from another one."""
    symbols = range(rng.randrange(1, 4))
    training = rng.choices(symbols, k=40)
    steps = naive.learn_merges([training], [1], 12, len(symbols))
    return rng.choices(symbols, k=rng.randrange(20)), {step.pair: step.new_id for step in steps}


def _texts_and_merges() -> Iterator[tuple[list[int], dict[Pair, int]]]:
    yield [1, 2, 1, 2, 3], {(1, 2): 4, (4, 4): 5}
    yield [1, 2, 3], {(2, 3): 4, (1, 2): 5}
    yield [], {(1, 2): 4}
    yield [7], {}
    rng = random.Random(0)
    for _ in range(200):
        yield _trained(rng)


@exercise
def exercise_3(encode_in_one_pass: Callable[..., list[int]]) -> str | None:
    for ids, merges in _texts_and_merges():
        ranks = {pair: (rank, new) for rank, (pair, new) in enumerate(merges.items())}
        expected = naive.apply_merges(ids, ranks)
        given = list(ids)
        got = encode_in_one_pass(given, merges)
        if given != ids:
            return f"Your function changes the list that it is given: {ids} became {given}"
        if got != expected:
            return f"For the ids {ids} and the merges {merges} you give {got}; it should be {expected}"
    return None


def _tokenizers() -> Iterator[BPETokenizer]:
    yield BPETokenizer.train("low lower lowest", 300, progress=False)
    yield BPETokenizer.train("that hat, what a hat, at that: the bat", 300, progress=False)
    yield BPETokenizer.train("a" * 40, 300, progress=False)
    rng = random.Random(1)
    for _ in range(10):
        yield BPETokenizer.train("".join(rng.choices("abc", k=60)), 280, progress=False)


@exercise
def exercise_4(recover_merges: Callable[[list[bytes]], list[Pair]]) -> str | None:
    for backwards in (False, True):
        for tokenizer in _tokenizers():
            tokens = [token for token in tokenizer.vocabulary if isinstance(token, bytes)]
            merges = list(tokenizer.merges)
            if backwards:  # the single bytes are the first 256, in whatever order
                tokens[:256] = reversed(tokens[:256])
                merges = [(_moved(left), _moved(right)) for left, right in merges]
            try:
                got = recover_merges(list(tokens))
            except (NotStartedError, ReturnedNoneError):
                raise
            except Exception as error:
                return f"{_case(tokens)} your code raised {type(error).__name__}: {error}"
            if hint := _difference(got, merges, tokens):
                return hint
    return None


def _moved(i: int) -> int:
    return 255 - i if i < 256 else i


def _case(tokens: list[bytes]) -> str:
    return f"With the tokens {tokens[256:]} after the single bytes, where {tokens[0]!r} is the first,"


def _difference(got: Any, merges: list[Pair], tokens: list[bytes]) -> str | None:
    if not isinstance(got, list) or len(got) != len(merges):
        return f"{_case(tokens)} it should be a list of {len(merges)} pairs; you give {got!r}"
    for token, pair, expected in zip(tokens[256:], got, merges, strict=True):
        if pair != expected:
            left, right = (tokens[i] for i in expected)
            made = f"{token!r} was made of {left!r} and {right!r}, the pair {expected}"
            return f"{_case(tokens)} {made}; you give {pair!r}"
    return None
