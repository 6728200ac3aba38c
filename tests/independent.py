"""Encoders by others, each with a pattern of its own, to compare ours with; and texts that try hard."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest
from hypothesis import strategies as st

from bpe import BPETokenizer, pretrained

NAMES = list(pretrained.VOCABULARIES)

Encode = Callable[[str], list[int]]


class Encoder(NamedTuple):
    """What a library makes of a text: with its special tokens as ordinary text, and taken as such."""

    ordinary: Encode | None
    special: Encode | None


@cache
def ours(name: str) -> BPETokenizer:
    """The vocabulary in our own tokenizer. Skips the test where its file is not there; in CI it must be."""
    if pretrained.missing(name) and not os.environ.get("CI"):
        pytest.skip(f"the file of {name} is not there; `{pretrained.COMMAND}` fetches it")
    return pretrained.load(name)


@cache
def theirs(name: str) -> dict[str, Encoder]:
    """Independent encoders of a vocabulary by the name of their library."""
    ours(name)  # skips where the file is not there
    return {
        "gpt2": lambda: {"tiktoken": _tiktoken("gpt2")},
        "gpt4": lambda: {"tiktoken": _tiktoken("cl100k_base"), "quicktok": _quicktok("cl100k_base")},
        "gpt4o": lambda: {"tiktoken": _tiktoken("o200k_base"), "quicktok": _quicktok("o200k_base")},
        # quicktok's Llama 3 does not make tokens of later ones: it cuts " việck" elsewhere than the others.
        "llama3": lambda: {"splintr": _splintr("llama3"), "tiktoken": _tiktoken_for_llama3()},
        "qwen": lambda: {"quicktok": _quicktok("qwen3")},
        "deepseek": lambda: {"tokenizers": _tokenizers(pretrained.folder() / "deepseek_tokenizer.json")},
    }[name]()


def _tiktoken(encoding: str) -> Encoder:
    """tiktoken's encoding with its own pattern and special tokens, and its ranks from our files."""
    tiktoken = pytest.importorskip("tiktoken")
    from tiktoken import load
    from tiktoken_ext import openai_public

    folder = pretrained.folder()

    def from_rank_file(*_: object, **__: object) -> dict[bytes, int]:
        return load.load_tiktoken_bpe(str(folder / f"{encoding}.tiktoken"))

    def from_gpt2_files(**_: object) -> dict[bytes, int]:
        return load.data_gym_to_mergeable_bpe_ranks(
            str(folder / "gpt2_vocab.bpe"), str(folder / "gpt2_encoder.json")
        )

    with (
        mock.patch.object(openai_public, "load_tiktoken_bpe", from_rank_file),
        mock.patch.object(openai_public, "data_gym_to_mergeable_bpe_ranks", from_gpt2_files),
    ):
        made = tiktoken.Encoding(**openai_public.ENCODING_CONSTRUCTORS[encoding]())
    return _like_tiktoken(made)


def _tiktoken_for_llama3() -> Encoder:
    """tiktoken as Meta's own code sets it up, with our split and special tokens."""
    tiktoken = pytest.importorskip("tiktoken")
    tokenizer = ours("llama3")
    ranks = {token: i for i, token in enumerate(tokenizer.vocabulary)}
    return _like_tiktoken(
        tiktoken.Encoding(
            "llama3",
            pat_str=tokenizer.split[0],
            mergeable_ranks=ranks,
            special_tokens=tokenizer.special_tokens,
        )
    )


def _quicktok(encoding: str) -> Encoder:
    return _like_tiktoken(pytest.importorskip("quicktok").get_encoding(encoding))


def _like_tiktoken(encoding: Any) -> Encoder:
    return Encoder(
        lambda text: list(encoding.encode_ordinary(text)),
        lambda text: list(encoding.encode(text, allowed_special="all")),
    )


def _splintr(name: str) -> Encoder:
    """Without special tokens: it has some of its own."""
    tokenizer = pytest.importorskip("splintr").Tokenizer.from_pretrained(name)
    return Encoder(lambda text: list(tokenizer.encode_ordinary(text)), None)


