"""Files of other libraries: what we write they open with the same ids; what we read is refused or exact."""

from __future__ import annotations

import base64
import json
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from independent import FRAGMENTS, nasty_texts, ours

from bpe import BPETokenizer, formats, presplit
from bpe.formats import byte_letters, dialect

TEXT = "low lower lowest, 月光月光 the low light, don't DON'T 12345 12345\n\n  the end  \n" * 3
SPECIAL = ["<|end|>", "<|end|>ing", "a b"]
TEXTS = [
    TEXT,
    *FRAGMENTS,
    "".join(FRAGMENTS),
    " ".join(FRAGMENTS),
    "",
    " ",
    "the <|end|> of a b",
    "<|end|>ing",
]


@cache
def trained(split: str | None = None, special: bool = True) -> BPETokenizer:
    return BPETokenizer.train(TEXT, 320, pattern=split, special_tokens=SPECIAL if special else ())


def whole(split: str | None = None) -> BPETokenizer:
    """With a token that no merge makes."""
    made = trained(split)
    tokens = [*made.vocabulary, b"lowest of all", b" the end"]
    names = {name: len(tokens) + 7 * k for k, name in enumerate(SPECIAL)}
    return BPETokenizer(tokens, made.merges, split, names, whole_pieces=True)


def with_holes() -> BPETokenizer:
    """Permuted bytes, special tokens before and after the others, and ids that are not in use."""
    made = trained("gpt4")
    order = [None, None, None, *reversed(made.vocabulary[:256]), None, *made.vocabulary[256:]]
    places = {token: i for i, token in enumerate(order)}
    merges = [tuple(places[made.vocabulary[i]] for i in pair) for pair in made.merges]
    return BPETokenizer(order, merges, "gpt4", {"<|end|>": 0, "<|end|>ing": 2, "a b": 900})


MADE = {
    "no split": trained,
    "no special tokens": lambda: trained("gpt2", special=False),
    **{split: (lambda split=split: trained(split)) for split in presplit.PATTERNS},
    "whole pieces": whole,
    "whole pieces, split": lambda: whole("words"),
    "holes": with_holes,
}
every_kind = pytest.mark.parametrize("kind", MADE)


def same(left: BPETokenizer, right: BPETokenizer) -> bool:
    return left.fingerprint == right.fingerprint


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
        (lambda: BPETokenizer([b"a", b"b", b"ab"], [(0, 1)]), "byte 0x00 is no token"),
        (with_holes, None),
        (lambda: BPETokenizer([*BYTES, b"bc", b"ab"], [(97, 98), (98, 99)]), "other merges"),
        (lambda: BPETokenizer([*BYTES, b"ab", b"abc"], [(97, 98)]), "other merges"),
        (lambda: BPETokenizer([*BYTES, b"abc"]), "made by no merge"),
    ],
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

BYTES = [bytes([value]) for value in range(256)]


@pytest.mark.parametrize("kind", ["no split", "gpt2", "gpt4", "holes"])
def test_gpt2_s_files_there_and_back(tmp_path: Path, kind: str) -> None:
    tokenizer = MADE[kind]()
    vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    formats.save_gpt2(tokenizer, vocab, merges)
    read = formats.load_gpt2(vocab, merges, tokenizer.split, tokenizer.special_tokens)
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
def test_rank_files_of_real_vocabularies_come_out_as_they_were(tmp_path: Path, name: str) -> None:
    from bpe import pretrained

    tokenizer, path = ours(name), tmp_path / "ranks.tiktoken"
    formats.save_tiktoken(tokenizer, path)
    (file,) = pretrained.VOCABULARIES[name].files
    assert path.read_bytes() == (pretrained.folder() / file.name).read_bytes()


# -- damaged and hostile files -----------------------------------------------------------------------------


def change(path: Path, how: Callable[[dict[str, Any]], object]) -> None:
    file = json.loads(path.read_text(encoding="utf-8"))
    how(file)
    path.write_text(json.dumps(file), encoding="utf-8")


