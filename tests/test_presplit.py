"""Cutting text into pieces, and where no merge can reach."""

import time
from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from bpe import BPETokenizer, presplit

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


NAMES = ["gpt2", "gpt4", "gpt4o", "llama3", "qwen", "deepseek"]


@pytest.mark.parametrize("name", list(presplit.PATTERNS))
@given(st.text(st.sampled_from("aZ'sſK 1٣½月か，。!/\t\n\r\u00a0\u3000\u0301\U0001f469\u200d"), max_size=40))
def test_named_splits_lose_nothing(name, text):
    assert "".join(presplit.pieces(text, presplit.resolve(name))) == text


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("gpt2", ["I", "'ll", " pay", " 12345", ",", " it", "'", "S", " fine", "!", "\n\n "]),
        ("gpt4", ["I", "'ll", " pay", " ", "123", "45", ",", " it", "'S", " fine", "!\n\n", " "]),
        ("gpt4o", ["I'll", " pay", " ", "123", "45", ",", " it'S", " fine", "!\n\n", " "]),
        ("llama3", ["I", "'ll", " pay", " ", "123", "45", ",", " it", "'S", " fine", "!\n\n", " "]),
        ("qwen", ["I", "'ll", " pay", " ", *"12345", ",", " it", "'S", " fine", "!\n\n", " "]),
        ("deepseek", ["I", "'ll", " pay", " ", "123", "45", ",", " it", "'S", " fine", "!\n\n", " "]),
    ],
)
def test_the_same_sentence_under_each(name, pieces):
    assert presplit.pieces("I'll pay 12345, it'S fine!\n\n ", presplit.resolve(name)) == pieces


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_line_of_verse_is_one_piece(name):
    assert presplit.pieces("床前明月光", presplit.resolve(name)) == ["床前明月光"]


@given(st.text(st.sampled_from("aZ'sſK 1٣½月，!/\t\n\r\u00a0\u3000"), max_size=30))
def test_two_spellings_of_gpt2_s_split_cut_in_the_same_places(text):
    tiktoken_s = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
    assert presplit.pieces(text, [tiktoken_s]) == presplit.pieces(text, [presplit.GPT2])


run_texts = st.text("abc 月", min_size=1, max_size=60)


@given(run_texts, st.sampled_from(["bytes", "characters"]), run_texts)
def test_each_run_is_encoded_by_itself(training_text, alphabet, text):
    tokenizer = BPETokenizer.train([training_text, "abc 月"], 300, alphabet=alphabet)
    ids = tokenizer.encode(text, engine="naive")
    assert tokenizer.encode(text, engine="incremental") == ids
    # Once more, from what it remembers.
    assert tokenizer.encode(text, engine="incremental") == ids


