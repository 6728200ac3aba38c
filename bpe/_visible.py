"""Text that shows what is in it: no character that a terminal or a page obeys or hides."""

from __future__ import annotations

import re

import regex

# Control characters have pictures of their own, and the most common invisible ones have usual signs.
_SIGNS = {chr(code): chr(0x2400 + code) for code in range(32)} | {"\x7f": "␡"}
SPACES = {" ": "·", "\n": "⏎", "\t": "⇥", "\u00a0": "⍽", "\u3000": "□"}

# Controls, invisible marks (some change the direction of all that follows), line ends, spaces, surrogates,
# and letters without ink, such as the Hangul filler and the empty Braille pattern.
HIDDEN = regex.compile(r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]")


def visible(text: str, keep: str = " \n") -> str:
    """Return the text with a sign, or its code point, in place of each invisible character.

    keep: characters that stay as they are.

    >>> visible("a\\x1b[1m\\u202eb")
    'a␛[1m[U+202E]b'
    """
    return HIDDEN.sub(lambda found: found.group() if found.group() in keep else _sign(found.group()), text)


def _sign(character: str) -> str:
    return SPACES.get(character) or _SIGNS.get(character) or f"[U+{ord(character):04X}]"


def readable(token: bytes | str) -> str:
    """Return a token as people can read it: parts of characters in hexadecimal, signs for what is invisible.

    >>> readable("，行".encode()[:-1]), readable(b" the")
    ('，[e8 a1]', '·the')
    """
    if isinstance(token, str):
        return visible(token, keep="")
    parts = re.split("([\udc80-\udcff]+)", token.decode("utf-8", "surrogateescape"))
    return "".join(_to_hexadecimal(part) if i % 2 else visible(part, keep="") for i, part in enumerate(parts))


def _to_hexadecimal(part: str) -> str:
    return f"[{part.encode('utf-8', 'surrogateescape').hex(' ')}]"
