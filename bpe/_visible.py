"""Text that shows what is in it: no character that a terminal or a page obeys or hides."""

from __future__ import annotations

import regex

# Control characters have pictures of their own, and the most common invisible ones have usual signs.
_SIGNS = {chr(code): chr(0x2400 + code) for code in range(32)} | {"\x7f": "␡"}
SPACES = {" ": "·", "\n": "⏎", "\t": "⇥", "\u00a0": "⍽", "\u3000": "□"}

# Controls, invisible marks (some change the direction of all that follows), line ends, spaces, surrogates,
# and letters without ink, such as the Hangul filler and the empty Braille pattern.
_HIDDEN = regex.compile(r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]")


def visible(text: str, keep: str = " \n") -> str:
    """Return the text with a sign, or its code point, in place of each invisible character.

    keep: characters that stay as they are.

    >>> visible("a\\x1b[1m\\u202eb")
    'a␛[1m[U+202E]b'
    """
    return _HIDDEN.sub(lambda found: found.group() if found.group() in keep else _sign(found.group()), text)


def _sign(character: str) -> str:
    return SPACES.get(character) or _SIGNS.get(character) or f"[U+{ord(character):04X}]"
