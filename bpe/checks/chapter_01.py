"""The checks of chapter 1: unknown characters, coverage, and an escape that loses nothing."""

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
            return f"With the text {text!r} it divided by zero: what is the rate when there is no character?"
        if not isinstance(rate, (int, float)):
            return f"It should give a number, and gave {rate!r}"
        if not math.isclose(rate, expected, abs_tol=1e-9):
            return (
                f"With the characters {known!r} known, the rate of {text!r} is {expected}, and it gave {rate}"
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
            return f"With the text {text!r} it divided by zero: how many does an empty text need?"
        if isinstance(number, bool) or not isinstance(number, int):
            return f"It should give a whole number, and gave {number!r}"
        if number != expected:
            hint = f"For {share} of {text!r} it gave {number}, and {expected} is enough"
            if number < expected:
                hint = (
                    f"For {share} of {text!r} it gave {number}, and that is not enough: it takes {expected}"
                )
            if text == "abcdefghij" and share == 0.8:
                hint += ". Sums of floats are not exact: add the counts, and compare at the end"
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
        return f"The result of escape('茶') should be '&33590;', and is {escape('茶')!r}"
    if escape("tea 4 you") != "tea 4 you":
        return f"The text 'tea 4 you' needs no escape, and became {escape('tea 4 you')!r}"
    for text in ["&33590;", "&", "&&", "fish & chips", "&;", "&x;", "茶&茶;", "&amp;", "&38;", "&#33590;"]:
        if hint := _round_trip(escape, unescape, text):
            return hint + ". This text holds a & of its own: how can the reader of it tell?"
    return None


def _round_trip(escape: Callable[[str], str], unescape: Callable[[str], str], text: str) -> str | None:
    escaped = escape(text)
    if not isinstance(escaped, str):
        return f"The result of escape({text!r}) should be a str, and is {escaped!r}"
    if foreign := [character for character in escaped if character not in KNOWN]:
        character = foreign[0]
        return f"The text {text!r} became {escaped!r}, which holds {character!r}, outside the vocabulary"
    back = unescape(escaped)
    if back != text:
        return f"The text {text!r} became {escaped!r}, and that came back as {back!r}"
    return None
