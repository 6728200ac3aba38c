"""tokenizer.json of Hugging Face's `tokenizers`: everything in one file.

The file describes a chain: normalizer, pre-tokenizer, model, post-processor, decoder. A tokenizer of this
course is read from, and written as, a model of type BPE whose pre-tokenizers are splits by regular
expressions, then, for an alphabet of bytes, `ByteLevel`, which spells bytes in the letters of `byte_letters`.
Any other chain is refused, since its ids would be others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from bpe import presplit
from bpe._files import write_atomically
from bpe.bytepair import BPETokenizer
from bpe.formats import byte_letters
from bpe.formats.dialect import from_oniguruma, to_oniguruma
from bpe.formats.entries import naming, of_type, placed, read_json
from bpe.formats.gpt2 import pair_of, spelled, vocabulary_of, with_special_tokens
from bpe.formats.rebuild import rebuilt
from bpe.naive import Pair
from bpe.tokenizer import Token

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


# -- reading -----------------------------------------------------------------------------------------------


def load_tokenizers_json(path: str | Path) -> BPETokenizer:
    """Read a tokenizer.json.

    `encode(text, allowed_special="all")` gives the ids of `tokenizers` with `add_special_tokens=False`: what
    comes after the model, such as templates, truncation and padding, is not part of a tokenizer here. All
    its added tokens are special tokens here, also those that the file calls ordinary.

    Raises OSError, and ValueError, naming file and entry, for a damaged file and for a tokenizer of another
    kind, with what is not supported: a normalizer, a space put before the text, a model that is not BPE, …
    """
    path = Path(path)
    with naming(path):
        file = of_type(read_json(path), dict, "the file")
        model = _model(file)
        _refuse_normalizer(file.get("normalizer"))
        split, alphabet_is_bytes = _split(file.get("pre_tokenizer"))
        _check_decoder(file.get("decoder"), alphabet_is_bytes)
        ids = vocabulary_of(model.get("vocab"), "the vocabulary")
        specials = _special_tokens(file.get("added_tokens"), ids)
        ordinary = {token: i for token, i in ids.items() if token not in specials}
        tokens = _tokens(ordinary, alphabet_is_bytes)
        whole_pieces = of_type(model.get("ignore_merges", False), bool, "ignore_merges")
        pairs = _pairs(model.get("merges"), ordinary)
        return BPETokenizer(tokens, _in_order(pairs, tokens, whole_pieces), split, specials, whole_pieces)


def _model(file: Mapping[str, Any]) -> dict[str, Any]:
    model = of_type(file.get("model"), dict, "the model")
    if model.get("type", "BPE") != "BPE":
        raise ValueError(f"the model is of type {model.get('type')!r}, and only BPE is supported")
    # What each of these does would change the ids.
    for option in (
        "dropout",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "byte_fallback",
        "unk_token",
    ):
        if model.get(option):
            raise ValueError(f"the model has {option} = {model[option]!r}, which is not supported")
    return model


def _refuse_normalizer(normalizer: Any) -> None:
    if normalizer is None:
        return
    kind = of_type(normalizer, dict, "the normalizer").get("type")
    if kind != "Sequence":
        raise ValueError(f"the normalizer {kind!r} changes the text, and no tokenizer of this course does")
    for part in of_type(normalizer.get("normalizers"), list, "the list of normalizers"):
        _refuse_normalizer(part)


def _split(pre_tokenizer: Any) -> tuple[list[str], bool]:
    """The expressions of the split, and whether bytes come after it."""
    steps = _steps(pre_tokenizer)
    split: list[str] = []
    for number, step in enumerate(steps):
        kind = step.get("type")
        if kind == "Split":
            split.append(_expression(step))
        elif kind == "ByteLevel" and number == len(steps) - 1:
            if step.get("add_prefix_space", True):
                raise ValueError("the pre-tokenizer puts a space before the text, which is not supported")
            if of_type(step.get("use_regex", True), bool, "use_regex"):
                split.append(presplit.GPT2)
            return split, True
        else:
            raise ValueError(
                f"the pre-tokenizer {kind!r} is not supported: only splits are, and a ByteLevel at the end"
            )
    return split, False


def _steps(pre_tokenizer: Any) -> list[dict[str, Any]]:
    if pre_tokenizer is None:
        return []
    step = of_type(pre_tokenizer, dict, "the pre-tokenizer")
    if step.get("type") != "Sequence":
        return [step]
    steps = of_type(step.get("pretokenizers"), list, "the list of pre-tokenizers")
    return [of_type(part, dict, "a pre-tokenizer") for part in steps]


def _expression(step: Mapping[str, Any]) -> str:
    if step.get("behavior") != "Isolated" or step.get("invert"):
        raise ValueError(
            f"a split must be Isolated and not inverted; this one has behavior {step.get('behavior')!r} and "
            f"invert {step.get('invert')!r}"
        )
    pattern = of_type(step.get("pattern"), dict, "the pattern of a split")
    if set(pattern) != {"Regex"}:
        raise ValueError(f"the pattern of a split must be a Regex, not {', '.join(map(repr, pattern))}")
    return from_oniguruma(of_type(pattern["Regex"], str, "the expression of a split"))


def _check_decoder(decoder: Any, alphabet_is_bytes: bool) -> None:
    kind = None if decoder is None else of_type(decoder, dict, "the decoder").get("type")
    if kind != ("ByteLevel" if alphabet_is_bytes else "Fuse"):
        raise ValueError(f"the decoder {kind!r} does not undo what this pre-tokenizer does")


def _special_tokens(added: Any, ids: Mapping[str, int]) -> dict[str, int]:
    specials: dict[str, int] = {}
    later: set[str] = set()
    for entry in of_type([] if added is None else added, list, "the list of added tokens"):
        entry = of_type(entry, dict, "an added token")
        name = of_type(entry.get("content"), str, "the content of an added token")
        i = of_type(entry.get("id"), int, f"the id of the added token {name!r}")
        for flag in ("single_word", "lstrip", "rstrip"):
            if entry.get(flag):
                raise ValueError(f"the added token {name!r} has {flag}, which is not supported")
        if name in specials or ids.get(name, i) != i:
            raise ValueError(
                f"the added token {name!r} has the ids {specials.get(name, ids.get(name))} and {i}"
            )
        if entry.get("normalized"):
            later.add(name)
        specials[name] = i
    _refuse_rivals(specials.keys() - later, later)
    return specials


def _refuse_rivals(first: Iterable[str], later: Iterable[str]) -> None:
    """Raise ValueError where it matters that `tokenizers` looks for one kind of added tokens first.

    It looks for those with "normalized": false, then, in what is left, for the others. Here the one that
    begins first in the text is taken, which is the same unless one of the others begins before.
    """
    beginnings = {name[:end] for name in first for end in range(1, len(name) + 1)}
    for name in later:
        if any(name[start:] in beginnings for start in range(1, len(name))) or any(
            whole in name[1:] for whole in first
        ):
            raise ValueError(f"the added token {name!r} overlaps with one that is looked for before it")


def _tokens(ids: Mapping[str, int], alphabet_is_bytes: bool) -> list[Any]:
    if not alphabet_is_bytes:
        return placed((i, token) for token, i in ids.items())
    return placed((i, byte_letters.to_bytes(token)) for token, i in ids.items())


def _pairs(merges: Any, ids: Mapping[str, int]) -> list[Pair]:
    """The merges, which stand as "left right" in older files and as ["left", "right"] in newer ones."""
    pairs: list[Pair] = []
    for rank, merge in enumerate(of_type(merges, list, "the list of merges")):
        symbols = merge.split(" ") if isinstance(merge, str) else of_type(merge, list, f"merge {rank}")
        pairs.append(pair_of(symbols, ids, f"merge {rank}"))
    return pairs


def _in_order(pairs: list[Pair], tokens: list[Token | None], whole_pieces: bool) -> list[Pair]:
    """The merges, one for each token, each using what earlier ones make.

    Files that were made from a rank file list all pairs that would give a token, and keep the order of
    ranks where a token is made of a later one; they say ignore_merges. The merges that happen are found
    out as for a rank file.
    """
    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    if len(ranks) < len(pairs):
        rank = next(rank for rank, pair in enumerate(pairs) if ranks[pair] != rank)
        raise ValueError(f"merge {rank} stands there twice")
    made = {
        token: rank for rank, pair in reversed(list(enumerate(pairs))) for token in [_joined(pair, tokens)]
    }
    uses_later = any(
        made.get(token, -1) >= rank
        for rank, pair in enumerate(pairs)
        for token in map(tokens.__getitem__, pair)
    )
    if len(made) == len(pairs) and not (whole_pieces and uses_later):
        return pairs  # where one does use a later token, the tokenizer says so
    return rebuilt(tokens, lambda pair, _: ranks.get(pair))


def _joined(pair: Pair, tokens: list[Any]) -> Any:
    return tokens[pair[0]] + tokens[pair[1]]


# -- writing -----------------------------------------------------------------------------------------------


def save_tokenizers_json(tokenizer: BPETokenizer, path: str | Path) -> None:
    """Write a tokenizer.json.

    Opened with `tokenizers`, or by `transformers` as the `tokenizer_file` of a `PreTrainedTokenizerFast`, it
    gives the ids of `encode(text, allowed_special="all")`: special tokens in a text are always taken as such.
    Where `encode` raises for a symbol outside the alphabet, `tokenizers` leaves it out.

    Raises ValueError for a split that `tokenizers` may read in another way, and for a special token spelled
    like another one. Raises OSError as `write_atomically`.
    """
    alphabet_is_bytes = tokenizer.alphabet == "bytes"
    ids = spelled(tokenizer)
    everything = with_special_tokens(ids, tokenizer.special_tokens)
    letters = {i: token for token, i in ids.items()}
    steps: list[dict[str, Any]] = [_split_step(expression) for expression in tokenizer.split]
    file = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added_token(name, i) for i, name in _by_id(tokenizer.special_tokens)],
        "normalizer": None,
        "pre_tokenizer": _sequence([*steps, BYTE_LEVEL] if alphabet_is_bytes else steps),
        "post_processor": None,
        "decoder": BYTE_LEVEL if alphabet_is_bytes else {"type": "Fuse"},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": tokenizer.whole_pieces,
            "vocab": ids if _follow(tokenizer) else everything,
            "merges": [[letters[left], letters[right]] for left, right in tokenizer.merges],
        },
    }
    write_atomically(Path(path), (json.dumps(file, ensure_ascii=False) + "\n").encode("utf-8"))


def _split_step(expression: str) -> dict[str, Any]:
    pattern = {"Regex": to_oniguruma(expression)}
    return {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}


def _sequence(steps: list[dict[str, Any]]) -> dict[str, Any] | None:
    return {"type": "Sequence", "pretokenizers": steps} if steps else None


def _added_token(name: str, i: int) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": i, "content": name, **flags, "special": True}


def _by_id(special_tokens: Mapping[str, int]) -> list[tuple[int, str]]:
    return sorted((i, name) for name, i in special_tokens.items())


def _follow(tokenizer: BPETokenizer) -> bool:
    """Whether the special tokens follow the others without a gap.

    `tokenizers` gives an added token that is not in the vocabulary the next id, whatever the file says.
    """
    ids = [i for i, token in enumerate(tokenizer.vocabulary) if token is not None]
    ids += sorted(tokenizer.special_tokens.values())
    return ids[:1] == [0] and all(later == i + 1 for i, later in pairwise(ids))
