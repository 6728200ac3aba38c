"""The checks of chapter 1, with right answers, empty ones and the usual wrong ones."""

import html
import re
from collections import Counter

import pytest

from bpe.checks import chapter_01


def unknown_rate(known, text):
    return sum(character not in known for character in text) / len(text) if text else 0.0


def characters_needed(text, share):
    covered = needed = 0
    for _, count in Counter(text).most_common():
        if covered >= share * len(text):
            break
        covered += count
        needed += 1
    return needed


def escape(text):
    return "".join(c if c in chapter_01.KNOWN - {"&"} else f"&{ord(c)};" for c in text)


def unescape(text):
    return re.sub(r"&(\d+);", lambda found: chr(int(found[1])), text)


def verdict(capsys, check, *answers):
    check(*answers)
    return capsys.readouterr().out.strip()


def stub(*arguments): ...


def test_right_answers(capsys):
    assert verdict(capsys, chapter_01.exercise_1, unknown_rate) == "exercise 1: correct"
    assert verdict(capsys, chapter_01.exercise_2, characters_needed) == "exercise 2: correct"
    assert verdict(capsys, chapter_01.exercise_3, escape, unescape) == "exercise 3: correct"


def test_not_started(capsys):
    assert verdict(capsys, chapter_01.exercise_1, stub) == "exercise 1: not started"
    assert verdict(capsys, chapter_01.exercise_2, stub) == "exercise 2: not started"
    assert verdict(capsys, chapter_01.exercise_3, stub, stub) == "exercise 3: not started"
    assert verdict(capsys, chapter_01.exercise_3, escape, stub) == (
        "exercise 3: not yet. `unescape` is not started."
    )


def test_an_error_in_the_answer_is_reported(capsys):
    assert "raised AttributeError" in verdict(
        capsys, chapter_01.exercise_1, lambda known, text: known.count(text)
    )
    assert "raised KeyError" in verdict(capsys, chapter_01.exercise_2, lambda text, share: {}[share])


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda known, text: sum(c not in known for c in text) / len(text), "divides by zero"),
        (
            lambda known, text: len(set(text) - known) / max(1, len(set(text))),
            "you return 0.5; it should be 0.75",
        ),
        (
            lambda known, text: sum(c in known for c in text) / max(1, len(text)),
            "you return 1.0; it should be 0.",
        ),
        (lambda known, text: "0 %", "should be a number"),
    ],
)
def test_wrong_rates(capsys, wrong, hint):
    assert hint in verdict(capsys, chapter_01.exercise_1, wrong)


def summed_as_floats(text, share):
    covered, needed = 0.0, 0
    for _, count in Counter(text).most_common():
        if covered >= share:
            break
        covered += count / len(text)
        needed += 1
    return needed


def rarest_first(text, share):
    covered = needed = 0
    for count in sorted(Counter(text).values()):
        if covered >= share * len(text):
            break
        covered += count
        needed += 1
    return needed


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (rarest_first, "it should be [12]"),
        (lambda text, share: characters_needed(text, share) + 1, "it should be"),
        (lambda text, share: 1, "you return 1; it should be 2"),
        (summed_as_floats, "Sums of floats are not exact"),
        (lambda text, share: share * len(set(text)), "you return 1.5; it should be 1"),
        (lambda text, share: str(share), "it should be a number"),
    ],
)
def test_wrong_numbers_of_characters(capsys, wrong, hint):
    assert re.search(hint, verdict(capsys, chapter_01.exercise_2, wrong))


@pytest.mark.parametrize(
    ("escape", "unescape", "hint"),
    [
        (lambda text: text, lambda text: text, "is not in the vocabulary"),
        (
            lambda text: "".join(c if c in chapter_01.KNOWN else "" for c in text),
            lambda text: text,
            "came back as",
        ),
        # the & of the text itself forgotten
        (
            lambda text: "".join(c if c in chapter_01.KNOWN else f"&{ord(c)};" for c in text),
            unescape,
            "This text has an & of its own",
        ),
        # hexadecimal instead of decimal
        (
            lambda text: "".join(c if c in chapter_01.KNOWN - {"&"} else f"&{ord(c):x};" for c in text),
            lambda text: re.sub("&([0-9a-f]+);", lambda found: chr(int(found[1], 16)), text),
            "should be '&33590;'",
        ),
        # everything escaped
        (lambda text: "".join(f"&{ord(c)};" for c in text), unescape, "needs no escape"),
        (
            lambda text: text.encode("ascii", "xmlcharrefreplace").decode(),
            html.unescape,
            "is not in the vocabulary",
        ),
    ],
)
def test_wrong_escapes(capsys, escape, unescape, hint):
    assert hint in verdict(capsys, chapter_01.exercise_3, escape, unescape)
