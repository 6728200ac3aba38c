"""The checks of chapter 6: WikiText-2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from bpe import BPETokenizer
from bpe.checks import exercise

Windows = Callable[[BPETokenizer, str, int], list[str]]
MakeTokenizer = Callable[[Mapping[str, str], int, int], BPETokenizer]
SafeCuts = Callable[[BPETokenizer, str], list[int]]

STORY = "the cat and the hat and the bat on the mat\nthe rat ran at the cat\n"


def _trained(text: str, num_merges: int) -> BPETokenizer:
    return BPETokenizer.train(text, len(set(text)) + num_merges, alphabet="characters", progress=False)


@exercise
def exercise_1(windows: Windows) -> str | None:
    tokenizer = _trained(STORY, 6)
    for text, size in (
        ("the cat", 2),
        (STORY, 5),
        ("that", 1),
        ("the the ", 100),
        ("the cat and", 3),
        ("", 4),
    ):
        ids = tokenizer.encode(text)
        expected = [tokenizer.decode(ids[i : i + size]) for i in range(0, len(ids), size)]
        found = windows(tokenizer, text, size)
        if found == expected:
            continue
        call = f"With the tokens {tokenizer.tokens(text)}, windows(tokenizer, {text!r}, {size})"
        if not isinstance(found, list) or not all(isinstance(piece, str) for piece in found):
            return f"{call} gave {found!r}; expected was a list of strings."
        if "".join(found) != text:
            return f"{call} gave {found!r}; joined, the windows should be the whole text."
        return f"{call} gave {found!r}; expected was {expected!r}."
    return None


@exercise
def exercise_2(make_tokenizer: MakeTokenizer) -> str | None:
    splits = {"train": "abababab" + "cdcdcdcdcdcd", "valid": "xyxyxyxyxyxy", "test": "ab ß"}
    alphabet = sorted(set("".join(splits.values())))
    for limit, size in ((8, len(alphabet) + 1), (100, len(alphabet) + 3), (20, len(alphabet))):
        tokenizer = make_tokenizer(splits, size, limit)
        case = (
            f"With the splits {splits}, where make_tokenizer(splits, {size}, {limit}) should learn from "
            f"{splits['train'][:limit]!r}"
        )
        if not isinstance(tokenizer, BPETokenizer):
            return f"make_tokenizer gave a {type(tokenizer).__name__}; expected was a BPETokenizer."
        if tokenizer.alphabet != "characters":
            return "The tokenizer is one over bytes; expected was alphabet='characters', as in `faulty`."
        if tokenizer.split:
            return f"{case}: it has the split {tokenizer.split}. Train it without a pattern."
        base = [token for token in tokenizer.vocabulary if token is not None and len(token) == 1]
        if lacking := sorted(set(alphabet).difference(map(str, base))):
            names = ", ".join(map(repr, lacking))
            return f"{case}: the base tokens lack {names}, so not every split can be encoded."
        if len(base) > len(alphabet):
            return (
                f"{case}: there are {len(base)} base tokens, and the splits have {len(alphabet)} characters."
            )
        learned = [str(token) for token in tokenizer.vocabulary[len(base) :]]
        if strange := [token for token in learned if token not in splits["train"]]:
            return f"{case}: the token {strange[0]!r} was learned, which the text of train does not hold."
        if late := [token for token in learned if token not in splits["train"][:limit]]:
            return f"{case}: the token {late[0]!r} was learned, which stands behind the limit."
        if tokenizer.vocab_size > size:
            return (
                f"{case}: it has {tokenizer.vocab_size} tokens in all, not {size}. The base tokens count too."
            )
        expected = BPETokenizer.train(
            splits["train"][:limit], size, alphabet="characters", base_tokens=alphabet, progress=False
        )
        if tokenizer.fingerprint != expected.fingerprint:
            return f"{case}: it learned {learned}; expected was {expected.vocabulary[len(alphabet) :]}."
    return None


@exercise
def exercise_3(safe_cuts: SafeCuts) -> str | None:
    across_lines = _trained("on\nand on\nand on\nand ", 5)
    for tokenizer, texts in (
        (_trained("the the the", 2), ("the tenth hat", "t h e", "", "t", "ee")),
        (_trained("aaaa", 1), ("aaaa",)),
        (_trained("abc", 0), ("abcba",)),
        (across_lines, ("on\nand\non and", "dna\nno")),
        (_trained(STORY, 12), (STORY, "the that\nthe tat")),
    ):
        for text in texts:
            if (found := safe_cuts(tokenizer, text)) != (expected := _safe(tokenizer, text)):
                return _cuts_hint(tokenizer, text, found, expected)
    return None


def _safe(tokenizer: BPETokenizer, text: str) -> list[int]:
    joints = {
        (str(tokenizer.token(left))[-1], str(tokenizer.token(right))[0]) for left, right in tokenizer.merges
    }
    return [i for i, pair in enumerate(pairwise(text), start=1) if pair not in joints]


def _cuts_hint(tokenizer: BPETokenizer, text: str, found: object, expected: list[int]) -> str:
    merges = ", ".join(
        f"{tokenizer.token(left)!r} + {tokenizer.token(right)!r}" for left, right in tokenizer.merges
    )
    case = f"With the merges {merges or '(none)'}, safe_cuts(tokenizer, {text!r})"
    if not isinstance(found, list) or not all(isinstance(i, int) for i in found):
        return f"{case} gave {found!r}; expected was a list of positions."
    if extra := [i for i in found if i not in expected]:
        i = extra[0]
        if not 0 < i < len(text):
            return f"{case} gave the position {i}; expected were positions from 1 to {len(text) - 1}."
        return (
            f"{case} gave the position {i}, between {text[i - 1]!r} and {text[i]!r}; some merge joins two "
            f"tokens that meet so."
        )
    if missing := [i for i in expected if i not in found]:
        i = missing[0]
        return (
            f"{case} lacks the position {i}, between {text[i - 1]!r} and {text[i]!r}; no merge joins two "
            f"tokens that meet so."
        )
    return f"{case} gave {found}; expected was {expected}, in ascending order and each once."
