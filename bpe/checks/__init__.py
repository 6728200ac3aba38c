"""The checks behind the exercises: «not started», what is wrong, or «correct».

A chapter's checks stand in `chapter_NN`, one function for each exercise. A check takes the learner's
answer, tries it, and returns None where it is right and else a sentence that helps:

    @exercise
    def exercise_1(longest):
        if longest(["a", "bcd"]) != "bcd":
            return "Of 'a' and 'bcd' it should give 'bcd'."
"""

from __future__ import annotations

import dis
from collections.abc import Callable
from functools import wraps
from reprlib import Repr
from typing import Any

Check = Callable[..., "str | None"]

# Enough of an input to recognise it by.
_short = Repr()
_short.maxstring = _short.maxother = 60
_short.maxlist = _short.maxtuple = _short.maxdict = 12

# What the body `...` or `pass` compiles to, with or without a docstring.
_EMPTY_BODY = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}


class NotStartedError(Exception):
    """The answer is still the empty one that the exercise began with."""


class ReturnedNoneError(Exception):
    """A function that has been written gave nothing back."""


def _watched(answer: Any) -> Any:
    """The answer; where it is a function, one that tells for which input it fails or returns nothing."""
    if answer is ... or answer is None:
        raise NotStartedError
    if not callable(answer) or isinstance(answer, type):
        return answer

    @wraps(answer)
    def watched(*args: Any, **kwargs: Any) -> Any:
        call = f"{getattr(answer, '__name__', 'it')}({', '.join(map(_short.repr, args))})"
        try:
            result = answer(*args, **kwargs)
        except Exception as error:
            error.add_note(call)
            raise
        if result is ... or (result is None and _is_empty(answer)):
            raise NotStartedError
        if result is None:
            raise ReturnedNoneError(call)
        return result

    return watched


def _is_empty(function: Any) -> bool:
    return hasattr(function, "__code__") and {i.opname for i in dis.get_instructions(function)} <= _EMPTY_BODY


def _sentence(hint: str) -> str:
    """The hint with a capital letter, unless it begins with code such as `encode("a")`."""
    first_word = hint.split(maxsplit=1)[0]
    return hint[0].upper() + hint[1:] if first_word.isalpha() else hint


def exercise(check: Check) -> Callable[..., None]:
    """Turn a check into what a notebook calls: it prints the verdict and never raises."""

    @wraps(check)
    def verdict(*answers: Any) -> None:
        name = check.__name__.replace("_", " ")
        try:
            hint = check(*map(_watched, answers))
        except NotStartedError:
            print(f"{name}: not started")
        except ReturnedNoneError as error:
            print(f"{name}: not yet. {error} returned None. Is a `return` missing?")
        except Exception as error:
            where = next(iter(getattr(error, "__notes__", [])), "Your code")
            print(f"{name}: not yet. {where} raised {type(error).__name__}: {error}")
        else:
            print(f"{name}: correct" if hint is None else f"{name}: not yet. {_sentence(hint)}")

    return verdict
