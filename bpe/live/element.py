"""An element of a page: a picture for where no script runs, and the script that takes its place."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import regex

from bpe import _visible
from bpe._visible import readable, visible
from bpe.live import packing, patterns
from bpe.tokenizer import Token

LARGEST = 300_000  # bytes of an element, as UTF-8

# The same as in live.css; here as attributes, since GitHub and others drop style sheets, and short, since
# each token has one. The letters of tokens are dark, and the bars between them grey, on light and dark pages.
_COLOURS = ("#bfe0ff", "#ffd98a", "#dcdcdc")
_LINE = "text-align:left;line-height:1.9;overflow-wrap:anywhere;color:#767676"
_LABEL = "text-align:left;white-space:nowrap;vertical-align:top"

# What JSON would leave as it is, and an HTML parser or a reader of the source would not.
_RISKY = regex.compile(rf"[<>&]|{_visible.HIDDEN.pattern}")


class Element:
    """A live part of a page: HTML, CSS and JavaScript in one piece, which needs no network and no kernel.

    rows: the picture that stays where no script runs, as {label: tokens}; also shown as plain text.
    """

    def __init__(self, name: str, data: Mapping[str, Any], rows: Mapping[str, Sequence[Token]]) -> None:
        self._data = {"element": name, **data}
        self._rows = {visible(label): [readable(token) for token in row] for label, row in rows.items()}
        self._html = self._make_html()

    def _make_html(self) -> str:
        data = {**self._data, "hidden": _hidden_characters(), "css": _read("live.css")}
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        text = _RISKY.sub(_escape, text)
        return (
            f'<div class="bpe-live mathjax_ignore tex2jax_ignore">{picture(self._rows)}'
            f'<script type="application/json">{text}</script>'
            f"<script>(() => {{\n{_read('live.js')}}})();</script></div>"
        )

    def _repr_html_(self) -> str:
        return self._html

    def __repr__(self) -> str:
        width = max(map(len, self._rows), default=0)
        return "\n".join(f"{label:<{width}}  {' | '.join(row)}" for label, row in self._rows.items())


def _escape(found: regex.Match[str]) -> str:
    units = found.group().encode("utf-16-be").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def picture(rows: Mapping[str, Sequence[str]]) -> str:
    """Return a table of tokens, as `readable` gives them, that needs no script and no style sheet."""
    lines = "".join(
        f'<tr><th scope="row" style="{_LABEL}">{html.escape(label)}</th>'
        f'<td style="{_LINE}">{_line(row)}</td></tr>'
        for label, row in rows.items()
    )
    return f"<table>{lines}</table>"


def _line(row: Sequence[str]) -> str:
    tokens = [
        f'<bdi style="background:{_COLOURS[i % 3]};color:#1a1a1a;padding:1px 2px">{html.escape(token)}</bdi>'
        + ("<br>" if token.endswith("⏎") else "")
        for i, token in enumerate(row)
    ]
    return "│<wbr>".join(tokens)


@cache
def _read(name: str) -> str:
    return (resources.files("bpe.live") / name).read_text(encoding="utf-8")


@cache
def _hidden_characters() -> str:
    """The characters that need a sign, surrogates too."""
    ranges = [*patterns.members(_visible.HIDDEN.pattern), (0xD800, 0xDFFF)]
    return packing.pack_class(tuple(sorted(ranges)))
