"""Regular expressions that mean the same to `regex` and to Oniguruma, the library in `tokenizers`.

The two agree on most of what patterns contain, and differ silently on the rest: `{1,3}+` is possessive for
one and an unlimited repetition for the other, `$` matches at the end of the text or of a line, `\\w` and
`\\h` match different characters, brackets nest or not. Without regard to case, `[a-z]` matches İ for one, and
`ss` matches ß for the other: only the contractions of English are known to match the same. So only what is
known to mean the same is accepted. Characters that are newer than one library's Unicode may still differ.

That also limits what a hostile file can do. A group must not be repeated, so no expression takes time that
grows exponentially with the text. Time may still grow as a power of the length of a long run.
"""

from __future__ import annotations

import re

from bpe import presplit
from bpe.presplit import LONGEST

# GPT-4's pattern for Oniguruma: an atomic group replaces the possessive braces, and a lookahead replaces `$`,
# since the text has ended if no other character follows `\s++`.
GPT4_FOR_ONIGURUMA = presplit.GPT4.replace(r"\p{N}{1,3}+", r"(?>\p{N}{1,3})").replace(r"\s++$", r"\s++(?!\S)")

_SCRIPTS = "Arabic|Cyrillic|Devanagari|Greek|Han|Hangul|Hebrew|Hiragana|Katakana|Latin|Thai"
_CLASS = rf"\\[pP]\{{\^?(?:[LMNPSZC][a-z]?|{_SCRIPTS})\}}|\\[sSdD]"
_ESCAPED = r"\\[rnt]|\\[^\w\s]|\\u(?![dD][89a-fA-F])[0-9A-Fa-f]{4}"  # no surrogate
_MEMBER = rf"(?:{_ESCAPED}|[^\\\[\]-])"
_CONTRACTION = r"'?(?:[sdmt]|ll|ve|re|\[[sdmt]+\])"
_PORTABLE = re.compile(
    rf"""
        (?: {_CLASS} | {_ESCAPED} | [^\\\[\](){{}}?*+.^$|]
          | \[\^?+ (?=[^]]) -? (?: (?!&&|\|\||~~)(?:{_CLASS}|{_MEMBER}(?:-{_MEMBER})?) )* -?\]
        )
        (?P<repeat> [?*+][?+]? | \{{[0-9]{{1,3}}(?:,[0-9]{{0,3}})?\}}(?![?+]) )?
      | (?P<contraction> \(\?i: {_CONTRACTION} (?:\|{_CONTRACTION})* \) ) (?P<maybe> \? )? (?![^|])
      | (?P<start> \( (?:\?[:>=!])? )
      | (?P<end> \) ) (?P<optional> \?[?+]? )?(?![*+{{])              # a group occurs once or not at all
      | (?P<bar> \| )
    """,
    re.VERBOSE,
)

# The Llama 3 pattern and its relatives.
_CASELESS = re.compile(
    rf"(?:\\[pP]\{{\^?[A-Z]\}}|\\[sSdDrnt]|\(\?i:{_CONTRACTION}(?:\|{_CONTRACTION})*\)|[^A-Za-z\x80-\U0010FFFF-])+"
)


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
    least = _least_length(expression, shown)
    presplit.resolve([expression])
    if not least:
        # `tokenizers` would also cut the text at empty matches.
        raise ValueError(f"the expression {shown!r} can match the empty string")


def _least_length(expression: str, shown: str) -> int:
    """Return a number of characters that every match has. Raises ValueError for what is not portable."""
    end = 0
    starts = [""]  # of the open groups; the first is the whole expression
    lengths = [[0]]  # for each of them, the least lengths of its alternatives
    while end < len(expression):
        found = _PORTABLE.match(expression, end)
        if not found or not _fits(found, starts, lengths):
            raise ValueError(
                f"the expression {shown!r} has, at position {end}, something that regex libraries read "
                f"differently, or a repeated group, which can take unlimited time"
            )
        if found["start"]:
            starts.append(found["start"])
            lengths.append([0])
        elif found["bar"]:
            lengths[-1].append(0)
        elif found["end"]:
            least = _length_of_group(starts.pop(), lengths.pop())
            lengths[-1][-1] += 0 if found["optional"] else least
        else:
            lengths[-1][-1] += _least_times(found["repeat"] or found["maybe"])
        end = found.end()
    return min(lengths[0])


def _fits(found: re.Match[str], starts: list[str], lengths: list[list[int]]) -> bool:
    """Return whether a part of an expression is portable after what comes before it."""
    if found["end"]:
        # Oniguruma refuses some optional groups that can match nothing.
        return len(starts) > 1 and not (found["optional"] and not _length_of_group(starts[-1], lengths[-1]))
    if found["contraction"] and not lengths[-1][-1]:
        # If one alternative begins so, `regex` searches for the beginnings of all without regard to case, and
        # then misses, say, ß for `\\P{Lu}`. That is harmless where nothing else depends on case.
        begins = found.start() == 0 or found.string[found.start() - 1] == "|"
        return begins and _CASELESS.fullmatch(found.string) is not None
    return True


def _length_of_group(start: str, lengths: list[int]) -> int:
    return 0 if start in ("(?=", "(?!") else min(lengths)


def _least_times(repeat: str | None) -> int:
    if repeat is None or repeat[0] == "+":
        return 1
    return int(re.findall("[0-9]+", repeat)[0]) if repeat[0] == "{" else 0
