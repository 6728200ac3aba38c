"""Pieces and how often each occurs: all that training needs to know of a text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from bpe import presplit, special
from bpe.engines import engine_for
from bpe.inputs import documents_of

if TYPE_CHECKING:
    from bpe.compiled import Pieces


def count_pieces(
    documents: str | Iterable[str], pattern: presplit.Pattern = None, special_tokens: Iterable[str] = ()
) -> dict[str, int]:
    """How often each piece occurs, in the order of first appearance.

    documents: a str, or an iterable of str; read once, so a generator over a large corpus will do.
    pattern: how each document is cut, as in `BPETokenizer.train`.
    special_tokens: documents are cut at them too, and they are not counted.

    The order decides ties in `BPETokenizer.train_from_counts`.

    >>> count_pieces("to be or not to be", "words")
    {'to': 2, ' ': 5, 'be': 2, 'or': 1, 'not': 1}
    """
    return dict(counted(documents, pattern, special.different(special_tokens)).items())


def counted(
    documents: str | Iterable[str], pattern: presplit.Pattern, names: Collection[str]
) -> Mapping[str, int]:
    """What `count_pieces` gives; of a long text whose split is compiled, as `bpe.compiled.Pieces`."""
    expressions = presplit.resolve(pattern)
    counts: dict[str, int] = {}
    for document in documents_of(documents):
        for part, is_special in special.parts(document, names):
            if is_special:
                continue
            pieces = _compiled_pieces(part, expressions)
            if pieces is not None and part is documents:
                return pieces
            for piece, count in pieces.items() if pieces is not None else _each(part, expressions):
                counts[piece] = counts.get(piece, 0) + count
    return counts


def _compiled_pieces(text: str, expressions: tuple[str, ...]) -> Pieces | None:
    """The pieces of a text, if it is long enough and there is a compiled scanner for its split."""
    if engine_for("auto", len(text)) != "compiled":
        return None
    from bpe import compiled, scanner

    return compiled.counted(text, expressions) if scanner.knows(expressions) else None


def _each(text: str, expressions: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """The pieces of a text, one after the other."""
    return ((piece, 1) for piece in presplit.pieces(text, expressions))
