"""Cutting where no merge can reach."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bpe import BPETokenizer, presplit

texts = st.text("abc 月", min_size=1, max_size=60)


@given(texts, st.sampled_from(["bytes", "characters"]), texts)
def test_each_run_is_encoded_by_itself(training_text, alphabet, text):
    tokenizer = BPETokenizer.train([training_text, "abc 月"], 300, alphabet=alphabet)
    ids = tokenizer.encode(text, engine="naive")
    assert tokenizer.encode(text, engine="incremental") == ids
    # Once more, from what it remembers.
    assert tokenizer.encode(text, engine="incremental") == ids


@given(texts, st.sets(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"))))
def test_nothing_is_lost_and_every_cut_is_no_joint(text, joints):
    cut = list(presplit.cut_runs(text, joints))
    assert "".join(cut) == text
    assert all((left[-1], right[0]) not in joints for left, right in pairwise(cut))
    assert all(pair in joints for run in cut for pair in pairwise(run))


def test_short_texts():
    assert list(presplit.cut_runs("", set())) == []
    assert list(presplit.cut_runs(b"a", set())) == [b"a"]
