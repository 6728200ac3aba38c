"""Tokens, tables and figures as people read them, the colour-blind and those who hear them included."""

import html
import io
import itertools
import re

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
    assert page.count("background:") == 4


def plain(page):
    """What is left of a page without its styles."""
    return html.unescape(re.sub("<[^>]*>", "", page.replace("<br>", "\n")))


def test_tokens_can_be_told_apart_without_colour():
    page = show.pieces(["low", "er", "·", "<"])._repr_html_()
    assert plain(page) == "low│er│·│<"
    assert 'role="list" aria-label="4 tokens"' in page
    assert page.count('role="listitem"') == 4
    assert 'aria-label="1 token"' in show.pieces(["low"])._repr_html_()
    assert 'aria-label="0 tokens"></div>' in show.pieces([])._repr_html_()


def test_a_newline_ends_a_line():
    page = show.pieces(["a\nb", "c\n", "\n", "d", "\n"])._repr_html_()
    assert plain(page) == "a⏎b│c⏎│\n⏎│\nd│⏎"


def test_rows_have_headers():
    page = show.rows({"<start>": ["a", "b"], "1": ["ab"]})._repr_html_()
    assert page.count('<th scope="row"') == 2
    assert plain(page) == "<start>a│b1ab"


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
        '<table><tr><th scope="col" style="text-align:left"></th><th scope="col" style="text-align:right">'
    )
    assert '<td style="text-align:left">a&lt;b</td>' in table._repr_html_()
    assert repr(show.Table(["name", "n"], [["e\u0301", 1]])) == "name  n\ne\u0301     1"


def test_table_with_a_row_too_short():
    with pytest.raises(ValueError, match="row 1 has 1 cells, the header 2"):
        show.Table(["a", "b"], [[1, 2], [3]])


# -- colours -----------------------------------------------------------------------------------------------

# How the linear RGB of a colour reaches the colour-blind, by G. Machado, M. Oliveira and L. Fernandes, "A
# physiologically-based model for simulation of color vision deficiency" (2009), at severity 1.
SIGHT = {
    "full": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]  # from linear sRGB
WHITE = (0.9505, 1, 1.089)
PAGES = ("#ffffff", "#111111")  # JupyterLab's light and dark theme


def product(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def linear(colour):
    """Return the linear RGB, 0 to 1, of a colour like #0072b2."""
    values = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]


def contrast(one, other):
    """Return the contrast of WCAG 2, 1 to 21."""
    dark, light = sorted(product(TO_XYZ, linear(colour))[1] for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def lab(colour, sight):
    """Return a colour in CIELAB as someone sees it."""
    seen = [min(max(v, 0), 1) for v in product(SIGHT[sight], linear(colour))]
    relative = [v / w for v, w in zip(product(TO_XYZ, seen), WHITE, strict=True)]
    x, y, z = (v ** (1 / 3) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116 for v in relative)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one, other, sight):
    """Return the distance in CIELAB (ΔE of 1976) of two colours as someone sees them."""
    return sum((a - b) ** 2 for a, b in zip(lab(one, sight), lab(other, sight), strict=True)) ** 0.5


def test_the_measures():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert lab("#ff0000", "full") == pytest.approx((53.2, 80.1, 67.2), abs=0.1)
    assert difference("#d62728", "#2ca02c", "full") > 100
    assert difference("#d62728", "#2ca02c", "deuteranopia") < 30  # matplotlib's red and green


@pytest.mark.parametrize("sight", SIGHT)
def test_the_colour_blind_tell_tokens_and_lines_apart(sight):
    for one, other in itertools.combinations(show.COLOURS, 2):
        assert difference(one, other, sight) >= 15
    for one, other in itertools.pairwise(show.LINES):
        assert difference(one, other, sight) >= 15


def test_letters_and_lines_are_legible_on_light_and_dark_pages():
    assert all(contrast(show.DARK, colour) > 10 for colour in show.COLOURS)
    for page in PAGES:
        assert all(contrast(colour, page) >= 2.9 for colour in show.LINES)
        assert contrast(show.GREY, page) > 4


# -- figures -----------------------------------------------------------------------------------------------


