"""Regular expressions of the `regex` package as expressions of JavaScript that match the same.

The two differ in syntax (possessive quantifiers, flags within an expression) and in what `\\s`, `\\w`
or `$` mean; and `\\p{L}` depends on the Unicode version, of the browser there and of the package here. So
each class of characters is written out: `regex` itself is asked which characters it matches. The page then
cuts as Python does, in any browser.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NoReturn

import regex

Ranges = tuple[tuple[int, int], ...]  # (first, last) code point of each range, in order
Part = str | Ranges  # of an expression: as JavaScript reads it, or a class of characters

_SURROGATES = range(0xD800, 0xE000)
_GROUPS = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"}
_START, _END = r"(?<![\s\S])", r"(?![\s\S])"
_ANCHORS = {
    "^": _START,
    "$": rf"(?=\n?{_END})",  # before a newline at the end, too
    r"\A": _START,
    r"\Z": _END,
    r"\z": _END,
}
_ESCAPE = regex.compile(
    r"\\(?:[pP](?:\{[^{}]+\}|[A-Z])|N\{[^{}]+\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}"
    r"|[dDsSwWnrtfv]|[^0-9A-Za-z])"
)
_CLASS = regex.compile(r"\[\^?\]?(?:\\[pPN]\{[^{}]*\}|\\.|[^\]\\])*\]", regex.DOTALL)
_QUANTIFIER = regex.compile(r"([*+?]|\{[0-9]+\}|\{[0-9]+,[0-9]*\}|\{,[0-9]+\})([?+]?)")
_OPENING = regex.compile(r"\((?:\?(?:P?<[A-Za-z_]\w*>|(?:[is]*(?:-[is]+)?):|<?[=!]|>))?")


@lru_cache(maxsize=1)
def _all_characters() -> str:
    return "".join(chr(code) for code in range(0x110000) if code not in _SURROGATES)


@lru_cache(maxsize=256)
def members(atom: str, flags: str = "") -> Ranges:
    """Return the characters that an expression for one character matches, surrogates aside.

    flags: of `regex`, such as "i".

    >>> members(r"\\d")[:2], members("k", "i")
    (((48, 57), (1632, 1641)), ((75, 75), (107, 107), (8490, 8490)))
    """
    found = regex.finditer(f"(?{flags}:{atom})+" if flags else f"(?:{atom})+", _all_characters())
    return tuple((_code(match.start()), _code(match.end() - 1)) for match in found)


def _code(index: int) -> int:
    return index if index < _SURROGATES.start else index + len(_SURROGATES)


def translate(expression: str) -> list[Part]:
    """Return an expression in parts: text for JavaScript, with the flag `u`, and classes of characters.

    Raises ValueError for what has no counterpart there, naming it.
    """
    return _Reader(expression).read()


@dataclass
class _Piece:
    parts: list[Part] = field(default_factory=list)
    least: int = 0  # characters that it matches, at least

    def add(self, other: _Piece) -> None:
        self.parts += other.parts
        self.least += other.least


class _Reader:
    """Reads an expression from left to right: alternatives of sequences of atoms with quantifiers."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.at = 0
        self.num_groups = 0
        self.looks_behind = False

    def read(self) -> list[Part]:
        flags = ""
        if match := regex.match(r"\(\?([is]+)\)", self.expression):
            flags, self.at = match.group(1), match.end()
        whole = self._alternatives(flags)
        if self.at < len(self.expression):
            self._refuse(self.expression[self.at :])
        if not whole.least:
            self._refuse("an expression that can match nothing at all")
        return whole.parts

    def _refuse(self, what: str) -> NoReturn:
        raise ValueError(
            f"{what[:40]} in the pattern {self.expression[:60]!r} can't run in a page; "
            f"explorer(…, kernel=True) takes any pattern"
        )

    def _rest_starts(self, *starts: str) -> bool:
        return self.expression.startswith(starts, self.at)

    def _alternatives(self, flags: str) -> _Piece:
        choices = [self._sequence(flags)]
        while self._rest_starts("|"):
            self.at += 1
            choices.append(self._sequence(flags))
        joined = _Piece(least=min(choice.least for choice in choices))
        for i, choice in enumerate(choices):
            joined.parts += ["|", *choice.parts] if i else choice.parts
        return joined

    def _sequence(self, flags: str) -> _Piece:
        sequence = _Piece()
        while self.at < len(self.expression) and not self._rest_starts("|", ")"):
            sequence.add(self._quantified(flags))
        return sequence

    def _quantified(self, flags: str) -> _Piece:
        begin = self.at
        atom = self._atom(flags)
        found = _QUANTIFIER.match(self.expression, self.at)
        if not found:
            return atom
        self.at = found.end()
        quantifier, manner = found.groups()
        if not atom.least or _QUANTIFIER.match(self.expression, self.at):
            self._refuse(f"the repetition {self.expression[begin : self.at]}")
        if quantifier.startswith("{,"):
            quantifier = "{0" + quantifier[1:]
        digits = regex.match(r"\{([0-9]+)", quantifier)
        times = int(digits.group(1)) if digits else int(quantifier == "+")
        single = len(atom.parts) == 1 and isinstance(atom.parts[0], tuple)
        repeated = atom.parts if single else ["(?:", *atom.parts, ")"]
        repeated = [*repeated, quantifier + ("?" if manner == "?" else "")]
        if manner == "+":
            repeated = self._atomic(repeated)
        return _Piece(repeated, atom.least * times)

    def _atomic(self, parts: list[Part]) -> list[Part]:
        """What no search goes back into: JavaScript has it for lookahead alone, whose match is then taken."""
        if self.looks_behind:
            self._refuse("an atomic group or possessive quantifier that looks behind")
        self.num_groups += 1
        name = f"a{self.num_groups}"
        return [f"(?=(?<{name}>", *parts, rf"))\k<{name}>"]

    def _atom(self, flags: str) -> _Piece:
        if self._rest_starts("("):
            return self._group(flags)
        if self._rest_starts("["):
            return self._characters(_CLASS, "the class", flags)
        for anchor, translated in _ANCHORS.items():
            if self._rest_starts(anchor):
                self.at += len(anchor)
                return _Piece([translated])
        if self._rest_starts(r"\b", r"\B"):
            return self._boundary(flags)
        if self._rest_starts("\\"):
            return self._characters(_ESCAPE, "the escape", flags)
        if self._rest_starts("*", "+", "?", "{"):  # with {, it may be a fuzzy match
            self._refuse(f"the repetition {self.expression[self.at :]}")
        character = self.expression[self.at]
        self.at += 1
        atom = character if character == "." else regex.escape(character)
        return _Piece([members(atom, flags)], 1)

    def _boundary(self, flags: str) -> _Piece:
        ahead, behind = ("(?!", "(?=") if self._rest_starts(r"\b") else ("(?=", "(?!")
        self.at += 2
        word = members(r"\w", flags)
        return _Piece(["(?:(?<=", word, f"){ahead}", word, ")|(?<!", word, f"){behind}", word, "))"])

    def _characters(self, kind: regex.Pattern[str], what: str, flags: str) -> _Piece:
        found = kind.match(self.expression, self.at)
        if not found or regex.search(r"\[\[|\[:|\|\||&&|--|~~", found.group()[1:]):
            self._refuse(f"{what} {self.expression[self.at :]}")
        self.at = found.end()
        return _Piece([members(found.group(), flags)], 1)

    def _group(self, flags: str) -> _Piece:
        found = _OPENING.match(self.expression, self.at)
        if found is None or self.expression.startswith("(?", found.end() - 1):
            self._refuse(f"the group {self.expression[self.at :]}")
        self.at = found.end()
        opening = found.group()
        looks_behind = self.looks_behind
        self.looks_behind |= opening in ("(?<=", "(?<!")
        inner = self._alternatives(_change(flags, opening))
        if not self._rest_starts(")"):
            self._refuse("a group without an end")
        self.at += 1
        if opening == "(?>":
            inner.parts = self._atomic(inner.parts)
        elif opening in _GROUPS:
            inner.parts = [opening, *inner.parts, ")"]
        else:
            inner.parts = ["(?:", *inner.parts, ")"]
        self.looks_behind = looks_behind
        return _Piece(inner.parts, 0 if opening[-1] in "=!" else inner.least)


def _change(flags: str, opening: str) -> str:
    """Return the flags within a group, such as `(?i-s:`."""
    if not opening.endswith(":"):
        return flags
    on, _, off = opening[2:-1].partition("-")
    return "".join(flag for flag in "is" if flag in flags + on and flag not in off)


def spell(ranges: Iterable[tuple[int, int]]) -> str:
    r"""Return a class of characters for JavaScript with the flag `u`.

    >>> spell([(45, 45)]), spell([(48, 57), (95, 95)])
    ('\\u{2d}', '[0-9\\u{5f}]')
    """
    ranges = list(ranges)
    spelled = "".join(_spell(first) + (f"-{_spell(last)}" if last > first else "") for first, last in ranges)
    return spelled if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else f"[{spelled}]"


def _spell(code: int) -> str:
    return chr(code) if code < 128 and chr(code).isalnum() else rf"\u{{{code:x}}}"
