"""Show tokens in colour, numbers as tables, and figures in one style, each with an alternative text."""

from __future__ import annotations

import contextlib
import html
import io
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING

from bpe._visible import readable as readable
from bpe._visible import visible
from bpe.live import explorer as explorer
from bpe.live import lattice as lattice
from bpe.live import steps as steps
from bpe.live import trees as trees
from bpe.tokenizer import Token, Tokenizer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Backgrounds on which dark letters are legible, and which the colour-blind can tell from their neighbours'.
# A bar between tokens tells them apart without colour: on paper, in copied text, where a page drops styles.
COLOURS = ("#bfe0ff", "#ffd98a", "#dcdcdc")
DARK = "#1a1a1a"

# What is drawn on the page itself is legible on a white one and on JupyterLab's dark one.
GREY = "#767676"
LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", GREY)
MARKERS = ("o", "s", "^", "D", "v")
DASHES = ("-", "--", "-.", ":", (0, (8, 2, 1, 2, 1, 2)))


class Shown:
    """Rows of tokens: coloured, with bars between them, in a notebook; `自 | 君 | 入` in plain text."""

    def __init__(self, rows: Iterable[Sequence[Token]], labels: Sequence[str] = ()) -> None:
        self.rows = [[readable(token) for token in row] for row in rows]
        self.labels = [visible(label) for label in labels]

    def __repr__(self) -> str:
        lines = [" | ".join(row) for row in self.rows]
        width = max(map(len, self.labels), default=0)
        return "\n".join(
            [f"{label:<{width}}  {line}" for label, line in zip(self.labels, lines, strict=True)]
            if self.labels
            else lines
        )

    def _repr_html_(self) -> str:
        if not self.labels:
            return "".join(f'<div style="{_LINE}" {_list_of(row)}</div>' for row in self.rows)
        body = "".join(
            f'<tr><th scope="row" style="{_LABEL}">{html.escape(label)}</th>'
            f'<td style="{_LINE}"><div {_list_of(row)}</div></td></tr>'
            for label, row in zip(self.labels, self.rows, strict=True)
        )
        return f"<table>{body}</table>"


_LINE = "text-align:left; line-height:1.9; overflow-wrap:anywhere"
_LABEL = "text-align:left; white-space:nowrap; vertical-align:top"
# Lines break between tokens, and inside one only if it is longer than a line.
_TOKEN = (
    f"display:inline-block; max-width:100%; line-height:1.5; color:{DARK}; padding:0 1px; border-radius:3px"
)
_BAR = f'<span aria-hidden="true" style="color:{GREY}">│</span>'


def _list_of(row: Sequence[str]) -> str:
    """Return the rest of an element that a screen reader announces as a list of tokens."""
    spans = [_colour(text, COLOURS[i % len(COLOURS)]) for i, text in enumerate(row)]
    # Each line of the text gets a line; a break inside a token would make it look like two.
    ends = [_BAR + "<br>" * text.endswith("⏎") for text in row[:-1]]
    number = "1 token" if len(row) == 1 else f"{len(row):,} tokens"
    return f'role="list" aria-label="{number}">{"".join(map("".join, zip(spans, [*ends, ""], strict=False)))}'


def _colour(text: str, colour: str) -> str:
    return f'<span role="listitem" style="background:{colour}; {_TOKEN}">{html.escape(text)}</span>'


class Table:
    """A table: HTML in a notebook, aligned columns in plain text.

    header: the names of the columns, at least one. rows: the cells, of any type. All columns but the first
    are right-aligned. Raises ValueError for a row with more or fewer cells than the header.
    """

    def __init__(self, header: Sequence[object], rows: Iterable[Sequence[object]]) -> None:
        self.header = [visible(str(cell), keep=" ") for cell in header]
        self.rows = [[visible(str(cell), keep=" ") for cell in row] for row in rows]
        for number, row in enumerate(self.rows):
            if len(row) != len(self.header):
                raise ValueError(f"row {number} has {len(row)} cells, the header {len(self.header)}")

    def __repr__(self) -> str:
        lines = [self.header, *self.rows]
        widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
        return "\n".join(_plain_row(line, widths) for line in lines)

    def _repr_html_(self) -> str:
        lines = [_html_row("th", self.header), *(_html_row("td", row) for row in self.rows)]
        return f"<table>{''.join(lines)}</table>"


