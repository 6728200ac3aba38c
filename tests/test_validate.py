"""Input of the wrong kind: without order, of another type, or of another meaning."""

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from test_tokenizer import KINDS, TEXT

from bpe import (
    BPETokenizer,
    CharTokenizer,
    Tokenizer,
    Unigram,
    WordBPE,
    WordPiece,
    count_pieces,
    load_tokenizer,
    saving,
)
from bpe.counting import FewTokensWarning

TRAINED: list[Any] = [BPETokenizer, WordBPE, WordPiece, Unigram]
SIZE = 330  # enough for each kind
BYTES = [bytes([value]) for value in range(256)]


@pytest.fixture(params=KINDS)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return KINDS[request.param]()


# -- order -----------------------------------------------------------------------------------------------


UNORDERED: dict[str, Callable[[Any], object]] = {
    **{
        f"{kind.__name__}, {what}": call
        for kind in TRAINED
        for what, call in {
            "special tokens": lambda given, kind=kind: kind.train(TEXT, SIZE, special_tokens=given),
            "documents": lambda given, kind=kind: kind.train(given, SIZE),
            "more special tokens": lambda given, kind=kind: (
                kind.train(TEXT, SIZE, min_frequency=9).with_special_tokens(given)
                if kind is not Unigram
                else kind.train(TEXT, SIZE).with_special_tokens(given)
            ),
        }.items()
    },
    "counted documents": count_pieces,
    "special tokens of counts": lambda given: count_pieces(TEXT, None, given),
    "patterns": lambda given: BPETokenizer.train(TEXT, SIZE, pattern=given),
    "tokens": BPETokenizer,
    "characters": WordBPE,
    "pieces": WordPiece,
    "pieces of Unigram": Unigram,
    "merges": lambda given: BPETokenizer(BYTES, given),
    "merges of words": lambda given: WordBPE("abc", given),
    "ids": lambda given: CharTokenizer("abc").decode(given),
    "texts": lambda given: CharTokenizer("abc").encode_batch(given),
    "rows": lambda given: CharTokenizer("abc").decode_batch(given),
}


@pytest.mark.parametrize("call", UNORDERED.values(), ids=list(UNORDERED))
@pytest.mark.parametrize(
    "given", [{"<a>", "<b>"}, frozenset({"<a>"}), {"<a>": 7}], ids=["set", "frozen", "dict"]
)
def test_what_has_no_order_is_refused_where_order_counts(call: Callable[[Any], object], given: Any) -> None:
    kind = "mapping" if isinstance(given, dict) else type(given).__name__
    with pytest.raises(TypeError, match=rf"must be a list, not a {kind}"):
        call(given)


def test_the_keys_of_a_mapping_have_an_order() -> None:
    names = {"<a>": 7, "<b>": 8}
    trained = BPETokenizer.train(dict.fromkeys([TEXT, "low"]).keys(), 300, special_tokens=names.keys())
    assert trained == BPETokenizer.train([TEXT, "low"], 300, special_tokens=list(names))


def test_characters_alone_have_an_order_of_their_own() -> None:
    assert CharTokenizer({"ab", "c"}) == CharTokenizer("abc")


@pytest.mark.parametrize("given", [["<a>"], ["ab"], "ab", {"<a>"}, [("<a>", 256)], 5])
def test_a_list_is_refused_where_a_mapping_is_due(given: Any) -> None:
    with pytest.raises(TypeError, match="special_tokens must be a mapping from each to its id"):
        BPETokenizer(BYTES, special_tokens=given)


@pytest.mark.parametrize("pair", [(97,), (97, 98, 99), {97, 98}, "ab", 97, None, b"ab"])
def test_a_merge_is_a_pair(pair: Any) -> None:
    with pytest.raises(TypeError, match="merge 0 must be a pair of ids"):
        BPETokenizer([*BYTES, b"ab"], [pair])


# -- ids -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ids",
    [
        [True],
        [0, False],
        numpy.array([True, False]),
        [numpy.True_],
        torch.tensor([True, True]),
        [torch.tensor(True)],
        [0.0],
        numpy.array([1.0]),
        ["0"],
        [None],
        [[0]],
        numpy.zeros((1, 2), dtype=int),
        numpy.array(0),
        torch.zeros(2, 2, dtype=torch.int64),
        torch.tensor(0),
        "01",
        b"01",
        5,
        None,
        {0},
        {0: 1},
    ],
    ids=repr,
)
def test_what_is_not_a_row_of_ids_is_refused(tokenizer: Tokenizer, ids: Any) -> None:
    with pytest.raises(TypeError, match="id"):
        tokenizer.decode(ids)
    with pytest.raises(TypeError, match="id"):
        tokenizer.decode_bytes(ids)


