"""The checks of chapter 7: a Mini-GPT, and what it costs to predict a text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from bpe.checks import exercise

BitsPerByte = Callable[[list[float], str], float]
SeesFuture = Callable[[Any, list[int]], bool]
Nucleus = Callable[[list[float], float], list[float]]
Window = tuple[int, int, int]
Windows = Callable[[int, int, int], list[Window]]

NO_LOGARITHM = "The costs are logarithms already: change their unit, and take no further log."


@exercise
def exercise_1(bits_per_byte: BitsPerByte) -> str | None:
    ln2 = math.log(2)
    for costs, text in (
        ([3 * ln2] * 4, "abcd"),
        ([ln2, 3 * ln2], "abab"),
        ([9 * ln2, 3 * ln2], "春晓"),
        ([2.5], "\n"),
        ([1.0, 2.0, 4.5], "né 月"),
    ):
        found = bits_per_byte(list(costs), text)
        expected = sum(costs) / ln2 / len(text.encode("utf-8"))
        case = f"bits_per_byte({[round(cost, 4) for cost in costs]}, {text!r})"
        if not _is_number(found):
            return f"{case} gave {found!r}; expected was a number."
        if _close(found, expected):
            continue
        told = f"{case} gave {found:.4f}; expected was {expected:.4f}."
        for other, hint in (
            (expected * ln2, "That is nats, not bits, for each byte."),
            (expected * ln2**2, "One nat is 1 / ln 2 bits: divide by it."),
            (sum(costs) / ln2 / len(text), "The length is counted in bytes of UTF-8, not in characters."),
            (sum(costs) / ln2 / len(costs), "That is for each token, and the tokenizer decides how many."),
            (sum(costs) / ln2, "That is the whole text; divide by its length."),
            (sum(map(math.log2, costs)) / len(text.encode("utf-8")), NO_LOGARITHM),
            (-sum(map(math.log2, costs)) / len(text.encode("utf-8")), NO_LOGARITHM),
        ):
            if _close(found, other):
                return f"{told} {hint}"
        return told
    return None


@exercise
def exercise_2(sees_future: SeesFuture) -> str | None:
    for model, name, leaks in (
        (_summing, "A model that adds up the ids so far", False),
        (_bag, "A model that adds up all ids", True),
        (_alone, "A model in which every row knows its own id alone", False),
        (_peeking, "A model in which each row sees the next id", True),
        (_one_leak, "A model that leaks at one place, from the last id to the row before it", True),
        (_far_leak, "A model that leaks at one place, from the last id to the first row", True),
    ):
        for ids in ([3, 1, 4, 1, 5], [2, 2, 2], [7, 0]):
            found = sees_future(model, list(ids))
            if not isinstance(found, bool):
                return f"sees_future(model, {ids}) gave {found!r}; expected was True or False."
            if found is not leaks:
                told = f"{name}: sees_future(model, {ids}) gave {found}; expected was {leaks}."
                hint = "Was every position tried, and is the id that you put there another one?"
                return f"{told} {hint if leaks else 'Rows from the changed id on may change.'}"
    if sees_future(_bag, [5]) is not False:
        return "sees_future(model, [5]) gave True; nothing comes after a single id."
    return None


def _logits(rows: Any) -> Any:
    """Logits of shape (1, length, 10) that differ wherever the rows' numbers do."""
    import torch

    return rows[..., None] * torch.arange(1.0, 11.0)


def _summing(ids: Any) -> Any:
    return _logits(ids.cumsum(-1))


def _bag(ids: Any) -> Any:
    return _logits(0 * ids + ids.sum())


def _alone(ids: Any) -> Any:
    return _logits(ids)


def _peeking(ids: Any) -> Any:
    return _logits(ids.roll(-1))


def _one_leak(ids: Any) -> Any:
    rows = ids.cumsum(-1)
    rows[0, -2:-1] += ids[0, -1]
    return _logits(rows)


def _far_leak(ids: Any) -> Any:
    rows = ids.cumsum(-1)
    rows[0, 0] += ids[0, -1]
    return _logits(rows)


