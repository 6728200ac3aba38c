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


@pytest.mark.parametrize("stub", [lambda n: ..., lambda n: None])
def test_an_unwritten_function(capsys, stub):
    assert verdict(capsys, exercise_1, stub) == "exercise 1: not started\n"


def test_a_value(capsys):
    assert verdict(capsys, exercise_2, ...) == "exercise 2: not started\n"
    assert verdict(capsys, exercise_2, 3) == "exercise 2: correct\n"
    assert verdict(capsys, exercise_2, 4) == "exercise 2: not yet. Count again\n"


def test_an_error_in_the_answer_is_told(capsys):
    assert verdict(capsys, exercise_1, lambda n: n.x) == (
        "exercise 1: not yet. Your code raised AttributeError: 'int' object has no attribute 'x'\n"
    )
