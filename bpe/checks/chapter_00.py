"""The checks of chapter 0, which shows how checks work."""

from __future__ import annotations

from collections.abc import Callable

from bpe.checks import exercise, make_hint


@exercise()
def example(last: Callable[[str], str]) -> str | None:
    for text, expected in [("tea", "a"), ("月光", "光"), ("x", "x")]:
        if (found := last(text)) != expected:
            return f"For {text!r} you return {found!r}; it should be {expected!r}."
    try:
        found = last("")
    except IndexError:
        return "For '' your code raised IndexError; it should return ''. An empty text has no last character."
    return None if found == "" else f"For '' you return {found!r}; it should be ''."


@exercise(
    "A space goes between two characters, never before the first or after the last.",
    (
        "Strings have a method that puts a separator between the items of something. A string is a "
        "sequence too."
    ),
    "The separator comes first: `separator.join(…)`.",
)
def exercise_1(spaced: Callable[[str], str]) -> str | None:
    for text, expected in [
        ("tea", "t e a"),
        ("月光", "月 光"),
        ("x", "x"),
        ("", ""),
        ("a b", "a   b"),
        (" a\n", "  a \n"),
    ]:
        if (found := spaced(text)) != expected:
            return f"For {text!r} you return {found!r}; it should be {expected!r}."
    return None


hint = make_hint(__name__)
