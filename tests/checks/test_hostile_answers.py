"""Answers that no check expects: each gets one clear line, in every chapter."""

import inspect
import pkgutil
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress
from importlib import import_module

import pytest

from bpe import checks
from bpe.checks import LONGEST, clock, describe, exercise, one_line

MODULES = [import_module(module.name) for module in pkgutil.iter_modules(checks.__path__, "bpe.checks.")]
EXERCISES = [
    pytest.param(check, id=f"{module.__name__[-2:]}-{name}")
    for module in MODULES
    for name, check in inspect.getmembers(module, inspect.isfunction)
    if re.fullmatch(r"exercise_\d+|example", name)
]


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no repr")


class Odd:
    """Long, and full of what terminals obey."""

    def __repr__(self):
        return "\x1b[31m\u202e\x9b\n\ud800" * 10_000


class Unequal:
    def __eq__(self, other):
        raise ValueError("the truth value is ambiguous")

    __hash__ = None


def exits(*arguments):
    sys.exit("bye")


def interrupts(*arguments):
    raise KeyboardInterrupt


def recurses(*arguments):
    return recurses(*arguments)


def exhausts(*arguments):
    return "a" * (1 << 62)


def obeyed(*arguments):
    raise ValueError("\x1b[2J\u2028\n" * 1_000)


def mutates(*arguments):
    for argument in arguments:
        with suppress(Exception):
            argument.clear()
    return "nonsense"


def returns_unprintable(*arguments):
    return Unprintable()


def returns_odd(*arguments):
    return Odd()


def returns_unequal(*arguments):
    return Unequal()


def loops(*arguments):
    while True:
        pass


HOSTILE = [
    exits,
    interrupts,
    recurses,
    exhausts,
    obeyed,
    mutates,
    returns_unprintable,
    returns_odd,
    returns_unequal,
    loops,
]


@pytest.mark.parametrize("answer", HOSTILE)
@pytest.mark.parametrize("check", EXERCISES)
def test_every_check_answers_in_one_line(monkeypatch, said, check, answer):
    monkeypatch.setattr(clock, "LIMIT", 0.1 if answer is loops else 30)
    told = said(check, *[answer] * len(inspect.signature(check).parameters))
    assert ": not yet. " in told
    assert told.isprintable()
    assert len(told) <= LONGEST


@exercise()
def exercise_1(double):
    for number in (1, 5):
        if (found := double(number)) != 2 * number:
            return f"For {number} you return {found!r}; it should be {2 * number}."
    return None


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (exits, "exits(1) raised SystemExit: bye"),
        (interrupts, "interrupts(1) raised KeyboardInterrupt"),
        (recurses, "recurses(1) raised RecursionError: maximum recursion depth exceeded"),
        (exhausts, "exhausts(1) raised MemoryError"),
        (
            returns_unprintable,
            "What returns_unprintable(1) returned cannot be checked: RuntimeError: no repr",
        ),
        (
            returns_unequal,
            "What returns_unequal(1) returned cannot be checked: ValueError: the truth value is",
        ),
    ],
)
def test_what_is_said(said, answer, told):
    assert said(exercise_1, answer).startswith(f"exercise 1: not yet. {told}")


def test_a_value_that_cannot_be_checked(said):
    @exercise()
    def exercise_2(answer):
        return None if answer == 3 else "wrong"

    assert said(exercise_2, Unequal()).startswith(
        "exercise 2: not yet. Your answer cannot be checked: ValueErr"
    )


def test_the_end_of_a_long_hint_is_kept(said):
    told = said(exercise_1, returns_odd)
    assert told.startswith("exercise 1: not yet. For 1 you return \\x1b[31m\\u202e\\x9b\\n\\ud800")
    assert told.endswith("; it should be 2.")


def test_a_check_ends_after_its_time(monkeypatch, said):
    monkeypatch.setattr(clock, "LIMIT", 0.2)
    handler = signal.getsignal(signal.SIGINT)
    told = said(exercise_1, loops)
    assert re.fullmatch(
        r"exercise 1: not yet\. loops\(1\) did not finish: the check was stopped after 0\.2 s of computing "
        r"\(line \d+: `(pass|while True:)`\)\. Does its loop end\?",
        told,
    )
    assert signal.getsignal(signal.SIGINT) is handler


