"""Nothing invisible is shown, in a terminal or in a page."""

import html
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe import BPETokenizer, show
from bpe._visible import visible

# What a terminal obeys or hides: colours, a title, a line drawn over, letters in reverse, no width, no ink.
HIDDEN = [
    *"\x00\x07\x08\x0b\r\x7f\x85\xad\u034f\u061c\u115f\u180e\u2003\u200b\u200d\u200f\u2028\u2029\u202e\u2060\u2066",
    *"\u2069\u2800\u3164\ufe0f\ufeff\uffa0\U000e0041\U000e0100",
    *("\x1b[31m", "\x1b]0;title\x07", "\x9b31m"),
]
NEVER = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}


def shown(text: str) -> str:
    """The text, and the page, in which a token, a label, and the cell of a table show it."""
    token, row, table = (
        text.encode("utf-8", "surrogatepass"),
        show.rows({text: [text]}),
        show.Table([text], [[text]]),
    )
    page = row._repr_html_() + table._repr_html_()
    return "".join([show.readable(text), show.readable(token), repr(row), repr(table), html.unescape(page)])


@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
def test_what_is_hidden_is_shown(hidden: str) -> None:
    for text in (hidden, f"a{hidden}b", f"{hidden}\U0001f600"):
        left = set(shown(text)) - set(" \n")
        assert not {character for character in left if unicodedata.category(character) in NEVER}
        assert not left & set("\u034f\u115f\u2800\u3164\ufe0f\uffa0\U000e0100")


def test_all_of_unicode() -> None:
    text = "".join(map(chr, range(sys.maxunicode + 1)))
    left = visible(text, keep="")
    assert not {character for character in left if unicodedata.category(character) in NEVER}
    assert visible(left, keep="") == left
    letters = [
        c for c in text if unicodedata.category(c)[0] in "LNPS" and c not in "\u115f\u1160\u2800\u3164\uffa0"
    ]
    assert set(letters) <= set(left)


@given(st.text())
def test_what_is_kept_is_kept(text: str) -> None:
    assert visible(text, keep=text) == text
    assert visible(visible(text)) == visible(text)


def test_the_facts_of_a_tokenizer_show_all() -> None:
    special = "\x1b]0;evil\x07\u202e"
    tokenizer = BPETokenizer.train("abab\u200b", 258, pattern="\x1b|a\u2066", special_tokens=[special])
    for text in (str(tokenizer.facts()), tokenizer._repr_html_(), repr(tokenizer)):
        assert text.isprintable() or set(text) & set("\n")
    assert "␛]0;evil␇[U+202E]" in tokenizer.facts()["special tokens"]
    assert tokenizer.facts()["split"] == "␛|a[U+2066]"