@pytest.fixture
def shown(monkeypatch):
    """What `show.figure` displays; figures and style are undone afterwards."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from IPython import display
    from matplotlib import pyplot

    objects = []
    monkeypatch.setattr(display, "display", lambda *found: objects.extend(found))
    with matplotlib.rc_context():
        yield objects
    pyplot.close("all")


def test_a_figure_has_an_alternative_text(shown):
    from matplotlib import pyplot

    show.axes("Roots").plot([0, 1, 4], [0, 1, 2])
    show.figure("The square root rises\n    from 0 to 2 < 4.")
    picture, words = shown
    png, metadata = picture._repr_png_()
    assert png.startswith(b"\x89PNG")
    assert metadata == {"alt": "The square root rises from 0 to 2 < 4."}
    assert repr(picture) == metadata["alt"]
    assert plain(words._repr_html_()) == "In words" + metadata["alt"]
    assert not pyplot.get_fignums()


def test_a_notebook_gets_the_text_as_metadata_of_the_picture(shown):
    formatters = pytest.importorskip("IPython.core.formatters")
    show.axes().plot([1, 2])
    show.figure("It rises.")
    data, metadata = formatters.DisplayFormatter().format(shown[0], include=("image/png", "text/plain"))
    assert metadata == {"image/png": {"alt": "It rises."}}
    assert data["text/plain"] == "It rises."


def test_a_figure_without_words_or_without_a_figure(shown):
    with pytest.raises(ValueError, match="no figure"):
        show.figure("A figure that nobody drew.")
    show.axes()
    with pytest.raises(ValueError, match="alternative text"):
        show.figure("  ")


def test_the_page_shows_through_and_chinese_is_drawn(shown, recwarn):
    pytest.importorskip("zhplot")
    from matplotlib import image

    show.axes("月 moon").plot([1, 2], label="月 moon")
    show.figure("It rises.")
    png, _ = shown[0]._repr_png_()
    assert image.imread(io.BytesIO(png))[0, 0, 3] == 0
    assert not recwarn.list


def test_figures_need_no_chinese_font(shown, monkeypatch):
    def missing():
        raise ModuleNotFoundError

    monkeypatch.setattr(show, "use_chinese_font", missing)
    show.axes("Roots").plot([1, 2])
    show.figure("It rises.")
    assert repr(shown[0]) == "It rises."


def test_lines_differ_in_more_than_colour(shown):
    axes = show.axes()
    lines = [axes.plot([k, k])[0] for k in range(5)]
    for get in ("get_color", "get_marker", "get_linestyle"):
        assert len({str(getattr(line, get)()) for line in lines[:4]}) == 4
    assert len({line.get_marker() for line in lines}) == 5


def test_labels_stand_beside_the_ends_of_their_lines(shown):
    axes = show.axes()
    for name, end in {"b": 1.0, "a": 1.001, "top": 5.0}.items():
        axes.plot([0, 1], [0, end], label=name)
    axes.axhline(2)
    show.label_lines(axes)
    places = {text.get_text(): text.xy[1] for text in axes.texts}
    assert places == {"b": 1.0, "a": 1.001, "top": 5.0}
    heights = [text.get_window_extent().y0 for text in axes.texts]
    assert heights == sorted(heights)
    assert all(b - a > 10 for a, b in itertools.pairwise(heights))


def test_lines_without_points_and_axes_without_labels_get_none(shown):
    axes = show.axes()
    axes.plot([], [], label="empty")
    axes.plot([1, 2])
    show.figure("One line, from 1 to 2.")
    assert not axes.texts


def test_a_legend_takes_the_place_of_labels(shown):
    axes = show.axes()
    axes.plot([0, 1], label="one")
    axes.legend()
    show.figure("One line, from 0 to 1.")
    assert not axes.texts


def test_spreading_keeps_order_and_gaps():
    places = show._spread([0, 0, 1, 2, 40, 41, 100], gap=10)
    assert all(b - a >= 10 - 1e-9 for a, b in itertools.pairwise(places))
    assert places[-1] == 100


def test_bars_have_names_and_numbers(shown):
    left, right = show.panels(["English", "verse"], "Tokens", shared=True)
    for axes in (left, right):
        show.bars(axes, {"gpt2": 1234.5, "ours": 7}, marked=["ours"])
    assert [text.get_text() for text in left.texts] == ["1,234", "7"]
    assert [label.get_text() for label in left.get_yticklabels()] == ["gpt2", "ours"]
    assert [bar.get_hatch() for bar in left.patches] == [None, "////"]
    top, bottom = left.patches
    assert left.transData.transform((0, top.get_y()))[1] > left.transData.transform((0, bottom.get_y()))[1]


def test_bars_on_a_logarithmic_axis(shown):
    axes = show.axes()
    show.bars(axes, {"slow": 3.9, "fast": 0.52}, logarithmic=True)
    axes.figure.draw_without_rendering()
    assert axes.get_xscale() == "log"
    assert not any(label.get_text() for label in axes.get_xticklabels(minor=True))


def test_panels(shown):
    assert len(show.panels(["a", "b", "c"], rows=2)) == 3
    with pytest.raises(ValueError, match="at least one panel"):
        show.panels([])


def test_live_parts_are_at_hand() -> None:
    from bpe import live

    for name in ("explorer", "steps", "trees", "lattice"):
        assert getattr(show, name) is getattr(live, name)
