"""The checks of chapter 5: Tang poems."""

from __future__ import annotations

from collections.abc import Callable

from bpe import BPETokenizer, corpora
from bpe.checks import exercise
from bpe.show import readable

VOCAB_SIZE = 256 + 1_500

# Tokens for the last 500 poems, joined by line feeds, after 1,500 merges on the first 2,000 or 5,000.
TOKENS_2000 = 25_078
TOKENS_5000 = 25_057

MARKS = ("，".encode(), "。".encode())
LOST = "□"


@exercise
def exercise_1(larger: BPETokenizer) -> str | None:
    if hint := _trained_from_bytes(larger, "larger"):
        return hint
    if larger.split:
        return f"`larger` cuts the text first, with the split {larger.split}. Train it without a pattern."
    if not any(b"\n" in token for token in _new_tokens(larger)):
        return (
            'No token of `larger` holds a line feed, so there were none between the poems. "".join(…) puts '
            "nothing there, and a list keeps the poems apart. Join them with line feeds, as before."
        )
    tokens = len(larger.encode("\n".join(corpora.tang_poems()[-500:])))
    if tokens == TOKENS_2000:
        return f"`larger` needs {tokens:,} tokens for test_text, as after 2,000 poems. Take the first 5,000."
    if tokens != TOKENS_5000:
        return (
            f"`larger` needs {tokens:,} tokens for test_text; after the first 5,000 poems, joined by line "
            f"feeds, it should be {TOKENS_5000:,}. Was it trained on exactly these?"
        )
    return None


@exercise
def exercise_2(cut: BPETokenizer, with_mark: Callable[[BPETokenizer], list[bytes]]) -> str | None:
    return _cut_hint(cut) or _with_mark_hint(with_mark)


def _cut_hint(cut: BPETokenizer) -> str | None:
    if hint := _trained_from_bytes(cut, "cut"):
        return hint
    if not cut.split:
        return '`cut` has no split. Train it with pattern="verse".'
    if mixed := [token for token in _new_tokens(cut) if _has_mark(token)]:
        return f"`cut` still has tokens that join a mark to something else, such as {readable(mixed[0])}."
    if "不知".encode() not in cut.vocabulary or b"\n" in b"".join(_new_tokens(cut)):
        return '`cut` was trained on something else, or cut elsewhere. Use train_text and pattern="verse".'
    return None


def _with_mark_hint(with_mark: Callable[[BPETokenizer], list[bytes]]) -> str | None:
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
        tokenizer = BPETokenizer([*(bytes([i]) for i in range(256)), *chosen])
        found = with_mark(tokenizer)
        wanted = [token for token in chosen if _has_mark(token)]
        if found != wanted:
            return (
                f"`cut` is right. Where the tokens after the 256 bytes are [{_listed(chosen)}], with_mark "
                f"gave {_shown(found)}, not [{_listed(wanted)}]."
            )
    return None


@exercise
def exercise_3(
    from_characters: Callable[[str, int], BPETokenizer], legible: Callable[[BPETokenizer, str], str]
) -> str | None:
    for text, num_merges in (("月光月光\n", 0), ("月光月光\n", 1), ("山□山□山□", 1), ("不知处处不知处处", 2)):
        tokenizer = from_characters(text, num_merges)
        call = f"from_characters({text!r}, {num_merges})"
        if not isinstance(tokenizer, BPETokenizer):
            return f"{call} gave a {type(tokenizer).__name__}, not a BPETokenizer."
        if tokenizer.alphabet != "characters":
            return f"The tokenizer of {call} works on bytes. Train it with alphabet='characters'."
        base = [token for token in tokenizer.vocabulary if isinstance(token, str) and len(token) == 1]
        if sorted(base) != sorted({*text, LOST}):
            return f"{call} has the base tokens {base}; expected were {sorted({*text, LOST})}."
        if len(tokenizer.merges) != num_merges:
            return (
                f"{call} has {len(tokenizer.merges)} merges, not {num_merges}. "
                f"Its vocabulary should be {len(base)} base tokens and the merges."
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
                f"For a tokenizer that knows 月, 光, □ and the line feed, and the merge 月光, "
                f"legible(tokenizer, {text!r}) gave {found!r}, not {expected!r}."
            )
    return None


def _trained_from_bytes(answer: object, name: str) -> str | None:
    """What is wrong with a tokenizer that should have 256 bytes and 1,500 merges, or None."""
    if not isinstance(answer, BPETokenizer):
        return f"`{name}` should be a BPETokenizer, not a {type(answer).__name__}."
    if answer.alphabet != "bytes":
        return f"`{name}` starts from characters. Leave the alphabet as it is: bytes."
    if answer.vocab_size != VOCAB_SIZE:
        return (
            f"`{name}` has a vocabulary of {answer.vocab_size:,}. "
            f"256 bytes and 1,500 merges make {VOCAB_SIZE:,}."
        )
    return None


def _new_tokens(tokenizer: BPETokenizer) -> list[bytes]:
    return [token for token in tokenizer.vocabulary[256:] if isinstance(token, bytes)]


def _has_mark(token: bytes) -> bool:
    return token not in MARKS and any(mark in token for mark in MARKS)


def _listed(tokens: list[bytes]) -> str:
    return ", ".join(map(readable, tokens))


def _shown(answer: object) -> str:
    """An answer as the hint shows it: tokens readable, anything else as it is."""
    if isinstance(answer, list) and all(isinstance(item, bytes) for item in answer):
        return f"[{_listed(answer)}]"
    return repr(answer)
