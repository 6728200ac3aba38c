"""The checks of chapter 5: right answers, the untouched stubs, and what learners get wrong.

That 5,000 poems give «correct» in exercise 1 is shown by the solutions notebook, and here in the long tests.
"""

from __future__ import annotations

import functools

import pytest

from bpe import BPETokenizer, corpora
from bpe.checks import chapter_05 as check
from bpe.show import readable

HAS_POEMS = (corpora.data_folder() / corpora.TANG_POEMS).exists()
needs_poems = pytest.mark.skipif(not HAS_POEMS, reason="the Tang poems are not prepared")


@functools.cache
def train(num_poems=2000, joined=True, num_merges=1_500, **options):
    chosen = corpora.tang_poems()[:num_poems]
    return BPETokenizer.train("\n".join(chosen) if joined else chosen, 256 + num_merges, **options)


def with_mark(tokenizer):
    marks = "，".encode(), "。".encode()
    tokens = map(tokenizer.token, range(tokenizer.vocab_size))
    return [token for token in tokens if token not in marks and any(mark in token for mark in marks)]


def from_characters(text, num_merges):
    base = sorted({*text, "□"})
    size = len(base) + num_merges
    return BPETokenizer.train(text, size, alphabet="characters", base_tokens=base)


def legible(tokenizer, text):
    known = {token for token in tokenizer.vocabulary if len(token) == 1}
    return "".join(character if character in known else "□" for character in text)


def test_stubs_are_not_started(said):
    def unwritten(*arguments): ...

    assert said(check.exercise_1, ...) == "exercise 1: not started"
    assert said(check.exercise_2, ..., unwritten) == "exercise 2: not started"
    assert said(check.exercise_2, ..., with_mark) == "exercise 2: not yet. `cut` is not started."
    assert said(check.exercise_3, unwritten, unwritten) == "exercise 3: not started"
    assert said(check.exercise_3, from_characters, unwritten) == (
        "exercise 3: not yet. `legible` is not started."
    )


# Exercise 1


CHARACTERS = [chr(code).encode() for code in range(0x4E00, 0x4E00 + 1_500)]
SPLIT = BPETokenizer([*(bytes([i]) for i in range(256)), *CHARACTERS], split="verse")


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (0.92, "should be a BPETokenizer, not a float"),
        (BPETokenizer.train("月光月光", 257), "of 257 tokens; 256 bytes and 1,500 merges make 1,756"),
        (BPETokenizer.train("月光月光", 3, alphabet="characters"), "starts from characters"),
        (SPLIT, "splits the text first"),
    ],
)
def test_larger_of_another_kind(said, answer, hint):
    assert hint in said(check.exercise_1, answer)


@needs_poems
def test_larger_from_other_poems(said):
    assert "as after 2,000 poems" in said(check.exercise_1, train())
    assert "Join them with newlines" in said(check.exercise_1, train(300, joined=False))
    assert "it should need 25,057" in said(check.exercise_1, train(300))


@needs_poems
@pytest.mark.full
def test_larger_from_5000_poems(said):
    assert said(check.exercise_1, train(5000)) == "exercise 1: correct"


# Exercise 2


@needs_poems
def test_cut_at_punctuation(said):
    cut = train(pattern="verse")
    assert said(check.exercise_2, cut, with_mark) == "exercise 2: correct"


@needs_poems
def test_cut_elsewhere(said):
    assert "of 1,500 tokens; 256 bytes" in said(check.exercise_2, train(300, num_merges=1_244), with_mark)
    assert "`cut` has no pattern" in said(check.exercise_2, train(), with_mark)
    by_lines = train(300, pattern=r"[^\n]+")
    assert "still has tokens that join a mark" in said(check.exercise_2, by_lines, with_mark)
    line_ends_join = train(300, pattern=r"[，。]")
    assert "another text or pattern" in said(check.exercise_2, line_ends_join, with_mark)


def mark_at_the_front(tokenizer):
    return [token for token in with_mark(tokenizer) if token.startswith(("，".encode(), "。".encode()))]


def mark_in_the_text(tokenizer):
    """Pieces of characters are lost when each token is decoded."""
    texts = {token: token.decode(errors="ignore") for token in tokenizer.vocabulary}
    return [token for token, text in texts.items() if len(text) > 1 and set(text) & set("，。")]


def mark_or_more(tokenizer):
    return [token for token in tokenizer.vocabulary if set(token.decode(errors="ignore")) & set("，。")]


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (mark_at_the_front, "are [人。⏎], with_mark returns []; it should be [人。⏎]"),
        (mark_in_the_text, "are [，[e5]], with_mark returns []; it should be [，[e5]]"),
        (mark_or_more, "are [，], with_mark returns [，]; it should be []"),
        (
            lambda tokenizer: list(map(readable, with_mark(tokenizer))),
            "returns ['，不']; it should be [，不]",
        ),
        (lambda tokenizer: len(with_mark(tokenizer)), "returns 0; it should be []"),
        (lambda tokenizer: tokenizer.no_such_thing, ">) raised AttributeError: "),
    ],
)
def test_with_mark_wrong(said, answer, hint):
    tokens = [*(bytes([i]) for i in range(256)), *CHARACTERS[1:], "不知".encode()]
    cut = BPETokenizer(tokens, split="verse")
    assert hint in said(check.exercise_2, cut, answer)


# Exercise 3


def test_from_characters(said):
    assert said(check.exercise_3, from_characters, legible) == "exercise 3: correct"


def without_the_lost(text, num_merges):
    return BPETokenizer.train(text, len(set(text)) + num_merges, alphabet="characters")


def only_merges(text, num_merges):
    base = sorted({*text, "□"})
    return BPETokenizer.train(text, num_merges, alphabet="characters", base_tokens=base)


def twice_lost(text, num_merges):
    base = [*sorted(set(text)), "□"]
    return BPETokenizer.train(text, len(base) + num_merges, alphabet="characters", base_tokens=base)


def too_few(text, num_merges):
    base = sorted({*text, "□"})
    size = len(set(text)) + num_merges
    return BPETokenizer.train(text, max(size, len(base)), alphabet="characters", base_tokens=base)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (without_the_lost, r"from_characters('月光月光\n', 0) has the base tokens"),
        (only_merges, r"only_merges('月光月光\n', 0) raised ValueError: vocab_size 0 is too small"),
        (twice_lost, "'山□山□山□', 1) has 2 merges, not 1. Its vocabulary size is 2 base tokens"),
        (too_few, r"'月光月光\n', 1) has 0 merges, not 1. Its vocabulary size is 4 base tokens"),
        (lambda text, num_merges: BPETokenizer.train(text, 256 + num_merges), "works on bytes"),
        (lambda text, num_merges: sorted({*text, "□"}), "returned a list; it should be a BPETokenizer"),
    ],
)
def test_from_characters_wrong(said, answer, hint):
    assert hint in said(check.exercise_3, answer, legible)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda tokenizer, text: text, "'月亮') returned '月亮'; it should be '月□'"),
        (
            lambda tokenizer, text: "".join(c for c in text if c in tokenizer.vocabulary),
            "returned '月'; it should be '月□'",
        ),
        (lambda tokenizer, text: tokenizer.encode(legible(tokenizer, text)), "returned [4, "),
    ],
)
def test_legible_wrong(said, answer, hint):
    assert hint in said(check.exercise_3, from_characters, answer)
