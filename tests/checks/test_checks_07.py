"""The checks of chapter 7: right answers, the untouched stubs, and what learners get wrong."""

from __future__ import annotations

import math

import pytest

from bpe.checks import chapter_07 as check

EXERCISES = [check.exercise_1, check.exercise_2, check.exercise_3, check.exercise_4]


def unwritten(*arguments): ...


def broken(*arguments):
    raise KeyError("moon")


@pytest.mark.parametrize("exercise", EXERCISES)
def test_stubs_and_errors(said, exercise):
    name = exercise.__name__.replace("_", " ")
    assert said(exercise, ...) == f"{name}: not started"
    assert said(exercise, unwritten) == f"{name}: not started"
    told = said(exercise, broken)
    assert told.startswith(f"{name}: not yet. broken(")
    assert "raised KeyError: 'moon' (line" in told


# Exercise 1


def bits_per_byte(costs, text):
    return sum(costs) / (math.log(2) * len(text.encode("utf-8")))


def test_bits_per_byte(said):
    assert said(check.exercise_1, bits_per_byte) == "exercise 1: correct"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda costs, text: sum(costs) / len(text.encode()), "That is nats per byte, not bits"),
        (lambda costs, text: sum(costs) * math.log(2) / len(text.encode()), "One nat is 1 / ln 2 bits"),
        (lambda costs, text: sum(costs) / math.log(2) / len(text), "bytes in UTF-8, not of characters"),
        (lambda costs, text: sum(costs) / math.log(2) / len(costs), "depends on the tokenizer"),
        (lambda costs, text: sum(costs) / math.log(2), "divide by its length"),
        (lambda costs, text: sum(map(math.log2, costs)) / len(text.encode()), "take no further log"),
        (lambda costs, text: -sum(map(math.log2, costs)) / len(text.encode()), "take no further log"),
        (lambda costs, text: bits_per_byte(costs, text) + 1, "returned 4.0000; it should be 3.0000."),
        (lambda costs, text: [bits_per_byte(costs, text)], "it should be a number"),
        (lambda costs, text: "three", "it should be a number"),
    ],
)
def test_wrong_bits_per_byte(said, answer, hint):
    assert hint in said(check.exercise_1, answer)


# Exercise 2


def sees_future(model, ids):
    import torch

    given = torch.tensor([ids])
    before = model(given)
    for position in range(len(ids)):
        changed = given.clone()
        changed[0, position] += 1
        if not torch.equal(before[:, :position], model(changed)[:, :position]):
            return True
    return False


def only_the_row_before(model, ids):
    import torch

    before = model(torch.tensor([ids]))
    for position in range(1, len(ids)):
        changed = torch.tensor([ids])
        changed[0, position] += 1
        if not torch.equal(before[0, position - 1], model(changed)[0, position - 1]):
            return True
    return False


def only_the_middle(model, ids):
    import torch

    position = len(ids) // 2
    changed = torch.tensor([ids])
    changed[0, position] += 1
    return not torch.equal(model(torch.tensor([ids]))[:, :position], model(changed)[:, :position])


def puts_the_first_id_everywhere(model, ids):
    """Changes nothing where all ids are equal."""
    import torch

    before = model(torch.tensor([ids]))
    for position in range(1, len(ids)):
        changed = torch.tensor([ids])
        changed[0, position] = ids[0]
        if not torch.equal(before[:, :position], model(changed)[:, :position]):
            return True
    return False


def with_its_own_row(model, ids):
    import torch

    changed = torch.tensor([ids])
    changed[0, -1] += 1
    return not torch.equal(model(torch.tensor([ids])), model(changed))


def test_sees_future(said):
    pytest.importorskip("torch")
    assert said(check.exercise_2, sees_future) == "exercise 2: correct"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (
            only_the_row_before,
            "from the last id to the first row, sees_future(model, [3, 1, 4, 1, 5]) returned",
        ),
        (only_the_middle, "with one leak"),
        (
            puts_the_first_id_everywhere,
            "sees_future(model, [2, 2, 2]) returned False; it should be True. Do you try every",
        ),
        (
            with_its_own_row,
            "For a model that adds up the ids so far, sees_future(model, [3, 1, 4, 1, 5]) returned",
        ),
        (with_its_own_row, "it should be False. The rows from the changed id on may change."),
        (lambda model, ids: False, "For a model that adds up all ids"),
        (lambda model, ids: 0, "returned 0; it should be True or False"),
        (lambda model, ids: len(ids) < 2 or sees_future(model, ids), "nothing comes after a single id"),
    ],
)
def test_wrong_sees_future(said, answer, hint):
    pytest.importorskip("torch")
    assert hint in said(check.exercise_2, answer)


# Exercise 3


def nucleus(probabilities, top_p):
    order = sorted(range(len(probabilities)), key=lambda i: -probabilities[i])
    kept, total = set(), 0.0
    for i in order:
        if total >= top_p:
            break
        kept.add(i)
        total += probabilities[i]
    return [p / total if i in kept else 0.0 for i, p in enumerate(probabilities)]


