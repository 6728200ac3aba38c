"""Measurements side by side: languages, tables and bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from bpe import show
from bpe._validate import check_documents
from bpe.metrics.measure import Encode, Measurement, encode_with

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# column: (its value, its format)
COLUMNS: dict[str, tuple[Callable[[Measurement], float], str]] = {
    "tokens": (lambda m: m.tokens, "{:,.0f}"),
    "chars/token": (lambda m: m.characters_per_token, "{:.2f}"),
    "bytes/token": (lambda m: m.bytes_per_token, "{:.2f}"),
    "tokens/word": (lambda m: m.fertility, "{:.2f}"),
    "whole words": (lambda m: m.whole_word_share, "{:.1%}"),
    "unknown": (lambda m: m.unknown_share, "{:.1%}"),
    "unused": (lambda m: m.unused_share, "{:.1%}"),
    "Rényi": (lambda m: m.efficiency, "{:.3f}"),
    "returned": (lambda m: m.returned_share, "{:.0%}"),
}


def premiums(encode: Encode, texts: Mapping[str, Sequence[str]], reference: str) -> dict[str, float]:
    """Compare how many tokens each language needs for the same content: {language: ratio}.

    texts: language -> its sentences; the k-th sentences of all languages say the same.
    reference: the language that the others are compared with; its own premium is 1.

    premium(A) = tokens of all sentences in A / tokens of all sentences in the reference. A premium of 1 is
    parity. Petrov, La Malfa, Torr, Bibi: Language Model Tokenizers Introduce Unfairness Between Languages,
    2023, define it for a text and its translation. Over totals, as here, it is the ratio of the total costs,
    and premium(A to B) is 1 over premium(B to A); a mean of the sentences' ratios is another number.

    Raises ValueError for an unknown reference, for languages that differ in the number of sentences or have
    none, for a language without a token, and as `measure`.
    """
    if reference not in texts:
        raise ValueError(f"{reference!r} is not among the languages {', '.join(map(repr, texts))}")
    tokens: dict[str, int] = {}
    for language, sentences in texts.items():
        if isinstance(sentences, str):
            raise TypeError(f"the sentences of {language!r} must be a list of str, not one str")
        if len(sentences) != len(texts[reference]) or not sentences:
            raise ValueError(
                f"{language!r} has {len(sentences)} sentences and {reference!r} {len(texts[reference])}: "
                f"each language needs the same ones, and at least one"
            )
        rows = [encode_with(encode, text, repr(language)) for text in check_documents(sentences)]
        tokens[language] = sum(map(len, rows))
        if not tokens[language]:
            raise ValueError(f"the sentences of {language!r} give no tokens, so there is nothing to compare")
    return {language: number / tokens[reference] for language, number in tokens.items()}


def table(measurements: Mapping[str, Measurement], columns: Iterable[str] = COLUMNS) -> show.Table:
    """Make a row for each measurement: {name: measurement}. What is not defined is shown as a dash.

    columns: which of COLUMNS, in which order. Raises ValueError for any other.
    """
    names = [_check_column(column) for column in columns]
    rows = [[name, *(_format(column, found) for column in names)] for name, found in measurements.items()]
    return show.Table(["", *names], rows)


def compare(measurements: Mapping[str, Mapping[str, Measurement]], column: str) -> show.Table:
    """Show one column for many texts: {tokenizer: {text: measurement}}, a row for each tokenizer.

    Raises ValueError for a column that is not in COLUMNS, and for tokenizers with different texts.
    """
    texts = _common_texts(measurements)
    name = _check_column(column)
    rows = [[label, *(_format(name, row[text]) for text in texts)] for label, row in measurements.items()]
    return show.Table(["", *texts], rows)


def plot(measurements: Mapping[str, Mapping[str, Measurement]], column: str, heading: str = "") -> list[Axes]:
    """Draw what `compare` shows as bars, a panel for each text, and return the panels. Needs matplotlib.

    Raises as `compare`.
    """
    texts = _common_texts(measurements)
    value, number = COLUMNS[_check_column(column)]
    panels = show.panels(texts, heading, x=column, shared=True)
    for panel, text in zip(panels, texts, strict=True):
        show.bars(panel, {label: value(row[text]) for label, row in measurements.items()}, number.format)
    return panels


def _check_column(name: str) -> str:
    if name not in COLUMNS:
        raise ValueError(f"unknown column {name!r}: choose from {', '.join(map(repr, COLUMNS))}")
    return name


def _common_texts(measurements: Mapping[str, Mapping[str, Measurement]]) -> list[str]:
    if not measurements:
        raise ValueError("there are no measurements to compare")
    texts = list(next(iter(measurements.values())))
    for label, row in measurements.items():
        if set(row) != set(texts):
            raise ValueError(f"{label!r} was measured on {list(row)}, and the first on {texts}")
    return texts


def _format(column: str, measurement: Measurement) -> str:
    value, form = COLUMNS[column]
    number = value(measurement)
    return "–" if math.isnan(number) else form.format(number)
