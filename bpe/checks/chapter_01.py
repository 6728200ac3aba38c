"""The checks of chapter 1: unknown characters, coverage, and a lossless escape."""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from fractions import Fraction

from bpe.checks import exercise, is_number, make_hint


@exercise(
    "Count the characters of the text that are unknown. What do you divide by?",
    (
        "`character not in known` is True or False, and `sum` counts True as 1. An empty text has "
        "nothing to divide by."
    ),
    (
        "If the text is empty, return 0; otherwise `sum(character not in known for character in text) / "
        "len(text)`."
    ),
)
def exercise_1(unknown_rate: Callable[[Set[str], str], float]) -> str | None:
    for known, text, expected in [
        ("abc", "abc", 0.0),
        ("abc", "abcd", 0.25),
        ("abc", "ddda", 0.75),
        ("abc", "xyz", 1.0),
        ("月光", "明月光，", 0.5),
        ("abc", "aBc", 1 / 3),  # upper case is another character, and the rate is not rounded
        ("", "a", 1.0),
        ("abc", "", 0.0),
    ]:
        try:
            rate = unknown_rate(set(known), text)
        except ZeroDivisionError:
            return f"For {text!r} your code divides by zero. What is the rate if there are no characters?"
        if not is_number(rate):
            return f"For {text!r} you return {rate!r}; it should be a number."
        if not math.isclose(rate, expected, abs_tol=1e-9):
            return f"For {known!r} as known and {text!r} you return {rate}; it should be {expected:.6g}."
    return None


@exercise(
    "Which character would you take first to cover as much of the text as possible?",
    (
        "Take the characters from the most frequent to the rarest (`Counter(text).most_common()`) and "
        "add their counts until they are enough."
    ),
    (
        "Keep two numbers, `covered` and `needed`. Stop as soon as `covered >= share * len(text)`, and "
        "ask this before you take the next character."
    ),
)
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
        if not is_number(number):
            return f"For {share} of {text!r} you return {number!r}; it should be a number."
        if number != expected:
            hint = f"For {share} of {text!r} you return {number}; it should be {expected}."
            if text == "abcdefghij" and share == 0.8:
                hint += " Sums of floats are not exact: add the counts, and compare at the end."
            return hint
    return None


KNOWN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789&; \n")


@exercise(
    (
        "`unescape` must tell an `&` of the text from an `&` that `escape` wrote. How can you make all "
        "of them look alike?"
    ),
    (
        "Write `&` itself as a code point too, although it is in the vocabulary. Then each `&` of the "
        "result begins an escape."
    ),
    (
        'For each character: itself if it is in `known` and not `&`, else `f"&{ord(character)};"`. Back: '
        '`re.sub(r"&(\\d+);", …)` with a function that calls `chr`.'
    ),
)
def exercise_3(escape: Callable[[str], str], unescape: Callable[[str], str]) -> str | None:
    for text in [
        "tea",
        "",
        "茶",
        "tea is 茶\n",
        "  two  spaces ",
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
            return hint + " This text has an & of its own. How can `unescape` tell?"
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


hint = make_hint(__name__)
