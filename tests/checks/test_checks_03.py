"""The checks of chapter 3 know right answers from wrong ones."""

import pytest
from answers import assert_no_answer_is_known

from bpe import count_pairs, merge_pair
from bpe.checks import chapter_03 as check


@pytest.mark.parametrize("number", [1, 3, 4])
def test_stub_and_exception(said, number):
    assert_no_answer_is_known(said, check, number)


# Exercise 1


def most_frequent(text):
    counts = count_pairs(text)
    return "".join(max(counts, key=counts.get, default=""))


def last_of_ties(text):
    pairs = list(count_pairs(text).items())
    return "".join(max(reversed(pairs), key=lambda pair: pair[1], default=("",))[0])


def without_overlaps(text):
    pairs = dict.fromkeys(text[i : i + 2] for i in range(len(text) - 1))
    return max(pairs, key=text.count, default="")


def nothing_for_short(text):
    return most_frequent(text) if len(text) > 1 else None


def no_pair_forgotten(text):
    counts = count_pairs(text)
    return "".join(max(counts, key=counts.get))


def tuples(text):
    counts = count_pairs(text)
    return max(counts, key=counts.get, default="")


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (most_frequent, "exercise 1: correct"),
        (last_of_ties, "For 'banana' you return 'na'; it should be 'an'"),
        (without_overlaps, "For 'aaabab' you return 'ab'; it should be 'aa'"),
        (nothing_for_short, "nothing_for_short('x') returned None"),
        (no_pair_forgotten, "no_pair_forgotten('x') raised ValueError"),
        (tuples, "('a', 'n'); join its two characters"),
    ],
)
def test_exercise_1(said, answer, verdict):
    assert verdict in said(check.exercise_1, answer)


# Exercise 2


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (..., "exercise 2: not started"),
        ((["so", "l"], ("o", "l")), "exercise 2: correct"),
        ((["s", "ol"], ("s", "o")), "exercise 2: correct"),
        ((["l", "o", "w"], ("l", "o")), "both ways return ['lo', 'w']. Find a case"),
        ((["a", "a", "a"], ("a", "a")), "both ways return ['aa', 'a']"),
        (([], ("a", "b")), "Fewer than two symbols"),
        ((["a ", "b"], ("a", "b")), "'a ' is not allowed"),
        ((["a", ""], ("a", "b")), "'' is not allowed"),
        (([1, 2], (1, 2)), "1 is not allowed"),
        ("so l", "Give (symbols, pair)"),
        (42, "Give (symbols, pair)"),
    ],
)
def test_exercise_2(said, answer, verdict):
    assert verdict in said(check.exercise_2, answer)


# Exercise 3


def in_one_pass(ids, merges):
    for pair, new in merges.items():
        ids = merge_pair(ids, pair, new)
    return ids


def backwards(ids, merges):
    return in_one_pass(ids, dict(reversed(merges.items())))


def first_place_only(ids, merges):
    ids = list(ids)
    for pair, new in merges.items():
        for i in range(len(ids) - 1):
            if (ids[i], ids[i + 1]) == pair:
                ids[i : i + 2] = [new]
                break
    return ids


def in_place(ids, merges):
    ids[:] = in_one_pass(ids, merges)
    return ids


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (in_one_pass, "exercise 3: correct"),
        (backwards, "For the ids [1, 2, 1, 2, 3]"),
        (first_place_only, "you return [4, 1, 2, 3]; it should be [5, 3]"),
        (in_place, "changes the list that it is given: [1, 2, 1, 2, 3] became [5, 3]"),
    ],
)
def test_exercise_3(said, answer, verdict):
    assert verdict in said(check.exercise_3, answer)


# Exercise 4


def recover_merges(tokens):
    ids = {token: i for i, token in enumerate(tokens)}
    merges = {}
    for new, token in enumerate(tokens):
        if len(token) > 1:
            left, right = in_one_pass([ids[bytes([value])] for value in token], merges)
            merges[left, right] = new
    return list(merges)


def bytes_are_ids(tokens):
    merges = {}
    for new, token in enumerate(tokens[256:], 256):
        left, right = in_one_pass(list(token), merges)
        merges[left, right] = new
    return list(merges)


def returns_nothing(tokens):
    recover_merges(tokens)


def longest_left_part(tokens):
    ids = {token: i for i, token in enumerate(tokens)}
    pairs = []
    for token in tokens[256:]:
        cut = max(n for n in range(1, len(token)) if token[:n] in ids and token[n:] in ids)
        pairs.append((ids[token[:cut]], ids[token[cut:]]))
    return pairs


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (recover_merges, "exercise 4: correct"),
        (
            bytes_are_ids,
            "of which b'\\xff' is the first, b'lo' was made from b'l' and b'o', the pair (147, 144)",
        ),
        (longest_left_part, "was made from"),
        (lambda tokens: [], "For the tokens [b'lo', b'low', b' low', b' lowe'] after the single bytes"),
        (lambda tokens: [], "you return []; it should be a list of 4 pairs"),
        (lambda tokens: {}[tokens[256]], "is the first, your code raised KeyError: b'lo'"),
        (returns_nothing, "Is a `return` missing?"),
    ],
)
def test_exercise_4(said, answer, verdict):
    assert verdict in said(check.exercise_4, answer)