def _tokenizers(path: Path) -> Encoder:
    """Always with special tokens: it knows no other way."""
    tokenizer = pytest.importorskip("tokenizers").Tokenizer.from_file(str(path))
    return Encoder(None, lambda text: tokenizer.encode(text, add_special_tokens=False).ids)


class Compared(NamedTuple):
    """texts: how many were encoded. ids: how many were compared, over all libraries and ways to take them."""

    texts: int
    ids: int
    different: list[tuple[str, str]]


def compare(name: str, texts: Iterable[str]) -> Compared:
    """Encode texts with our tokenizer and by others; `different` holds (library, text)."""
    count, ids, different = 0, 0, []
    for text in texts:
        count += 1
        if name == "qwen":  # it takes only text that is normalized, and so does the other encoder
            text = unicodedata.normalize("NFC", text)
        plain = ours(name).encode(text, disallowed_special=())
        special = ours(name).encode(text, allowed_special="all") if "<" in text or "｜" in text else plain
        for library, encoder in theirs(name).items():
            for encode, expected in ((encoder.ordinary, plain), (encoder.special, special)):
                if encode is not None:
                    ids += len(expected)
                    if encode(text) != expected:
                        different.append((library, text))
    return Compared(count, ids, different)


# -- texts -------------------------------------------------------------------------------------------------


def code_points(lines: Iterable[str]) -> set[int]:
    """The code points of lines such as `0558` and `058B-058C`."""
    points: set[int] = set()
    for line in lines:
        if not line.startswith("#"):
            first, _, last = line.strip().partition("-")
            points.update(range(int(first, 16), int(last or first, 16) + 1))
    return points


# Where Unicode versions differ: equality is claimed for the others.
DIFFERENT = code_points(
    Path(__file__).with_name("unicode_differences.txt").read_text(encoding="ascii").splitlines()
)
SHARED = "".join(
    chr(point) for point in range(0x110000) if point not in DIFFERENT and not 0xD800 <= point < 0xE000
)

FRAGMENTS = [
    *("床前明月光", "，", "疑是地上霜。", "한국어", "ひらがな", "カタカナ", "𠀀𠀁", "㐀", "々"),
    *("👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "e\u0301", "\u0301", "\u0e33", "नि", "a\u0308\u0323", "\u200d", "\ufe0f"),
    *("\u00a0", "\u3000", "\u2028", "\u2029", "\u0085", "\u200b", "\ufeff", "\u1680", "\u180e"),
    *("\x00", "\x07", "\x0b", "\x0c", "\x1b", "\x1c", "\x1f", "\x7f", "\x80", "\x9f"),
    *("1234567890" * 3, "١٢٣٤", "½²³", "Ⅷ", "0" * 17, "３"),
    *(" ", "  ", " " * 7, " " * 90, "\t", "\t\t", "\n", "\n\n\n", "\r\n", "\r\r", " \n \n  ", "/\n", "!\r\n"),
    *("'s", "'S", "'ſ", "'LL", "'Ve", "'rE", "don't", "I'M", "'d", "’s", "''s", "'\u212a"),
    *("ſ", "\u212a", "ŉ", "ß", "ẞ", "İ", "ı", "ﬁ", "ǅ", "ʰ", "ªº"),
    *("hello", "Hello", "HELLOWorld", " camelCase", "x" * 40, "getHTTPResponse"),
    *(" việck", " nghiệpp", ".:.:.:."),
    *("<|endoftext|>", "<|endoftext|", "<|im_start|>", "<|begin_of_text|>", "<|fim_prefix|>", "<|"),
    *("<｜User｜>", "<｜/table>｜DSML｜", "<｜begin▁of▁sentence｜>", "<think>", "｜", "<|endofprompt|>"),
    *("==", "!!!", "...", "```", "{}();", "->", " //", "#", "&&", "\\", "\"", "$", "^"),
]  # fmt: skip

# Short texts of fragments and of any code points, that put what is rare next to what is rare.
nasty_texts = st.lists(
    st.one_of(
        st.sampled_from(FRAGMENTS),
        st.text(st.sampled_from(SHARED), max_size=4),
        st.text("aZ0'ſ \n\r\t月\u0301!", max_size=6),
    ),
    max_size=8,
).map("".join)
