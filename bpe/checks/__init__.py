"""The checks of the exercises, and the report on what is installed.

The checks of a chapter are in `chapter_NN`, one function for each exercise. A check tries the learner's
answer and returns None if it is right, otherwise a hint:

    @exercise
    def exercise_1(longest):
        if (found := longest(["a", "bcd"])) != "bcd":
            return f"For ['a', 'bcd'] you return {found!r}; it should be 'bcd'."

The learner reads «not started», «not yet» with the hint, or «correct».
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from reprlib import Repr
from typing import Any

Check = Callable[..., "str | None"]

BYTES = [bytes([value]) for value in range(256)]  # the base tokens of a tokenizer over bytes

# Enough of an input to recognise it by.
_short = Repr()
_short.maxstring = _short.maxother = 60
_short.maxlist = _short.maxtuple = _short.maxdict = 12

# What the body `...` or `pass` compiles to, with or without a docstring.
_EMPTY_BODY = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}


class NotStartedError(Exception):
    """The answer is still the empty one that the exercise began with."""


class ReturnedNoneError(Exception):
    """The learner's function is written but returns None."""


def exercise(check: Check) -> Callable[..., None]:
    """Turn a check into what a notebook calls: it prints the verdict and never raises."""

    @wraps(check)
    def print_verdict(*answers: Any) -> None:
        print(f"{check.__name__.replace('_', ' ')}: {_verdict(check, answers)}")

    return print_verdict


def _verdict(check: Check, answers: tuple[Any, ...]) -> str:
    try:
        hint = check(*map(_watch, answers))
    except NotStartedError:
        return "not started"
    except ReturnedNoneError as error:
        return f"not yet. {_place(error)} returned None. Is a `return` missing?"
    except Exception as error:
        return f"not yet. {_place(error)} raised {type(error).__name__}: {error}"
    return "correct" if hint is None else f"not yet. {_capitalize(hint)}"


@contextmanager
def case(text: str) -> Iterator[None]:
    """Let the verdict on an error raised here name the case instead of the call: "For … your code raised …".

    For calls whose arguments are too long to read.
    """
    try:
        yield
    except Exception as error:
        error.add_note(f"{text} your code")
        raise


def _watch(answer: Any) -> Any:
    """Return the answer; a function gets a wrapper that reports the call if it raises or returns None."""
    if answer is ... or answer is None:
        raise NotStartedError
    if not callable(answer) or isinstance(answer, type):
        return answer

    @wraps(answer)
    def watch(*args: Any, **kwargs: Any) -> Any:
        call = f"{getattr(answer, '__name__', 'it')}({', '.join(map(_short.repr, args))})"
        try:
            result = answer(*args, **kwargs)
            if result is ... or (result is None and _is_empty(answer)):
                raise NotStartedError
            if result is None:
                raise ReturnedNoneError
        except Exception as error:
            error.add_note(call)
            raise
        return result

    return watch


def _is_empty(function: Any) -> bool:
    return hasattr(function, "__code__") and {i.opname for i in dis.get_instructions(function)} <= _EMPTY_BODY


def _place(error: Exception) -> str:
    """Where the error was raised, in words; a `case` comes after the call in the notes."""
    notes: list[str] = getattr(error, "__notes__", ["Your code"])
    return notes[-1]


def _capitalize(hint: str) -> str:
    """Capitalize the hint unless it begins with code such as `encode("a")`."""
    first_word = hint.split(maxsplit=1)[0]
    return hint[0].upper() + hint[1:] if first_word.isalpha() else hint


# -- what several chapters check -------------------------------------------------------------------------


def is_list_of(value: object, kind: type) -> bool:
    """Whether the value is a list that holds nothing but objects of this type."""
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def shorten(value: object) -> str:
    """The repr of a value, cut to 60 characters."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def compare_numbers(
    found: object,
    expected: list[int],
    noun: str,
    why_wrong: Callable[[int], str],
    why_missing: Callable[[int], str],
) -> str | None:
    """Compare a list of ids or positions with the expected one, in ascending order.

    noun: what a number is. why_wrong, why_missing: what to say after a number that does not belong there, or
    after one that is missing. Returns a hint that begins with "you", or None.
    """
    if found == expected:
        return None
    if not is_list_of(found, int):
        return f"you return {shorten(found)}; it should be a list of {noun}s."
    assert isinstance(found, list)
    if wrong := sorted(set(found) - set(expected)):
        return f"you return the {noun} {wrong[0]}{why_wrong(wrong[0])}."
    if missing := sorted(set(expected) - set(found)):
        return f"you leave out the {noun} {missing[0]}{why_missing(missing[0])}."
    return f"you return {shorten(found)}; it should be in ascending order, each {noun} once."
