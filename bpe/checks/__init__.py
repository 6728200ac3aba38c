"""The checks of the exercises, and the report on what is installed.

The checks of a chapter are in `chapter_NN`, one function for each exercise. A check tries the learner's
answer and returns None if it is right, otherwise a hint:

    @exercise
    def exercise_1(longest):
        if (found := longest(["a", "bcd"])) != "bcd":
            return f"For ['a', 'bcd'] you return {found!r}; it should be 'bcd'."

The learner reads «not started», «not yet» with the hint, or «correct», in one line, whatever the answer does:
raise, return nonsense, or never end.
"""

from __future__ import annotations

import _thread
import dis
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from reprlib import Repr
from types import FrameType
from typing import Any

Check = Callable[..., "str | None"]

BYTES = [bytes([value]) for value in range(256)]  # the base tokens of a tokenizer over bytes

LIMIT = 30.0  # seconds for a check; the longest of ours takes about one
TRIES = 3  # interrupts of a check that does not end, a second apart
LONGEST = 1_000  # characters of a verdict

# Enough of an input to recognise it by.
_short = Repr()
_short.maxstring = _short.maxother = 60
_short.maxlist = _short.maxtuple = _short.maxdict = 12

# What the body `...` or `pass` compiles to, with or without a docstring.
_EMPTY_BODY = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}


class NotStartedError(Exception):
    """The answer is still the empty one that the exercise began with."""


class ReturnedNoneError(Exception):
    """The learner's function is written but returns None."""


class TooSlowError(BaseException):
    """The check took longer than LIMIT. It is not an Exception, which the learner's code might catch."""


class _Place(str):
    """A note on an error: where in the learner's code it was raised, in words."""


def exercise(check: Check) -> Callable[..., None]:
    """Turn a check into what a notebook calls: it prints the verdict and raises nothing but Ctrl-C."""
    name = check.__name__.replace("_", " ")

    @wraps(check)
    def print_verdict(*answers: Any) -> None:
        print(one_line(f"{name}: {_verdict(name, check, answers)}"))

    return print_verdict


def _verdict(name: str, check: Check, answers: tuple[Any, ...]) -> str:
    calls = [""]  # the latest call of a function of the learner comes last
    clock = _Clock(name)
    try:
        try:
            clock.start()
            hint = check(*(_watch(answer, calls) for answer in answers))
        finally:
            clock.over = True  # at once: from here on, its interrupts do nothing
            clock.stop()
    except NotStartedError:
        return "not started"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and clock.interrupted:
            raise
        return f"not yet. {_tell(error, calls[-1])}"
    return "correct" if hint is None else f"not yet. {_capitalize(hint)}"


def _tell(error: BaseException, call: str) -> str:
    """Say what went wrong: in the learner's code, or when the check used what the latest call returned."""
    places = [note for note in getattr(error, "__notes__", []) if isinstance(note, _Place)]
    place = places[-1] if places else ""  # a `case` comes after the call
    if isinstance(error, TooSlowError):
        where = place or call or "Your code"
        return f"{where} did not finish: the check was stopped after {LIMIT:g} s. Does its loop end?"
    if isinstance(error, ReturnedNoneError):
        return f"{place} returned None. Is a `return` missing?"
    if place:
        return f"{place} raised {describe(error)}"
    return f"{f'What {call} returned' if call else 'Your answer'} cannot be checked: {describe(error)}"


@contextmanager
def case(text: str) -> Iterator[None]:
    """Let the verdict on an error raised here name the case instead of the call: "For … your code raised …".

    For calls whose arguments are too long to read.
    """
    try:
        yield
    except BaseException as error:
        error.add_note(_Place(f"{text} your code"))
        raise


def _watch(answer: Any, calls: list[str]) -> Any:
    """Return the answer; a function gets a wrapper that reports the call if it raises or returns None.

    calls: where it keeps the latest call.
    """
    if answer is ... or answer is None:
        raise NotStartedError
    if not callable(answer) or isinstance(answer, type):
        return answer

    @wraps(answer)
    def watch(*args: Any, **kwargs: Any) -> Any:
        calls[-1] = f"{getattr(answer, '__name__', 'it')}({', '.join(map(_short.repr, args))})"
        call = _Place(calls[-1])
        try:
            result = answer(*args, **kwargs)
            if result is ... or (result is None and _is_empty(answer)):
                raise NotStartedError
            if result is None:
                raise ReturnedNoneError
        except BaseException as error:
            error.add_note(call)
            raise
        return result

    return watch


