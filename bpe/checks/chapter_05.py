"""The checks of chapter 5: Tang poems."""

from __future__ import annotations

from collections.abc import Callable

from bpe import BPETokenizer, corpora
from bpe.checks import BYTES, exercise, is_list_of, is_same, make_hint
from bpe.show import readable

VOCAB_SIZE = 256 + 1_500

# Tokens for the last 500 poems, joined by newlines, after 1,500 merges on the first 2,000 or 5,000.
TOKENS_2000 = 25_078
TOKENS_5000 = 25_057

MARKS = ("，".encode(), "。".encode())
LOST = "□"


@exercise(
    "It is the same call as for the 2,000 poems. What changes?",
    (
        "Only the text changes: the first 5,000 poems, joined by newlines. The vocabulary has 256 bytes "
        "and 1,500 merges."
    ),
    (
        '`BPETokenizer.train("\\n".join(all_poems[:5000]), 256 + 1_500)`, with whatever the poems are '
        "called in your notebook."
    ),
)
def exercise_1(larger: BPETokenizer) -> str | None:
    if hint := _check_training(larger, "larger"):
        return hint
    if larger.split:
        return f"`larger` splits the text first, with the pattern {larger.split}. Train it without one."
    if not any(b"\n" in token for token in _new_tokens(larger)):
        return (
            'No token of `larger` holds a newline, so there were none between the poems. "".join(…) puts '
            "nothing between them, and a list keeps the poems apart. Join them with newlines, as before."
        )
    tokens = len(larger.encode("\n".join(corpora.tang_poems()[-500:])))
    if tokens == TOKENS_2000:
        return f"`larger` needs {tokens:,} tokens for test_text, as after 2,000 poems. Train it on 5,000."
    if tokens != TOKENS_5000:
        return (
            f"`larger` needs {tokens:,} tokens for test_text; trained on the first 5,000 poems, joined by "
            f"newlines, it should need {TOKENS_5000:,}. Was it trained on exactly these?"
        )
    return None


@exercise(
    (
        "For `cut`, the only new thing is an argument. For `with_mark`, work with bytes: a token may be "
        "part of a character."
    ),
    (
        'Train with `pattern="verse"`. A mark has three bytes; ask of each token whether a mark is in '
        "it, and whether it is more than the mark."
    ),
    (
        'With `marks = ["，".encode(), "。".encode()]`, keep a token if `token not in marks and any(mark '
        "in token for mark in marks)`."
    ),
)
def exercise_2(cut: BPETokenizer, with_mark: Callable[[BPETokenizer], list[bytes]]) -> str | None:
    return _check_cut(cut) or _check_with_mark(with_mark)


def _check_cut(cut: BPETokenizer) -> str | None:
    if hint := _check_training(cut, "cut"):
        return hint
    if not cut.split:
        return '`cut` has no pattern. Train it with pattern="verse".'
    if mixed := [token for token in _new_tokens(cut) if _has_mark(token)]:
        return f"`cut` still has tokens that join a mark to something else, such as {readable(mixed[0])}."
    if "不知".encode() not in cut.vocabulary or b"\n" in b"".join(_new_tokens(cut)):
        return '`cut` was trained on another text or pattern. Use train_text and pattern="verse".'
    return None


def _check_with_mark(with_mark: Callable[[BPETokenizer], list[bytes]]) -> str | None:
    comma, full_stop = MARKS
    examples = [
        "不".encode(),
        comma,
        comma + "不".encode(),
        b"\xbc\x8c",
        comma + b"\xe5",
        full_stop,
        "人".encode() + full_stop + b"\n",
        "人".encode() + b"\n",
        full_stop + "不知".encode(),
    ]
    for chosen in ([], *([token] for token in examples), examples):
        tokenizer = BPETokenizer([*BYTES, *chosen])
        found = with_mark(tokenizer)
        wanted = [token for token in chosen if _has_mark(token)]
        if not is_same(found, wanted):
            return (
                f"`cut` is right. If the tokens after the 256 bytes are {_list(chosen)}, with_mark returns "
                f"{_list(found)}; it should be {_list(wanted)}."
            )
    return None


@exercise(
    "How many tokens are there before the first merge?",
    (
        'The base tokens are `{*text, "□"}`; the vocabulary size is their number plus `num_merges`. In '
        "`legible`, the known characters are the tokens of length 1."
    ),
    (
        '`BPETokenizer.train(text, len(base) + num_merges, alphabet="characters", base_tokens=base)`. In '
        "`legible`, join each character, or □ if it is not among the known ones."
    ),
)
def exercise_3(
    from_characters: Callable[[str, int], BPETokenizer], legible: Callable[[BPETokenizer, str], str]
) -> str | None:
    for text, num_merges in (("月光月光\n", 0), ("月光月光\n", 1), ("山□山□山□", 1), ("不知处处不知处处", 2)):
        tokenizer = from_characters(text, num_merges)
        call = f"from_characters({text!r}, {num_merges})"
        if not isinstance(tokenizer, BPETokenizer):
            return f"{call} returned a {type(tokenizer).__name__}; it should be a BPETokenizer."
        if tokenizer.alphabet != "characters":
            return f"The tokenizer from {call} works on bytes. Train it with alphabet='characters'."
        base = [token for token in tokenizer.vocabulary if isinstance(token, str) and len(token) == 1]
        if sorted(base) != sorted({*text, LOST}):
            return f"{call} has the base tokens {base}; they should be {sorted({*text, LOST})}."
        if len(tokenizer.merges) != num_merges:
            return (
                f"{call} has {len(tokenizer.merges)} merges, not {num_merges}. "
                f"Its vocabulary size is {len(base)} base tokens plus the merges."
            )

    tokenizer = from_characters("月光月光\n", 1)
    for text, expected in (
        ("月光\n光月", "月光\n光月"),
        ("月亮", "月□"),
        ("牛马", "□□"),
        ("a月光\r\n", "□月光□\n"),
        ("□", "□"),
        ("", ""),
    ):
        if (found := legible(tokenizer, text)) != expected:
            return (
                f"For a tokenizer with 月, 光, □, the newline and the merge 月光, "
                f"legible(tokenizer, {text!r}) returned {found!r}; it should be {expected!r}."
            )
    return None


def _check_training(answer: object, name: str) -> str | None:
    """Return what is wrong with a tokenizer that should have 256 bytes and 1,500 merges, or None."""
    if not isinstance(answer, BPETokenizer):
        return f"`{name}` should be a BPETokenizer, not a {type(answer).__name__}."
    if answer.alphabet != "bytes":
        return f"`{name}` starts from characters. Leave the alphabet at its default, bytes."
    if answer.vocab_size != VOCAB_SIZE:
        return (
            f"`{name}` has a vocabulary of {answer.vocab_size:,} tokens; "
            f"256 bytes and 1,500 merges make {VOCAB_SIZE:,}."
        )
    return None


def _new_tokens(tokenizer: BPETokenizer) -> list[bytes]:
    return [token for token in tokenizer.vocabulary[256:] if isinstance(token, bytes)]


def _has_mark(token: bytes) -> bool:
    return token not in MARKS and any(mark in token for mark in MARKS)


def _list(answer: object) -> str:
    """Write an answer for the hint: a list of tokens readably, anything else as its repr."""
    if is_list_of(answer, bytes):
        return f"[{', '.join(map(readable, answer))}]"  # type: ignore[call-overload]
    return repr(answer)


hint = make_hint(__name__)