def test_waiting_is_not_computing(monkeypatch, said):
    """A machine that sleeps, or is busy with something else, fails no right answer."""
    monkeypatch.setattr(clock, "LIMIT", 0.2)
    assert said(exercise_1, lambda number: time.sleep(0.5) or 2 * number) == "exercise 1: correct"


def test_an_answer_that_catches_everything_is_reported(monkeypatch, said):
    monkeypatch.setattr(clock, "LIMIT", 0.05)
    monkeypatch.setattr(clock, "TRIES", 1)

    def stubborn(number):
        end = time.monotonic() + 2
        while time.monotonic() < end:
            try:
                for _ in range(100_000):
                    pass
            except:  # noqa: E722
                pass
        return 0

    assert said(exercise_1, stubborn).splitlines() == [
        "exercise 1: your code does not end and cannot be interrupted. Restart the kernel.",
        "exercise 1: not yet. For 1 you return 0; it should be 2.",
    ]


def test_ctrl_c_is_still_ctrl_c():
    handler = signal.getsignal(signal.SIGINT)

    def interrupted(number):
        signal.raise_signal(signal.SIGINT)
        return 2 * number

    with pytest.raises(
        KeyboardInterrupt, match=r"^exercise 1: interrupted \(line \d+: `signal.raise_si"
    ) as caught:
        exercise_1(interrupted)
    assert caught.value._render_traceback_() == [str(caught.value)]  # what a notebook shows
    assert signal.getsignal(signal.SIGINT) is handler


def test_no_interrupt_comes_late(monkeypatch, capsys):
    """Whatever the moment at which the time is up, nothing reaches the code after the check."""
    for k in range(100):
        monkeypatch.setattr(clock, "LIMIT", 0.002 + k * 0.00002)
        exercise_1(lambda number: time.sleep(0.0015) or 2 * number)
    time.sleep(0.05)
    assert capsys.readouterr().out.count("\n") == 100


def test_a_check_in_another_thread_has_no_limit(capsys):
    thread = threading.Thread(target=exercise_1, args=[lambda number: 2 * number])
    thread.start()
    thread.join()
    assert capsys.readouterr().out == "exercise 1: correct\n"


def test_no_thread_for_the_clock(monkeypatch, said):
    def no_thread(*arguments, **options):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_thread)
    assert said(exercise_1, lambda number: 2 * number) == "exercise 1: correct"


def test_a_kernel_interrupts_too(tmp_path):
    """In a notebook's kernel, code runs under another handler of interrupts."""
    code = """
        from jupyter_client.manager import run_kernel
        cell = '''
        from bpe.checks import chapter_00, clock
        clock.LIMIT = 0.5
        def spaced(text):
            while True: pass
        chapter_00.exercise_1(spaced)
        print("next")
        '''
        import textwrap
        with run_kernel(kernel_name="python3") as client:
            client.execute_interactive(textwrap.dedent(cell), timeout=60)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, encoding="utf-8", timeout=100
    )
    assert done.stdout.splitlines() == [
        "exercise 1: not yet. spaced('tea') did not finish: the check was stopped after 0.5 s of computing "
        "(line 4: `while True: pass`). Does its loop end?",
        "next",
    ]


def test_lines():
    assert one_line("a\tb\x1b\u202e\ud800月") == "a\\tb\\x1b\\u202e\\ud800月"
    assert len(one_line("x" * 10_000)) <= LONGEST
    assert one_line("x" * LONGEST) == "x" * LONGEST


def test_errors_without_a_message():
    class SilentError(Exception):
        def __str__(self):
            raise RuntimeError

    assert describe(MemoryError()) == "MemoryError"
    assert describe(SilentError()) == "SilentError"
    assert describe(KeyError("x")) == "KeyError: 'x'"