class _Clock:
    """Raise TooSlowError in the main thread after LIMIT, if it is the one that started the clock.

    Python interrupts no other thread, and the main one only between two of its own steps: nothing stops
    `sum(itertools.count())`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.over = self.overdue = False
        self.interrupted = False  # by Ctrl-C
        self.stopped = threading.Event()
        self.sending = threading.Lock()
        self.previous: Any = None

    def start(self) -> None:
        with suppress(ValueError, RuntimeError):  # not the main thread; no threads, as in a browser
            self.previous = signal.signal(signal.SIGINT, self.handle)
            threading.Thread(target=self.wait, daemon=True).start()

    def stop(self) -> None:
        self.stopped.set()
        if self.previous is not None:
            with self.sending:  # what was sent before arrives here, where it does nothing
                signal.signal(signal.SIGINT, self.previous)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle SIGINT: ours if the check is overdue, otherwise Ctrl-C, for the handler of before."""
        if not self.overdue:
            self.interrupted = True
            if callable(self.previous):
                self.previous(number, frame)
        elif not self.over:
            raise TooSlowError

    def wait(self) -> None:
        """Interrupt the check when its time is up; if its code catches everything, say so."""
        left = LIMIT
        for _ in range(TRIES):
            if self.stopped.wait(left):
                return
            with self.sending:
                if self.over:
                    return
                self.overdue = True
                _interrupt()
            left = 1.0
        if not self.stopped.wait(left):
            print(f"{self.name}: your code does not end and cannot be interrupted. Restart the kernel.")


def _interrupt() -> None:
    """Send SIGINT to the main thread: for real where possible, which also ends a `time.sleep`."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()


def _is_empty(function: Any) -> bool:
    return hasattr(function, "__code__") and {i.opname for i in dis.get_instructions(function)} <= _EMPTY_BODY


def _capitalize(hint: str) -> str:
    """Capitalize the hint unless it begins with code such as `encode("a")`."""
    first_word = hint.split(maxsplit=1)[0]
    return hint[0].upper() + hint[1:] if first_word.isalpha() else hint


# -- text that is fit to print ---------------------------------------------------------------------------


def describe(error: BaseException) -> str:
    """The type of an error and its message, which may be missing or fail."""
    try:
        message = str(error)
    except Exception:
        message = ""
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def one_line(text: str) -> str:
    """Return the text as a line of at most LONGEST characters, with escapes for invisible characters.

    What is too long loses its middle: a hint begins with the input and ends with what is expected.
    """
    shown = (
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in _without_middle(text)
    )
    return _without_middle("".join(shown))


def _without_middle(text: str) -> str:
    half = LONGEST // 2 - 2
    return text if len(text) <= LONGEST else f"{text[:half]} … {text[-half:]}"


# -- what several chapters check -------------------------------------------------------------------------


def is_list_of(value: object, kind: type) -> bool:
    """Whether the value is a list that holds nothing but objects of this type."""
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def shorten(value: object) -> str:
    """The repr of a value, cut to 60 characters."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def compare_numbers(
    found: object,
    expected: list[int],
    noun: str,
    why_wrong: Callable[[int], str],
    why_missing: Callable[[int], str],
) -> str | None:
    """Compare a list of ids or positions with the expected one, in ascending order.

    noun: what a number is. why_wrong, why_missing: what to say after a number that does not belong there, or
    after one that is missing. Returns a hint that begins with "you", or None.
    """
    if found == expected:
        return None
    if not is_list_of(found, int):
        return f"you return {shorten(found)}; it should be a list of {noun}s."
    assert isinstance(found, list)
    if wrong := sorted(set(found) - set(expected)):
        return f"you return the {noun} {wrong[0]}{why_wrong(wrong[0])}."
    if missing := sorted(set(expected) - set(found)):
        return f"you leave out the {noun} {missing[0]}{why_missing(missing[0])}."
    return f"you return {shorten(found)}; it should be in ascending order, each {noun} once."