@given(run_texts, st.sets(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"))))
def test_nothing_is_lost_and_every_cut_is_no_joint(text, joints):
    cut = list(presplit.cut_runs(text, joints))
    assert "".join(cut) == text
    assert all((left[-1], right[0]) not in joints for left, right in pairwise(cut))
    assert all(pair in joints for run in cut for pair in pairwise(run))


def test_short_run_texts():
    assert list(presplit.cut_runs("", set())) == []
    assert list(presplit.cut_runs(b"a", set())) == [b"a"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt-4", "gpt4"),
        ("GPT2", "gpt2"),
        ("gpt4-o", "gpt4o"),
        ("llama-3", "llama3"),
        ("Qwen", "qwen"),
        ("word", "words"),
    ],
)
def test_a_misspelled_name_is_not_taken_as_an_expression(name, meant):
    with pytest.raises(ValueError, match=f"'{name}' is not the name of a pattern: did you mean '{meant}'"):
        presplit.resolve(name)
    assert presplit.resolve(f"(?:{name})") == (f"(?:{name})",)


@pytest.mark.parametrize(
    ("name", "meant"), [("cl100k_base", "gpt4"), ("o200k_base", "gpt4o"), ("r50k_base", "gpt2")]
)
def test_the_names_of_other_programs_are_told(name, meant):
    with pytest.raises(ValueError, match=f"'{name}' is not the name of a pattern: did you mean '{meant}'"):
        presplit.resolve(name)


@pytest.mark.parametrize("name", ["ab", "the", "moon", "bert-base-uncased", "llama_2", "月光"])
def test_a_word_that_is_no_name_is_refused(name):
    with pytest.raises(ValueError, match=f"'{name}' is not the name of a pattern"):
        presplit.resolve(name)
    assert presplit.resolve(f"(?:{name})") == (f"(?:{name})",)


@pytest.mark.parametrize("expression", ["a", r"\w+", "[0-9]", "verses?", " ", "a b", "..", "月|光"])
def test_expressions_that_are_not_misspelled_names(expression):
    assert presplit.resolve(expression) == (expression,)


@pytest.mark.parametrize("expression", [r"a(?=b\K)", r"\Ka", r"a\\\Kb"])
def test_an_expression_that_moves_the_start_of_a_match_is_refused(expression):
    with pytest.raises(ValueError, match="moves the start of a match"):
        presplit.resolve(expression)


def test_a_backslash_before_a_k_is_not_one():
    assert presplit.pieces(r"a\Kb", presplit.resolve(r"\\K")) == ["a", r"\K", "b"]


# -- expressions that nobody has read ------------------------------------------------------------------------

UNBOUNDED = {
    "nested counts": "(((a{1000}){1000}){1000})",
    "a large count": "a{4000000000}",
    "a count of 9,000 digits": "a{" + "9" * 9_000 + "}",
    "a counted group": "(?:a?){30000}",
    "counts behind spaces": "(?x)(a{1000}) # (\n {1000}",
    "counts behind a comment": "(a{1000})(?#b){1000}",
    "a long lookbehind": "(?<=" + "a{1000}" * 1_000 + ")b",
    "a recursion": "(?R)?a",
    "a call of a group": "(a(?1)?)",
    "a call by name": "(?P<x>a(?&x)?)",
    "nested groups": "(" * 4_000 + "a" + ")" * 4_000,
    "nested lookaheads": "(?!" * 900 + "a" + ")" * 900,
    "too long": "|".join(map(str, range(100_000))),
    "too many": ["a"] * 101,
    "too long together": ["a?" * 100] * 51,
    "large counts together": ["a{2000}"] * 51,
}


@pytest.mark.parametrize("pattern", UNBOUNDED.values(), ids=UNBOUNDED)
def test_an_expression_that_could_take_unlimited_memory_is_refused_at_once(pattern):
    with pytest.raises(ValueError) as raised:
        presplit.resolve(pattern)
    assert len(str(raised.value)) < 400
    with pytest.raises(ValueError):
        BPETokenizer([b"a"], split=pattern)


@pytest.mark.parametrize(
    "expression",
    [r"(?:\d{1,3}\.){3}\d{1,3}", r"\p{N}{1,3}" * 300, r"[()?*+]", r"\{99999999\}a"],
)
def test_expressions_within_the_limits(expression):
    assert presplit.resolve(expression) == (expression,)


ENDLESS = ["(?:(?:a|a)+)+$", "(?:a?){60}a{60}$|(a|aa)+$", "(?:(?:a|b)+){e<=3}$", "(a*)*b|(a|a)*$"]


@pytest.mark.parametrize("expression", ENDLESS)
def test_an_expression_that_would_never_end_is_given_up(monkeypatch, expression):
    monkeypatch.setattr(presplit, "SECONDS", 0.2)
    text = "a" * 5_000 + "c"
    start = time.monotonic()
    try:
        pieces = presplit.pieces(text, presplit.resolve(expression))
    except ValueError as error:
        assert "takes too much time or memory on this text of 5,001 characters" in str(error)
    else:  # a later version of `regex` may be faster
        assert "".join(pieces) == text
    assert time.monotonic() - start < 20


def test_the_time_is_that_of_all_matches_together(monkeypatch):
    """Of each piece that an earlier expression left, too."""
    monkeypatch.setattr(presplit, "SECONDS", 0.2)
    slow = "(?:a|a)+b"
    with pytest.raises(ValueError, match="takes too much time"):
        presplit.pieces(("a" * 18 + "c") * 2_000, ["c", slow])
    assert presplit.pieces("a" * 5 + "c", ["c", slow]) == ["aaaaa", "c"]


@pytest.mark.parametrize("name", NAMES)
def test_our_patterns_have_no_time_limit(monkeypatch, name):
    monkeypatch.setattr(presplit, "SECONDS", -1e6)
    assert presplit.pieces("a b" * 10_000, presplit.resolve(name))


@pytest.mark.parametrize("pattern", [{"a", "b"}, frozenset(["a"]), {"a": "b"}])
def test_expressions_have_an_order(pattern):
    with pytest.raises(TypeError, match="a pattern must be a list"):
        presplit.resolve(pattern)
