"""The checks of chapter 12 know right answers from wrong ones."""

from fractions import Fraction

import pytest
from answers import assert_no_answer_is_known

from bpe.checks import chapter_12 as check


@pytest.mark.parametrize("number", [1, 3, 4])
def test_stub_and_exception(said, number):
    assert_no_answer_is_known(said, check, number)


# Exercise 1


def worth_of_tokens(tokenizer, number, kind=Fraction):
    place = len(number.partition(".")[0])
    pairs = []
    for token in tokenizer.tokens(number):
        value = kind(0)
        for digit in token.decode().replace(".", ""):
            place -= 1
            value += int(digit) * kind(10) ** place
        pairs.append((token.decode(), value))
    return pairs


def counts_the_point(tokenizer, number):
    left, pairs = len(number), []
    for token in tokenizer.tokens(number):
        left -= len(token)
        pairs.append((token.decode(), Fraction(10) ** left * int(token.replace(b".", b"") or 0)))
    return pairs


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (worth_of_tokens, "exercise 1: correct"),
        (
            counts_the_point,
            "For '12.5' and a tokenizer with each digit alone '1' is worth 1000; it should be",
        ),
        (lambda t, n: dict(worth_of_tokens(t, n)), "it should be a list of pairs"),
        (lambda t, n: [value for _, value in worth_of_tokens(t, n)], "it should be a list of pairs"),
        (
            lambda t, n: [(token, value) for token, value in worth_of_tokens(t, n) if token != "."],
            "your tokens are ['1', '2', '5']; they should be ['1', '2', '.', '5']",
        ),
        (lambda t, n: worth_of_tokens(t, n, float), "'2' is worth 0.2; it should be 1/5"),
        (
            lambda t, n: [(token, str(v)) for token, v in worth_of_tokens(t, n)],
            "is worth '7'; it should be 7",
        ),
    ],
)
def test_exercise_1(said, answer, verdict):
    assert verdict in said(check.exercise_1, answer)


# Exercise 2

FROM_THE_RIGHT = r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (rf"(?<=\p{{N}}\.\p{{N}}*)\p{{N}}{{1,3}}|{FROM_THE_RIGHT}", "exercise 2: correct"),
        (..., "exercise 2: not started"),
        (FROM_THE_RIGHT, "becomes ['1', '234', '567', '.', '1', '234', '567']; it should be"),
        (r"\p{N}{1,3}", "becomes ['123', '456', '7', '.', '123', '456', '7']"),
        (rf"(?<=\p{{N}}\.)\p{{N}}{{1,3}}|{FROM_THE_RIGHT}", "The text '1234567.1234567' becomes"),
        (rf"(?<=\.\p{{N}}*)\p{{N}}{{1,3}}|{FROM_THE_RIGHT}", "The text 'a.1234567' becomes"),
        (rf"(?<=\d\.[0-9]*)[0-9]{{1,3}}|{FROM_THE_RIGHT}", "The text '١٢٣٤.١٢٣٤' becomes"),
        ("(", "is not a regular expression"),
        (7, "Give a regular expression as a string, not 7."),
    ],
)
def test_exercise_2(said, answer, verdict):
    assert verdict in said(check.exercise_2, answer)


# Exercise 3


def scaffolding(tokenizer, text, by_rank=False, deep=True, allow=()):
    ids = {token: i for i, token in enumerate(tokenizer.vocabulary)}
    made = set(tokenizer.encode(text, disallowed_special=allow))
    needed = set(made)
    for k, (left, right) in reversed(list(enumerate(tokenizer.merges))):
        result = 256 + k if by_rank else ids[tokenizer.token(left) + tokenizer.token(right)]
        if result in (needed if deep else made):
            needed |= {left, right}
    return sorted(needed - made)


def never_made(tokenizer, text):
    made = set(tokenizer.encode(text, disallowed_special=()))
    return [i for i in range(len(tokenizer.vocabulary)) if i not in made]


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (scaffolding, "exercise 3: correct"),
        (
            never_made,
            "For a trained tokenizer and its own text you return the id 0, b'\\x00', which does not",
        ),
        (lambda t, text: scaffolding(t, text, deep=False), "its own text you leave out the id"),
        (
            lambda t, text: scaffolding(t, text, by_rank=True),
            "For a tokenizer whose ids do not follow the merges you",
        ),
        (lambda t, text: scaffolding(t, text)[::-1], "it should be in ascending order"),
        (lambda t, text: list(map(t.token, scaffolding(t, text))), "it should be a list of ids"),
        (lambda t, text: [999], "you return the id 999, which does not exist."),
        (
            lambda t, text: scaffolding(t, text, allow="all"),
            "raised SpecialTokenError: the text holds the special",
        ),
    ],
)
def test_exercise_3(said, answer, verdict):
    assert verdict in said(check.exercise_3, answer)


# Exercise 4


def heal(tokenizer, prompt):
    ids = tokenizer.encode(prompt, disallowed_special=())
    if not ids:
        return [], []
    last = tokenizer.token(ids[-1])
    return ids[:-1], [i for i, token in enumerate(tokenizer.vocabulary) if token and token.startswith(last)]


def with_special_tokens(tokenizer, prompt):
    kept, allowed = heal(tokenizer, prompt)
    last = tokenizer.token(allowed[0]) if allowed else b"never"
    special = (i for name, i in tokenizer.special_tokens.items() if name.encode().startswith(last))
    return kept, sorted({*allowed, *special})


def itself_left_out(tokenizer, prompt):
    kept, allowed = heal(tokenizer, prompt)
    last = tokenizer.encode(prompt, disallowed_special=())[-1:]
    return kept, [i for i in allowed if i not in last]


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (heal, "exercise 4: correct"),
        (lambda t, prompt: heal(t, prompt)[0], "it should be two lists of ids"),
        (lambda t, prompt: (None, heal(t, prompt)[1]), "you return (None, ["),
        (
            lambda t, prompt: (t.encode(prompt, disallowed_special=()), heal(t, prompt)[1]),
            "For a trained tokenizer and the prompt 'the American boat ' the ids that stay are",
        ),
        (itself_left_out, "among the ids that may follow, you leave out the id"),
        (with_special_tokens, "the prompt 'the', among the ids"),
        (lambda t, prompt: (heal(t, prompt)[0], str(heal(t, prompt)[1])), "it should be a list of ids"),
        (
            lambda t, prompt: (t.encode(prompt)[:-1], heal(t, prompt)[1]),
            "raised SpecialTokenError: the text holds",
        ),
        (lambda t, prompt: heal(t, prompt) if prompt else ([], [0]), "the prompt '', among the ids that may"),
    ],
)
def test_exercise_4(said, answer, verdict):
    assert verdict in said(check.exercise_4, answer)