def not_divided(probabilities, top_p):
    return [p if kept else 0.0 for p, kept in zip(probabilities, nucleus(probabilities, top_p), strict=True)]


def one_too_many(probabilities, top_p):
    return nucleus(probabilities, min(1.0, top_p + 0.01))


def one_too_few(probabilities, top_p):
    total, kept = 0.0, [0.0] * len(probabilities)
    for i in sorted(range(len(probabilities)), key=lambda i: -probabilities[i]):
        total += probabilities[i]
        if total > top_p and sum(kept):
            break
        kept[i] = probabilities[i]
    return [p / sum(kept) for p in kept]


def the_last_of_equals(probabilities, top_p):
    return nucleus(probabilities[::-1], top_p)[::-1]


def in_order_of_size(probabilities, top_p):
    return sorted(nucleus(probabilities, top_p), reverse=True)


def only_the_kept(probabilities, top_p):
    return [p for p in nucleus(probabilities, top_p) if p]


def sorts_what_it_was_given(probabilities, top_p):
    answer = nucleus(probabilities, top_p)
    probabilities.sort()
    return answer


def the_first_ids(probabilities, top_p):
    total, kept = 0.0, []
    for p in probabilities:
        kept.append(p if total < top_p else 0.0)
        total += kept[-1]
    return [p / total for p in kept]


def test_nucleus(said):
    assert said(check.exercise_3, nucleus) == "exercise 3: correct"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (not_divided, "Divide what is kept by its sum"),
        (one_too_many, "it should be [0.6667, 0.3333, 0.0, 0.0]. It should keep 2 of them, not 3."),
        (one_too_few, "nucleus([0.5, 0.25, 0.125, 0.125], 0.7) returned [1.0, 0.0, 0.0, 0.0]; "),
        (one_too_few, "It should keep 2 of them, not 1."),
        (the_last_of_equals, "Of equal probabilities, keep the one with the smaller id."),
        (in_order_of_size, "nucleus([0.125, 0.5, 0.25, 0.125], 0.8) returned"),
        (only_the_kept, "The list should keep its length"),
        (sorts_what_it_was_given, "changed the list"),
        (the_first_ids, "nucleus([0.25, 0.75], 0.5) returned"),
        (lambda *arguments: set(nucleus(*arguments)), "it should be a list of numbers"),
    ],
)
def test_wrong_nucleus(said, answer, hint):
    assert hint in said(check.exercise_3, answer)


# Exercise 4


def windows(num_tokens, block_size, stride):
    made, first, end = [], 0, min(block_size, num_tokens)
    while first < num_tokens:
        made.append((max(0, end - block_size), first, end))
        first, end = end, min(end + stride, num_tokens)
    return made


def without_overlap(num_tokens, block_size, stride):
    starts = range(0, num_tokens, block_size)
    return [(start, start, min(start + block_size, num_tokens)) for start in starts]


def every_token_of_a_window(num_tokens, block_size, stride):
    return [(start, start, end) for start, _, end in windows(num_tokens, block_size, stride)]


def with_a_fixed_start(num_tokens, block_size, stride):
    """Reads less than it could in the last window."""
    first_end = min(block_size, num_tokens)
    rest = range(first_end, num_tokens, stride)
    made = [(i + stride - block_size, i, min(i + stride, num_tokens)) for i in rest]
    return [(0, 0, first_end), *made] if num_tokens else []


def past_the_end(num_tokens, block_size, stride):
    return [(s, f, f + (stride if f else block_size)) for s, f, _ in windows(num_tokens, block_size, stride)]


def all_from_the_beginning(num_tokens, block_size, stride):
    return [(0, first, end) for _, first, end in windows(num_tokens, block_size, stride)]


def test_windows(said):
    assert said(check.exercise_4, windows) == "exercise 4: correct"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (
            without_overlap,
            "windows(12, 8, 4) returned [(0, 0, 8), (8, 8, 12)]; it should be [(0, 0, 8), (4, 8",
        ),
        (every_token_of_a_window, "it should be each of 12 once"),
        (with_a_fixed_start, "windows(11, 8, 4) returned [(0, 0, 8), (4, 8, 11)]; it should be"),
        (past_the_end, "it should be each of 4 once"),
        (all_from_the_beginning, "(0, 8, 12) reads 12 tokens, more than 8"),
        (lambda *sizes: [(s - 1, f, e) for s, f, e in windows(*sizes)], "begins before the text"),
        (
            lambda *sizes: windows(*sizes) or [(0, 0, 0)],
            "windows(0, 8, 4) returned [(0, 0, 0)]; it should be []",
        ),
        (lambda *sizes: [end for *_, end in windows(*sizes)], "it should be a list of (start, first, end)"),
    ],
)
def test_wrong_windows(said, answer, hint):
    assert hint in said(check.exercise_4, answer)


def test_they_are_the_windows_of_score():
    pytest.importorskip("torch")
    from bpe.minigpt.evaluation import _windows

    for sizes in ((30, 8, 3), (1000, 128, 64), (5, 8, 1)):
        assert [window for group in _windows(*sizes) for window in group] == windows(*sizes)
