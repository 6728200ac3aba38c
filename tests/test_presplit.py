"""Cutting text into pieces."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from bpe import presplit

EXPRESSIONS = ["", "a", "a*", "(?=a)", r"\b", r"\s+$", "(a)|b", r"\p{L}+", presplit.VERSE, presplit.WORDS]


@given(st.text("ab，。 \n1"), st.lists(st.sampled_from(EXPRESSIONS), max_size=3))
def test_joined_the_pieces_are_the_text(text, expressions):
    pieces = presplit.pieces(text, expressions)
    assert "".join(pieces) == text
    assert all(pieces)


@given(st.text("ab "), st.text("ab()[]*+?|\\.", max_size=6))
def test_nothing_is_lost_whatever_the_expression(text, expression):
    try:
        expressions = presplit.resolve(expression)
    except ValueError:
        return
    assert "".join(presplit.pieces(text, expressions)) == text


def test_matches_and_gaps():
    assert presplit.pieces("to be, or", ["[a-z]+"]) == ["to", " ", "be", ", ", "or"]


def test_expressions_are_applied_in_turn():
    assert presplit.pieces("ab12 cd", [r"\d", r"[a-z]"]) == ["a", "b", "1", "2", " ", "c", "d"]


def test_verse_takes_lines_and_punctuation_apart():
    assert presplit.pieces("床前明月光，疑是地上霜。\n", presplit.resolve("verse")) == [
        "床前明月光",
        "，",
        "疑是地上霜",
        "。",
        "\n",
    ]


def test_names_are_resolved():
    assert presplit.resolve(None) == ()
    assert presplit.resolve(["words", "x"]) == (presplit.WORDS, "x")
    with pytest.raises(ValueError, match="is not a regular expression"):
        presplit.resolve("[a")


def test_expressions_have_the_syntax_of_regex():
    assert regex.compile(presplit.resolve(r"\p{Han}")[0]).fullmatch("月")
