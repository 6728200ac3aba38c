"""The explorer for any tokenizer: the kernel encodes, and ipywidgets shows the rows as one types."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from bpe._visible import readable, visible
from bpe.live import element
from bpe.tokenizer import Tokenizer

LONGEST = 5_000  # characters


def make_widget(tokenizers: Mapping[str, Tokenizer], text: str) -> Any:
    """Return an ipywidgets VBox. Raises ModuleNotFoundError, saying what to install, without ipywidgets."""
    try:
        import ipywidgets  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "explorer(…, kernel=True) needs ipywidgets: pip install ipywidgets"
        ) from None
    field = ipywidgets.Textarea(value=text, description="Type a text", rows=2, continuous_update=True)
    field.layout.width = "100%"
    shown = ipywidgets.HTML(show_rows(tokenizers, text))

    def update(change: Mapping[str, Any]) -> None:
        shown.value = show_rows(tokenizers, change["new"])

    field.observe(update, names="value")
    return ipywidgets.VBox([field, shown])


def show_rows(tokenizers: Mapping[str, Tokenizer], text: str) -> str:
    """Return the tokens of a text as HTML, or for what can't be encoded the reason."""
    text = text[:LONGEST]
    rows: dict[str, list[str]] = {}
    errors = []
    for label, tokenizer in tokenizers.items():
        try:
            tokens = tokenizer.tokens(text, disallowed_special=())
        except ValueError as error:
            errors.append(f"<p>{html.escape(f'{label}: {visible(str(error))}')}</p>")
            continue
        number = f"{len(tokens):,} token{'' if len(tokens) == 1 else 's'}"
        rows[f"{label}: {number}"] = [readable(token or "") for token in tokens]
    return element.picture(rows) + "".join(errors)
