"""The checks of chapter 8: changes of counts, a counterexample, counts in order, encoding with a heap."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from bpe import naive
from bpe.checks import exercise, make_hint
from bpe.checks.chapter_03 import compare_encoding
from bpe.naive import count_pairs, merge_pair

Pair = tuple[Any, Any]


@exercise(
    "The function may be slow. When could you count the pairs, so that a difference is the answer?",
    (
        "Count the pairs before and after the merge; the change is the difference. `Counter` gives 0 for "
        "a pair that is not there."
    ),
    (
        "`before`, `after` from `count_pairs`; go through the keys of both and keep `after[p] - "
        "before[p]` where it is not 0."
    ),
)
def exercise_1(changes: Callable[..., Any]) -> str | None:
    rng = random.Random(1)
    texts = ["vxabyw", "xyz", "aaa", "aaaa", "abab", "ab"]
    texts += ["".join(rng.choices("ab", k=rng.randrange(2, 9))) for _ in range(100)]
    for text in texts:
        counts = count_pairs(text)
        pair = ("a", "b") if text in ("vxabyw", "xyz") else max(counts, key=counts.__getitem__)
        after = count_pairs(merge_pair(text, pair, "Z"))
        expected = {p: after[p] - counts[p] for p in [*counts, *after] if after[p] != counts[p]}
        got = changes(list(text), pair, "Z")
        case = f"For the symbols of {text!r} and the pair {pair}"
        if not isinstance(got, dict):
            return f"{case} you return {got!r}; it should be a dictionary."
        if 0 in got.values():
            return f"{case} you return {dict(got)}; leave out pairs whose count does not change."
        if dict(got) != expected:
            return f"{case} you return {dict(got)}; it should be {expected}."
    return None


def _merge_in_place(symbols: str, pair: Pair) -> tuple[list[str], dict[Pair, int]]:
    """Merge a pair as the wrong improvement of section 8 does; return symbols, and the counts above 0."""
    left, right = pair
    text: list[str | None] = [None, *symbols, None]
    before, after = list(range(-1, len(text) - 1)), list(range(1, len(text) + 1))
    counts: Any = count_pairs(symbols)
    for i in [i for i, there in enumerate(pairwise(symbols), start=1) if there == pair]:
        j = after[i]
        h, k = before[i], after[j]
        text[i], text[j] = "Z", None
        after[i], before[k] = k, i
        for gone, come in (((text[h], left), (text[h], "Z")), ((right, text[k]), ("Z", text[k]))):
            if None not in come:
                counts[gone] -= 1
                counts[come] += 1
    del counts[pair]
    return [symbol for symbol in text if symbol is not None], dict(+counts)


@exercise(
    "In which texts can merging one place of a pair destroy another place of the same pair?",
    (
        "The places of a pair can overlap. When the first one is merged, the second one is gone, but it "
        "is still in the list."
    ),
    "A single letter, repeated, is enough. How often must it occur for two places to overlap?",
)
def exercise_2(counterexample: Any) -> str | None:
    match counterexample:
        case (str(), str()) | (str(), [str(), str()]) | ([*_], str()) | ([*_], [str(), str()]):
            symbols, pair = map(tuple, counterexample)
        case _:
            symbols = pair = ()
    if len(pair) != 2 or not all(isinstance(one, str) and len(one) == 1 for one in symbols + pair):
        return "Give (text, pair): two strings, the second of two letters, such as ('low', 'lo')."
    text, both = "".join(symbols), "".join(pair)
    if "Z" in text:
        return "'Z' stands for the new token, so choose other letters."
    if pair not in count_pairs(text):
        return f"The pair {both!r} does not occur in {text!r}."
    merged = merge_pair(text, pair, "Z")
    got, counts = _merge_in_place(text, pair)
    if got == merged and counts == count_pairs(merged):
        return f"For {text!r} the quick way is right: it makes {''.join(got)!r} and counts correctly."
    if len(text) > 3:
        return (
            f"{text!r} shows it: {''.join(got)!r} instead of {''.join(merged)!r}. But a shorter text exists."
        )
    return None


def _shards() -> Iterator[list[tuple[int, dict[str, int]]]]:
    yield [(1, {"b": 1, "a": 2}), (0, {"a": 1, "c": 4})]
    yield []
    yield [(0, {})]
    yield [(2, {"x": 1}), (0, {"y": 1}), (10, {"x": 3, "z": 1}), (1, {"z": 1, "y": 2})]
    rng = random.Random(3)
    for _ in range(50):
        shards = [
            (number, {word: rng.randint(1, 3) for word in rng.sample("abcde", rng.randrange(5))})
            for number in range(rng.randrange(6))
        ]
        rng.shuffle(shards)
        yield shards


@exercise(
    "In which order would one machine read the parts?",
    (
        "Sort the parts by their number, then add the counts. A dictionary keeps the order in which its "
        "keys came in."
    ),
    (
        "`for _, counts in sorted(shards, key=lambda shard: shard[0]):` add each count to "
        "`total.get(piece, 0)`."
    ),
)
def exercise_3(add_in_order: Callable[..., Any]) -> str | None:
    for shards in _shards():
        expected: dict[str, int] = {}
        for _, counts in sorted(shards, key=lambda shard: shard[0]):
            for piece, count in counts.items():
                expected[piece] = expected.get(piece, 0) + count
        given = [(number, dict(counts)) for number, counts in shards]
        got = add_in_order(given)
        if given != shards:
            return f"Your function changes what it is given: {shards} became {given}."
        if not isinstance(got, dict) or dict(got) != expected:
            return f"For {shards} you return {got!r}; it should be {expected}."
        if list(got) != list(expected):
            return f"For {shards} the totals are right, but their order is {list(got)}, not {list(expected)}."
    return None


class _Merges(dict[Pair, int]):
    """Merges that count how often a pair is looked up. Going through all of them counts once for each."""

    times = 0

    def __contains__(self, key: object) -> bool:
        self.times += 1
        return super().__contains__(key)

    def __getitem__(self, key: Pair) -> int:
        self.times += 1
        return super().__getitem__(key)

    def get(self, key: Pair, default: Any = None) -> Any:
        self.times += 1
        return super().get(key, default)

    def __iter__(self) -> Iterator[Pair]:
        self.times += len(self)
        return super().__iter__()

    def items(self) -> Any:
        self.times += len(self)
        return super().items()


class _Symbol(int):
    """A symbol that counts how often symbols are compared."""

    times = 0
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        _Symbol.times += 1
        return super().__eq__(other)


# Limits per symbol of the text. A heap needs about six lookups of pairs and about eight comparisons of
# symbols, most of these inside dictionaries.
LOOKUPS, COMPARISONS = 12, 24


@exercise(
    "An entry of the heap can be out of date. What do you compare to find out?",
    (
        "Entries are `(new id, position)`. One is valid only if the symbol at that position is alive and "
        "it, with the symbol after it, is still the pair of this very id; a different pair may be there "
        "now."
    ),
    (
        "Skip an entry if `merges.get((symbols[i], symbols[after[i]])) != new`. After a merge put the "
        "pairs at `before[i]` and at `i` into the heap."
    ),
)
def exercise_4(encode_with_heap: Callable[..., Any]) -> str | None:
    if hint := compare_encoding(encode_with_heap, seed=4):
        return hint
    text = random.Random(5).choices(range(8), k=1_000)
    steps = naive.learn_merges([text], [1], 150, 8)
    asked = _Merges({step.pair: _Symbol(step.new_id) for step in steps})
    _Symbol.times = 0
    encode_with_heap(list(map(_Symbol, text)), asked)
    if asked.times > LOOKUPS * len(text):
        return (
            f"The ids are right, but for a text of {len(text):,} ids and {len(asked)} merges you look up "
            f"{asked.times:,} pairs; with a heap it takes fewer than {LOOKUPS * len(text):,}."
        )
    if _Symbol.times > COMPARISONS * len(text):
        return (
            f"The ids are right, but for a text of {len(text):,} ids and {len(asked)} merges you compare "
            f"symbols {_Symbol.times:,} times; with a heap it takes fewer than {COMPARISONS * len(text):,}."
        )
    return None


hint = make_hint(__name__)
