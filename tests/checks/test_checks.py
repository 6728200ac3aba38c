"""The mechanism behind the exercises."""

from importlib import import_module

import pytest

from bpe.checks import case, compare_numbers, exercise, make_hint, one_line, shorten
from bpe.checks.record import find_exercises


@exercise()
def exercise_1(double):
    for number in (1, 5):
        if double(number) != 2 * number:
            return f"twice {number} is not {double(number)}"
    return None


@exercise()
def exercise_2(answer):
    return None if answer == 3 else "count again"


def verdict_of(capsys, check, answer):
    check(answer)
    return capsys.readouterr().out


def test_a_function(capsys):
    assert verdict_of(capsys, exercise_1, lambda n: n + n) == "exercise 1: correct\n"
    assert verdict_of(capsys, exercise_1, lambda n: n + 1) == "exercise 1: not yet. Twice 5 is not 6\n"


def documented(n):
    """Twice the number."""


@pytest.mark.parametrize("stub", [lambda n: ..., lambda n: None, documented])
def test_an_unwritten_function(capsys, stub):
    assert verdict_of(capsys, exercise_1, stub) == "exercise 1: not started\n"


def test_a_function_that_prints_instead_of_returning(capsys):
    def double(n):
        print(2 * n)

    assert verdict_of(capsys, exercise_1, double) == (
        "2\nexercise 1: not yet. double(1) returned None. Is a `return` missing?\n"
    )


def test_another_number_of_answers(said):
    told = "exercise 1: not checked. Call it with your answer: exercise_1(double)."
    assert said(exercise_1) == said(exercise_1, 1, 2) == told


def test_the_result_of_a_call_instead_of_the_function(said):
    assert said(exercise_1, "12") == "exercise 1: not yet. `double` should be a function, but it is '12'."


def test_a_value(capsys):
    assert verdict_of(capsys, exercise_2, ...) == "exercise 2: not started\n"
    assert verdict_of(capsys, exercise_2, 3) == "exercise 2: correct\n"
    assert verdict_of(capsys, exercise_2, 4) == "exercise 2: not yet. Count again\n"


def test_an_error_in_the_answer_is_told_with_the_input(capsys):
    def double(n):
        return n.x

    assert verdict_of(capsys, exercise_1, double) == (
        "exercise 1: not yet. double(1) raised AttributeError: 'int' object has no attribute 'x' "
        f"(line {double.__code__.co_firstlineno + 1}: `return n.x`)\n"
    )


def test_a_long_input_is_shortened(capsys):
    @exercise()
    def exercise_3(length):
        length("a" * 1000)

    def length(text):
        raise ValueError("too long")

    exercise_3(length)
    told = capsys.readouterr().out
    assert "raised ValueError: too long (line" in told
    assert len(told) < 190


@exercise()
def exercise_4(double):
    with case("For many numbers"):
        return None if double(list(range(1000))) else "wrong"


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        pytest.param(lambda numbers: ..., "not started", id="not started"),
        pytest.param(
            lambda numbers: numbers.x, "not yet. For many numbers your code raised Attri", id="raises"
        ),
        pytest.param(
            lambda numbers: print(end=""), "not yet. For many numbers your code returned None", id="None"
        ),
        pytest.param(lambda numbers: numbers, "correct", id="right"),
    ],
)
def test_a_case_is_named_instead_of_the_call(capsys, answer, verdict):
    assert verdict_of(capsys, exercise_4, answer).startswith(f"exercise 4: {verdict}")


@pytest.mark.parametrize(
    ("found", "hint"),
    [
        ([1, 3], None),
        ((1, 3), None),
        ({3, 1}, None),
        (["1", 3], "you return ['1', 3]; it should be a list of ids."),
        ([1, 2], "you return the id 2, which is wrong."),
        ([3], "you leave out the id 1, which is needed."),
        ([3, 1], "you return [3, 1]; it should be in ascending order, each id once."),
        ([1, 1, 3], "you return [1, 1, 3]; it should be in ascending order, each id once."),
    ],
)
def test_comparing_ids(found, hint):
    told = compare_numbers(found, [1, 3], "id", lambda i: ", which is wrong", lambda i: ", which is needed")
    assert told == hint


def test_shortening():
    assert shorten([1, 2]) == "[1, 2]"
    assert shorten("a" * 1000) == "'" + "a" * 56 + "..."


# -- hints --------------------------------------------------------------------------------------------------

CHAPTERS = [import_module(f"bpe.checks.chapter_{chapter}") for chapter in find_exercises()]


def test_hints_come_one_by_one(capsys):
    hint = make_hint("bpe.checks.chapter_01")
    for number in (1, 1, 3, 1, 1, 1):
        hint(number)
    lines = capsys.readouterr().out.splitlines()
    assert [line[:24] for line in lines[:4]] == [
        "exercise 1, hint 1 of 3:",
        "exercise 1, hint 2 of 3:",
        "exercise 3, hint 1 of 3:",
        "exercise 1, hint 3 of 3:",
    ]
    assert lines[4] == "exercise 1: no more hints. The solution is in solutions/01_characters.ipynb."
    assert lines[5] == lines[0]


@pytest.mark.parametrize("number", [0, 4, "1.", None])
def test_no_hint_for_no_exercise(said, number):
    assert said(make_hint("bpe.checks.chapter_01"), number) == (
        f"There is no exercise {number} in this chapter: give a number from 1 to 3."
    )


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.__name__[-2:])
def test_every_exercise_has_hints(chapter):
    for name, check in vars(chapter).items():
        if name.startswith("exercise_"):
            assert 2 <= len(check.hints) <= 3, name
            for hint in check.hints:
                assert hint == one_line(hint)
                assert hint[0].isupper() or hint[0] in "`188"
                assert hint[-1] in ".?"
    assert chapter.hint.__name__ == "hint"
