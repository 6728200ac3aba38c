"""Show tokens in colour, figures as tables, and Chinese in plots."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Sequence
from importlib import metadata

from bpe._visible import readable as readable
from bpe._visible import visible
from bpe.tokenizer import Token, Tokenizer

# Backgrounds that differ between neighbours; letters are dark, so they are legible on light and dark pages.
COLOURS = ("#cfe8ff", "#ffe0b3", "#d5f0c8", "#f6d0e4", "#e3dcfa", "#fff2a8")


class Shown:
    """Rows of tokens: coloured in a notebook, `自 | 君 | 入` in plain text."""

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
        lines = ["".join(map(_colour, row, _cycle(len(row)))) for row in self.rows]
        if self.labels:
            cells = zip(map(html.escape, self.labels), lines, strict=True)
            body = "".join(
                f'<tr><td style="{_LABEL}">{label}</td><td style="{_LINE}">{line}</td></tr>'
                for label, line in cells
            )
            return f"<table>{body}</table>"
        return "".join(f'<div style="{_LINE}">{line}</div>' for line in lines)


_LINE = "text-align:left; line-height:1.9; overflow-wrap:anywhere"
_LABEL = "text-align:left; white-space:nowrap; vertical-align:top"
_TOKEN = "color:#1a1a1a; padding:2px 1px; border-radius:3px; margin-right:1px"


def _colour(text: str, colour: str) -> str:
    # Break the line after a token that ends with a newline; a break inside would make it look like two.
    end = "<br>" if text.endswith("⏎") else ""
    return f'<span style="background:{colour}; {_TOKEN}">{html.escape(text)}</span>{end}'


def _cycle(length: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(length)]


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
    parts = (
        f'<{tag} style="text-align:{side}">{html.escape(cell)}</{tag}>'
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