def in_model(**entries: Any) -> Callable[[dict[str, Any]], object]:
    return lambda file: file["model"].update(entries)


def in_vocab(**entries: Any) -> Callable[[dict[str, Any]], object]:
    return lambda file: file["model"]["vocab"].update(entries)


def with_split(expression: Any, **entries: Any) -> Callable[[dict[str, Any]], object]:
    step = {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}

    def put(file: dict[str, Any]) -> None:
        file["pre_tokenizer"]["pretokenizers"].insert(0, step | entries)

    return put


def with_added(**entries: Any) -> Callable[[dict[str, Any]], object]:
    return lambda file: file["added_tokens"].append({"id": 999, "content": "<x>"} | entries)


HOSTILE_JSON = {
    "no model": (lambda file: file.pop("model"), "the model must be an object, not None"),
    "the model is a list": (lambda file: file.update(model=[]), r"the model must be an object, not \[\]"),
    "another model": (in_model(type="Unigram"), "type 'Unigram', and only BPE"),
    "dropout": (in_model(dropout=0.1), "dropout = 0.1"),
    "byte fallback": (in_model(byte_fallback=True), "byte_fallback = True"),
    "end of word": (in_model(end_of_word_suffix="</w>"), "end_of_word_suffix = '</w>'"),
    "an unknown token": (in_model(unk_token="<unk>"), "unk_token = '<unk>'"),
    "ignore_merges is no boolean": (in_model(ignore_merges="yes"), "ignore_merges must be true or false"),
    "no vocabulary": (in_model(vocab=None), "the vocabulary must be an object"),
    "an id is a string": (in_vocab(a="97"), "the id of token 'a' must be an integer, not '97'"),
    "an id is a float": (in_vocab(a=97.0), "the id of token 'a' must be an integer"),
    "an id is true": (in_vocab(a=True), "the id of token 'a' must be an integer, not True"),
    "an id is negative": (in_vocab(a=-1), "has the id -1"),
    "an id is enormous": (in_vocab(a=10**15), "has the id 1000000000000000; ids go from 0 to 9,999,999"),
    "an id twice": (in_vocab(a=98), "both have the id 98"),
    "a token that is no bytes": (in_vocab(月=999), "'月' .* stands for no byte"),
    "a token with a space": (in_vocab(**{"a b c": 999}), "' ' .* stands for no byte"),
    "an empty token": (in_vocab(**{"": 999}), "token 999 is empty"),
    "a lone surrogate": (in_vocab(**{"\ud800": 999}), "stands for no byte"),
    "merges are an object": (in_model(merges={}), "the list of merges must be a list"),
    "a merge is a number": (in_model(merges=[5]), "merge 0 must be a list, not 5"),
    "a merge of three": (in_model(merges=["l o w"]), "merge 0 must be two tokens"),
    "a merge of one": (in_model(merges=[["l"]]), "merge 0 must be two tokens"),
    "a merge of numbers": (in_model(merges=[[108, 111]]), "merge 0 uses 108"),
    "a merge of lists": (in_model(merges=[[["l"], "o"]]), r"merge 0 uses \['l'\]"),
    "a merge of an unknown token": (in_model(merges=["l xyz"]), "merge 0 uses 'xyz', which is not among"),
    "a merge that makes no token": (in_model(merges=["z z"]), "merge 0 makes b'zz', which is not among"),
    "a merge twice": (lambda file: file["model"]["merges"].append(file["model"]["merges"][0]), "there twice"),
    "merges that use later tokens": (
        lambda file: file["model"]["merges"].reverse(),
        "merge 0 uses token .* which no earlier merge makes",
    ),
    "a normalizer": (lambda file: file.update(normalizer={"type": "NFC"}), "the normalizer 'NFC' changes"),
    "a normalizer in a list": (
        lambda file: file.update(normalizer={"type": "Sequence", "normalizers": [{"type": "Lowercase"}]}),
        "the normalizer 'Lowercase' changes the text",
    ),
    "another pre-tokenizer": (
        lambda file: file["pre_tokenizer"]["pretokenizers"].insert(0, {"type": "Whitespace"}),
        "the pre-tokenizer 'Whitespace' is not supported",
    ),
    "a prefix space": (
        lambda file: file["pre_tokenizer"]["pretokenizers"][-1].update(add_prefix_space=True),
        "puts a space before the text",
    ),
    "a split that removes": (with_split("a", behavior="Removed"), "must be Isolated"),
    "an inverted split": (with_split("a", invert=True), "must be Isolated and not inverted"),
    "a split by a string": (with_split("a", pattern={"String": "a"}), "must be a Regex, not 'String'"),
    "a split that is a number": (with_split(5), "must be a string, not 5"),
    "no regular expression": (with_split("(a"), "is not a regular expression"),
    "exponential time": (with_split("(a+)+$"), "or a repeated group, which can take endless time"),
    "exponential time, otherwise": (with_split("(?:a|a)*b"), "at position 6"),
    "another dialect": (with_split(r"\p{N}{1,3}+"), "read in different ways"),
    "a split that matches nothing": (with_split("x*"), "can match nothing"),
    "an endless expression": (with_split("a" * 20_000), "more than 10,000 characters"),
    "another decoder": (lambda file: file.update(decoder={"type": "Metaspace"}), "decoder 'Metaspace'"),
    "added tokens are an object": (lambda file: file.update(added_tokens={}), "must be a list"),
    "an added token is a string": (lambda file: file["added_tokens"].append("<x>"), "must be an object"),
    "an added token without an id": (with_added(id=None), "the id of the added token '<x>' must be"),
    "an added token of another kind": (with_added(content=5), "the content of an added token must be"),
    "an added token that strips": (with_added(lstrip=True), "has lstrip, which is not supported"),
    "an added token twice": (with_added(content="<|end|>"), "'<|end|>' has the ids .* and 999"),
    "an added token with a token's id": (with_added(id=97), "'<x>' has the id 97, which is b'a'"),
    "an added token that is empty": (with_added(content=""), "must not be empty"),
    "added tokens whose order matters": (
        with_added(content="x<|end|", normalized=True),
        "'x<|end|' overlaps with one that is looked for before it",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE_JSON)
def test_hostile_tokenizer_json(tmp_path: Path, kind: str) -> None:
    how, message = HOSTILE_JSON[kind]
    path = tmp_path / "tokenizer.json"
    formats.save_tokenizers_json(trained("words"), path)
    change(path, how)
    with pytest.raises(ValueError, match=rf"^{re.escape(str(path))}: .*{message}".replace("|", r"\|")):
        formats.load_tokenizers_json(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Expecting value"),
        (b"\x80\x04cos\nsystem\n", "is not UTF-8"),  # the beginning of a pickle
        (b"__import__('os').abort()", "Expecting value"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "must be an object"),
        (b'{"a": 1, "b": 2, "a": 3}', "the key 'a' stands twice"),
        (b'{"model": ' + b"9" * 5_000 + b"}", "digits"),
        (b'{"decoder": {"type": "Fuse"}, "model": {"vocab": {}, "merges": []}}', "none at all"),
    ],
)
def test_files_that_are_no_tokenizer_json(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        formats.load_tokenizers_json(path)


def test_the_real_thing_cut_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    formats.save_tokenizers_json(trained("words"), path)
    content = path.read_bytes()
    for end in range(0, len(content) - 1, 997):
        path.write_bytes(content[:end])
        with pytest.raises(ValueError):
            formats.load_tokenizers_json(path)


def ranks(*extra: bytes) -> bytes:
    lines = [base64.b64encode(token) + b" %d" % i for i, token in enumerate(BYTES)]
    return b"\n".join([*lines, *extra, b""])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "byte 0x00 is no token"),
        (b"YQ== 0\n", "byte 0x00 is no token"),
        (ranks(b"YWI="), "line 257 is not a token in base64"),
        (ranks(b"YWI= 256 1"), "line 257 is not"),
        (ranks(b"YWI=  256"), "line 257 is not"),
        (ranks(b"YWI= -1"), "line 257 is not"),
        (ranks(b"YWI= 1_0"), "line 257 is not"),
        (ranks(b"YWI= 2.5"), "line 257 is not"),
        (ranks("YWI= ٣".encode()), "line 257 is not"),
        (ranks(b"YWI= 99999999999999"), "line 257 is not"),
        (ranks(b"YWI= 99999999"), "has the id 99999999; ids go from"),
        (ranks(b"YWI 256"), "line 257: .* is not base64"),
        (ranks(b"Y!WI= 256"), "line 257: .* is not base64"),
        (ranks("月 256".encode()), "line 257: .* is not base64"),
        (ranks(b"YWI= 97"), "both have the id 97"),
        (ranks(b"YQ== 256"), "tokens 97 and 256 are both b'a'"),
        (ranks(b"= 256"), "line 257"),
        (ranks(b"YWJhYg== 256", b"YWJh 257", b"YWI= 258"), "is made of a later token"),
        (b"\x80\x04cos\nsystem\n", "line 1 is not a token"),
    ],
)
def test_hostile_rank_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"^{re.escape(str(path))}: .*{message}"):
        formats.load_tiktoken(path, None)


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        ("#version: 0.2\nl o\nlo", "line 3 must be two tokens"),
        ("l o w", "line 1 must be two tokens"),
        ("l  o", "line 1 must be two tokens"),
        ("l xyz", "line 1 uses 'xyz', which is not among the tokens"),
        ("z z", "merge 0 makes b'zz', which is not among the tokens"),
        ("lo w\nl o", "merge 0 uses token .* which no earlier merge makes"),
        ("l o\nl o", "merge 1 makes b'lo', which an earlier merge makes already"),
        ("\ud800 o".encode("utf-8", "surrogatepass").decode("latin-1"), "line 1 uses"),
    ],
)
def test_hostile_merges(tmp_path: Path, merges: str, message: str) -> None:
    vocab, path = tmp_path / "vocab.json", tmp_path / "merges.txt"
    formats.save_gpt2(trained("gpt2"), vocab, path)
    path.write_text(merges, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"^{re.escape(str(path))}: {message}"):
        formats.load_gpt2(vocab, path, special_tokens=SPECIAL)


