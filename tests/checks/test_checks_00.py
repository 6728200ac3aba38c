"""The checks of chapter 0, with right answers, empty ones and the usual wrong ones."""

import pytest

from bpe.checks import chapter_00


def verdict(capsys, check, answer):
    check(answer)
    return capsys.readouterr().out.strip()


def stub(text): ...


def test_right_answers(capsys):
    assert verdict(capsys, chapter_00.example, lambda text: text[-1:]) == "example: correct"
    assert verdict(capsys, chapter_00.exercise_1, " ".join) == "exercise 1: correct"


def test_not_started(capsys):
    assert verdict(capsys, chapter_00.example, stub) == "example: not started"
    assert verdict(capsys, chapter_00.exercise_1, stub) == "exercise 1: not started"


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda text: text[0], "For 'tea' you return 't'; it should be 'a'"),
        (lambda text: text[-1], "For '' your code raised IndexError; it should return ''"),
        (lambda text: text[-1] if text else " ", "For '' you return ' '; it should be ''"),
        (lambda text: text.last(), "('tea') raised AttributeError"),
    ],
)
def test_wrong_examples(capsys, wrong, hint):
    assert hint in verdict(capsys, chapter_00.example, wrong)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda text: "".join(c + " " for c in text), "you return 't e a '; it should be 't e a'"),
        (list, "you return ['t', 'e', 'a']; it should be 't e a'"),
        (lambda text: " ".join(text.replace(" ", "")), "For 'a b' you return 'a b'; it should be 'a   b'"),
        (lambda text: text[0] + "".join(" " + c for c in text[1:]), "('') raised IndexError"),
    ],
)
def test_wrong_answers(capsys, wrong, hint):
    assert hint in verdict(capsys, chapter_00.exercise_1, wrong)
