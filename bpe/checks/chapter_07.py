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

NO_LOGARITHM = "The costs are logarithms already: change their unit, but take no further logarithm."


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
            return f"{case} returned {found!r}; it should be a number."
        if _close(found, expected):
            continue
        told = f"{case} returned {found:.4f}; it should be {expected:.4f}."
        for other, hint in (
            (expected * ln2, "That is nats per byte, not bits."),
            (expected * ln2**2, "One nat is 1 / ln 2 bits: divide by it."),
            (sum(costs) / ln2 / len(text), "Divide by the number of bytes in UTF-8, not of characters."),
            (
                sum(costs) / ln2 / len(costs),
                "That is bits per token; how many tokens there are depends on the tokenizer.",
            ),
            (sum(costs) / ln2, "That is for the whole text; divide by its length in bytes."),
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
        (_sum_so_far, "a model that adds up the ids so far", False),
        (_sum_all, "a model that adds up all ids", True),
        (_see_own, "a model in which each row sees only its own id", False),
        (_see_next, "a model in which each row sees the next id", True),
        (_leak_back, "a model with one leak, from the last id to the row before it", True),
        (_leak_far, "a model with one leak, from the last id to the first row", True),
    ):
        for ids in ([3, 1, 4, 1, 5], [2, 2, 2], [7, 0]):
            found = sees_future(model, list(ids))
            if not isinstance(found, bool):
                return f"sees_future(model, {ids}) returned {found!r}; it should be True or False."
            if found is not leaks:
                told = f"For {name}, sees_future(model, {ids}) returned {found}; it should be {leaks}."
                hint = "Do you try every position, each with another id?"
                return f"{told} {hint if leaks else 'The rows from the changed id on may change.'}"
    if sees_future(_sum_all, [5]) is not False:
        return "sees_future(model, [5]) returned True; it should be False: nothing comes after a single id."
    return None


def _make_logits(rows: Any) -> Any:
    """Make logits of shape (1, length, 10) that differ where the numbers in `rows` do."""
    import torch

    return rows[..., None] * torch.arange(1.0, 11.0)


def _sum_so_far(ids: Any) -> Any:
    return _make_logits(ids.cumsum(-1))


def _sum_all(ids: Any) -> Any:
    return _make_logits(0 * ids + ids.sum())


def _see_own(ids: Any) -> Any:
    return _make_logits(ids)


def _see_next(ids: Any) -> Any:
    return _make_logits(ids.roll(-1))


def _leak_back(ids: Any) -> Any:
    rows = ids.cumsum(-1)
    rows[0, -2:-1] += ids[0, -1]
    return _make_logits(rows)


def _leak_far(ids: Any) -> Any:
    rows = ids.cumsum(-1)
    rows[0, 0] += ids[0, -1]
    return _make_logits(rows)


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
            return f"{case} returned {found!r}; it should be a list of numbers."
        if len(found) == len(expected) and all(map(_close, found, expected)):
            continue
        told = f"{case} returned {_round(found)}; it should be {_round(expected)}."
        if len(found) != len(expected):
            return f"{told} The list should keep its length."
        ours, theirs = ([i for i, p in enumerate(row) if p] for row in (expected, found))
        if ours == theirs:
            return f"{told} Divide what is kept by its sum."
        if len(theirs) != len(ours):
            return f"{told} It should keep {len(ours)} of them, not {len(theirs)}."
        if sorted(probabilities[i] for i in theirs) == sorted(probabilities[i] for i in ours):
            return f"{told} Of equal probabilities, keep the one with the smaller id."
        return f"{told} Keep the most probable."
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
        expected = _place_windows(num_tokens, block_size, stride)
        if found == expected:
            continue
        case = f"windows({num_tokens}, {block_size}, {stride})"
        if not isinstance(found, list) or not all(isinstance(w, tuple) and len(w) == 3 for w in found):
            return f"{case} returned {found!r}; it should be a list of (start, first, end)."
        told = f"{case} returned {found}"
        predicted = [i for _, first, end in found for i in range(first, end)]
        if predicted != list(range(num_tokens)):
            return f"{told}, which predict the tokens {predicted}; it should be each of {num_tokens} once."
        if long := [w for w in found if w[2] - w[0] > block_size]:
            return f"{told}, but {long[0]} reads {long[0][2] - long[0][0]} tokens, more than {block_size}."
        if negative := [w for w in found if w[0] < 0]:
            return f"{told}, but {negative[0]} begins before the text."
        return f"{told}; it should be {expected}."
    return None


def _place_windows(num_tokens: int, block_size: int, stride: int) -> list[Window]:
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


def _round(row: list[float]) -> list[float]:
    return [round(float(value), 4) for value in row]
