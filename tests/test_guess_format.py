"""The format of a file that was given in place of one of ours is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_models import model
from made_tokenizers import trained

from bpe import formats
from bpe._formats import guess_format
from bpe.subwords.unigram import Piece

MARK = "\ufeff".encode()


@pytest.mark.parametrize("mark", [b"", MARK])
def test_each_format_is_named_with_its_reader(tmp_path: Path, mark: bytes) -> None:
    tokenizer, path, merges = trained("gpt2"), tmp_path / "a", tmp_path / "b"
    formats.save_tokenizers_json(tokenizer, path)
    assert "load_tokenizers_json" in str(guess_format(mark + path.read_bytes()))
    formats.save_tiktoken(tokenizer, path)
    assert "load_tiktoken" in str(guess_format(mark + path.read_bytes()))
    formats.save_gpt2(tokenizer, path, merges)
    assert "load_gpt2" in str(guess_format(mark + path.read_bytes()))
    assert "load_gpt2" in str(guess_format(mark + merges.read_bytes()))


def test_a_model_of_sentencepiece_is_named() -> None:
    pieces = [Piece("<unk>", 0.0, "unknown"), Piece("a", -1.0)]
    assert "load_sentencepiece" in str(guess_format(model(pieces)))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"{}", b"hello world\n", b"to 5", b"\n\n", b"\xff\xfe", b'{"a": true}', b"[" * 10**6]
)  # fmt: skip
def test_anything_else_is_not(data: bytes) -> None:
    assert guess_format(data) is None


def test_our_own_is_not(tmp_path: Path) -> None:
    trained("gpt2").save(tmp_path / "ours.json")
    assert guess_format((tmp_path / "ours.json").read_bytes()) is None
