"""Files of other libraries that are damaged or hostile are refused."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_tokenizers import BYTES, SPECIAL, change, trained

from bpe import BPETokenizer, formats, presplit
from bpe.formats import dialect, tokenizers_json


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
    "another model": (in_model(type="Unigram"), "type 'Unigram', but only BPE"),
    "dropout": (in_model(dropout=0.1), "dropout = 0.1"),
    "byte fallback": (in_model(byte_fallback=True), "byte_fallback = True"),
    "end of word": (in_model(end_of_word_suffix="</w>"), "end_of_word_suffix = '</w>'"),
    "an unknown token": (in_model(unk_token="<unk>"), "unk_token = '<unk>'"),
    "ignore_merges is not a boolean": (in_model(ignore_merges="yes"), "ignore_merges must be true or false"),
    "no vocabulary": (in_model(vocab=None), "the vocabulary must be an object"),
    "an id is a string": (in_vocab(a="97"), "the id of token 'a' must be an integer, not '97'"),
    "an id is a float": (in_vocab(a=97.0), "the id of token 'a' must be an integer"),
    "an id is true": (in_vocab(a=True), "the id of token 'a' must be an integer, not True"),
    "an id is negative": (in_vocab(a=-1), "has the id -1"),
    "an id is enormous": (in_vocab(a=10**15), "has the id 1000000000000000; ids go from 0 to 9,999,999"),
    "an id twice": (in_vocab(a=98), "both have the id 98"),
    "a token that is not bytes": (in_vocab(月=999), "'月' .* stands for no byte"),
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
    "a merge twice": (
        lambda file: file["model"]["merges"].append(file["model"]["merges"][0]),
        "repeats merge 0",
    ),
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
        "adds a space before the text",
    ),
    "a split that removes": (with_split("a", behavior="Removed"), "must be Isolated"),
    "an inverted split": (with_split("a", invert=True), "must be Isolated and not inverted"),
    "a split by a string": (with_split("a", pattern={"String": "a"}), "must be a Regex, not 'String'"),
    "a split that is a number": (with_split(5), "must be a string, not 5"),
    "an invalid regular expression": (with_split("(a"), "is not a regular expression"),
    "exponential time": (with_split("(a+)+$"), "or a repeated group, which can take unlimited time"),
    "exponential time, otherwise": (with_split("(?:a|a)*b"), "at position 6"),
    "another dialect": (with_split(r"\p{N}{1,3}+"), "read differently"),
    "a split that matches nothing": (with_split("x*"), "can match the empty string"),
    "an endless expression": (with_split("a" * 20_000), "more than 10,000 characters"),
    "another decoder": (lambda file: file.update(decoder={"type": "Metaspace"}), "decoder 'Metaspace'"),
    "added tokens are an object": (lambda file: file.update(added_tokens={}), "must be a list"),
    "an added token is a string": (lambda file: file["added_tokens"].append("<x>"), "must be an object"),
    "an added token without an id": (with_added(id=None), "the id of the added token '<x>' must be"),
    "an added token of another kind": (with_added(content=5), "the content of an added token must be"),
    "an added token that strips": (with_added(lstrip=True), "has lstrip, which is not supported"),
    "an added token twice": (with_added(content="<|end|>"), "'<|end|>' has the ids .* and 999"),
    "an added token with a token's id": (
        with_added(id=97),
        "'<x>' has the id 97, which is already that of b'a'",
    ),
    "an added token that is empty": (with_added(content=""), "must not be empty"),
    "added tokens whose order matters": (
        with_added(content="x<|end|", normalized=True),
        "'x<|end|' overlaps with one that is searched for before it",
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
        (b'{"a": 1, "b": 2, "a": 3}', "the key 'a' occurs twice"),
        (b'{"model": ' + b"9" * 5_000 + b"}", "digits"),
        (b'{"decoder": {"type": "Fuse"}, "model": {"vocab": {}, "merges": []}}', "none at all"),
    ],
)
def test_files_that_are_not_tokenizer_json(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        formats.load_tokenizers_json(path)


def test_a_tokenizer_json_truncated_anywhere(tmp_path: Path) -> None:
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
        (b"", "byte 0x00 is not a token"),
        (b"YQ== 0\n", "byte 0x00 is not a token"),
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
def test_expressions_that_others_read_differently_are_refused(tmp_path: Path, expression: str) -> None:
    with pytest.raises(ValueError, match="the expression"):
        formats.save_tokenizers_json(BPETokenizer(BYTES, split=expression), tmp_path / "tokenizer.json")


def test_oniguruma_reads_possessive_braces_differently() -> None:
    tokenizers = pytest.importorskip("tokenizers")

    def cut(expression: str) -> list[str]:
        split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(expression), "isolated")
        return [piece for piece, _ in split.pre_tokenize_str("1234567")]

    assert presplit.pieces("1234567", [r"\p{N}{1,3}+"]) == ["123", "456", "7"]
    assert cut(r"\p{N}{1,3}+") == ["1234567"]
    assert cut(dialect.to_oniguruma(presplit.GPT4)) == ["123", "456", "7"]


# -- what would take unlimited time or memory ----------------------------------------------------------------


@pytest.mark.parametrize("depth", [300, 2_000, 100_000])
@pytest.mark.parametrize("key", ["normalizer", "pre_tokenizer", "decoder", "post_processor"])
def test_nested_parts(tmp_path: Path, key: str, depth: int) -> None:
    path = tmp_path / "tokenizer.json"
    formats.save_tokenizers_json(trained("words"), path)
    change(path, lambda file: file.update({key: "@@@"}))
    inner = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers"}.get(key, key + "s")
    value = f'{{"type": "Sequence", "{inner}": [' * depth + "]}" * depth
    path.write_text(path.read_text(encoding="utf-8").replace('"@@@"', value), encoding="utf-8")
    try:
        formats.load_tokenizers_json(path)
        assert depth < 100_000 and key in ("normalizer", "post_processor")
    except ValueError as error:
        assert str(error).startswith(f"{path}: ") and len(str(error)) < 500
        assert "nested too deeply" in str(error) or key in ("pre_tokenizer", "decoder")


def test_rivals_among_very_many_added_tokens() -> None:
    first, later = [f"<{i}>" for i in range(30_000)], [f"({i})" for i in range(30_000)]
    tokenizers_json._refuse_rivals(set(first), later)
    for name in ("a<7>", "a<7>b", "a<29", "((7)<"):
        with pytest.raises(ValueError, match="overlaps"):
            tokenizers_json._refuse_rivals(set(first), [*later, name])


@pytest.mark.parametrize("content", ["x" * 1_001, ""])
def test_added_tokens_have_a_length(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tokenizer.json"
    formats.save_tokenizers_json(trained("words"), path)
    change(path, with_added(content=content))
    with pytest.raises(ValueError, match=r"special token (may have|must not be empty)"):
        formats.load_tokenizers_json(path)


def test_a_token_of_a_megabyte(tmp_path: Path) -> None:
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(ranks(base64.b64encode(b"a" * 1_000_000) + b" 256"))
    with pytest.raises(ValueError, match="the token with the id 256 is longer than 100,000"):
        formats.load_tiktoken(path, None)


def test_files_have_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    for module in (formats.gpt2, formats.tiktoken, tokenizers_json, formats.sentencepiece):
        monkeypatch.setattr(module, "LARGEST_FILE", 100)
    for path in paths:
        path.write_bytes(b" " * 101)
    for load in (
        lambda: formats.load_tiktoken(paths[0], None),
        lambda: formats.load_tokenizers_json(paths[0]),
        lambda: formats.load_gpt2(*paths),
        lambda: formats.load_sentencepiece(paths[0]),
    ):
        with pytest.raises(ValueError, match=rf"^{re.escape(str(paths[0]))} has more than 100 bytes"):
            load()


# -- byte order marks ----------------------------------------------------------------------------------------


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    tokenizer, path, merges = trained("gpt2"), tmp_path / "a", tmp_path / "b"

    def mark(*paths: Path) -> None:
        for marked in paths:
            marked.write_bytes("\ufeff".encode() + marked.read_bytes())

    formats.save_tokenizers_json(tokenizer, path)
    mark(path)
    assert formats.load_tokenizers_json(path) == tokenizer
    formats.save_gpt2(tokenizer, path, merges)
    mark(path, merges)
    assert formats.load_gpt2(path, merges, "gpt2", SPECIAL) == tokenizer
    formats.save_tiktoken(tokenizer, path)
    mark(path)
    assert formats.load_tiktoken(path, "gpt2", tokenizer.special_tokens).merges == tokenizer.merges


@pytest.mark.parametrize("given", [{"<x>"}, {"<x>": 7}, "<x>"])
def test_names_of_special_tokens_are_a_list(tmp_path: Path, given: Any) -> None:
    with pytest.raises(TypeError, match="special_tokens must be a list"):
        formats.load_gpt2(tmp_path / "a", tmp_path / "b", special_tokens=given)