@exercise
def exercise_3(nucleus: Nucleus) -> str | None:
    for probabilities, top_p, kept in (
        ([0.5, 0.25, 0.125, 0.125], 0.75, [0, 1]),
        ([0.5, 0.25, 0.125, 0.125], 0.7, [0, 1]),
        ([0.125, 0.5, 0.25, 0.125], 0.8, [0, 1, 2]),
        ([0.25, 0.75], 0.5, [1]),
        ([0.25, 0.75], 1.0, [0, 1]),
        ([0.25, 0.25, 0.25, 0.25], 0.5, [0, 1]),
        ([1.0], 0.9, [0]),
        ([0.0, 1.0, 0.0], 1.0, [1]),
    ):
        given = list(probabilities)
        found = nucleus(given, top_p)
        total = sum(probabilities[i] for i in kept)
        expected = [p / total if i in kept else 0.0 for i, p in enumerate(probabilities)]
        case = f"nucleus({probabilities}, {top_p})"
        if given != probabilities:
            return f"{case} changed the list that it was given."
        if not isinstance(found, list) or not all(map(_is_number, found)):
            return f"{case} gave {found!r}; expected was a list of numbers."
        if len(found) == len(expected) and all(map(_close, found, expected)):
            continue
        told = f"{case} gave {_rounded(found)}; expected was {_rounded(expected)}."
        if len(found) != len(expected):
            return f"{told} The list keeps its length."
        ours, theirs = ([i for i, p in enumerate(row) if p] for row in (expected, found))
        if ours == theirs:
            return f"{told} What is kept is divided by its sum."
        if len(theirs) != len(ours):
            number = abs(len(theirs) - len(ours))
            return f"{told} {number} too {'few' if len(theirs) < len(ours) else 'many'} kept."
        if sorted(probabilities[i] for i in theirs) == sorted(probabilities[i] for i in ours):
            return f"{told} Of equals, the smaller id comes first."
        return f"{told} The likeliest are kept."
    return None


@exercise
def exercise_4(windows: Windows) -> str | None:
    for num_tokens, block_size, stride in (
        (4, 8, 4),
        (8, 8, 4),
        (12, 8, 4),
        (11, 8, 4),
        (9, 8, 4),
        (30, 8, 3),
        (10, 4, 4),
        (5, 4, 1),
        (3, 1, 1),
        (0, 8, 4),
    ):
        found = windows(num_tokens, block_size, stride)
        expected = _expected_windows(num_tokens, block_size, stride)
        if found == expected:
            continue
        case = f"windows({num_tokens}, {block_size}, {stride})"
        if not isinstance(found, list) or not all(isinstance(w, tuple) and len(w) == 3 for w in found):
            return f"{case} gave {found!r}; expected was a list of (start, first, end)."
        told = f"{case} gave {found}"
        predicted = [i for _, first, end in found for i in range(first, end)]
        if predicted != list(range(num_tokens)):
            return f"{told}: they predict the tokens {predicted}; expected was each of {num_tokens} once."
        if long := [w for w in found if w[2] - w[0] > block_size]:
            return f"{told}: {long[0]} reads {long[0][2] - long[0][0]} tokens, more than {block_size}."
        if negative := [w for w in found if w[0] < 0]:
            return f"{told}: {negative[0]} begins before the text."
        return f"{told}; expected was {expected}."
    return None


def _expected_windows(num_tokens: int, block_size: int, stride: int) -> list[Window]:
    made: list[Window] = []
    first, end = 0, min(block_size, num_tokens)
    while first < num_tokens:
        made.append((max(0, end - block_size), first, end))
        first, end = end, min(end + stride, num_tokens)
    return made


def _is_number(value: object) -> bool:
    try:
        return math.isfinite(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def _close(found: float, expected: float) -> bool:
    return math.isclose(found, expected, rel_tol=1e-6, abs_tol=1e-9)


def _rounded(row: list[float]) -> list[float]:
    return [round(float(value), 4) for value in row]
