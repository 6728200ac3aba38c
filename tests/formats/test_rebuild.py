"""Merges rebuilt from ranks, compared with merging by rank as defined."""

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bpe import BPETokenizer
from bpe.formats.rebuild import needs_whole_pieces, rebuild_merges


def by_rank(text: str, ranks: Mapping[tuple[str, str], int]) -> list[str]:
    """Merge the first pair of neighbours with the lowest rank, one at a time."""
    parts = list(text)
    while True:
        found = [(ranks[pair], i) for i, pair in enumerate(pairwise(parts)) if pair in ranks]
        if not found:
            return parts
        _, i = min(found)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


def all_pairs(tokens: list[str]) -> dict[tuple[str, str], int]:
    """tiktoken's rule: any two tokens that join to a token, ranked by the id of that token."""
    return {
        (token[:end], token[end:]): rank
        for rank, token in enumerate(tokens)
        for end in range(1, len(token))
        if token[:end] in tokens and token[end:] in tokens
    }


vocabularies = st.lists(st.text("abc", min_size=2, max_size=6), unique=True, max_size=14).map(
    lambda longer: ["a", "b", "c", *longer]
)
texts = st.lists(st.text("abc", max_size=14), max_size=6)


@example(["a", "b", "c", "abc", "ab"], ["abcab"])
@example(["a", "b", "c", "aab", "abab", "ab"], ["aababab"])
@given(vocabularies, texts)
def test_merges_give_what_ranks_give(tokens, texts):
    try:
        merges = rebuild_merges(tokens, lambda pair, joined: joined)
    except ValueError:
        assume(False)
    tokenizer = BPETokenizer(tokens, merges)
    ranks = all_pairs(tokens)
    for text in [*tokens, *texts, "".join(tokens)]:
        for engine in ("naive", "incremental"):
            ids = tokenizer.encode(text, engine=engine)
            assert [tokenizer.token(i) for i in ids] == by_rank(text, ranks)


@given(vocabularies, st.randoms(), texts)
def test_any_of_the_pairs_in_any_order(tokens, random, texts):
    """A tokenizer.json may list some of the pairs, not in id order."""
    pairs = [pair for pair in all_pairs(tokens) if random.random() < 0.8]
    random.shuffle(pairs)
    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    try:
        merges = rebuild_merges(tokens, lambda pair, _: ranks.get((tokens[pair[0]], tokens[pair[1]])))
    except ValueError:
        assume(False)
    tokenizer = BPETokenizer(tokens, merges)
    for text in [*texts, "".join(tokens)]:
        assert tokenizer.tokens(text) == by_rank(text, ranks)


def test_a_vocabulary_without_an_order_is_refused():
    """Each new ab takes the next a at once, even if that a begins the next ab."""
    tokens = ["a", "b", "aba", "ab"]
    assert by_rank("abab", all_pairs(tokens)) == ["aba", "b"]
    with pytest.raises(ValueError, match="token 2, 'aba', is made of a later token"):
        rebuild_merges(tokens, lambda pair, joined: joined)


def test_a_token_made_of_a_later_one_follows_it():
    tokens = ["a", "b", "c", "abc", "bc", "ac", "ab"]
    assert rebuild_merges(tokens, lambda pair, joined: joined) == [(1, 2), (0, 4), (0, 2), (0, 1)]
    tokens = ["a", "b", "c", "abc", "ac", "ab"]
    assert rebuild_merges(tokens, lambda pair, joined: joined) == [(0, 2), (0, 1), (5, 2)]


def test_a_token_that_no_pair_makes():
    tokens = [b"a", b"b", b"abb", b"ab"]
    merges = rebuild_merges(tokens, lambda pair, joined: joined)
    assert merges == [(0, 1), (3, 1)]
    tokens = [b"a", b"b", b"aabb", b"ab"]
    merges = rebuild_merges(tokens, lambda pair, joined: joined)
    assert merges == [(0, 1)]
    assert needs_whole_pieces(tokens, merges)
    assert not needs_whole_pieces([b"a", b"b", b"ab"], [(0, 1)])


@given(st.text("abc ", min_size=1, max_size=60))
def test_the_merges_of_training_are_rebuilt(text):
    trained = BPETokenizer.train(text, 300, min_frequency=1)
    assert tuple(rebuild_merges(trained.vocabulary, lambda pair, joined: joined)) == trained.merges
