"""The checks behind the exercises: «not started», what is wrong, or «correct».

A chapter's checks stand in `chapter_NN`, one function for each exercise. A check takes the learner's
answer, tries it, and returns None where it is right and else a sentence that helps:

    @exercise
    def exercise_1(longest):
        if longest(["a", "bcd"]) != "bcd":
            return "Of 'a' and 'bcd' it should give 'bcd'."
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

Check = Callable[..., "str | None"]


class NotStartedError(Exception):
    """The answer is still the empty one that the exercise began with."""


def _started(answer: Any) -> Any:
    """The answer; a function's results are watched, since an unwritten body returns None or `...`."""
    if answer is ... or answer is None:
        raise NotStartedError
    if not callable(answer) or isinstance(answer, type):
        return answer

    @wraps(answer)
    def watched(*args: Any, **kwargs: Any) -> Any:
        result = answer(*args, **kwargs)
        if result is None or result is ...:
            raise NotStartedError
        return result

    return watched


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
            hint = check(*map(_started, answers))
        except NotStartedError:
            print(f"{name}: not started")
        except Exception as error:
            print(f"{name}: not yet. Your code raised {type(error).__name__}: {error}")
        else:
            print(f"{name}: correct" if hint is None else f"{name}: not yet. {_sentence(hint)}")

    return verdict
