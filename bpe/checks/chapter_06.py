"""The checks of chapter 6: WikiText-2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from bpe import BPETokenizer
from bpe.checks import compare_numbers, exercise, is_list_of, is_same, make_hint

Windows = Callable[[BPETokenizer, str, int], list[str]]
MakeTokenizer = Callable[[Mapping[str, str], int, int], BPETokenizer]
SafeCuts = Callable[[BPETokenizer, str], list[int]]

STORY = "the cat and the hat and the bat on the mat\nthe rat ran at the cat\n"


def _train(text: str, num_merges: int) -> BPETokenizer:
    return BPETokenizer.train(text, len(set(text)) + num_merges, alphabet="characters", progress=False)


@exercise(
    "A window is counted in tokens and shown as text.",
    "Encode the whole text once, cut the ids, and decode each part.",
    (
        "`range(0, len(ids), num_tokens)` gives the starts; a window is "
        "`tokenizer.decode(ids[start:start + num_tokens])`."
    ),
)
def exercise_1(windows: Windows) -> str | None:
    tokenizer = _train(STORY, 6)
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
        if is_same(found, expected):
            continue
        call = f"For the tokens {tokenizer.tokens(text)}, windows(tokenizer, {text!r}, {size})"
        if not is_list_of(found, str):
            return f"{call} returned {found!r}; it should be a list of strings."
        if "".join(found) != text:
            return f"{call} returned {found!r}; joined, the windows should be the whole text."
        return f"{call} returned {found!r}; it should be {expected!r}."
    return None


@exercise(
    (
        "Which texts does `faulty` learn its merges from? Which characters does its tokenizer know? And "
        "how many tokens does it have?"
    ),
    (
        "It joins all splits and cuts the result, so a short training text lets the others in; it knows "
        "only the characters of what is left; and it adds the size of the alphabet to a size that "
        "includes it."
    ),
    (
        'Train on `splits["train"][:limit]` with `vocab_size` itself, and pass `base_tokens`: all '
        "characters of all splits."
    ),
)
def exercise_2(make_tokenizer: MakeTokenizer) -> str | None:
    splits = {"train": "abababab" + "cdcdcdcdcdcd", "valid": "xyxyxyxyxyxy", "test": "ab ß"}
    alphabet = sorted(set("".join(splits.values())))
    for limit, size in ((8, len(alphabet) + 1), (100, len(alphabet) + 3), (20, len(alphabet))):
        tokenizer = make_tokenizer(dict(splits), size, limit)
        case = (
            f"For the splits {splits}, where make_tokenizer(splits, {size}, {limit}) should learn from "
            f"{splits['train'][:limit]!r}"
        )
        if not isinstance(tokenizer, BPETokenizer):
            return f"make_tokenizer returned a {type(tokenizer).__name__}; it should be a BPETokenizer."
        if tokenizer.alphabet != "characters":
            return "The tokenizer works on bytes. Train it with alphabet='characters', as in `faulty`."
        if tokenizer.split:
            return f"{case}: it has the pattern {tokenizer.split}. Train it without one."
        base = [token for token in tokenizer.vocabulary if token is not None and len(token) == 1]
        if lacking := sorted(set(alphabet).difference(map(str, base))):
            names = ", ".join(map(repr, lacking))
            return f"{case}: the base tokens lack {names}, so not every split can be encoded."
        if len(base) > len(alphabet):
            return f"{case}: it has {len(base)} base tokens, but the splits have {len(alphabet)} characters."
        learned = [str(token) for token in tokenizer.vocabulary[len(base) :]]
        if strange := [token for token in learned if token not in splits["train"]]:
            return f"{case}: it learned the token {strange[0]!r}, which is not in the train split."
        if late := [token for token in learned if token not in splits["train"][:limit]]:
            return f"{case}: it learned the token {late[0]!r}, which comes after the limit."
        if tokenizer.vocab_size > size:
            return f"{case}: it has {tokenizer.vocab_size} tokens, not {size}. The base tokens count too."
        expected = BPETokenizer.train(
            splits["train"][:limit], size, alphabet="characters", base_tokens=alphabet, progress=False
        )
        if tokenizer.fingerprint != expected.fingerprint:
            return f"{case}: it learned {learned}; it should be {list(expected.vocabulary[len(alphabet) :])}."
    return None


@exercise(
    (
        "A token can only come from merges. When two tokens are merged, which two characters meet at the "
        "joint?"
    ),
    (
        "For each merge, the last character of the left token meets the first character of the right "
        "one. A position between two characters that never meet so is safe."
    ),
    (
        "Collect `(left_token[-1], right_token[0])` of all merges in a set; return each `i` whose "
        "`(text[i - 1], text[i])` is not in it."
    ),
)
def exercise_3(safe_cuts: SafeCuts) -> str | None:
    across_lines = _train("on\nand on\nand on\nand ", 5)
    for tokenizer, texts in (
        (_train("the the the", 2), ("the tenth hat", "t h e", "", "t", "ee")),
        (_train("aaaa", 1), ("aaaa",)),
        (_train("abc", 0), ("abcba",)),
        (across_lines, ("on\nand\non and", "dna\nno")),
        (_train(STORY, 12), (STORY, "the that\nthe tat")),
    ):
        for text in texts:
            if hint := _compare_cuts(tokenizer, text, safe_cuts(tokenizer, text)):
                return hint
    return None


def _find_safe_cuts(tokenizer: BPETokenizer, text: str) -> list[int]:
    joints = {
        (str(tokenizer.token(left))[-1], str(tokenizer.token(right))[0]) for left, right in tokenizer.merges
    }
    return [i for i, pair in enumerate(pairwise(text), start=1) if pair not in joints]


def _compare_cuts(tokenizer: BPETokenizer, text: str, found: object) -> str | None:
    def name_neighbours(i: int) -> str:
        return f", between {text[i - 1]!r} and {text[i]!r}"

    def why_wrong(i: int) -> str:
        if not 0 < i < len(text):
            return f"; positions go from 1 to {len(text) - 1}"
        return f"{name_neighbours(i)}, where some merge joins two tokens"

    hint = compare_numbers(
        found,
        _find_safe_cuts(tokenizer, text),
        "position",
        why_wrong,
        lambda i: f"{name_neighbours(i)}, where no merge joins two tokens",
    )
    merges = ", ".join(
        f"{tokenizer.token(left)!r} + {tokenizer.token(right)!r}" for left, right in tokenizer.merges
    )
    return hint and f"For {text!r} and the merges {merges or '(none)'} {hint}"


hint = make_hint(__name__)
