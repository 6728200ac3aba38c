"""Files of other libraries: they open what we write with the same ids, and we read theirs exactly."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from independent import nasty_texts, ours
from made_tokenizers import (
    BYTES,
    MADE,
    SPECIAL,
    TEXT,
    TEXTS,
    change,
    every_kind,
    same,
    trained,
    whole,
    with_holes,
)

from bpe import BPETokenizer, formats, presplit
from bpe.formats import byte_letters

# -- tokenizer.json ----------------------------------------------------------------------------------------


@every_kind
def test_tokenizers_opens_what_we_write(tmp_path: Path, kind: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer, path = MADE[kind](), tmp_path / "tokenizer.json"
    formats.save_tokenizers_json(tokenizer, path)
    opened = tokenizers.Tokenizer.from_file(str(path))
    for text in TEXTS:
        ids = tokenizer.encode(text, allowed_special="all")
        assert opened.encode(text).ids == ids
        assert opened.decode(ids, skip_special_tokens=False) == text
    for name, i in tokenizer.special_tokens.items():
        assert opened.token_to_id(name) == i


@pytest.mark.parametrize("split", [None, "gpt4", "gpt4o", "deepseek"])
@given(text=nasty_texts)
@settings(max_examples=60)
def test_tokenizers_cuts_as_we_do(split: str | None, text: str) -> None:
    ids = trained(split).encode(text, allowed_special="all")
    assert opened_with_tokenizers(split).encode(text).ids == ids


@cache
def opened_with_tokenizers(split: str | None) -> Any:
    tokenizers = pytest.importorskip("tokenizers")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        formats.save_tokenizers_json(trained(split), path)
        return tokenizers.Tokenizer.from_file(str(path))


@pytest.mark.parametrize("kind", ["no split", "gpt4", "whole pieces", "holes"])
def test_transformers_opens_what_we_write(tmp_path: Path, kind: str) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer, path = MADE[kind](), tmp_path / "tokenizer.json"
    formats.save_tokenizers_json(tokenizer, path)
    opened = transformers.PreTrainedTokenizerFast(tokenizer_file=str(path))
    for text in TEXTS:
        ids = tokenizer.encode(text, allowed_special="all")
        assert opened.encode(text, add_special_tokens=False) == ids
        assert opened.decode(ids, clean_up_tokenization_spaces=False) == text


@every_kind
def test_tokenizer_json_there_and_back(tmp_path: Path, kind: str) -> None:
    tokenizer, path = MADE[kind](), tmp_path / "tokenizer.json"
    formats.save_tokenizers_json(tokenizer, path)
    assert same(formats.load_tokenizers_json(path), tokenizer)


def test_characters_in_tokenizer_json(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = BPETokenizer.train(
        TEXT, 80, alphabet="characters", pattern="words", special_tokens=["<|end|>"]
    )
    path = tmp_path / "tokenizer.json"
    formats.save_tokenizers_json(tokenizer, path)
    assert same(formats.load_tokenizers_json(path), tokenizer)
    opened = tokenizers.Tokenizer.from_file(str(path))
    for text in (TEXT, "the <|end|> low"):
        ids = tokenizer.encode(text, allowed_special="all")
        assert opened.encode(text).ids == ids
        assert opened.decode(ids, skip_special_tokens=False) == text


@pytest.mark.parametrize("byte_level", [False, True])
def test_what_tokenizers_trained_and_saved(tmp_path: Path, byte_level: bool) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(presplit.GPT4O), "isolated")
    bytes_of = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=byte_level)
    theirs.pre_tokenizer = bytes_of if byte_level else tokenizers.pre_tokenizers.Sequence([split, bytes_of])
    theirs.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=SPECIAL[:2],
        show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    theirs.train_from_iterator([TEXT], trainer)
    theirs.add_special_tokens(["<|later|>"])
    path = tmp_path / "tokenizer.json"
    theirs.save(str(path))
    read = formats.load_tokenizers_json(path)
    assert read.split == (presplit.GPT2 if byte_level else presplit.GPT4O,)
    assert read.special_tokens == {
        "<|end|>": 0,
        "<|end|>ing": 1,
        "<|later|>": theirs.token_to_id("<|later|>"),
    }
    for text in [*TEXTS, "a<|later|>"]:
        assert read.encode(text, allowed_special="all") == theirs.encode(text).ids


@pytest.mark.parametrize("tokens_of_later", [False, True])
def test_all_pairs_of_each_token(tmp_path: Path, tokens_of_later: bool) -> None:
    """transformers turns ranks into merges by listing every pair that joins to a token."""
    tokenizers = pytest.importorskip("tokenizers")
    tokens = [bytes([value]) for value in range(256)]
    tokens += [b"abc", b"bc", b"ab", b"abcd", b"cd"] if tokens_of_later else [b"bc", b"ab", b"abc", b"abcd"]
    ids = {byte_letters.to_letters(token): i for i, token in enumerate(tokens)}
    merges = [
        [letters[:end], letters[end:]]
        for letters in ids
        for end in range(1, len(letters))
        if letters[:end] in ids and letters[end:] in ids
    ]
    path = tmp_path / "tokenizer.json"
    formats.save_tokenizers_json(BPETokenizer(tokens), path)
    change(path, lambda file: file["model"].update(merges=merges, ignore_merges=True))
    read, opened = formats.load_tokenizers_json(path), tokenizers.Tokenizer.from_file(str(path))
    for text in ("abcx", "xabcdx", "abc", "ababcabcdcdbc", "aabbccdd"):
        assert read.encode(text) == opened.encode(text).ids


# -- rank files --------------------------------------------------------------------------------------------


def opened_with_tiktoken(path: Path, tokenizer: BPETokenizer) -> Any:
    tiktoken = pytest.importorskip("tiktoken")
    from tiktoken.load import load_tiktoken_bpe

    return tiktoken.Encoding(
        "ours",
        pat_str=tokenizer.split[0] if tokenizer.split else "(?s).+",
        mergeable_ranks=load_tiktoken_bpe(str(path)),
        special_tokens=tokenizer.special_tokens,
    )


@pytest.mark.parametrize("kind", ["no split", "gpt2", "gpt4", "gpt4o", "llama3", "qwen", "whole pieces"])
def test_tiktoken_opens_what_we_write(tmp_path: Path, kind: str) -> None:
    tokenizer, path = MADE[kind](), tmp_path / "ours.tiktoken"
    formats.save_tiktoken(tokenizer, path)
    encoding = opened_with_tiktoken(path, tokenizer)
    for text in TEXTS:
        ids = tokenizer.encode(text, allowed_special="all")
        assert encoding.encode(text, allowed_special="all") == ids
        assert encoding.decode(ids) == text
    read = formats.load_tiktoken(path, tokenizer.split, tokenizer.special_tokens)
    assert (read.vocabulary, read.merges) == (tokenizer.vocabulary, tokenizer.merges)


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (lambda: BPETokenizer.train("abab", 5, alphabet="characters"), "works on characters"),
        (lambda: BPETokenizer([b"a", b"b", b"ab"], [(0, 1)]), "byte 0x00 is not a token"),
        (with_holes, None),
        (lambda: BPETokenizer([*BYTES, b"bc", b"ab"], [(97, 98), (98, 99)]), "other merges"),
        (lambda: BPETokenizer([*BYTES, b"ab", b"abc"], [(97, 98)]), "other merges"),
        (lambda: BPETokenizer([*BYTES, b"abc"]), "no merge makes"),
    ],
    ids=["characters", "missing bytes", "holes", "other order", "a merge missing", "a token without a merge"],
)
def test_what_a_rank_file_cannot_hold(
    tmp_path: Path, tokenizer: Callable[[], BPETokenizer], message: str | None
) -> None:
    path = tmp_path / "ours.tiktoken"
    if message is None:
        formats.save_tiktoken(tokenizer(), path)
    else:
        with pytest.raises(ValueError, match=message):
            formats.save_tiktoken(tokenizer(), path)
        assert not path.exists()


# -- GPT-2's files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["no split", "gpt2", "gpt4", "holes"])
def test_gpt2_s_files_there_and_back(tmp_path: Path, kind: str) -> None:
    tokenizer = MADE[kind]()
    vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    formats.save_gpt2(tokenizer, vocab, merges)
    read = formats.load_gpt2(vocab, merges, tokenizer.split, list(tokenizer.special_tokens))
    assert same(read, tokenizer)


def test_tokenizers_opens_gpt2_s_files_of_ours(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = trained("gpt2")
    vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    formats.save_gpt2(tokenizer, vocab, merges)
    opened = tokenizers.Tokenizer(tokenizers.models.BPE.from_file(str(vocab), str(merges)))
    opened.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    opened.add_special_tokens(SPECIAL)
    for text in TEXTS:
        assert opened.encode(text).ids == tokenizer.encode(text, allowed_special="all")


def test_transformers_opens_gpt2_s_files_of_ours(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = BPETokenizer.train(TEXT, 320, pattern="gpt2", special_tokens=["<|endoftext|>"])
    vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    formats.save_gpt2(tokenizer, vocab, merges)
    opened = transformers.GPT2TokenizerFast.from_pretrained(str(tmp_path))
    for text in TEXTS:
        ids = tokenizer.encode(text, allowed_special="all")
        assert opened.encode(text, add_special_tokens=False) == ids


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (lambda: BPETokenizer.train("abab", 5, alphabet="characters"), "works on characters"),
        (whole, "takes pieces whole"),
        (lambda: BPETokenizer([*BYTES, b"ab"], [(97, 98)], None, {"ab": 300}), "spelled like token 256"),
    ],
    ids=["characters", "whole pieces", "a special token like a token"],
)
def test_what_gpt2_s_files_cannot_hold(
    tmp_path: Path, tokenizer: Callable[[], BPETokenizer], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        formats.save_gpt2(tokenizer(), tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert list(tmp_path.iterdir()) == []


# -- the letters of bytes ----------------------------------------------------------------------------------


@given(st.binary())
def test_letters_give_their_bytes_back(token: bytes) -> None:
    letters = byte_letters.to_letters(token)
    assert byte_letters.to_bytes(letters) == token
    assert letters.isprintable() and " " not in letters


def test_the_letters_are_those_of_gpt2() -> None:
    assert byte_letters.to_letters(b" \n\x7f\xad\xff!~") == "ĠĊġŃÿ!~"
    tokenizers = pytest.importorskip("tokenizers")
    assert set(byte_letters.BYTES) == set(tokenizers.pre_tokenizers.ByteLevel.alphabet())


# -- real vocabularies, written out ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gpt4", "llama3", "deepseek"])
def test_tokenizers_opens_real_vocabularies_written_by_us(tmp_path: Path, name: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer, path = ours(name), tmp_path / "tokenizer.json"
    formats.save_tokenizers_json(tokenizer, path)
    opened = tokenizers.Tokenizer.from_file(str(path))
    for text in TEXTS:
        ids = tokenizer.encode(text, allowed_special="all")
        assert opened.encode(text, add_special_tokens=False).ids == ids


@pytest.mark.full
@pytest.mark.parametrize("name", ["gpt4", "gpt4o", "llama3", "qwen"])
def test_rank_files_of_real_vocabularies_are_reproduced(tmp_path: Path, name: str) -> None:
    from bpe import pretrained

    tokenizer, path = ours(name), tmp_path / "ranks.tiktoken"
    formats.save_tiktoken(tokenizer, path)
    (file,) = pretrained.VOCABULARIES[name].files
    assert path.read_bytes() == (pretrained.folder() / file.name).read_bytes()
