"""Regular expressions that mean the same to `regex` and to Oniguruma, the library in `tokenizers`.

The two agree on most of what patterns contain, and differ silently on the rest: `{1,3}+` is possessive for
one and an unlimited repetition for the other, `$` matches at the end of the text or of a line, `\\w` and
`\\h` match different characters, brackets nest or not. So only what is known to mean the same is accepted.

That also limits what a hostile file can do. A group must not be repeated, so no expression takes time that
grows exponentially with the text. Time may still grow as a power of the length of a long run, as with the
real patterns.
"""

from __future__ import annotations

import re

import regex

from bpe import presplit

LONGEST = 10_000  # characters; real expressions have a few hundred

# GPT-4's pattern for Oniguruma: an atomic group replaces the possessive braces, and a lookahead replaces `$`,
# since the text has ended if no other character follows `\s++`.
GPT4_FOR_ONIGURUMA = presplit.GPT4.replace(r"\p{N}{1,3}+", r"(?>\p{N}{1,3})").replace(r"\s++$", r"\s++(?!\S)")

_SCRIPTS = "Arabic|Cyrillic|Devanagari|Greek|Han|Hangul|Hebrew|Hiragana|Katakana|Latin|Thai"
_ESCAPED = rf"\\[pP]\{{\^?(?:[LMNPSZC][a-z]?|{_SCRIPTS})\}}|\\[sSdDrnt]|\\u[0-9A-Fa-f]{{4}}|\\[^\w\s]"
_PORTABLE = re.compile(
    # A group may occur once or not at all.
    rf"""(?:
        (?: {_ESCAPED}
          | [^\\\[\](){{}}?*+.^$|]                                    # a character
          | \[\^? (?: (?!&&|--|\|\||~~)(?:{_ESCAPED}|[^\\\[\]]) )+ \]    # one of several
        )
        (?: [?*+][?+]? | \{{[0-9]{{1,3}}(?:,[0-9]{{0,3}})?\}}(?![?+]) )?
      | \( (?:\?(?:[:>=!]|i:))?                                       # the start of a group
      | \) (?:\?[?+]?)?(?![*+{{])                                     # and its end
      | \|
    )+""",
    re.VERBOSE,
)
_LOOKAHEAD = re.compile(r"\(\?[=!](?:\\.|[^()\\])*\)")


def to_oniguruma(expression: str) -> str:
    """Return the expression for Oniguruma. Raises ValueError as `refuse_unportable`."""
    if expression == presplit.GPT4:
        return GPT4_FOR_ONIGURUMA
    refuse_unportable(expression)
    return expression


def from_oniguruma(expression: str) -> str:
    """Return the expression for `regex`, the inverse of `to_oniguruma`. Raises ValueError as that."""
    refuse_unportable(expression)
    return presplit.GPT4 if expression == GPT4_FOR_ONIGURUMA else expression


def refuse_unportable(expression: str) -> None:
    """Raise ValueError for an expression that `regex` and Oniguruma may read differently."""
    shown = expression if len(expression) <= 100 else expression[:100] + "…"
    if len(expression) > LONGEST:
        raise ValueError(f"the expression {shown!r} has more than {LONGEST:,} characters")
    if not _PORTABLE.fullmatch(expression):
        portable = _PORTABLE.match(expression)
        end = portable.end() if portable else 0
        raise ValueError(
            f"the expression {shown!r} has, at position {end}, something that regex libraries read "
            f"differently, or a repeated group, which can take unlimited time"
        )
    presplit.resolve([expression])
    # `tokenizers` would also cut the text at empty matches.
    if regex.fullmatch(_LOOKAHEAD.sub("", expression), ""):
        raise ValueError(f"the expression {shown!r} can match the empty string")
