"""Counting and merging pairs."""

from hypothesis import given
from hypothesis import strategies as st

from bpe import count_pairs, merge_pair

symbols = st.lists(st.sampled_from("ab"), max_size=12)


def test_pairs_are_counted_with_overlap_in_order_of_first_occurrence():
    assert list(count_pairs("aaabdaaabac").items()) == [
        (("a", "a"), 4),
        (("a", "b"), 2),
        (("b", "d"), 1),
        (("d", "a"), 1),
        (("b", "a"), 1),
        (("a", "c"), 1),
    ]


def test_no_pairs_in_short_sequences():
    assert count_pairs([]) == {}
    assert count_pairs([7]) == {}


def test_overlapping_occurrences_merge_from_the_left():
    assert merge_pair("aaa", ("a", "a"), "Z") == ["Z", "a"]
    assert merge_pair("aaaa", ("a", "a"), "Z") == ["Z", "Z"]
    assert merge_pair([1, 2, 3, 1, 2], (1, 2), 4) == [4, 3, 4]


def test_a_pair_may_be_a_list():
    assert merge_pair([1, 2, 3, 1, 2], [1, 2], 4) == [4, 3, 4]


def test_the_new_symbol_may_be_one_of_the_pair():
    assert merge_pair("aaaa", ("a", "a"), "a") == ["a", "a"]
    assert merge_pair("abab", ("a", "b"), "b") == ["b", "b"]


@given(symbols)
def test_every_pair_is_counted(text):
    counts = count_pairs(text)
    assert sum(counts.values()) == max(len(text) - 1, 0)
    for (left, right), count in counts.items():
        assert count == sum(text[i : i + 2] == [left, right] for i in range(len(text)))


@given(symbols)
def test_merging_loses_nothing_and_leaves_no_pair(text):
    merged = merge_pair(text, ("a", "b"), "ab")
    assert "".join(merged) == "".join(text)
    assert ("a", "b") not in count_pairs(merged)


@given(st.integers(0, 20))
def test_a_run_of_equal_symbols_halves(length):
    assert merge_pair("a" * length, ("a", "a"), "Z") == ["Z"] * (length // 2) + ["a"] * (length % 2)
