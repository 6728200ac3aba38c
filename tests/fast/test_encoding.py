"""The compiled engine's encoding: pieces of every length, and real vocabularies."""

from pathlib import Path

import pytest

pytest.importorskip("numba")

from independent import NAMES, ours

from bpe import BPETokenizer, naive
from bpe.fast import encoding

BYTES = [bytes([i]) for i in range(256)]


def test_pieces_of_every_length_on_both_sides_of_the_limit():
    steps = list(naive.learn_merges([[0, 1] * 40], [1], 6, 2))
    ranks = {step.pair: (rank, step.new_id) for rank, step in enumerate(steps)}
    for length in range(encoding.SHORT - 3, encoding.SHORT + 4):
        text = [k % 2 for k in range(length)]
        assert encoding.apply_merges(text, ranks) == naive.apply_merges(text, ranks)


@pytest.mark.parametrize("alphabet", [BYTES, "ab "], ids=["bytes", "characters"])
def test_whole_tokens_of_every_length(alphabet):
    """By the key alone, by comparing bytes, and past the lengths that a key tells apart."""
    lengths = [*range(3, 20), *range(120, 136), 300]
    words = [" " + first * (length - 2) + last for length in lengths for first in "ab" for last in "ab"]
    tokens = [word.encode() if alphabet is BYTES else word for word in words]
    tokenizer = BPETokenizer([*alphabet, *tokens], [], "gpt4", whole_pieces=True)
    text = "".join([*words, *reversed(words), " " + "a" * 20 + "b", " " + "a" * 127 + "b" * 2])
    assert tokenizer.encode(text, engine="compiled") == tokenizer.encode(text, engine="incremental")
    assert len(set(tokenizer.encode(text, engine="compiled"))) > len(words)


@pytest.mark.parametrize("name", NAMES)
def test_real_vocabularies(name):
    """Permuted bytes, holes, special tokens at the front, whole pieces."""
    tokenizer = ours(name)
    readme = Path(__file__).resolve().parents[2] / "README.md"
    text = (
        readme.read_text(encoding="utf-8")
        + "def f(x):\n\n        return 1234567 \t床前明月光，疑是地上霜。 '\u0301’LL 👩\u200d🏽" * 20
    )
    expected = tokenizer.encode(text, engine="incremental")
    assert tokenizer.encode(text, engine="compiled") == expected
    special = next(iter(tokenizer.special_tokens))
    options = {"allowed_special": "all"}
    with_special = tokenizer.encode(f"{special}a{special}", engine="incremental", **options)
    assert tokenizer.encode(f"{special}a{special}", engine="compiled", **options) == with_special
