"""The checks of chapter 0, which shows how checks work."""

from __future__ import annotations

from collections.abc import Callable

from bpe.checks import exercise


@exercise
def example(last: Callable[[str], str]) -> str | None:
    for text, expected in [("tea", "a"), ("月光", "光"), ("x", "x")]:
        if (found := last(text)) != expected:
            return f"Of {text!r} it should give {expected!r}, and gave {found!r}"
    try:
        found = last("")
    except IndexError:
        return "Of '' it should give '', and raised IndexError: an empty text has no character to take"
    return None if found == "" else f"Of '' it should give '', and gave {found!r}"


@exercise
def exercise_1(spaced: Callable[[str], str]) -> str | None:
    for text, expected in [("tea", "t e a"), ("月光", "月 光"), ("x", "x"), ("", ""), ("a b", "a   b")]:
        if (found := spaced(text)) != expected:
            return f"Of {text!r} it should give {expected!r}, and gave {found!r}"
    return None
