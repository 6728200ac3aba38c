"""Expressions that `formats.dialect` accepts cut every text as `tokenizers` does."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from independent import SHARED, nasty_texts

from bpe import presplit
from bpe.formats import dialect

tokenizers = pytest.importorskip("tokenizers")


def theirs(expression: str, text: str) -> list[str]:
    split: Any = tokenizers.pre_tokenizers.Split(tokenizers.Regex(expression), "isolated")
    return [piece for piece, _ in split.pre_tokenize_str(text)]


CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"]
IGNORING_CASE = ["(?i:'s|'t|'re|'ve|'m|'ll|'d)", "'(?i:[sdmt]|ll|ve|re)", "(?i:s|d|m|t|ll|ve|re)"]

# -- expressions of the dialect's own grammar ---------------------------------------------------------------

CHARACTERS = "asSßſtTiİıKfd'’1 \n\r\t-,:=!<>&~#/@%\"`;_é月日かА\u0301\u200d\u00a0\u3000\U00020000"
ESCAPES = [
    *(rf"\{sign}" for sign in "!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~、。»"),
    *(r"\s", r"\S", r"\d", r"\D", r"\r", r"\n", r"\t", r"\u0041", r"\u017f", r"\u6708", r"\u00A0"),
    *(rf"\{p}{{{name}}}" for p in "pP" for name in ("L", "^L", "Lu", "Ll", "Lt", "Lo", "M", "Mn", "N", "Nd")),
    *(rf"\{p}{{{name}}}" for p in "pP" for name in ("P", "^P", "Po", "S", "Sk", "Z", "Zs", "C", "Cc", "Cf")),
    *(rf"\{p}{{{name}}}" for p in "pP" for name in ("Han", "^Han", "Latin", "Thai", "Greek", "Hiragana")),
]
ranges = st.sampled_from(["a-z", "A-Z", "0-9", "一-龥", "\\u0000-\\u001f", "!-/", "\\!-\\/", " -~", "ı-ſ"])
members = st.one_of(
    ranges, st.sampled_from(ESCAPES), st.text(st.sampled_from([*CHARACTERS, *"().?*+{}|$^"]), max_size=2)
)
classes = st.builds(
    "[{}{}]".format, st.sampled_from(["", "^"]), st.lists(members, min_size=1, max_size=4).map("".join)
)
atoms = st.one_of(st.sampled_from(CHARACTERS), st.sampled_from(ESCAPES), classes)
COUNTS = ["{2}", "{0}", "{1,3}", "{2,}", "{0,2}", "{3,3}"]
repeats = st.sampled_from(["", "", "", "?", "*", "+", "??", "*?", "+?", "?+", "*+", "++", *COUNTS])
single = st.builds("{}{}".format, atoms, repeats)
ignoring_case = st.builds(
    "{}{}".format, st.sampled_from([*IGNORING_CASE, "(?i:s|'s)", "(?i:[tdms]|t)"]), st.sampled_from(["", "?"])
)


def alternatives(one: Any) -> Any:
    return st.lists(one, min_size=1, max_size=3).map("|".join)


def sequences(parts: Any) -> Any:
    return st.lists(parts, max_size=4).map("".join)


groups = st.recursive(
    single,
    lambda inner: st.one_of(
        st.builds(
            "({}{}){}".format,
            st.sampled_from(["", "?:", "?>"]),
            alternatives(sequences(inner)),
            st.sampled_from(["", "", "?", "??", "?+"]),
        ),
        st.builds("({}{})".format, st.sampled_from(["?=", "?!"]), alternatives(sequences(inner))),
    ),
    max_leaves=5,
)
# No alternative may match the empty text, and none may depend on case if another begins with a contraction.
CASELESS = [
    r"\p{L}",
    r"[^\r\n\p{L}\p{N}]",
    r"[\p{L}\p{M}]",
    r"\p{^L}",
    r"[^\s\p{M}]",
    r"\P{N}",
    r"\S",
    "[^' ]",
    "'",
]
caseless = st.builds("{}{}".format, st.sampled_from(CASELESS), repeats)
expressions = st.one_of(
    alternatives(
        st.one_of(
            st.builds("{}{}{}".format, sequences(groups), atoms, sequences(groups)),
            st.builds("{}{}{}".format, sequences(groups), atoms, ignoring_case),
        )
    ),
    alternatives(
        st.one_of(
            st.builds("{}{}".format, sequences(caseless), st.sampled_from(CASELESS)),
            st.sampled_from(IGNORING_CASE),
        )
    ),
)

# What case, normal forms and other foldings make of what expressions hold.
FOLDED = [
    "ß",
    "ẞ",
    "ſs",
    "SS",
    "ss",
    "ﬁ",
    "ﬀ",
    "ﬆ",
    "ﬅ",
    "st",
    "ſt",
    "İ",
    "ı",
    "i̇",
    "I",
    "K",
    "k",
    "'ſ",
    "'S",
    "ŉ",
]
texts = st.lists(
    st.one_of(
        nasty_texts,
        st.text(st.sampled_from(CHARACTERS), max_size=12),
        st.sampled_from([*FOLDED, *CONTRACTIONS, "'LL", "'ſ", "\r\n", " \n ", "aaaa", "ssss", "1111"]),
    ),
    max_size=5,
).map("".join)


def compare(expression: str, lines: list[str]) -> None:
    try:
        dialect.refuse_unportable(expression)
    except ValueError:
        assume(False)
    for line in lines:
        assert theirs(expression, line) == presplit.pieces(line, [expression]), (expression, line)


@given(expressions, st.lists(texts, min_size=3, max_size=3))
@settings(max_examples=150)
def test_what_is_accepted_is_read_alike(expression: str, lines: list[str]) -> None:
    compare(expression, lines)


@pytest.mark.full
@given(expressions, st.lists(texts, min_size=6, max_size=6))
@settings(max_examples=5_000, deadline=None)
def test_very_many_that_are_accepted_are_read_alike(expression: str, lines: list[str]) -> None:
    compare(expression, lines)


# -- contractions, without regard to case -------------------------------------------------------------------


def places(character: str) -> str:
    """The contractions with the character in the place of each of theirs, one by one."""
    words = [word for contraction in CONTRACTIONS for word in (contraction, contraction[1:])]
    return "\0".join(
        word[:place] + character + word[place + 1 :] for word in words for place in range(len(word))
    )


def foldings(character: str) -> str:
    folded = [character.casefold(), character.lower(), character.upper(), character.title()]
    return "".join([*folded, unicodedata.normalize("NFKD", character)])


# All that any of Python's foldings turns into an English letter: some 1,700 characters, K and ſ among them.
LIKE_LETTERS = [
    character
    for character in SHARED
    if any(sign.isascii() and sign.isalpha() for sign in foldings(character))
]


@pytest.mark.parametrize("expression", [*IGNORING_CASE, presplit.GPT4O, presplit.LLAMA3])
def test_contractions_match_the_same_characters(expression: str) -> None:
    assert {"\u212a", "ſ", "ß", "ﬆ", "İ"} <= set(LIKE_LETTERS)
    text = "\0".join(map(places, LIKE_LETTERS))
    assert theirs(expression, text) == presplit.pieces(text, [expression])


@pytest.mark.full
@pytest.mark.parametrize("expression", [*IGNORING_CASE, "(?i:[dmst])"])
def test_contractions_match_the_same_of_all_characters(expression: str) -> None:
    for start in range(0, len(SHARED), 20_000):
        text = "\0".join(map(places, SHARED[start : start + 20_000]))
        assert theirs(expression, text) == presplit.pieces(text, [expression])


@pytest.mark.full
@pytest.mark.parametrize(
    "expression", [escape for escape in ESCAPES if len(escape) > 2 or escape[1].isalpha()]
)
def test_classes_hold_the_same_characters(expression: str) -> None:
    text = "\0".join(SHARED)
    assert theirs(expression, text) == presplit.pieces(text, [expression])


def test_what_accepted_expressions_would_cut_otherwise() -> None:
    """Why nothing else is accepted without regard to case."""
    for expression, text in [("(?i:[a-z]+)", "İİ x"), ("(?i:strasse)", "straße x"), ("(?i:fi)", "ﬁ x")]:
        assert theirs(expression, text) != presplit.pieces(text, [expression])


@pytest.mark.parametrize(
    "expression",
    [r"(?i:[a-z]+)|[^a-zA-Z]+", r"(?i:strasse)|\p{L}+|[^\p{L}]+", "(?i:i)", "(?i:ss)", "(?i:fi)", "(?i:ff)",
     "(?i:st)", r"(?i:\p{Lu}+)", "(?i:s)+", "(?i:s)(?i:s)", "(?i:s|t)t", "(?i:[st]{2})", "((?i:s))(?i:s)",
     "[]a]", "[^]a]", "[^][a]", r"[ -\p{P}]", r"[\p{P}-!]", r"[\s-a]", "[a-c-e]", "[a||b]", "[a~~b]",
     r"\ud83d", "[^ -~]?(?i:s)", r"\P{Lu}|(?i:s)", "[^b-y]b|(?i:'s)", "(?i:'s)|é", "(?>)(?i:s)",
     "(?:(?!)|a|)?b", "(?=a)?b", "a|(?=(?:b))", "(?:a|b?)",
     "(?i:'s)?", "a)", r"\Q", "(?#a)b"],
)  # fmt: skip
def test_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="the expression"):
        dialect.refuse_unportable(expression)


@pytest.mark.parametrize("expression", [e for pattern in presplit.PATTERNS.values() for e in pattern])
def test_our_patterns_there_and_back(expression: str) -> None:
    assert dialect.from_oniguruma(dialect.to_oniguruma(expression)) == expression
