"""The checks of the exercises, and the report on what is installed.

The checks of a chapter are in `chapter_NN`, one function for each exercise, with its hints. A check tries the
learner's answer and returns None if it is right, otherwise what is wrong:

    @exercise("What does `max` compare?", "`max` takes a `key`.", "return max(words, key=…)")
    def exercise_1(longest):
        if (found := longest(["a", "bcd"])) != "bcd":
            return f"For ['a', 'bcd'] you return {found!r}; it should be 'bcd'."

The learner reads «not started», «not yet» with what is wrong, or «correct», in one line, whatever the answer
does: raise, return nonsense, or never end. What a function returns arrives in Python's own types: see
`answers.settle`.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from reprlib import Repr
from typing import TYPE_CHECKING, Any

from bpe.checks import cells, clock, record
from bpe.checks.answers import MOST, EndlessError, is_list_of, is_number, is_same, settle

if TYPE_CHECKING:
    from bpe.show import Table

__all__ = [
    "BYTES",
    "case",
    "compare_numbers",
    "exercise",
    "is_list_of",
    "is_number",
    "is_same",
    "make_hint",
    "progress",
    "progress_line",
    "shorten",
]

Check = Callable[..., "str | None"]

BYTES = [bytes([value]) for value in range(256)]  # the base tokens of a tokenizer over bytes

LONGEST = 1_000  # characters of a verdict

# Enough of an input to recognise it by.
_short = Repr()
_short.maxstring = _short.maxother = 60
_short.maxlist = _short.maxtuple = _short.maxdict = 12

# What the body `...`, `pass` or `return ...` compiles to, with or without a docstring.
_EMPTY_BODY = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}

cells.follow_notebook()


class NotStartedError(Exception):
    """The answer is still the empty one that the exercise began with; its argument is the name."""


class ReturnedNoneError(Exception):
    """The learner's function is written but returns None."""


class InterruptedCheckError(KeyboardInterrupt):
    """Ctrl-C during a check. A notebook shows its message and nothing of what is inside the check."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class _Place(str):
    """A note on an error: where in the learner's code it was raised, in words."""


def exercise(*hints: str) -> Callable[[Check], Callable[..., None]]:
    """Turn a check into what a notebook calls: it prints the verdict and raises nothing but Ctrl-C.

    hints: from a nudge to nearly the code, for `make_hint`.
    """

    def decorate(check: Check) -> Callable[..., None]:
        @wraps(check)
        def print_verdict(*args: Any) -> None:
            name = check.__name__.replace("_", " ")
            names = list(signature(check).parameters)
            if len(args) != len(names):
                print(f"{name}: not checked. Call it with your answer: {check.__name__}({', '.join(names)}).")
                return
            answers = dict(zip(names, args, strict=True))
            if old := _find_stale(answers):
                print(one_line(f"{name}: not checked. {old}"))
                return
            verdict, why = _judge(name, check, answers)
            print(one_line(f"{name}: {verdict}{f'. {why}' if why else ''}"))
            chapter = check.__module__.removeprefix("bpe.checks.chapter_")
            if chapter != check.__module__ and name.startswith("exercise "):
                record.remember(chapter, name.removeprefix("exercise "), verdict)

        print_verdict.hints = hints  # type: ignore[attr-defined]
        return print_verdict

    return decorate


def make_hint(chapter: str) -> Callable[[int], None]:
    """Return the function `hint` of a chapter, from the hints of its exercises.

    chapter: the name of the module whose exercises they are.
    """
    shown: dict[int, int] = {}  # exercise: how many hints were shown

    def hint(number: int) -> None:
        """Print the next hint on an exercise; the last one says where the solution is.

        number: the number of the exercise.
        """
        checks = vars(sys.modules[chapter])
        if not (check := checks.get(f"exercise_{number}")):
            last = sum(key.startswith("exercise_") for key in checks)
            print(f"There is no exercise {number} in this chapter: give a number from 1 to {last}.")
            return
        level = shown.get(number, 0)
        if level == len(check.hints):
            notebook = record.find_notebook(chapter[-2:])
            print(f"exercise {number}: no more hints. The solution is in solutions/{notebook}.ipynb.")
            shown[number] = 0  # for whoever wants to read them again
            return
        shown[number] = level + 1
        print(f"exercise {number}, hint {level + 1} of {len(check.hints)}: {check.hints[level]}")

    return hint


def progress() -> Table:
    """Return a table of all chapters: how many exercises are done, begun and not started.

    An exercise is done once its check has said «correct». Where nobody watches, as in tests, none is done.
    """
    from bpe.show import Table

    rows: list[list[object]] = []
    for chapter, states in _find_states().items():
        rows.append([record.find_notebook(chapter), *_count_states(states.values())])
    sums = [sum(row[column] for row in rows) for column in range(1, 5)]  # type: ignore[misc]
    return Table(["chapter", "exercises", "done", "not yet", "not started"], [*rows, ["all", *sums]])


def progress_line() -> str:
    """Return in one line how many exercises are done and which one comes next."""
    states = {(chapter, number): s for chapter, of in _find_states().items() for number, s in of.items()}
    total, done, begun, _ = _count_states(states.values())
    left = [place for place, state in states.items() if state != record.CORRECT]
    if not left:
        return f"All {total} exercises are done."
    chapter, number = next((place for place in left if states[place] == record.NOT_YET), left[0])
    return f"{done} of {total} exercises done, {begun} begun. Next: exercise {number} of chapter {chapter}."


def _find_states() -> dict[str, dict[str, str]]:
    """Return the states of all exercises: {"01": {"1": "correct", …}, …}."""
    entries = record.recall()
    return {
        chapter: {number: record.find_state(entries.get(f"{chapter}.{number}")) for number in numbers}
        for chapter, numbers in record.find_exercises().items()
    }