def _html_row(tag: str, cells: Sequence[str]) -> str:
    sides = ["left", *["right"] * (len(cells) - 1)]
    scope = ' scope="col"' if tag == "th" else ""
    parts = (
        f'<{tag}{scope} style="text-align:{side}">{html.escape(cell)}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{''.join(parts)}</tr>"


def _width(text: str) -> int:
    """Return the columns that a text takes in a terminal: two for a Han character, none for a mark."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


def _plain_row(cells: Sequence[str], widths: Sequence[int]) -> str:
    spaces = [" " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True)]
    parts = [cells[0] + spaces[0], *map("".join, zip(spaces[1:], cells[1:], strict=True))]
    return "  ".join(parts).rstrip()


def tokens(tokenizer: Tokenizer, text: str) -> Shown:
    """Show the tokens of a text; colours tell neighbours apart."""
    return Shown([[tokenizer.token(i) or "" for i in tokenizer.encode(text)]])


def pieces(row: Sequence[Token]) -> Shown:
    """Show a row of tokens, or of pieces of a text; colours tell neighbours apart."""
    return Shown([row])


def rows(labelled: dict[str, Sequence[Token]]) -> Shown:
    """Show several rows of tokens, each with its label: {label: tokens}."""
    return Shown(labelled.values(), list(labelled))


def use_chinese_font() -> str:
    """Let matplotlib draw Chinese characters: add Noto Sans SC after the fonts in use; return its name.

    The font is a file of the package `zhplot`, which is not imported. Raises ModuleNotFoundError, saying what
    to install, if the package is missing.
    """
    from matplotlib import font_manager, rcParams

    try:
        files = metadata.files("zhplot") or []
    except metadata.PackageNotFoundError:
        raise ModuleNotFoundError(
            "the font for Chinese in plots comes with the package zhplot: pip install zhplot==1.0.0"
        ) from None
    [font] = [file for file in files if file.suffix in (".ttf", ".otf")]
    path = str(font.locate())
    font_manager.fontManager.addfont(path)
    name = font_manager.FontProperties(fname=path).get_name()
    # matplotlib falls back glyph by glyph over font.family, not over font.sans-serif.
    families = [family for family in rcParams["font.family"] if family != name]
    rcParams["font.family"] = [*families, name]
    return name


class Picture:
    """A picture with an alternative text: a PNG in a notebook, the text elsewhere."""

    def __init__(self, png: bytes, alt: str) -> None:
        self.png = png
        self.alt = alt

    def __repr__(self) -> str:
        return self.alt

    def _repr_png_(self) -> tuple[bytes, dict[str, str]]:
        return self.png, {"alt": self.alt}


class _Words:
    """The words below a picture, folded."""

    def __init__(self, alt: str) -> None:
        self.alt = alt

    def __repr__(self) -> str:
        return ""

    def _repr_html_(self) -> str:
        return f"<details><summary><small>In words</small></summary>{html.escape(self.alt)}</details>"


def figure(alt: str) -> None:
    """Show the current figure, with an alternative text that says what is to be seen in it, and close it.

    Lines with labels get them at their right ends, if there is no legend. JupyterLab shows no alternative
    texts, so the words stand below the figure too, folded. Raises ValueError without a text or a figure.
    """
    from IPython.display import display
    from matplotlib import pyplot

    alt = visible(" ".join(alt.split()))
    if not alt:
        raise ValueError("say in the alternative text what is to be seen in the figure")
    if not pyplot.get_fignums():
        raise ValueError("there is no figure to show: draw one first")
    current = pyplot.gcf()
    for axes in current.axes:
        _mark_points(axes)
        if axes.get_legend() is None:
            label_lines(axes)
    stream = io.BytesIO()
    current.savefig(stream, format="png", bbox_inches="tight")
    pyplot.close(current)
    display(Picture(stream.getvalue(), alt), _Words(alt))  # type: ignore[no-untyped-call]


def axes(title: str = "", *, x: str = "", y: str = "", size: tuple[float, float] = (7, 3.5)) -> Axes:
    """Start a figure in the course's style and return its axes. x, y: what they measure; size: in inches."""
    return panels([title], x=x, y=y, size=size)[0]


def panels(
    titles: Sequence[str],
    heading: str = "",
    *,
    x: str = "",
    y: str = "",
    size: tuple[float, float] = (9, 3.5),
    shared: bool = False,
    rows: int = 1,
) -> list[Axes]:
    """Start a figure of several panels in the course's style and return their axes, from the top left.

    x, y: what the axes measure. shared: all panels have the same axes. rows: of panels. Raises ValueError
    without titles.
    """
    from matplotlib import pyplot

    if not titles:
        raise ValueError("a figure needs at least one panel: give each a title, which may be empty")
    use_style()
    drawn, grid = pyplot.subplots(
        rows,
        -(-len(titles) // rows),
        figsize=size,
        layout="constrained",
        sharex=shared,
        sharey=shared,
        squeeze=False,
    )
    found = list(grid.flat)
    for panel, title in zip(found, titles, strict=False):
        panel.set(title=title, xlabel=x, ylabel=y)
        if shared:
            panel.label_outer()
    for empty in found[len(titles) :]:
        empty.remove()
    if heading:
        drawn.suptitle(heading)
    return found[: len(titles)]


_GREY_PARTS = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color")
_CLEAR_PARTS = ("figure.facecolor", "axes.facecolor", "savefig.facecolor")
STYLE = {
    **dict.fromkeys(_GREY_PARTS, GREY),
    **dict.fromkeys(_CLEAR_PARTS, "none"),
    "patch.edgecolor": GREY,  # of arrows
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "figure.titlesize": "large",
    "legend.frameon": False,
}


def use_style() -> None:
    """Let matplotlib draw in the course's style: legible on light and dark pages, Chinese included.

    Lines differ in colour, dashes and markers. Needs no font: without `zhplot`, Chinese characters are boxes.
    """
    from cycler import cycler
    from matplotlib import style

    cycle = cycler(color=LINES, marker=MARKERS, linestyle=DASHES)
    style.use({**STYLE, "axes.prop_cycle": cycle})
    with contextlib.suppress(ModuleNotFoundError):
        use_chinese_font()


def _mark_points(axes: Axes) -> None:
    """Thin out the markers of lines with many points."""
    for line in axes.lines:
        if len(_points(line)) > 25:
            line.set_markevery(0.12)  # of the diagonal of the axes


def _points(line: Line2D) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]  # type: ignore[arg-type]


def label_lines(axes: Axes) -> None:
    """Write the label of each line beside its right end, one below the other where ends are close."""
    labelled = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    lines = [line for line in labelled if _points(line)]
    if not lines:
        return
    drawn = axes.get_figure(root=True)
    assert drawn is not None
    drawn.draw_without_rendering()  # now it is known where everything is
    ends = [(line, _points(line)[-1]) for line in lines]
    heights = {line: 72 / drawn.dpi * axes.transData.transform(end)[1] for line, end in ends}
    ends.sort(key=lambda pair: heights[pair[0]])
    places = _spread([heights[line] for line, _ in ends], gap=12)
    for (line, end), place in zip(ends, places, strict=True):
        axes.annotate(
            str(line.get_label()),
            end,
            xytext=(14, place - heights[line]),
            textcoords="offset points",
            va="center",
            fontsize=9,
            arrowprops={
                "arrowstyle": "-",
                "color": line.get_color(),
                "relpos": (0, 0.5),
                "shrinkA": 1,
                "shrinkB": 4,
            },
        )


def _spread(places: Sequence[float], gap: float) -> list[float]:
    """Move ascending places apart until neighbours are `gap` from each other; their mean stays.

    >>> _spread([0, 1, 50], gap=10)
    [-4.5, 5.5, 50]
    """
    groups: list[list[float]] = []
    for place in places:
        groups.append([place])
        while len(groups) > 1 and _spaced(groups[-1], gap)[0] - _spaced(groups[-2], gap)[-1] < gap:
            last = groups.pop()
            groups[-1] += last
    return [place for group in groups for place in (_spaced(group, gap) if len(group) > 1 else group)]


def _spaced(group: Sequence[float], gap: float) -> list[float]:
    first = sum(group) / len(group) - gap * (len(group) - 1) / 2
    return [first + gap * i for i in range(len(group))]


def bars(
    axes: Axes,
    values: Mapping[str, float],
    number: Callable[[float], str] = "{:,.4g}".format,
    marked: Collection[str] = (),
    *,
    logarithmic: bool = False,
) -> None:
    """Draw a bar for each name, from the top down, with its number; the marked ones are hatched."""
    if logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter("")
    names = list(values)
    for name, value in values.items():
        look = (
            {"hatch": "////", "facecolor": "none", "edgecolor": LINES[1]}
            if name in marked
            else {"color": LINES[0]}
        )
        axes.bar_label(axes.barh(name, value, 0.7, **look), [number(value)], padding=3, fontsize=9)  # type: ignore[arg-type]
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.15)
