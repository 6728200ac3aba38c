"""Regular expressions that `regex` and Oniguruma, which `tokenizers` uses, read alike.

The two agree on most of what splits are made of, and differ without a word on the rest: `{1,3}+` is
possessive for one and an endless repetition for the other, `$` ends a text or a line, `\\w` and `\\h` are
other characters, brackets nest or not. So only what is known to mean the same is passed on.

That also bounds what a hostile file can do. A group may not be repeated, and then no expression takes time
that grows exponentially with the text. It may still grow as a power of the length of a long run, as with
the real splits.
"""

from __future__ import annotations

import re

import regex

from bpe import presplit

LONGEST = 10_000  # characters; real ones have a few hundred

# GPT-4's split as Oniguruma has to be told it: an atomic group for the possessive braces; and after `\s++`
# nothing but the end of the text can be left where no other character stands, so `$` is not needed.
GPT4_FOR_ONIGURUMA = presplit.GPT4.replace(r"\p{N}{1,3}+", r"(?>\p{N}{1,3})").replace(r"\s++$", r"\s++(?!\S)")

_SCRIPTS = "Arabic|Cyrillic|Devanagari|Greek|Han|Hangul|Hebrew|Hiragana|Katakana|Latin|Thai"
_ESCAPED = rf"\\[pP]\{{\^?(?:[LMNPSZC][a-z]?|{_SCRIPTS})\}}|\\[sSdDrnt]|\\u[0-9A-Fa-f]{{4}}|\\[^\w\s]"
_PORTABLE = re.compile(
    # A group may be there once or not at all.
    rf"""(?:
        (?: {_ESCAPED}
          | [^\\\[\](){{}}?*+.^$|]                                    # a character
          | \[\^? (?: (?!&&|--|\|\||~~)(?:{_ESCAPED}|[^\\\[\]]) )+ \]    # one of several
        )
        (?: [?*+][?+]? | \{{[0-9]{{1,3}}(?:,[0-9]{{0,3}})?\}}(?![?+]) )?
      | \( (?:\?(?:[:>=!]|i:))?                                       # a group begins
      | \) (?:\?[?+]?)?(?![*+{{])                                     # and ends
      | \|
    )+""",
    re.VERBOSE,
)
_LOOKAHEAD = re.compile(r"\(\?[=!](?:\\.|[^()\\])*\)")


def to_oniguruma(expression: str) -> str:
    """The expression as Oniguruma has to be told it.

    Raises ValueError where it holds what the two may read in different ways.
    """
    if expression == presplit.GPT4:
        return GPT4_FOR_ONIGURUMA
    refuse_unportable(expression)
    return expression


def from_oniguruma(expression: str) -> str:
    """What `to_oniguruma` made this of. Raises ValueError as it does."""
    refuse_unportable(expression)
    return presplit.GPT4 if expression == GPT4_FOR_ONIGURUMA else expression


def refuse_unportable(expression: str) -> None:
    """Raise ValueError for an expression that `regex` and Oniguruma may read in different ways."""
    shown = expression if len(expression) <= 100 else expression[:100] + "…"
    if len(expression) > LONGEST:
        raise ValueError(f"the expression {shown!r} has more than {LONGEST:,} characters")
    if not _PORTABLE.fullmatch(expression):
        end = max((match.end() for match in [_PORTABLE.match(expression)] if match), default=0)
        raise ValueError(
            f"the expression {shown!r} holds, at position {end}, what regex libraries read in different "
            f"ways, or a repeated group, which can take endless time"
        )
    presplit.resolve([expression])
    # `tokenizers` cuts the text at empty matches too.
    if regex.fullmatch(_LOOKAHEAD.sub("", expression), ""):
        raise ValueError(f"the expression {shown!r} can match nothing")