def _count_states(states: Collection[str]) -> list[int]:
    listed = list(states)
    return [len(listed), *map(listed.count, (record.CORRECT, record.NOT_YET, record.NOT_STARTED))]


# -- the verdict -------------------------------------------------------------------------------------------


def _find_stale(answers: dict[str, Any]) -> str | None:
    """Say if an answer is an older one, because the cell with the newer one failed."""
    for name, answer in answers.items():
        for known_as in dict.fromkeys((getattr(answer, "__name__", name), name)):
            if why := cells.CELLS.why_stale(known_as, answer):
                return (
                    f"The cell that defines `{known_as}` failed ({why}), so `{known_as}` is still what it "
                    "was before. Mend that cell and run it, then this one."
                )
    return None


def _judge(name: str, check: Check, answers: dict[str, Any]) -> tuple[str, str]:
    """Return the verdict on the answers, {name: answer}, and what is wrong or ""."""
    missing = [known_as for known_as, answer in answers.items() if _is_unwritten(answer)]
    if len(missing) == len(answers):
        return record.NOT_STARTED, ""
    calls = [""]  # the latest call of a function of the learner comes last
    timer = clock.Clock(name)
    try:
        try:
            timer.start()
            hint = check(*(_watch(known_as, answer, calls) for known_as, answer in answers.items()))
        finally:
            timer.over = True  # at once: from here on, its interrupts do nothing
            timer.stop()
    except NotStartedError as error:
        if len(answers) == 1:
            return record.NOT_STARTED, ""
        return record.NOT_YET, f"`{error}` is not started."
    except BaseException as error:
        files = {answer.__code__.co_filename for answer in answers.values() if hasattr(answer, "__code__")}
        line = cells.find_line(error, files)
        where = f" ({line})" if line else ""
        if isinstance(error, KeyboardInterrupt) and timer.interrupted:
            raise InterruptedCheckError(one_line(f"{name}: interrupted{where}.")) from None
        values = [known_as for known_as, answer in answers.items() if not callable(answer)]
        if values and not calls[-1] and isinstance(error, TypeError) and "not callable" in str(error):
            value = _short.repr(answers[values[0]])
            return record.NOT_YET, f"`{values[0]}` should be a function, but it is {value}."
        return record.NOT_YET, _tell(error, calls[-1], where)
    return (record.CORRECT, "") if hint is None else (record.NOT_YET, _capitalize(hint))


def _tell(error: BaseException, call: str, where: str) -> str:
    """Say what went wrong: in the learner's code, or when the check used what the latest call returned."""
    places = [note for note in getattr(error, "__notes__", []) if isinstance(note, _Place)]
    place = places[-1] if places else ""  # a `case` comes after the call
    if isinstance(error, clock.TooSlowError):
        return (
            f"{place or call or 'Your code'} did not finish: the check was stopped after "
            f"{clock.LIMIT:g} s of computing{where}. Does its loop end?"
        )
    if isinstance(error, EndlessError):
        what = f"What {place} returned" if place else "Your answer"
        return f"{what} has more than {MOST:,} items. Does it end?"
    if isinstance(error, ReturnedNoneError):
        return f"{place} returned None. Is a `return` missing?"
    if place:
        return f"{place} raised {describe(error)}{where}"
    return f"{f'What {call} returned' if call else 'Your answer'} cannot be checked: {describe(error)}{where}"


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


def _watch(known_as: str, answer: Any, calls: list[str]) -> Any:
    """Return the answer, settled; a function gets a wrapper that reports a call that raises or returns None.

    calls: where it keeps the latest call.
    """
    if answer is ... or answer is None:
        raise NotStartedError(known_as)
    if isinstance(answer, type):
        return answer
    if not callable(answer):
        return settle(answer)
    name = getattr(answer, "__name__", known_as)
    if not name.isidentifier():  # a lambda
        name = known_as

    @wraps(answer)
    def watch(*args: Any, **kwargs: Any) -> Any:
        calls[-1] = f"{name}({', '.join(map(_short.repr, args))})"
        call = _Place(calls[-1])
        try:
            result = answer(*args, **kwargs)
            if result is ... or (result is None and _is_unwritten(answer)):
                raise NotStartedError(known_as)
            if result is None:
                raise ReturnedNoneError
            return settle(result)
        except BaseException as error:
            error.add_note(call)
            raise

    return watch


def _is_unwritten(answer: Any) -> bool:
    """Whether an answer is `...`, None, or a function whose body is `...`, `pass` or `return ...`."""
    if answer is ... or answer is None:
        return True
    if not hasattr(answer, "__code__"):
        return False
    steps = list(dis.get_instructions(answer))
    return {step.opname for step in steps} <= _EMPTY_BODY and all(
        step.argval in (None, ...) for step in steps if "CONST" in step.opname
    )


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
    """Compare ids or positions with the expected ones, in ascending order; a set has none.

    noun: what a number is. why_wrong, why_missing: what to say after a number that does not belong there, or
    after one that is missing. Returns a hint that begins with "you", or None.
    """
    if isinstance(found, (set, frozenset)) and all(isinstance(number, int) for number in found):
        found = sorted(found)
    if is_same(found, expected):
        return None
    if not is_list_of(found, int):
        return f"you return {shorten(found)}; it should be a list of {noun}s."
    assert isinstance(found, (list, tuple))
    if wrong := sorted(set(found) - set(expected)):
        return f"you return the {noun} {wrong[0]}{why_wrong(wrong[0])}."
    if missing := sorted(set(expected) - set(found)):
        return f"you leave out the {noun} {missing[0]}{why_missing(missing[0])}."
    return f"you return {shorten(found)}; it should be in ascending order, each {noun} once."
