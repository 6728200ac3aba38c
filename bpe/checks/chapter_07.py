"""The checks of chapter 7: a Mini-GPT, and what it costs to predict a text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from bpe.checks import exercise, is_list_of, is_number, is_same, make_hint

BitsPerByte = Callable[[list[float], str], float]
SeesFuture = Callable[[Any, list[int]], bool]
Nucleus = Callable[[list[float], float], list[float]]
Window = tuple[int, int, int]
Windows = Callable[[int, int, int], list[Window]]

NO_LOGARITHM = "The costs are logarithms already: change their unit, but take no further logarithm."


@exercise(
    "In what unit are the costs, and in what unit should the answer be?",
    (
        "Add the costs. A nat is 1 / ln 2 bits. Then divide by the length of the text in bytes, which is "
        "not its length in characters."
    ),
    "`sum(costs) / math.log(2) / len(text.encode())`.",
)
def exercise_1(bits_per_byte: BitsPerByte) -> str | None:
    ln2 = math.log(2)
    for costs, text in (
        ([3 * ln2] * 4, "abcd"),
        ([ln2, 3 * ln2], "abab"),
        ([9 * ln2, 3 * ln2], "春晓"),
        ([2.5], "\n"),
        ([1.0, 2.0, 4.5], "né 月 \n"),
    ):
        found = bits_per_byte(list(costs), text)
        expected = sum(costs) / ln2 / len(text.encode("utf-8"))
        case = f"bits_per_byte({[round(cost, 4) for cost in costs]}, {text!r})"
        if not is_number(found):
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


@exercise(
    "If you change one id, which rows of logits may change?",
    (
        "The rows before the changed id must stay the same. Try every position, since a leak may be at "
        "one place only."
    ),
    (
        "For each `position` from 1 on: clone the ids, add 1 there, run the model, and compare `[:, "
        ":position]` with the first result (`torch.allclose`)."
    ),
)
def exercise_2(sees_future: SeesFuture) -> str | None:
    for model, name, leaks in (
        (_sum_so_far, "a model that adds up the ids so far", False),
        (_sum_all, "a model that adds up all ids", True),
        (_see_own, "a model in which each row sees only its own id", False),
        (_see_next, "a model in which each row sees the next id", True),
        (_leak_back, "a model with one leak, from the last id to the row before it", True),
        (_leak_far, "a model with one leak, from the last id to the first row", True),
        (_leak_early, "a model with one leak, from the second id to the first row", True),
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
    return _make_logits(_weigh(ids).cumsum(-1))


def _sum_all(ids: Any) -> Any:
    return _make_logits(0 * ids + _weigh(ids).sum(-1, keepdim=True))


def _see_own(ids: Any) -> Any:
    return _make_logits(_weigh(ids))


def _see_next(ids: Any) -> Any:
    rows = 0 * ids
    rows[:, :-1] = _weigh(ids)[:, 1:]
    return _make_logits(rows)


def _leak_back(ids: Any) -> Any:
    rows, last = _weigh(ids).cumsum(-1), _weigh(ids)[:, -1:]
    rows[:, -2:-1] += last
    return _make_logits(rows)


def _leak_far(ids: Any) -> Any:
    rows, last = _weigh(ids).cumsum(-1), _weigh(ids)[:, -1]
    rows[:, 0] += last
    return _make_logits(rows)


def _leak_early(ids: Any) -> Any:
    rows, second = _weigh(ids).cumsum(-1), _weigh(ids)[:, 1:2]
    rows[:, :1] += second.sum(-1, keepdim=True)
    return _make_logits(rows)


def _weigh(ids: Any) -> Any:
    """Give each id a weight above 0 that depends on its place.

    So a leak also shows in a test that compares the rows of a beginning with those of the whole.
    """
    import torch

    return (ids + 1) * torch.arange(1, ids.shape[-1] + 1)


@exercise(
    "Which ids are kept first, and when do you stop?",
    (
        "Sort the ids by probability, the largest first (Python's sort leaves equals in their order). "
        "Keep ids until their sum reaches `top_p`."
    ),
    (
        "`sorted(range(len(probabilities)), key=probabilities.__getitem__, reverse=True)`; stop before "
        "the next id if `total >= top_p`; divide what is kept by `total`."
    ),
)
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
        if not isinstance(found, (list, tuple)) or not all(map(is_number, found)):
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


@exercise(
    "Write down the windows for 12 tokens, a block of 8 and a stride of 4. Where does each end?",
    (
        "Follow two numbers: `first`, the first token to predict, and `end`. The start is as far back "
        "from `end` as the block allows."
    ),
    (
        "Begin with `first, end = 0, min(block_size, num_tokens)`. While `first < num_tokens`: add "
        "`(max(0, end - block_size), first, end)`, then `first, end = end, min(end + stride, "
        "num_tokens)`."
    ),
)
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
        if is_same(found, expected):
            continue
        case = f"windows({num_tokens}, {block_size}, {stride})"
        if not is_list_of(found, (list, tuple)) or not all(is_list_of(w, int) and len(w) == 3 for w in found):
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


def _close(found: float, expected: float) -> bool:
    return math.isclose(found, expected, rel_tol=1e-6, abs_tol=1e-9)


def _round(row: list[float]) -> list[float]:
    return [round(float(value), 4) for value in row]


hint = make_hint(__name__)
