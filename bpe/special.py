"""Special tokens: strings with an id of their own, which no merge makes and no user should slip in."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Literal

from bpe._validate import PositionError, refuse_surrogates, refuse_unordered

Names = Iterable[str] | Literal["all"]

# At worst, each character of a text is compared with all of these names.
LONGEST = 1_000  # characters of a name; real ones have at most a hundred or two
MOST_CHARACTERS = 1_000_000  # of all names together: 50,000 of the usual kind


class SpecialTokenError(PositionError):
    """The text holds a special token that is not allowed."""


def check_names(special_tokens: Iterable[str], what: str = "special token") -> list[str]:
    """Return the special tokens as a list, since their order gives their ids.

    what: what error messages call one of them.

    Raises TypeError or ValueError unless they are different strings within the limits above, and TypeError
    for a set, which has no order, and for a mapping, whose values would be lost.
    """
    plural = f"{what}s".replace(" ", "_")
    if isinstance(special_tokens, str):
        raise TypeError(f"{plural} must be a list of strings, not the string {special_tokens!r}")
    refuse_unordered(special_tokens, plural)
    names = list(special_tokens)
    seen: set[str] = set()
    for name in names:
        refuse_surrogates(name, f"a {what}")
        if not name:
            raise ValueError(f"a {what} must not be empty")
        if what == "special token" and len(name) > LONGEST:
            raise ValueError(f"a {what} may have {LONGEST:,} characters, not {len(name):,}: {name[:20]!r}…")
        if name in seen:
            raise ValueError(f"{what} {name!r} is given twice")
        seen.add(name)
    if what == "special token" and (characters := sum(map(len, names))) > MOST_CHARACTERS:
        raise ValueError(f"special tokens may have {MOST_CHARACTERS:,} characters in all, not {characters:,}")
    return names


def expression(names: Collection[str]) -> re.Pattern[str]:
    """The expression that finds any of the names in a text; of two that begin alike, the longer one."""
    return _compile(frozenset(names))


@lru_cache(maxsize=64)
def _compile(names: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(names, key=len, reverse=True)
    # Without names: an expression that matches nowhere.
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")


def parts(
    text: str, names: Collection[str], allowed: Names = "all", disallowed: Names = "all"
) -> Iterator[tuple[str, bool]]:
    """Cut a text at the allowed special tokens; yields (part, whether it is a special token).

    disallowed: special tokens at which to raise; "all" means all that are not allowed. A name in both is
    refused, and a name in neither stays ordinary text.
    Raises SpecialTokenError, a ValueError that names token and position, for one that is not allowed.
    """
    allowed = _choose(allowed, names)
    refused = set(names).difference(allowed) if disallowed == "all" else _choose(disallowed, names)
    start = 0
    if not allowed and not refused:
        # Searching a long text for nothing takes as long as cutting it.
        yield from [(text, False)] if text else []
        return
    # Names that are neither are left out of the search, or they would hide others that begin within them.
    for match in expression({*allowed, *refused}).finditer(text):
        name = match.group()
        if name in refused:
            raise SpecialTokenError(
                f"the text holds the special token {name!r}",
                match.start(),
                f"; to encode it as one give allowed_special={{{name!r}}}; as ordinary text, "
                f"disallowed_special=()",
            )
        if match.start() > start:
            yield text[start : match.start()], False
        yield name, True
        start = match.end()
    if start < len(text):
        yield text[start:], False


def _choose(chosen: Names, names: Collection[str]) -> Collection[str]:
    if chosen == "all":
        return names
    if isinstance(chosen, str) or not isinstance(chosen, Iterable):
        kind = f"the string {chosen!r}" if isinstance(chosen, str) else type(chosen).__name__
        raise TypeError(f"give a set of special tokens or 'all', not {kind}")
    chosen = set(chosen)
    if unknown := chosen.difference(names):
        known = ", ".join(map(repr, names)) or "none"
        raise ValueError(f"not a special token of this tokenizer: {min(unknown, key=repr)!r}; it has {known}")
    return chosen
