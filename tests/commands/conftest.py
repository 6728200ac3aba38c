"""What the tests of commands start from: a small corpus, a text, and tokenizers."""

from pathlib import Path

import pytest
from running import SPLITS, TEXT

from bpe import BPETokenizer, CharTokenizer, Unigram, WordBPE, WordPiece, corpora


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a small corpus in the place of WikiText-2."""
    monkeypatch.setenv("BPE_DATA", str(tmp_path / "data"))
    for split, text in SPLITS.items():
        path = corpora.wikitext2_path(split)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return tmp_path / "data"


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.encode())
    return path


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    path = tmp_path / "small.json"
    BPETokenizer.train(TEXT, 270, special_tokens=["<|end|>"]).save(path)
    return path


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Of the same size, with another fingerprint."""
    path = tmp_path / "other.json"
    BPETokenizer.train(TEXT[::-1], 270, special_tokens=["<|end|>"]).save(path)
    return path


@pytest.fixture(params=["characters", "bytes", "words", "wordpiece", "unigram"])
def any_kind(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A tokenizer of each kind."""
    path = tmp_path / f"{request.param}.json"
    match request.param:
        case "characters":
            CharTokenizer(TEXT).save(path)
        case "bytes":
            BPETokenizer.train(TEXT, 270).save(path)
        case "words":
            WordBPE.train(TEXT, 30).save(path)
        case "wordpiece":
            WordPiece.train(TEXT, 40).save(path)
        case "unigram":
            Unigram.train(TEXT, 290).save(path)
    return path


@pytest.fixture
def characters(tmp_path: Path) -> Path:
    path = tmp_path / "characters.json"
    CharTokenizer(TEXT).save(path)
    return path