@pytest.mark.parametrize("make", [tuple, iter, numpy.array, torch.tensor, lambda ids: numpy.array(ids, "u2")])
def test_rows_of_ids_of_every_kind(tokenizer: Tokenizer, make: Callable[[list[int]], Any]) -> None:
    ids = tokenizer.encode("low newer")
    assert tokenizer.decode(make(ids)) == tokenizer.decode(ids)


@pytest.mark.parametrize("i", [-1, 2**31, 2**70])
def test_an_id_out_of_range_is_named(tokenizer: Tokenizer, i: int) -> None:
    with pytest.raises(ValueError, match=f"id {i} is out of range"):
        tokenizer.decode([i])


# -- texts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*TRAINED, CharTokenizer])
def test_the_name_of_a_file_in_place_of_a_text_gets_a_warning(kind: Any, tmp_path: Any) -> None:
    path = tmp_path / "poems.txt"
    path.write_text(TEXT, encoding="utf-8")
    size = () if kind is CharTokenizer else (len(str(path)) + SIZE,)
    with pytest.warns(UserWarning, match=r"poems\.txt', which is the name of a file"):
        kind(str(path)) if kind is CharTokenizer else kind.train([str(path), TEXT], *size)
    with pytest.raises(TypeError, match="read the file first"):
        kind.train(path, SIZE) if size else kind(path)


@pytest.mark.parametrize("kind", TRAINED)
def test_far_fewer_tokens_than_asked_for_get_a_warning(kind: Any) -> None:
    with pytest.warns(FewTokensWarning, match=r"only [\d,]+ of [\d,]+ tokens could be learned"):
        kind.train("low lower lowest " * 9, 5000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind.train(TEXT, {BPETokenizer: 280, Unigram: SIZE}.get(kind, 40))


def test_a_surrogate_comes_with_its_repair() -> None:
    tokenizer = CharTokenizer("abc")
    with pytest.raises(ValueError, match=r"position 0: .*the other half follows, and .*joins them") as caught:
        tokenizer.encode("\ud83d\ude00")
    assert "text.encode('utf-16', 'surrogatepass').decode('utf-16')" in str(caught.value)
    assert "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16") == "😀"
    with pytest.raises(ValueError, match="it stands for a byte that was not UTF-8"):
        tokenizer.encode(os.fsdecode(b"\xff") if os.name != "nt" else "\udcff")


# -- files -----------------------------------------------------------------------------------------------


def test_no_entry_of_a_file_may_be_missing_unknown_or_of_another_type(
    tokenizer: Tokenizer, tmp_path: Any
) -> None:
    path = tmp_path / "tokenizer.json"
    content = tokenizer._content()
    others: list[Any] = [None, True, 0, 1.5, "no", "", [], {}, [[]], {"a": 1}]
    for name in content:
        allowed = tokenizer.CONTENT[name]
        for other in others:
            if isinstance(other, allowed) and not (isinstance(other, bool) and allowed is not bool):
                continue
            saving.save_content(path, tokenizer.KIND, content | {name: other})
            with pytest.raises(ValueError, match=rf"damaged: its '{name}' is of the wrong type"):
                load_tokenizer(path)
        saving.save_content(path, tokenizer.KIND, {key: content[key] for key in content if key != name})
        with pytest.raises(ValueError, match=f"damaged: it has no '{name}'"):
            load_tokenizer(path)


@pytest.mark.parametrize("name", ["true", '{"a": 1, "a": 2}', "NaN", "-Infinity"])
def test_json_that_others_would_read_differently_is_refused(tmp_path: Any, name: str) -> None:
    path = tmp_path / "tokenizer.json"
    BPETokenizer.train(TEXT, 300).save(path)
    path.write_text(
        path.read_text(encoding="utf-8").replace('"merges": ', f'"more": {name}, "merges": '), "utf-8"
    )
    with pytest.raises(ValueError, match="damaged"):
        load_tokenizer(path)


def test_a_byte_order_mark_and_no_end(tmp_path: Any, tokenizer: Tokenizer) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_tokenizer(path) == tokenizer
    if os.path.exists("/dev/zero"):  # noqa: PTH110
        with pytest.raises(ValueError, match="has more than"):
            load_tokenizer("/dev/zero")
