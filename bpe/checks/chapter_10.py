"""The checks of chapter 10: words from tokens, longest piece first, expected use of pieces."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from bpe import WordPiece
from bpe.checks import exercise, is_number, is_same, make_hint
from bpe.subwords import lattice, unigram_training
from bpe.subwords.words import END


def _join_words(tokens: list[str]) -> list[str]:
    *words, rest = "".join(token.replace(END, " ") for token in tokens).split(" ")
    return [*words, rest] if rest else words


@exercise(
    "When is a word finished, and what if the list ends before?",
    (
        "Collect the tokens of a word in a string. A token that ends in `</w>` finishes it; what is left "
        "at the end is one more word."
    ),
    (
        '`word += token.removesuffix("</w>")`; if the token ends with the mark, append `word` and start '
        "an empty one."
    ),
)
def exercise_1(words_of: Callable[[list[str]], list[str]]) -> str | None:
    for tokens in (
        ["low</w>"],
        ["low", "est</w>", "n", "e", "w", "</w>"],
        ["l", "o", "w", "</w>", "low</w>"],
        ["low", "est"],
        ["low</w>", "l", "o"],
        ["a</w>", "a</w>", "a</w>"],
        [],
    ):
        given = list(tokens)
        found = words_of(tokens)
        if tokens != given:
            return f"Your function changes the list that it is given: {given} became {tokens}."
        if not is_same(found, expected := _join_words(tokens)):
            hint = f"For {tokens} you return {found!r}; it should be {expected!r}."
            if is_same(found, [word.rstrip(END) for word in expected]):
                hint += (
                    " (`rstrip` removes any of < / w > at the end; `removesuffix` removes the whole mark.)"
                )
            return hint
    return None


@exercise(
    "At each place, which piece do you try first?",
    (
        "Try the longest possible end first, and shorten it until a piece fits. After the first piece, "
        "`##` goes in front. If nothing fits, the whole word is lost."
    ),
    (
        "A loop `while start < len(word)`, in it `for end in range(len(word), start, -1)`; `break` at "
        'the first fit, and `else: return ["[UNK]"]`.'
    ),
)
def exercise_2(longest_first: Callable[[str, set[str]], list[str]]) -> str | None:
    for word, pieces in (
        ("lowest", {"low", "##est"}),
        ("lowest", {"l", "lo", "low", "##e", "##es", "##est", "##st"}),
        ("low", {"low"}),
        ("a", {"a"}),
        ("unable", {"un", "una", "##able", "##ble"}),
        ("unable", {"un", "una", "##able"}),
        ("lowest", {"low", "est"}),
        ("lowest", {"##low", "##est"}),
        ("lowlow", {"low", "##low"}),
        ("aaaa", {"a", "##a", "##aa"}),
        ("月光", {"月", "##光"}),
        ("月色", {"月", "##光"}),
        ("low", set()),
    ):
        expected = WordPiece(sorted(pieces)).tokens(word)
        found = longest_first(word, set(pieces))
        if not is_same(found, expected):
            return (
                f"For {word!r} and the pieces {', '.join(sorted(pieces)) or '(none)'} you return {found!r}; "
                f"it should be {expected!r}."
            )
    return None


def _share_use(text: str, probability: dict[str, float]) -> dict[str, float]:
    """How often each piece is used, over all ways to cut the text, including ways that lead nowhere."""
    scores = {piece: math.log(share) for piece, share in probability.items()}
    longest = max(map(len, scores))
    use: dict[str, float] = {}
    for piece, share in lattice.shares(unigram_training.lattice_of(text, scores, longest)):
        if share:
            use[piece] = use.get(piece, 0.0) + share
    return use


def _cases() -> Iterator[tuple[str, dict[str, float]]]:
    yield "a", {"a": 1.0}
    yield "ab", {"a": 0.25, "b": 0.25, "ab": 0.5}
    yield "aaa", {"a": 0.5, "aa": 0.5}
    yield "abc", {"a": 0.2, "bc": 0.3, "ab": 0.1, "c": 0.2, "b": 0.1, "x": 0.1}
    # No piece continues the text after "ca".
    yield "cab", {"c": 0.2, "ca": 0.5, "ab": 0.3}
    yield "ab" * 30, {"a": 0.3, "b": 0.3, "ab": 0.2, "ba": 0.1, "aba": 0.1}


def _expect_use(text: str, probability: dict[str, float]) -> dict[str, float]:
    """The same, without pieces of ways that lead nowhere."""
    ends = [False] * len(text) + [True]
    for begin in range(len(text) - 1, -1, -1):
        ends[begin] = any(ends[begin + len(p)] for p in probability if text.startswith(p, begin))
    reached = {0}
    used: set[str] = set()
    for begin in range(len(text)):
        for piece in probability:
            end = begin + len(piece)
            if begin in reached and text.startswith(piece, begin) and ends[end]:
                reached.add(end)
                used.add(piece)
    return {piece: share for piece, share in _share_use(text, probability).items() if piece in used}


@exercise(
    (
        "Take one piece at one place. Which ways use it there? Look at such a way in three parts: what "
        "is before the piece, the piece, and what is after it."
    ),
    (
        "Let `left[i]` be the sum over all ways to reach place `i`, and `right[i]` over all ways from "
        "there to the end. The share of a piece at a place is `left · probability · right`, divided by "
        "the sum over all ways."
    ),
    (
        "Go through all places and pieces once from the left (`left[end] += left[begin] * p`), once from "
        "the right (`right[begin] += p * right[end]`); then add up `left[begin] * p * right[end] / "
        "left[len(text)]` where it is not 0."
    ),
)
def exercise_3(expected_use: Callable[[str, dict[str, float]], dict[str, float]]) -> str | None:
    for text, probability in _cases():
        expected = _expect_use(text, probability)
        found = expected_use(text, dict(probability))
        case = f"For {text[:8]!r}{'…' if len(text) > 8 else ''} and {probability}"
        if not isinstance(found, dict):
            return f"{case} you return a {type(found).__name__}; it should be a dictionary."
        if extra := sorted(set(found) - set(expected), key=repr):
            return f"{case} you return an entry for {extra[0]!r}, which no way to cut the text uses."
        if missing := sorted(set(expected) - set(found)):
            return f"{case} you return no entry for {missing[0]!r}, which some ways to cut the text use."
        for piece, share in expected.items():
            if not is_number(found[piece]):
                return (
                    f"{case} you return {found[piece]!r} for {piece!r}; it should be the number {share:.4f}."
                )
            if not math.isclose(found[piece], share, rel_tol=1e-6):
                return f"{case} you return {found[piece]:.4f} for {piece!r}; it should be {share:.4f}."
    return None


hint = make_hint(__name__)
