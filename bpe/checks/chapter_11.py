"""The checks of chapter 11: what fits into a context, bytes per token, the fewest merges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from bpe import BPETokenizer
from bpe.checks import case, exercise, is_number, make_hint, shorten

Encode = Callable[[str], list[int]]
Decode = Callable[[list[int]], str]
STORY = "the cat and the hat and the bat on the mat\nthe rat ran at the cat 月光 月光\n"


def _by_bytes(text: str) -> list[int]:
    return list(text.encode("utf-8"))


def _by_letters(text: str) -> list[int]:
    """Lower-case ASCII letters have ids 0 to 25; everything else is unknown, 26."""
    return [ord(c) - ord("a") if "a" <= c <= "z" else 26 for c in text]


def _from_bytes(ids: list[int]) -> str:
    return bytes(ids).decode("utf-8", "replace")


def _from_letters(ids: list[int]) -> str:
    return "".join("abcdefghijklmnopqrstuvwxyz?"[i] for i in ids)


def _by_pairs(text: str) -> list[int]:
    """Two characters a token, and a last one alone: "abc" has two tokens, and joined texts have fewer."""
    return [ord(text[k]) for k in range(0, len(text), 2)]


@exercise(
    "Each sentence takes some tokens of the context. When do you stop?",
    (
        "Subtract the length of each sentence from what is left; the first one that no longer fits ends "
        "the count."
    ),
    (
        "`num_tokens -= len(encode(sentence))`; if the result is below 0, return how many came before; "
        "after the loop, all fit."
    ),
)
def exercise_1(fitting: Callable[[Encode, list[str], int], int]) -> str | None:
    for encode, sentences, num_tokens in (
        (_by_bytes, ["ab", "abc", "a"], 5),
        (_by_bytes, ["ab", "abc", "a"], 6),
        (_by_bytes, ["ab", "abc", "a"], 100),
        (_by_bytes, ["ab", "abcdef", "a"], 4),
        (_by_bytes, ["abc"], 2),
        (_by_bytes, ["月", "ab"], 4),
        (_by_bytes, ["", "", "a"], 0),
        (_by_bytes, [], 3),
        (_by_pairs, ["a", "b", "c"], 2),
    ):
        found = fitting(encode, list(sentences), num_tokens)
        left, expected = num_tokens, 0
        for sentence in sentences:
            left -= len(encode(sentence))
            if left < 0:
                break
            expected += 1
        if found != expected:
            lengths = [len(encode(sentence)) for sentence in sentences]
            return (
                f"The sentences {sentences} have {lengths} tokens, so the number that fits into "
                f"{num_tokens}, from the first on, is {expected}; you return {found!r}."
            )
    return None


def _cases() -> Iterator[tuple[str, list[str], Encode, Decode]]:
    """The cases of exercise 2: the encoding in words, the lines, encode, decode."""
    yield "Encoded byte by byte", ["abc"], _by_bytes, _from_bytes
    yield "Encoded byte by byte", ["aab", "cc"], _by_bytes, _from_bytes
    tokenizer = BPETokenizer.train("abab abab abab", 258, progress=False)
    # encode("abab") is one token, encode("c") another: ratios of 4 and 1.
    yield "With the tokens 'ab' and 'abab'", ["abab", "ccc"], tokenizer.encode, tokenizer.decode
    yield "With the tokens 'ab' and 'abab'", ["abab", "", "c"], tokenizer.encode, tokenizer.decode
    yield "With the tokens 'ab' and 'abab'", ["ab", "ab"], tokenizer.encode, tokenizer.decode
    yield "With the tokens 'ab' and 'abab'", ["月ab"], tokenizer.encode, tokenizer.decode
    yield "Encoded letter by letter, everything else unknown", ["a月", "b"], _by_letters, _from_letters
    shortened = "".join
    yield "With a decode that loses text", ["abc"], _by_bytes, lambda ids: shortened(map(chr, ids[:1]))


@exercise(
    (
        "Compare the text of the exercise with each part of `faulty`: bytes, tokens, all lines together, "
        "the original text."
    ),
    (
        "`len` of a string counts characters, `set` drops repeated tokens, a mean of ratios is not the "
        "ratio of the sums, and `decode` may not return the text that went in."
    ),
    (
        "Add up `len(line.encode())` and `len(encode(line))` over all lines, and divide once. No tokens: "
        "`raise ValueError`."
    ),
)
def exercise_2(bytes_per_token: Callable[[list[str], Encode, Decode], float]) -> str | None:
    for how, lines, encode, decode in _cases():
        size = sum(len(line.encode("utf-8")) for line in lines)
        number = sum(len(encode(line)) for line in lines)
        found = bytes_per_token(list(lines), encode, decode)
        if not is_number(found):
            return f"{how}, you return {found!r} for the lines {lines}; it should be a number."
        if not math.isclose(found, size / number, abs_tol=1e-9):
            told = f"{how}, the lines {lines} have {size} bytes in {number} tokens"
            return f"{told}; you return {float(found):.4g}."
    for lines in ([], ["", ""]):
        expected = f"For the lines {lines}, which have no tokens, it should raise ValueError"
        try:
            with case(f"{expected}, but"):
                found = bytes_per_token(list(lines), _by_bytes, _from_bytes)
        except ValueError:
            continue
        return f"{expected}, but you return {found!r}."
    return None


def _count_tokens(tokenizer: BPETokenizer, text: str) -> list[int]:
    """The number of tokens of the text with the first 0, 1, 2, … merges."""
    return [
        len(BPETokenizer(tokenizer.vocabulary[: 256 + k], tokenizer.merges[:k], tokenizer.split).encode(text))
        for k in range(len(tokenizer.merges) + 1)
    ]


@exercise(
    "What happens to the number of tokens when one more merge is allowed?",
    (
        "It never rises. So halve the range again and again instead of trying each number. The first k "
        "merges make a tokenizer of their own."
    ),
    (
        "`BPETokenizer(tokenizer.vocabulary[:256 + k], tokenizer.merges[:k], tokenizer.split)`; if even "
        "all merges leave too many tokens, raise the error; otherwise keep `low` and `high` and look at "
        "the middle."
    ),
)
def exercise_3(fewest_merges: Callable[[BPETokenizer, str, int], int]) -> str | None:
    for pattern, size in ((None, 280), ("(?:ca)", 275), (None, 256)):
        tokenizer = BPETokenizer.train(STORY, size, pattern=pattern, progress=False)
        kind = f"trained to {len(tokenizer.merges)} merges" + (
            f" with the pattern {pattern!r}" if pattern else ""
        )
        for text in ("the cat and the rat", "月光", "xyz", STORY):
            lengths = _count_tokens(tokenizer, text)
            for limit in sorted({lengths[0] + 1, *lengths, lengths[-1] - 1}, reverse=True):
                expected = next((k for k, length in enumerate(lengths) if length <= limit), None)
                call = f"For a tokenizer {kind}, {shorten(text)} and a limit of {limit}"
                try:
                    found = fewest_merges(tokenizer, text, limit)
                except ValueError as error:
                    if expected is None:
                        continue
                    outcome = f"{expected} merges give {lengths[expected]} tokens"
                    return f"{call} you raise ValueError ({error}), but {outcome}."
                if hint := _compare_merges(found, expected, lengths, limit):
                    return f"{call} you return {found!r}{hint}."
    return None


def _compare_merges(found: object, expected: int | None, lengths: list[int], limit: int) -> str | None:
    """What is wrong with a number of merges. lengths: the number of tokens after 0, 1, 2, … merges."""
    if found == expected:
        return None
    if expected is None:
        return f", but all merges still leave {lengths[-1]} tokens: raise ValueError"
    if not isinstance(found, int) or not 0 <= found < len(lengths):
        return f"; it should be a number from 0 to {len(lengths) - 1}"
    if lengths[found] > limit:
        return f", but {found} merges leave {lengths[found]} tokens"
    return ", but fewer merges are enough"


hint = make_hint(__name__)
