"""Training and encoding by every engine, through every file format, beside a brute force."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import brute_force as brute
import pytest
from campaign_cases import check_stream, make_text, outcome, run_cases, sizes

from bpe import BPETokenizer, fast, formats, load_tokenizer, presplit
from bpe.tokenizer import Memory

try:
    from bpe.fast import encoding, pieces, scanner, training
except ImportError:  # no Numba
    encoding = None  # type: ignore[assignment]

ENGINES = ["naive", "incremental", "auto"] + ["compiled"] * bool(encoding)
PATTERNS: list[Any] = [
    None,
    *presplit.PATTERNS,
    *(r"\s+", r"a+", "a|b", r"[^a]+", r"x*", r"(?=a)|b", r"(?i)[a-c]+", r"\X", r"."),
    *(["words", "gpt4"], [r"\p{N}", "words"], ["verse", r"[床前]"], ["a", "(?:ab)"]),
]
SPECIALS = [
    [], [], ["<|end|>"], ["<|end|>", "<|end|>ing", "<|en"], ["a", "ab", "b"], ["a b", " "],
    ["月", "光，", "前明"],
    ["\n"], ["\r\n", "\r"], ["\x00"], ["the", "he", "hec"], ["\u200d"], ["aa", "aaa"],
]  # fmt: skip


@contextlib.contextmanager
def switches_moved(rng: random.Random) -> Iterator[None]:
    """Make limits and stretches small, so that short texts reach what lies beyond them.

    Only those that Python reads: compiled code has its own copies.
    """
    moved: list[tuple[Any, str, int]] = []
    if rng.random() < 0.7:
        moved = [
            (Memory, "LONGEST", rng.choice([0, 1, 3, 64])),
            (Memory, "LARGEST", rng.choice([0, 300, 1_000, 32_000_000])),
            (fast, "WORTH_COMPILING", rng.choice([0, 1, 10, 100_000]) if encoding else 100_000),
        ]
        if encoding:
            moved += [
                (scanner, "STRETCH", rng.choice([1, 2, 3, 16, 1 << 18])),
                (pieces, "ROOM", rng.choice([1, 2, 4, 1 << 12])),
                (training, "STEPS_AT_ONCE", rng.choice([1, 2, 3, 100])),
                (encoding, "REMEMBERED", rng.choice([1, 2, 8, 1 << 15])),
            ]
    before = [(module, name, getattr(module, name)) for module, name, _ in moved]
    for module, name, value in moved:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


class Made:
    """A tokenizer, and what the brute force needs to encode like it."""

    def __init__(self, tokenizer: BPETokenizer, merges: list[tuple[Any, Any]], ids: dict[Any, int]) -> None:
        self.tokenizer, self.merges, self.ids = tokenizer, merges, ids

    def encode(self, text: str, taken: list[str], refused: list[str]) -> list[int]:
        specials = self.tokenizer.special_tokens
        return brute.encode(
            text,
            self.merges,
            self.ids,
            self.tokenizer.alphabet,
            self.tokenizer.split,
            {name: specials[name] for name in taken},
            self.tokenizer.whole_pieces,
            refused,
        )


def train(rng: random.Random) -> tuple[Made, list[str]]:
    """Train with every engine and by brute force; all must agree."""
    documents = [make_text(rng, rng.choice([10, 40, 60])) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
    alphabet = rng.choice(["bytes", "characters"])
    pattern = rng.choice(PATTERNS)
    names = list(rng.choice(SPECIALS))
    rng.shuffle(names)
    least = rng.choice([1, 2, 2, 2, 3, 5])
    parts = [
        piece
        for document in documents
        for part, is_special in brute.cut_specials(document, names)
        if not is_special
        for piece in brute.cut_pieces(part, presplit.resolve(pattern))
    ]
    needed = {symbol for part in parts for symbol in brute.symbols(part, alphabet)}
    extra = set(rng.choice(["", "", "abc", "月\u0301"])) if alphabet == "characters" else set()
    base = [bytes([k]) for k in range(256)] if alphabet == "bytes" else sorted(needed | extra)
    number = rng.choice([0, 1, 2, 5, 20, 40])
    options: dict[str, Any] = {
        "alphabet": alphabet,
        "pattern": pattern,
        "special_tokens": names,
        "min_frequency": least,
        "progress": False,
    }
    if extra:
        options["base_tokens"] = rng.sample(base, len(base))
    given: Any = documents[0] if len(documents) == 1 and rng.random() < 0.7 else documents
    if not parts:
        for engine in ENGINES:
            with pytest.raises(ValueError, match=r"empty|too small"):
                BPETokenizer.train(given, len(base) + number + len(names), engine=engine, **options)
        tokenizer = BPETokenizer([bytes([k]) for k in range(256)])
        return Made(tokenizer, [], {bytes([k]): k for k in range(256)}), documents
    merges = brute.learn([brute.symbols(part, alphabet) for part in parts], number, least)
    tokens = [*base, *(left + right for left, right in merges)]
    for engine in ENGINES:
        if given is not documents and rng.random() < 0.2:
            given = iter(documents)
        found = BPETokenizer.train(given, len(base) + number + len(names), engine=engine, **options)
        given = documents if given is not documents[0] else given
        assert [found.vocabulary[i] for pair in found.merges for i in pair] == [
            token for pair in merges for token in pair
        ], engine
        assert list(found.vocabulary) == tokens, engine
        assert list(found.special_tokens.items()) == [(name, len(tokens) + k) for k, name in enumerate(names)]
    return Made(found, merges, {token: i for i, token in enumerate(tokens)}), documents


def rearrange(rng: random.Random, made: Made, documents: list[str]) -> Made:
    """Permute ids, leave holes, put special tokens anywhere, add tokens that no merge makes, drop symbols."""
    old = made.tokenizer
    tokens: list[Any] = list(old.vocabulary)
    whole = rng.random() < 0.5
    if whole:
        for _ in range(rng.randint(0, 4)):
            source = rng.choice(documents) or "ab"
            start = rng.randrange(len(source))
            piece = rng.choice([source[start : start + rng.randint(1, 9)], "qqq", "the", " a", "ab" * 40])
            token: Any = (
                piece if old.alphabet == "characters" else piece.encode("utf-8")[: rng.randint(1, 99)]
            )
            if token not in tokens:
                tokens.append(token)
    merges = list(made.merges)
    if rng.random() < 0.15:  # a symbol that nothing is made of
        used = {part for pair in merges for part in pair}
        free = [token for token in tokens if len(token) == 1 and token not in used]
        if len(free) > 1 or (free and merges):
            tokens.remove(rng.choice(free))
    specials = list(old.special_tokens)
    holes = rng.choice([0, 0, 1, 5])
    slots: list[Any] = [*tokens, *([None] * holes)]
    if rng.random() < 0.7:
        rng.shuffle(slots)
    names = {}
    for name in specials:
        where = rng.randint(0, len(slots))
        slots.insert(where, (name,))  # a tuple marks a special token
    ids: dict[Any, int] = {}
    vocabulary: list[Any] = []
    for i, slot in enumerate(slots):
        if isinstance(slot, tuple):
            names[slot[0]] = i
            inside = slot[0] if old.alphabet == "characters" else slot[0].encode("utf-8")
            vocabulary.append(rng.choice([None, inside]))
        else:
            vocabulary.append(slot)
            if slot is not None:
                ids[slot] = i
    if names and rng.random() < 0.2:
        last = list(names)[-1]
        if vocabulary[names[last]] is None:
            names[last] = rng.choice([len(vocabulary), len(vocabulary) + 1000, 2**31 - 1])
    pairs = [(ids[left], ids[right]) for left, right in merges]
    split = rng.choice([old.split, old.split, rng.choice(PATTERNS)])
    return Made(BPETokenizer(vocabulary, pairs, split, names, whole), merges, ids)


def check_encoding(rng: random.Random, made: Made, text: str) -> None:
    tokenizer = made.tokenizer
    names = list(tokenizer.special_tokens)
    taken = rng.choice([names, [], rng.sample(names, rng.randint(0, len(names)))])
    refused = [name for name in names if name not in taken] if rng.random() < 0.3 else []
    options: dict[str, Any] = {
        "allowed_special": "all" if taken == names and rng.random() < 0.5 else set(taken),
        "disallowed_special": "all" if refused else (),
    }
    try:
        expected: list[int] | str = made.encode(text, taken, refused)
    except (brute.SpecialTokenError, brute.UnknownSymbolError):
        expected = "is not among the|holds the special token"  # of several faults, any may be named
    engines = ENGINES if rng.random() < 0.5 else [rng.choice(ENGINES)]
    for engine in engines:
        if isinstance(expected, str):
            with pytest.raises(ValueError, match=expected):
                tokenizer.encode(text, engine=engine, **options)
            continue
        ids = tokenizer.encode(text, engine=engine, **options)
        assert ids == expected, (engine, text, ids, expected)
        assert tokenizer.encode_array(text, engine=engine, **options).tolist() == expected
    check_stream(rng, tokenizer, text, **options)
    if isinstance(expected, list):
        assert tokenizer.decode_bytes(expected) == text.encode("utf-8")
        assert tokenizer.decode(expected) == text


def check_files(rng: random.Random, made: Made, texts: list[str], folder: Path) -> None:
    """Every format that can hold the tokenizer gives it back."""
    tokenizer = made.tokenizer
    path = folder / "tokenizer.json"
    tokenizer.save(path)
    loaded: list[Any] = [load_tokenizer(path), pickle.loads(pickle.dumps(tokenizer))]
    with contextlib.suppress(ValueError):
        formats.save_tokenizers_json(tokenizer, path)
        loaded.append(formats.load_tokenizers_json(path))
    for back in loaded:
        assert back.fingerprint == tokenizer.fingerprint
        assert back == tokenizer and hash(back) == hash(tokenizer)
    with contextlib.suppress(ValueError):
        formats.save_tiktoken(tokenizer, path)
        back = formats.load_tiktoken(path, tokenizer.split, tokenizer.special_tokens)
        assert not tokenizer.whole_pieces or back.fingerprint == tokenizer.fingerprint
        loaded.append(back)
    with contextlib.suppress(ValueError):
        formats.save_gpt2(tokenizer, path, folder / "merges.txt")
        back = formats.load_gpt2(path, folder / "merges.txt", tokenizer.split, list(tokenizer.special_tokens))
        assert tokenizer.whole_pieces or back.fingerprint == tokenizer.fingerprint
        loaded.append(back)
    for back, text in itertools.product(loaded, texts):
        assert outcome(lambda back=back, text=text: back.encode(text, allowed_special="all")) == outcome(
            lambda text=text: tokenizer.encode(text, allowed_special="all")
        )


@pytest.fixture(autouse=True)
def quick_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here loses power."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@sizes(120, 20_000)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_byte_pair_encoding(tmp_path: Path, number: int) -> None:
    def run(rng: random.Random) -> None:
        with switches_moved(rng):
            made, documents = train(rng)
            if rng.random() < 0.6:
                made = rearrange(rng, made, documents)
            texts = [*documents, make_text(rng), make_text(rng)]
            for text in texts:
                check_encoding(rng, made, text)
            if rng.random() < 0.5:
                check_files(rng, made, texts, tmp_path)

    run_cases("encoding", number, run)


# Sizes around what compiled code keeps to itself: pieces that it remembers, merges by reading or by a heap.
EDGES = [1, 2, 3, 6, 7, 8, 9, 15, 16, 17, 30, 31, 32, 33, 62, 63, 64, 65, 66, 126, 127, 128, 129, 130, 200]


@sizes(25, 1_500)
def test_pieces_around_every_size(number: int) -> None:
    def run(rng: random.Random) -> None:
        alphabet = rng.choice(["bytes", "characters"])
        letters = rng.choice(["ab", "a", "abc", "月光", "aé"])
        pieces = ["".join(rng.choices(letters, k=rng.choice(EDGES))) for _ in range(rng.randint(1, 6))]
        pieces += rng.choices(pieces, k=3)  # again, so that they are remembered
        pieces += [piece[:-1] + rng.choice(letters) for piece in pieces[:2]]  # and almost the same
        tokenizer = BPETokenizer.train(
            pieces[0] + letters * 3,
            256 + rng.randint(0, 30),
            alphabet=alphabet,
            pattern="words",
            progress=False,
        )
        tokens = list(tokenizer.vocabulary)
        whole = rng.random() < 0.6
        for piece in rng.sample(pieces, min(2, len(pieces))) if whole else []:
            token: Any = piece if alphabet == "characters" else piece.encode("utf-8")
            if token not in tokens:
                tokens.append(token)
        split = rng.choice([None, "words", "gpt4", r"\S+"])
        made = BPETokenizer(tokens, tokenizer.merges, split, None, whole)
        merges: list[Any] = [(tokens[left], tokens[right]) for left, right in tokenizer.merges]
        text = rng.choice([" ", "\n", "", "x", letters[0]]).join(pieces)
        if alphabet == "characters":
            text = "".join(letter for letter in text if letter in tokens)
        ids = {token: i for i, token in enumerate(tokens)}
        expected = brute.encode(text, merges, ids, alphabet, made.split, {}, whole)
        for engine in ENGINES:
            assert made.encode(text, engine=engine) == expected, (engine, text)

    run_cases("pieces", number, run)


@sizes(1, 12)
def test_texts_around_the_switch_to_compiled_code(number: int) -> None:
    """A few of real size: 100,000 characters, more than is cut at once, more pieces than are remembered."""

    def run(rng: random.Random) -> None:
        size = fast.WORTH_COMPILING + rng.choice([-1, 0, 1, 170_000])
        words = [
            "".join(rng.choices("abc月'1 \n", k=rng.randint(1, 12))) for _ in range(rng.choice([50, 60_000]))
        ]
        text = " ".join(rng.choices(words, k=size))[:size]
        pattern = rng.choice([None, *presplit.PATTERNS])
        whole = rng.random() < 0.5
        names = rng.choice([[], ["abc"]])
        trained = BPETokenizer.train(text, 300, pattern=pattern, special_tokens=names, progress=False)
        assert (
            trained.merges
            == BPETokenizer.train(
                text, 300, pattern=pattern, special_tokens=names, engine="incremental", progress=False
            ).merges
        )
        tokens = [*trained.vocabulary, b"qqq", b"bca1"] if whole else list(trained.vocabulary)
        specials = {name: len(tokens) + k for k, name in enumerate(names)}
        made = BPETokenizer(list(dict.fromkeys(tokens)), trained.merges, trained.split, specials, whole)
        expected = made.encode(text, allowed_special="all", engine="incremental")
        assert made.encode(text, allowed_special="all") == expected
        assert made.decode(expected) == text

    run_cases("switch", number, run)