def test_special_tokens_of_gpt2_s_files_are_named_by_the_reader(tmp_path: Path) -> None:
    vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    formats.save_gpt2(trained("gpt2"), vocab, merges)
    with pytest.raises(ValueError, match="special token '<x>' is not among the tokens"):
        formats.load_gpt2(vocab, merges, special_tokens=["<x>"])
    with pytest.raises(ValueError, match=r"vocab\.json: 'a b' is not the bytes of a token"):
        formats.load_gpt2(vocab, merges)


@pytest.mark.parametrize(
    "expression",
    [r"\w+", r"\b", "$", "^a", ".", "[[a]b]", "[a&&b]", "(?<=a)b", "(?i)a", r"(a)\1", "a{1,2}?",
     r"\p{Alpha}", r"\h", r"\x41", "(?P<x>a)", "(?:a){2}", "a|", "(?=a)"],
)  # fmt: skip
def test_expressions_that_others_read_differently_are_not_written(tmp_path: Path, expression: str) -> None:
    with pytest.raises(ValueError, match="the expression"):
        formats.save_tokenizers_json(BPETokenizer(BYTES, split=expression), tmp_path / "tokenizer.json")


def test_possessive_braces_are_another_thing_for_oniguruma() -> None:
    tokenizers = pytest.importorskip("tokenizers")

    def cut(expression: str) -> list[str]:
        split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(expression), "isolated")
        return [piece for piece, _ in split.pre_tokenize_str("1234567")]

    assert presplit.pieces("1234567", [r"\p{N}{1,3}+"]) == ["123", "456", "7"]
    assert cut(r"\p{N}{1,3}+") == ["1234567"]
    assert cut(dialect.to_oniguruma(presplit.GPT4)) == ["123", "456", "7"]
