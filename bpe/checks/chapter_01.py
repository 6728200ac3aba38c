"""The checks of chapter 1: unknown characters, coverage, and a lossless escape."""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from fractions import Fraction

from bpe.checks import exercise


@exercise
def exercise_1(unknown_rate: Callable[[Set[str], str], float]) -> str | None:
    for known, text, expected in [
        ("abc", "abc", 0.0),
        ("abc", "abcd", 0.25),
        ("abc", "ddda", 0.75),
        ("abc", "xyz", 1.0),
        ("月光", "明月光，", 0.5),
        ("", "a", 1.0),
        ("abc", "", 0.0),
    ]:
        try:
            rate = unknown_rate(set(known), text)
        except ZeroDivisionError:
            return f"For {text!r} your code divides by zero. What is the rate if there are no characters?"
        if not isinstance(rate, (int, float)):
            return f"For {text!r} you return {rate!r}; it should be a number."
        if not math.isclose(rate, expected, abs_tol=1e-9):
            return (
                f"For the known characters {known!r} and {text!r} you return {rate}; it should be {expected}."
            )
    return None


@exercise
def exercise_2(characters_needed: Callable[[str, float | Fraction], int]) -> str | None:
    for text, share, expected in [
        ("banana", 0.5, 1),
        ("banana", 0.51, 2),
        ("banana", 0.8, 2),
        ("banana", 1.0, 3),
        ("banana", 0.0, 0),
        ("aaaaaaaaab", 0.9, 1),
        ("zzzzyyyxxw", 0.7, 2),
        ("abcdefghij", 0.8, 8),
        ("abcdefghij", 1.0, 10),
        ("月月月光", 0.75, 1),
        ("月月月光", 1.0, 2),
        ("", 1.0, 0),
    ]:
        try:
            number = characters_needed(text, share)
        except ZeroDivisionError:
            return f"For {text!r} your code divides by zero. How many characters does an empty text need?"
        if isinstance(number, bool) or not isinstance(number, int):
            return f"For {share} of {text!r} you return {number!r}; it should be a whole number."
        if number != expected:
            hint = f"For {share} of {text!r} you return {number}; it should be {expected}."
            if text == "abcdefghij" and share == 0.8:
                hint += " Sums of floats are not exact: add the counts, and compare at the end."
            return hint
    return None


KNOWN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789&; \n")


@exercise
def exercise_3(escape: Callable[[str], str], unescape: Callable[[str], str]) -> str | None:
    for text in [
        "tea",
        "",
        "茶",
        "tea is 茶\n",
        "床前明月光",
        "Tea!",
        "😀",
        "a;b",
        ";",
        "茶1;",
        "\x00",
        "\U0010ffff",
    ]:
        if hint := _round_trip(escape, unescape, text):
            return hint
    if escape("茶") != "&33590;":
        return f"escape('茶') returned {escape('茶')!r}; it should be '&33590;'."
    if escape("tea 4 you") != "tea 4 you":
        return f"The text 'tea 4 you' needs no escape, but it became {escape('tea 4 you')!r}."
    for text in ["&33590;", "&", "&&", "fish & chips", "&;", "&x;", "茶&茶;", "&amp;", "&38;", "&#33590;"]:
        if hint := _round_trip(escape, unescape, text):
            return hint + " This text holds an & of its own. How can `unescape` tell?"
    return None


def _round_trip(escape: Callable[[str], str], unescape: Callable[[str], str], text: str) -> str | None:
    escaped = escape(text)
    if not isinstance(escaped, str):
        return f"escape({text!r}) returned {escaped!r}; it should be a str."
    if foreign := [character for character in escaped if character not in KNOWN]:
        character = foreign[0]
        return f"The text {text!r} became {escaped!r}, but {character!r} is not in the vocabulary."
    back = unescape(escaped)
    if back != text:
        return f"The text {text!r} became {escaped!r}, and that came back as {back!r}."
    return None
