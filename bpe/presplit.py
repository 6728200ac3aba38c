"""Cutting text into pieces before any merge: no merge crosses from one piece to the next.

A split is a list of regular expressions (of the `regex` package), applied in turn, each to the pieces
left by the one before. The pieces are the matches and the gaps between them, so joined they are the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import regex

# A poem's lines, its punctuation and its line ends apart.
VERSE = r"[，。！？；：、]|\n"
# Words at white space; the white space between them is a piece too.
WORDS = r"\S+"

PATTERNS: dict[str, tuple[str, ...]] = {"verse": (VERSE,), "words": (WORDS,)}

Pattern = str | Iterable[str] | None


def resolve(pattern: Pattern) -> tuple[str, ...]:
    """The expressions that `pattern` stands for.

    pattern: None (no split), a name in PATTERNS, a regular expression, or a list of these.
    Raises ValueError for an expression that `regex` cannot compile, TypeError for what is no string.
    """
    if pattern is None:
        return ()
    if not isinstance(pattern, Iterable):
        raise TypeError(f"a pattern must be a str or a list of str, not {type(pattern).__name__}")
    named = [pattern] if isinstance(pattern, str) else pattern
    expressions: list[str] = []
    for item in named:
        if not isinstance(item, str):
            raise TypeError(f"a pattern must be a str, not {type(item).__name__}")
        expressions += PATTERNS.get(item, (item,))
    for expression in expressions:
        try:
            regex.compile(expression)
        except regex.error as error:
            raise ValueError(f"{expression!r} is not a regular expression: {error}") from None
    return tuple(expressions)


def _cut(text: str, expression: regex.Pattern[str]) -> Iterator[str]:
    end = 0
    for match in expression.finditer(text):
        if match.end() == match.start():
            continue
        if match.start() > end:
            yield text[end : match.start()]
        yield match.group()
        end = match.end()
    if end < len(text):
        yield text[end:]


def pieces(text: str, expressions: Iterable[str]) -> list[str]:
    """The pieces of `text`: matches and gaps of the first expression, these cut by the next, and so on.

    >>> pieces("床前明月光，疑是地上霜。", [VERSE])
    ['床前明月光', '，', '疑是地上霜', '。']
    """
    current = [text] if text else []
    for expression in expressions:
        compiled = regex.compile(expression)
        current = [piece for longer in current for piece in _cut(longer, compiled)]
    return current
