"""The checks of chapter 12: worth of digits, digits around a point, scaffolding, token healing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import regex

from bpe import BPETokenizer
from bpe.checks import BYTES, compare_numbers, exercise, is_list_of, is_number, is_same, make_hint, shorten
from bpe.checks.chapter_04 import compare_pieces, group_from_right

Worth = list[tuple[str, Fraction]]


def _number_tokenizers() -> Iterator[tuple[str, BPETokenizer]]:
    """Tokenizers that cut numbers in different ways, each with what it does."""
    yield "with each digit alone", BPETokenizer(BYTES)
    pairs = [bytes(f"{tens}{ones}", "ascii") for tens in range(10) for ones in range(10)]
    merges = [(48 + tens, 48 + ones) for tens in range(10) for ones in range(10)]
    yield "that cuts after every second digit", BPETokenizer([*BYTES, *pairs], merges, r"\p{N}{1,2}")
    with_point = [*BYTES, b".5", b"00", b"1."]
    yield (
        "that merges a point with a digit",
        BPETokenizer(with_point, [(46, 53), (48, 48), (49, 46)], r"[.\d]+"),
    )


def _find_worth(tokenizer: BPETokenizer, number: str) -> Worth:
    left = len(number.partition(".")[0])  # digits before the point that are still to come
    worth: Worth = []
    for i in tokenizer.encode(number):
        token = tokenizer.decode([i])
        value = Fraction(0)
        for sign in token:
            if sign != ".":
                left -= 1
                value += int(sign) * Fraction(10) ** left
        worth.append((token, value))
    return worth


@exercise(
    "How much is the first digit worth? It depends on how many digits come before the point.",
    (
        "Count the digits before the point. Each digit, read from the left, has a place one lower than "
        "the one before it; the point has none."
    ),
    (
        "`place` starts at the number of digits before the point. For each digit: `place -= 1`, `value "
        "+= int(digit) * Fraction(10) ** place`."
    ),
)
def exercise_1(worth_of_tokens: Callable[[BPETokenizer, str], Worth]) -> str | None:
    numbers = ("7", "1234567", "1000", "12.5", "0.25", "12345.678", "3.14159", "100.007", "21.50")
    for kind, tokenizer in _number_tokenizers():
        for number in numbers:
            found, expected = worth_of_tokens(tokenizer, number), _find_worth(tokenizer, number)
            if is_same(found, expected):
                continue
            case = f"For {number!r} and a tokenizer {kind}"
            if not is_list_of(found, (tuple, list)) or any(len(pair) != 2 for pair in found):
                return f"{case} you return {shorten(found)}; it should be a list of pairs."
            tokens, given = [token for token, _ in expected], [token for token, _ in found]
            if given != tokens:
                return f"{case} your tokens are {shorten(given)}; they should be {tokens}."
            for (token, value), (_, wanted) in zip(found, expected, strict=True):
                if (Fraction(value) if isinstance(value, Decimal) else value) != wanted:
                    shown = value if is_number(value) else repr(value)
                    return f"{case} {token!r} is worth {shown}; it should be {wanted}."
    return None


NUMBERS = (
    "1234567.1234567",
    "7",
    "1234",
    "0.5",
    "3.14159",
    "12345.6",
    "no digits.",
    "10000. Then 20000.",
    "from 1234 to 56789.0123, not 4567",
    "1,234.5678",
    "a.1234567",
    "١٢٣٤.١٢٣٤",
    "",
)


def _cut_around_the_point(text: str) -> list[str]:
    pieces: list[str] = []
    for match in regex.finditer(r"(?<=\p{N}\.)\p{N}+|\p{N}+|\P{N}+", text):
        run, start = match.group(), match.start()
        after_point = start > 1 and text[start - 1] == "." and regex.match(r"\p{N}", text[start - 2])
        if not regex.match(r"\p{N}", run):
            pieces.append(run)
        elif after_point:
            pieces += [run[k : k + 3] for k in range(0, len(run), 3)]
        else:
            pieces += group_from_right(run)
    return pieces


@exercise(
    "There are two cases: digits after a decimal point, and all others. Write an expression for each.",
    (
        "After a point: any group of one to three digits, if a digit, a point and perhaps more digits "
        "precede it. Before a point: the rule of chapter 4, from the right."
    ),
    (
        "`(?<=\\p{N}\\.\\p{N}*)\\p{N}{1,3}|…`, where `…` is a group that only whole groups of three may "
        "follow, and then no digit."
    ),
)
def exercise_2(around_the_point: Any) -> str | None:
    return compare_pieces(around_the_point, NUMBERS, _cut_around_the_point)


TEXT = "the American harbour, an American boat, the Americans and their American boats\n"


def _tokenizers_and_texts() -> Iterator[tuple[str, BPETokenizer, str]]:
    """Tokenizers and texts, each with what is special about them."""
    trained = BPETokenizer.train(TEXT, 280, pattern="gpt2", progress=False)
    yield "a trained tokenizer and its own text", trained, TEXT
    yield "a trained tokenizer and a text without the long words", trained, "the boat and the boats"
    permuted = [b"abcd", *BYTES, b"cd", b"ab", b"xy"]
    merges = [(1 + 97, 1 + 98), (1 + 99, 1 + 100), (258, 257), (1 + 120, 1 + 121)]
    yield "a tokenizer whose ids do not follow the merges", BPETokenizer(permuted, merges), "abcd"
    yield (
        "the same tokenizer and a text in which a part occurs alone",
        BPETokenizer(permuted, merges),
        "abcd ab",
    )
    yield "an empty text", trained, ""
    unmade = BPETokenizer([*BYTES, b"no"], [], "gpt2", whole_pieces=True)
    yield "a token that no merge makes", unmade, "no"
    chat = trained.with_special_tokens(["<|end|>"])
    yield "a text that contains a special token", chat, "the <|end|> American"


def _find_scaffolding(tokenizer: BPETokenizer, text: str) -> list[int]:
    ids = {token: i for i, token in enumerate(tokenizer.vocabulary) if token is not None}
    made = set(tokenizer.encode(text, disallowed_special=()))
    needed = set(made)
    for left, right in reversed(tokenizer.merges):
        joined: Any = tokenizer.vocabulary[left], tokenizer.vocabulary[right]
        if ids[joined[0] + joined[1]] in needed:
            needed |= {left, right}
    return sorted(needed - made)


@exercise(
    "Begin with the tokens that the text makes. Which tokens were they merged from?",
    (
        "Go through the merges backwards: if the result is needed, so are its two parts. Parts that the "
        "text makes itself do not count."
    ),
    (
        "`for left, right in reversed(tokenizer.merges):` find the id of the joined bytes; if it is "
        "needed, add both. Return `sorted(needed - made)`."
    ),
)
def exercise_3(scaffolding: Callable[[BPETokenizer, str], list[int]]) -> str | None:
    for kind, tokenizer, text in _tokenizers_and_texts():
        found, expected = scaffolding(tokenizer, text), _find_scaffolding(tokenizer, text)
        if hint := _compare_ids(tokenizer, found, expected):
            return f"For {kind} {hint}"
    return None


def _heal(tokenizer: BPETokenizer, prompt: str) -> tuple[list[int], list[int]]:
    ids = tokenizer.encode(prompt, disallowed_special=())
    if not ids:
        return [], []
    last: Any = tokenizer.token(ids[-1])
    vocabulary: Any = tokenizer.vocabulary
    return ids[:-1], [i for i, token in enumerate(vocabulary) if token and token.startswith(last)]


PROMPTS = ("the American boat ", "the Amer", "", "boats", "the", "an American 月", "the <|end|>", "the <")


@exercise(
    "Which tokens could have come instead of the last one, if the text went on?",
    (
        "All ordinary tokens whose bytes begin with the bytes of the last token. Special tokens and "
        "holes are None in `tokenizer.vocabulary`."
    ),
    (
        "`last = tokenizer.token(ids[-1])`, then each `i` with `token and token.startswith(last)`. "
        "Encode with `disallowed_special=()`."
    ),
)
def exercise_4(heal: Callable[[BPETokenizer, str], tuple[list[int], list[int]]]) -> str | None:
    trained = BPETokenizer.train(TEXT, 280, pattern="gpt2", progress=False)
    holes = BPETokenizer([None, *trained.vocabulary], [(a + 1, b + 1) for a, b in trained.merges], "gpt2")
    for kind, tokenizer in (
        ("a trained tokenizer", trained.with_special_tokens(["<|end|>", "the end"])),
        ("a tokenizer with a hole in its vocabulary", holes),
    ):
        for prompt in PROMPTS:
            found, (kept, allowed) = heal(tokenizer, prompt), _heal(tokenizer, prompt)
            case = f"For {kind} and the prompt {prompt!r}"
            if not isinstance(found, (tuple, list)) or len(found) != 2 or not is_list_of(found[0], int):
                return f"{case} you return {shorten(found)}; it should be two lists of ids."
            if not is_same(found[0], kept):
                return f"{case} the ids that stay are {shorten(found[0])}; they should be {shorten(kept)}."
            if hint := _compare_ids(tokenizer, found[1], allowed):
                return f"{case}, among the ids that may follow, {hint}"
    return None


def _compare_ids(tokenizer: BPETokenizer, found: object, expected: list[int]) -> str | None:
    def name(i: int) -> str:
        return f", {tokenizer.token(i)!r}"

    def why_wrong(i: int) -> str:
        exists = 0 <= i < tokenizer.vocab_size
        return f"{name(i)}, which does not belong there" if exists else ", which does not exist"

    return compare_numbers(found, expected, "id", why_wrong, name)


hint = make_hint(__name__)
