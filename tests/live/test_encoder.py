"""The page gives our ids: live.js, run by node, against the tokenizers of Python."""

from __future__ import annotations

import random

import hard_texts
import pytest
from node import needs_node, run

from bpe import BPETokenizer, CharTokenizer, Unigram, live, presplit, show
from bpe.live import packing, patterns
from bpe.tokenizer import Tokenizer

TRAINING = (
    "The tide is low and the boats lie on the sand; don't DON'T we'll 12345 2024\r\n\n  low lower lowest\t\n"
    "床前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。 Ωμέγα Привет हिन्दी 🙂🙂 👩‍👩‍👧 e\u0301e\u0301 " * 3
)


def _train(pattern: presplit.Pattern, **options: object) -> BPETokenizer:
    return BPETokenizer.train(TRAINING, 420, pattern=pattern, **options)


def _with_whole_pieces() -> BPETokenizer:
    made = _train("words", special_tokens=["<|end|>"])
    return BPETokenizer(
        [*made.vocabulary, b"lowest of all", b"unheard-of", "疑是".encode()],
        made.merges,
        "words",
        {"<|end|>": 900},
        whole_pieces=True,
    )


def _with_holes() -> BPETokenizer:
    made = _train("gpt4")
    order = [None, *reversed(made.vocabulary[:256]), None, None, *made.vocabulary[256:]]
    places = {token: i for i, token in enumerate(order)}
    merges = [tuple(places[made.vocabulary[i]] for i in pair) for pair in made.merges]
    return BPETokenizer(order, merges, "gpt4")


def _tokenizers(texts: list[str]) -> dict[str, Tokenizer]:
    everything = sorted(set("".join(texts)) | set(TRAINING))
    characters = {"alphabet": "characters", "base_tokens": everything}
    wide = BPETokenizer.train(TRAINING, len(everything) + 90, **characters)
    split = BPETokenizer.train(TRAINING, len(everything) + 90, pattern="gpt4", **characters)
    return {
        "no split": _train(None),
        **{name: _train(name) for name in presplit.PATTERNS},
        "case": _train(r"(?i)the|k+|(?s:.\S)(?<!\d)\b|[^\W\d_]{2,}?(?=\s)|(?>a+)b|\w+$"),
        "whole pieces": _with_whole_pieces(),
        "holes": _with_holes(),
        "characters, no split": wide,
        "characters, gpt4": split,
        "CharTokenizer": CharTokenizer(texts),
        "unknown": CharTokenizer(TRAINING, unknown="<unk>"),
        "Unigram": Unigram.train(TRAINING, 400),
        "Unigram without bytes": Unigram.train(TRAINING, 150, byte_fallback=False, prefix=False),
    }


@needs_node
@pytest.mark.parametrize(("number", "seed"), [(1_500, 0), pytest.param(10_000, 1, marks=pytest.mark.full)])
def test_the_page_gives_our_ids(number, seed):
    texts = hard_texts.make(number, seed)
    for name, tokenizer in _tokenizers(texts).items():
        [ids] = run(live.explorer(tokenizer, text=""), texts=texts)["ids"]
        for text, found in zip(texts, ids, strict=True):
            assert found == tokenizer.encode(text, disallowed_special=()), (name, text)


@needs_node
def test_what_no_token_stands_for_has_no_id():
    characters = CharTokenizer("abc")
    merged = BPETokenizer(["a", "b", "ab", "月"], [(0, 1)])
    few_bytes = BPETokenizer([b"a", b"b", b"ab"], [(0, 1)])
    texts = ["abx", "ab\ud83dab", "ab\ude00\ud83d", "月"]
    element = live.explorer({"1": characters, "2": merged, "3": few_bytes}, text="")
    assert run(element, texts=texts)["ids"] == [
        [[0, 1, -1], [0, 1, -1, 0, 1], [0, 1, -1, -1], [-1]],
        [[2, -1], [2, -1, 2], [2, -1, -1], [3]],
        [[2, -1], [2, -1, 2], [2, -1, -1], [-1, -1, -1]],
    ]


@needs_node
def test_tokens_read_as_ours():
    rng = random.Random(5)
    texts = hard_texts.make(1_000)
    tokens: list[str | bytes] = [*texts, *(rng.randbytes(rng.randrange(1, 7)) for _ in range(2_000))]
    tokens += [text.encode()[rng.randrange(3) : rng.randrange(1, 9)] for text in texts]
    tokens += [chr(code) for code in range(0x3100)]
    asked = [(packing.to_string(token), isinstance(token, bytes)) for token in tokens]
    found = run(live.explorer(BPETokenizer([b"a"]), text=""), tokens=asked)["readable"]
    assert found == [show.readable(token) for token in tokens]


NAMES = [r"\p{L}", r"\p{N}", r"\p{P}", r"\p{S}", r"\p{M}", r"\p{Lu}", r"\p{Ll}", r"\s", r"\d", r"\w", "."]


@needs_node
def test_classes_are_those_of_regex_whatever_the_browser_knows():
    element = live.explorer(BPETokenizer([b"a"]), text="")
    spelled = [patterns.spell(patterns.members(name)) for name in NAMES]
    for name, found in zip(NAMES, run(element, classes=spelled)["members"], strict=True):
        assert tuple(map(tuple, found)) == patterns.members(name), name
    # This is what writing the classes out is for: under its own names, JavaScript has others.
    own = run(element, classes=[r"\s", r"\d", r"\w"])["members"]
    ours = [patterns.members(name) for name in (r"\s", r"\d", r"\w")]
    assert all(tuple(map(tuple, found)) != members for found, members in zip(own, ours, strict=True))


@needs_node
def test_a_long_sum_of_scores_is_ours():
    tokenizer = Unigram(
        [("<unk>", 0, "unknown"), ("▁", -9.5), ("a", -7.25), ("aa", -900), ("b", -5_000), ("ab", -3e4)]
    )
    texts = ["ab" * 200, "a" * 500 + "b" * 90, "x" * 60 + "abaab" * 100]
    assert run(live.explorer(tokenizer, text=""), texts=texts)["ids"] == [
        [tokenizer.encode(text) for text in texts]
    ]
