"""The mechanism behind the exercises."""

import pytest

from bpe.checks import exercise


@exercise
def exercise_1(double):
    for number in (1, 5):
        if double(number) != 2 * number:
            return f"twice {number} is not {double(number)}"
    return None


@exercise
def exercise_2(answer):
    return None if answer == 3 else "count again"


def verdict(capsys, check, answer):
    check(answer)
    return capsys.readouterr().out


def test_a_function(capsys):
    assert verdict(capsys, exercise_1, lambda n: n + n) == "exercise 1: correct\n"
    assert verdict(capsys, exercise_1, lambda n: n + 1) == "exercise 1: not yet. Twice 5 is not 6\n"


def documented(n):
    """Twice the number."""


@pytest.mark.parametrize("stub", [lambda n: ..., lambda n: None, documented])
def test_an_unwritten_function(capsys, stub):
    assert verdict(capsys, exercise_1, stub) == "exercise 1: not started\n"


def test_a_function_that_prints_instead_of_returning(capsys):
    def double(n):
        print(2 * n)

    assert verdict(capsys, exercise_1, double) == (
        "2\nexercise 1: not yet. double(1) returned None. Is a `return` missing?\n"
    )


def test_a_value(capsys):
    assert verdict(capsys, exercise_2, ...) == "exercise 2: not started\n"
    assert verdict(capsys, exercise_2, 3) == "exercise 2: correct\n"
    assert verdict(capsys, exercise_2, 4) == "exercise 2: not yet. Count again\n"


def test_an_error_in_the_answer_is_told_with_the_input(capsys):
    def double(n):
        return n.x

    assert verdict(capsys, exercise_1, double) == (
        "exercise 1: not yet. double(1) raised AttributeError: 'int' object has no attribute 'x'\n"
    )


def test_a_long_input_is_shortened(capsys):
    @exercise
    def exercise_3(length):
        length("a" * 1000)

    def length(text):
        raise ValueError("too long")

    exercise_3(length)
    told = capsys.readouterr().out
    assert told.endswith("raised ValueError: too long\n")
    assert len(told) < 140
