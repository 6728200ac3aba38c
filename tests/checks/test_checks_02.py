"""The checks of chapter 2: right answers, the untouched stub, and what learners get wrong."""

from __future__ import annotations

import pytest

from bpe.checks import chapter_02 as check


def starts(data):
    return sum(byte >> 6 != 0b10 for byte in data)


def code_point(sequence):
    if len(sequence) == 1:
        return sequence[0]
    code = sequence[0] & (0x7F >> len(sequence))
    for byte in sequence[1:]:
        code = code << 6 | byte & 0x3F
    return code


def shown(chunks):
    strings, waiting = [], b""
    for chunk in chunks:
        waiting += chunk
        text = waiting.decode("utf-8", "ignore")
        waiting = waiting[len(text.encode("utf-8")) :]
        strings.append(text)
    return strings


def shown_at_once(chunks):
    return [chunk.decode("utf-8", "replace") for chunk in chunks]


def shown_at_the_end(chunks):
    text = b"".join(chunks).decode("utf-8")
    return [""] * (len(chunks) - 1) + [text] if chunks else []


def shown_without_empty_strings(chunks):
    return [text for text in shown(chunks) if text]


def three_bytes_only(sequence):
    first, second, third = sequence
    return (first & 15) << 12 | (second & 63) << 6 | third & 63


def shown_one_by_one(chunks):
    yield from shown(chunks)


def for_ever(chunks):
    while True:
        yield "月a"


def a_number(chunks):
    return 5


ANSWERS = [
    (check.exercise_1, starts, "correct"),
    (check.exercise_1, len, "not yet. For 'é', which is c3 a9, you return 2; it should be 1"),
    (check.exercise_1, lambda data: sum(byte < 128 for byte in data), "For 'é'"),
    (check.exercise_1, lambda data: sum(byte != 0x80 for byte in data), "you return 2; it should be 1"),
    (check.exercise_1, lambda data: len(data.decode()), "raised TypeError: read these bytes without"),
    (check.exercise_2, code_point, "correct"),
    (
        check.exercise_2,
        lambda sequence: sequence[0],
        "For the bytes e6 9c 88 you return 230; it should be 26376",
    ),
    (check.exercise_2, three_bytes_only, "(b'A') raised ValueError: not enough values"),
    (check.exercise_2, lambda sequence: ord(sequence.decode()), "raised TypeError"),
    (check.exercise_2, lambda sequence: code_point(sequence) & 0xFFFF, "bytes f0 90 80 80 you return 0"),
    (check.exercise_3, shown, "correct"),
    (check.exercise_3, shown_one_by_one, "correct"),
    (check.exercise_3, shown_at_once, "U+FFFD shows a character decoded before it was complete"),
    (check.exercise_3, shown_at_the_end, "string 4 of 5 is ''; it should be '🙂'"),
    (check.exercise_3, shown_without_empty_strings, "string 1 of 2 is '月a'; it should be ''"),
    (check.exercise_3, lambda chunks: [], "you return 0 strings; it should be 2"),
    (check.exercise_3, for_ever, "returned has more than 1,000,000 items. Does it end?"),
    (check.exercise_3, lambda chunks: shown(chunks) * 2, "you return more than 2 strings; it should be 2"),
    (
        check.exercise_3,
        a_number,
        "You return 5; it should be a list of strings.",
    ),
    (check.exercise_3, lambda chunks: [chunk.decode() for chunk in chunks], "raised UnicodeDecodeError"),
]


@pytest.mark.parametrize(("exercise", "answer", "verdict"), ANSWERS)
def test_an_answer_gets_its_verdict(exercise, answer, verdict, capsys):
    exercise(answer)
    printed = capsys.readouterr().out
    assert verdict in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize("exercise", [check.exercise_1, check.exercise_2, check.exercise_3])
def test_a_stub_is_not_started(exercise, capsys):
    def stub(argument): ...

    exercise(stub)
    assert capsys.readouterr().out == f"{exercise.__name__.replace('_', ' ')}: not started\n"
