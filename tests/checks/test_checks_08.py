"""The checks of chapter 8 know right answers from wrong ones."""

import heapq
from itertools import pairwise

import pytest
from answers import assert_no_answer_is_known

from bpe import count_pairs, merge_pair, naive
from bpe.checks import chapter_08 as check
from bpe.fast import incremental


@pytest.mark.parametrize("number", [1, 3, 4])
def test_stub_and_exception(said, number):
    assert_no_answer_is_known(said, check, number)


# Exercise 1


def changes(symbols, pair, new):
    before, after = count_pairs(symbols), count_pairs(merge_pair(symbols, pair, new))
    return {known: after[known] - before[known] for known in before | after if after[known] != before[known]}


def with_zeros(symbols, pair, new):
    before, after = count_pairs(symbols), count_pairs(merge_pair(symbols, pair, new))
    return {known: after[known] - before[known] for known in before | after}


def only_what_comes(symbols, pair, new):
    return count_pairs(merge_pair(symbols, pair, new)) - count_pairs(symbols)


def neighbours_in_the_old_text(symbols, pair, new):
    """Right unless places lie side by side."""
    found = dict.fromkeys([pair], 0)

    def add(changed, by):
        found[changed] = found.get(changed, 0) + by

    i = 0
    while i < len(symbols) - 1:
        if (symbols[i], symbols[i + 1]) != pair:
            i += 1
            continue
        add(pair, -1)
        if i:
            add((symbols[i - 1], pair[0]), -1)
            add((symbols[i - 1], new), 1)
        if i + 2 < len(symbols):
            add((pair[1], symbols[i + 2]), -1)
            add((new, symbols[i + 2]), 1)
        i += 2
    return {known: by for known, by in found.items() if by}


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (changes, "exercise 1: correct"),
        (with_zeros, "leave out pairs whose count does not change"),
        (only_what_comes, "For the symbols of 'vxabyw' and the pair ('a', 'b') you return {('x', 'Z'): 1"),
        (neighbours_in_the_old_text, "For the symbols of 'aaaa' and the pair ('a', 'a') you return"),
        (lambda *given: [], "it should be a dictionary"),
    ],
)
def test_exercise_1(said, answer, verdict):
    assert verdict in said(check.exercise_1, answer)


# Exercise 2


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (..., "exercise 2: not started"),
        (("aaa", "aa"), "exercise 2: correct"),
        (("xxx", "xx"), "exercise 2: correct"),
        (("baaa", "aa"), "'baaa' shows it: 'bZZ' instead of 'bZa'. But a shorter text exists"),
        (("abab", "ab"), "For 'abab' the quick way is right: it makes 'ZZ'"),
        (("aaaa", "aa"), "But a shorter text exists"),
        (("low", "aa"), "The pair 'aa' does not occur in 'low'"),
        (("ZZZ", "ZZ"), "choose other letters"),
        (("aaa", "a"), "Give (text, pair)"),
        ("aaa", "Give (text, pair)"),
        ((["a", 3], ("a", "a")), "Give (text, pair)"),
        (3, "Give (text, pair)"),
    ],
)
def test_exercise_2(said, answer, verdict):
    assert verdict in said(check.exercise_2, answer)


# Exercise 3


def in_order(shards):
    total = {}
    for _, counts in sorted(shards, key=lambda shard: shard[0]):
        for piece, count in counts.items():
            total[piece] = total.get(piece, 0) + count
    return total


def as_they_come(shards):
    return in_order([(0, counts) for _, counts in shards])


def by_name(shards):
    return in_order(sorted(shards, key=lambda shard: str(shard[0])))


def last_one_counts(shards):
    total = {}
    for _, counts in sorted(shards, key=lambda shard: shard[0]):
        total |= counts
    return total


def in_place(shards):
    shards.sort(key=lambda shard: shard[0])
    return in_order(shards)


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (in_order, "exercise 3: correct"),
        (as_they_come, "the totals are right, but their order is ['b', 'a', 'c'], not ['a', 'c', 'b']"),
        (last_one_counts, "you return {'a': 2, 'c': 4, 'b': 1}; it should be {'a': 3, 'c': 4, 'b': 1}"),
        (in_place, "changes what it is given"),
        (lambda shards: 0, "you return 0"),
    ],
)
def test_exercise_3(said, answer, verdict):
    assert verdict in said(check.exercise_3, answer)


# Exercise 4


def with_heap(ids, merges):
    symbols = [*ids, None]
    before, after = list(range(-1, len(ids))), list(range(1, len(ids) + 2))
    heap = []

    def put(i):
        if (new := merges.get((symbols[i], symbols[after[i]]))) is not None:
            heapq.heappush(heap, (new, i))

    for i in range(len(ids)):
        put(i)
    while heap:
        new, i = heapq.heappop(heap)
        j = after[i]
        if symbols[i] is None or merges.get((symbols[i], symbols[j])) != new:
            continue
        symbols[i], symbols[j] = new, None
        after[i] = after[j]
        before[after[j]] = i
        if before[i] >= 0:
            put(before[i])
        put(i)
    return [symbol for symbol in symbols if symbol is not None]


def by_the_module(ids, merges):
    return incremental.apply_merges(ids, {pair: (new, new) for pair, new in merges.items()})


def in_loop(ids, merges):
    ids = list(ids)
    while True:
        known = [new for pair in pairwise(ids) if (new := merges.get(pair)) is not None]
        if not known:
            return ids
        pair = next(pair for pair, new in merges.items() if new == min(known))
        ids = merge_pair(ids, pair, min(known))


def in_loop_over_a_copy(ids, merges):
    """Asks a dictionary that does not count."""
    return in_loop(ids, dict(merges))


def from_the_left(ids, merges):
    """Takes what comes first in the text, not what was learned first."""
    ids, i = list(ids), 0
    while i < len(ids) - 1:
        new = merges.get((ids[i], ids[i + 1]))
        if new is None:
            i += 1
        else:
            ids[i : i + 2] = [new]
            i = max(i - 1, 0)
    return ids


def changing(ids, merges):
    ids[:] = with_heap(ids, merges)
    return ids


def one_pass(ids, merges):
    for pair, new in merges.items():
        ids = merge_pair(ids, pair, new)
    return ids


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (with_heap, "exercise 4: correct"),
        (by_the_module, "exercise 4: correct"),
        (in_loop, "The ids are right, but for a text of 1,000 ids and 86 merges you look up"),
        (one_pass, "The ids are right, but for a text of 1,000 ids and 86 merges you compare symbols"),
        (in_loop_over_a_copy, "for a text of 1,000 ids and 86 merges you compare symbols"),
        (from_the_left, "For the ids [1, 2, 3] and the merges"),
        (changing, "changes the list that it is given: [1, 2, 1, 2, 3] became [5, 3]"),
    ],
)
def test_exercise_4(said, answer, verdict):
    assert verdict in said(check.exercise_4, answer)


def test_the_counting_dictionary_also_counts_a_walk_over_all_merges():
    asked = check._Merges({(1, 2): 3, (3, 3): 4})
    naive.apply_merges([1, 2], {pair: (new, new) for pair, new in asked.items()})
    assert (asked.times, list(asked), asked.times, (1, 2) in asked, asked[3, 3], asked.times) == (
        2,
        [(1, 2), (3, 3)],
        4,
        True,
        4,
        6,
    )
    assert one_pass([1, 2], asked) == [3]
