"""One printable letter for each byte, so that any token can be written to a text file.

GPT-2's files introduced the letters and `tokenizers` uses them too: a byte that is a printable character of
Latin-1 is written as itself, and the others, in their order, as the letters from U+0100. So a space, byte 32,
is Ġ. This is a file format only: no tokenizer of this course works on these letters.
"""

from __future__ import annotations

_PRINTABLE = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]

LETTERS: dict[int, str] = {byte: chr(byte) for byte in _PRINTABLE} | {
    byte: chr(0x100 + k) for k, byte in enumerate(_OTHERS)
}
BYTES: dict[str, int] = {letter: byte for byte, letter in LETTERS.items()}


def to_letters(token: bytes) -> str:
    """Write a token in letters.

    >>> to_letters(b" caf\\xc3\\xa9")
    'ĠcafÃ©'
    """
    return "".join(LETTERS[byte] for byte in token)


def to_bytes(letters: str) -> bytes:
    """Return the token that the letters spell. Raises ValueError for a letter that is not one of them.

    >>> to_bytes("Ġnew")
    b' new'
    """
    try:
        return bytes(BYTES[letter] for letter in letters)
    except KeyError as error:
        letter = error.args[0]
        raise ValueError(
            f"{letters!r} is not the bytes of a token: {letter!r} (U+{ord(letter):04X}) stands for no byte"
        ) from None
