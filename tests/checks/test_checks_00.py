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
        (lambda text: text[0], "Of 'tea' it should give 'a', and gave 't'"),
        (lambda text: text[-1], "Of '' it should give '', and raised IndexError"),
        (lambda text: text[-1] if text else " ", "Of '' it should give '', and gave ' '"),
        (lambda text: text.last(), "('tea') raised AttributeError"),
    ],
)
def test_wrong_examples(capsys, wrong, hint):
    assert hint in verdict(capsys, chapter_00.example, wrong)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda text: "".join(c + " " for c in text), "should give 't e a', and gave 't e a '"),
        (list, "should give 't e a', and gave ['t', 'e', 'a']"),
        (lambda text: " ".join(text.replace(" ", "")), "Of 'a b' it should give 'a   b', and gave 'a b'"),
        (lambda text: text[0] + "".join(" " + c for c in text[1:]), "('') raised IndexError"),
    ],
)
def test_wrong_answers(capsys, wrong, hint):
    assert hint in verdict(capsys, chapter_00.exercise_1, wrong)
