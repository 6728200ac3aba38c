"""Tokenizers whose content would fill the memory, or take for ever."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest

from bpe import Unigram, WordBPE, WordPiece, special
from bpe.subwords import words
from bpe.subwords.unigram import Piece


def test_merges_that_double_a_token_each_time() -> None:
    merges = [(0, 0), *((i, i) for i in range(2, 62))]
    with pytest.raises(ValueError, match=r"merge 2[0-9] brings the tokens to more than 10,000,000 symbols"):
        WordBPE("a", merges)


def test_the_most_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "MOST_SYMBOLS", 8)  # a, </w>, aa, aaaa
    assert WordBPE("a", [(0, 0), (2, 2)]).tokens("aaaa") == ["aaaa", "</w>"]
    monkeypatch.setattr(words, "MOST_SYMBOLS", 7)
    with pytest.raises(ValueError, match="merge 1 brings"):
        WordBPE("a", [(0, 0), (2, 2)])


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        (("b" * 1_001, -1.0), ValueError, "piece 1 has 1,001 characters; the most are 1,000"),
        (("b", math.nan), ValueError, "the score of piece 1 must be finite"),
        (("b", -math.inf), ValueError, "the score of piece 1 must be finite"),
        (("b", 1e39), ValueError, "the score of piece 1 is beyond 32 bits"),
        (("b", True), TypeError, "the score of piece 1 must be a number, not True"),
        ("bc", TypeError, "piece 1 must be"),
        (("b",), TypeError, "piece 1 must be"),
        (("b", -1.0, "other"), ValueError, "of the unknown kind"),
        (("b", -1.0, []), ValueError, "of the unknown kind"),
    ],
)
def test_pieces_of_unigram(entry: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Unigram([("a", -1.0), entry])


@pytest.mark.parametrize("prefix", ["no", 0, None])
def test_whether_a_space_is_added_is_true_or_false(prefix: Any) -> None:
    with pytest.raises(TypeError, match="prefix must be True or False"):
        Unigram([("a", -1.0)], prefix)


@pytest.mark.parametrize("pieces", ["ab", {"a", "b"}, {"a": -1.0}])
def test_pieces_are_a_list(pieces: Any) -> None:
    for kind in (Unigram, WordPiece):
        with pytest.raises(TypeError, match="pieces must be a list"):
            kind(pieces)


def test_very_many_user_defined_pieces_and_lengths_take_little_time() -> None:
    pieces = [Piece("a", -1.0), *(Piece(f"a{i}", 0.0, "user-defined") for i in range(30_000))]
    start = time.monotonic()
    assert len(Unigram(pieces, False).encode("a7" * 5_000)) == 5_000
    lengths = WordPiece(["a", "##a", "b" * 1_000_000], max_characters=10**9)
    assert len(lengths.encode("a" * 50_000)) == 50_000
    assert time.monotonic() - start < 30


def test_special_tokens_have_limits() -> None:
    assert special.check_names(["x" * 1_000]) and special.check_names(["x" * 1_001], "piece")
    with pytest.raises(ValueError, match="a special token may have 1,000 characters, not 10,000,000: 'xxx"):
        special.check_names(["x" * 10_000_000])
    with pytest.raises(ValueError, match="may have 1,000,000 characters in all, not 1,388,890"):
        special.check_names([f"<special{i}>" for i in range(100_000)])
