"""The checks of chapter 11: what fits into a context, a ratio without faults, the fewest merges."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bpe import BPETokenizer
from bpe.checks import ReturnedNoneError, exercise

Encode = Callable[[str], list[int]]
Decode = Callable[[list[int]], str]
STORY = "the cat and the hat and the bat on the mat\nthe rat ran at the cat 月光 月光\n"


def _by_bytes(text: str) -> list[int]:
    return list(text.encode("utf-8"))


def _by_letters(text: str) -> list[int]:
    """Small letters of ASCII have ids, everything else is unknown: 26."""
    return [ord(c) - ord("a") if "a" <= c <= "z" else 26 for c in text]


def _from_bytes(ids: list[int]) -> str:
    return bytes(ids).decode("utf-8", "replace")


def _from_letters(ids: list[int]) -> str:
    return "".join("abcdefghijklmnopqrstuvwxyz?"[i] for i in ids)


def _by_pairs(text: str) -> list[int]:
    """Each two characters are a token, and what is left: "abc" has two. Joined texts have fewer."""
    return [ord(text[k]) for k in range(0, len(text), 2)]


@exercise
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
                f"The sentences {sentences} have {lengths} tokens; into {num_tokens} fit {expected} of them, "
                f"from the first on, and you give {found!r}."
            )
    return None


def _cases() -> Iterator[tuple[str, list[str], Encode, Decode]]:
    """What is tried in exercise 2: how it is encoded, in words; the lines; there and back."""
    yield "Encoded byte by byte", ["abc"], _by_bytes, _from_bytes
    yield "Encoded byte by byte", ["aab", "cc"], _by_bytes, _from_bytes
    tokenizer = BPETokenizer.train("abab abab abab", 258, progress=False)
    # encode("abab") is one token, encode("c") another: ratios of 4 and 1.
    yield "With the tokens 'ab' and 'abab'", ["abab", "ccc"], tokenizer.encode, tokenizer.decode
    yield "With the tokens 'ab' and 'abab'", ["abab", "", "c"], tokenizer.encode, tokenizer.decode
    yield "With the tokens 'ab' and 'abab'", ["月ab"], tokenizer.encode, tokenizer.decode
    yield "Encoded letter by letter, all others unknown", ["a月", "b"], _by_letters, _from_letters
    shortened = "".join
    yield "With a decode that forgets", ["abc"], _by_bytes, lambda ids: shortened(map(chr, ids[:1]))


@exercise
def exercise_2(bytes_per_token: Callable[[list[str], Encode, Decode], float]) -> str | None:
    for how, lines, encode, decode in _cases():
        size = sum(len(line.encode("utf-8")) for line in lines)
        number = sum(len(encode(line)) for line in lines)
        found = bytes_per_token(list(lines), encode, decode)
        if not isinstance(found, (int, float)):
            return f"{how}, the lines {lines} give {found!r}; it should be a number."
        if not abs(found - size / number) <= 1e-9:  # NaN neither
            return f"{how}, the lines {lines} have {size} bytes in {number} tokens; you give {found:.4g}."
    for lines in ([], ["", ""]):
        try:
            found = bytes_per_token(list(lines), _by_bytes, _from_bytes)
        except ValueError:
            continue
        except (ArithmeticError, ReturnedNoneError) as error:
            given = "nothing" if isinstance(error, ReturnedNoneError) else f"a {type(error).__name__}"
        else:
            given = repr(found)
        return (
            f"For the lines {lines} there are no tokens, so it should raise a ValueError; you give {given}."
        )
    return None


def _tokens(tokenizer: BPETokenizer, text: str) -> list[int]:
    """How many tokens the text has with the first 0, 1, 2, … merges."""
    return [
        len(BPETokenizer(tokenizer.vocabulary[: 256 + k], tokenizer.merges[:k], tokenizer.split).encode(text))
        for k in range(len(tokenizer.merges) + 1)
    ]


@exercise
def exercise_3(fewest_merges: Callable[[BPETokenizer, str, int], int]) -> str | None:
    for pattern, size in ((None, 280), ("ca", 275), (None, 256)):
        tokenizer = BPETokenizer.train(STORY, size, pattern=pattern, progress=False)
        kind = f"trained to {len(tokenizer.merges)} merges" + (
            f" with the split {pattern!r}" if pattern else ""
        )
        for text in ("the cat and the rat", "月光", "xyz", STORY):
            lengths = _tokens(tokenizer, text)
            for limit in sorted({lengths[0] + 1, *lengths, lengths[-1] - 1}, reverse=True):
                expected = next((k for k, length in enumerate(lengths) if length <= limit), None)
                call = f"For a tokenizer {kind}, {_short(text)} and a limit of {limit}"
                if hint := _compared(fewest_merges, tokenizer, text, limit, expected, lengths, call):
                    return hint
    return None


def _short(text: str) -> str:
    return repr(text) if len(text) < 30 else f"{text[:20]!r}…"


def _compared(
    fewest_merges: Callable[[BPETokenizer, str, int], int],
    tokenizer: BPETokenizer,
    text: str,
    limit: int,
    expected: int | None,
    lengths: list[int],
    call: str,
) -> str | None:
    try:
        found = fewest_merges(tokenizer, text, limit)
    except ValueError as error:
        if expected is None:
            return None
        return f"{call} you raise a ValueError, {error}; {expected} merges give {lengths[expected]} tokens."
    if expected is None:
        return (
            f"{call} you give {found!r}; with all merges there are {lengths[-1]} tokens: raise a ValueError."
        )
    if found == expected:
        return None
    if not isinstance(found, int) or not 0 <= found < len(lengths):
        return f"{call} you give {found!r}; it should be a number from 0 to {len(lengths) - 1}."
    if lengths[found] > limit:
        return f"{call} you give {found}; with so many merges there are {lengths[found]} tokens."
    return f"{call} you give {found}; fewer merges are enough."
