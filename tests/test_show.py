"""Tokens and tables as people read them."""

import pytest

from bpe import BPETokenizer, CharTokenizer, show


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ("自".encode(), "自"),
        ("自".encode()[:2], "[e8 87]"),
        ("，行".encode()[:-1], "，[e8 a1]"),
        ("，行".encode()[1:], "[bc 8c]行"),
        (b" the\n", "·the⏎"),
        ("a\tb", "a⇥b"),
        ("\r\n", "␍⏎"),
        ("\x1b[31m\x00\x7f", "␛[31m␀␡"),  # what a terminal would obey
        (b"][", "]["),
    ],
)
def test_readable(token, text):
    assert show.readable(token) == text


def test_plain_text():
    tokenizer = BPETokenizer.train("自君自君", 300)
    assert repr(show.tokens(tokenizer, "自君入")) == "自君 | [e5] | [85] | [a5]"
    assert repr(show.tokens(CharTokenizer("ab"), "abba")) == "a | b | b | a"
    assert repr(show.pieces(["to", " ", "be"])) == "to | · | be"


def test_rows_have_labels():
    shown = show.rows({"start": ["a", "b"], "1": ["ab"]})
    assert repr(shown) == "start  a | b\n1      ab"
    assert "<td" in shown._repr_html_()


def test_html_is_escaped_and_coloured():
    page = show.pieces(["<b>", "a\nb", "&", "\n"])._repr_html_()
    assert "&lt;b&gt;" in page
    assert "&amp;" in page
    assert "⏎</span><br>" in page
    assert page.count("<br>") == 1
    assert page.count("background:") == 4


def test_a_font_for_chinese():
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("zhplot")
    from matplotlib import font_manager

    with matplotlib.rc_context():
        name = show.use_chinese_font()
        assert show.use_chinese_font() == name
        assert matplotlib.rcParams["font.family"].count(name) == 1
        path = font_manager.findfont(name, fallback_to_default=False)
    assert 0x6708 in font_manager.get_font(path).get_charmap()


def test_table():
    table = show.Table(["", "tokens"], [["月光", 12], ["a<b", "1.5"]])
    assert repr(table) == "      tokens\n月光      12\na<b      1.5"
    assert table._repr_html_().startswith(
        '<table><tr><th style="text-align:left"></th><th style="text-align:right">'
    )
    assert '<td style="text-align:left">a&lt;b</td>' in table._repr_html_()
    assert repr(show.Table(["name", "n"], [["e\u0301", 1]])) == "name  n\ne\u0301     1"


def test_table_with_a_row_too_short():
    with pytest.raises(ValueError, match="row 1 has 1 cells, the header 2"):
        show.Table(["a", "b"], [[1, 2], [3]])
