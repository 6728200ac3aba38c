"""Answers that are none, which every check has to know."""

from collections.abc import Callable


def stub(*arguments: object) -> None: ...


def raises(*arguments: object) -> None:
    raise RuntimeError("no idea")


def assert_no_answer_is_known(said: Callable[..., str], check: object, number: int) -> None:
    """An untouched function is not started; what a function raises is reported. said: the fixture."""
    exercise = getattr(check, f"exercise_{number}")
    assert said(exercise, stub) == f"exercise {number}: not started"
    assert " raised RuntimeError: no idea" in said(exercise, raises)
