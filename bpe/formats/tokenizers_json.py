"""tokenizer.json of Hugging Face's `tokenizers`: everything in one file.

The file describes a chain: normalizer, pre-tokenizer, model, post-processor, decoder. A tokenizer of this
course corresponds to a model of type BPE whose pre-tokenizers are splits by regular expressions. For an
alphabet of bytes they are followed by `ByteLevel`, which spells bytes in the letters of `byte_letters`. Any
other chain is refused, since it would give other ids.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from bpe import presplit, special
from bpe._files import read_json, write_atomically
from bpe.bytepair import BPETokenizer
from bpe.formats import byte_letters
from bpe.formats.dialect import from_oniguruma, to_oniguruma
from bpe.formats.entries import LARGEST_FILE, check_type, naming, place_tokens
from bpe.formats.gpt2 import add_special_tokens, check_vocabulary, find_pair, spell_tokens
from bpe.formats.rebuild import rebuild_merges
from bpe.naive import Pair
from bpe.tokenizer import Token

_REFUSED_OPTIONS = (
    "dropout",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "byte_fallback",
    "unk_token",
)
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


# -- reading -----------------------------------------------------------------------------------------------


def load_tokenizers_json(path: str | Path) -> BPETokenizer:
    """Read a tokenizer.json.

    `encode(text, allowed_special="all")` gives the ids of `tokenizers` with `add_special_tokens=False`: what
    follows the model, such as templates, truncation and padding, is not part of a tokenizer here. All added
    tokens become special tokens, including those that the file calls ordinary.

    Raises OSError, and ValueError, naming file and entry, for a damaged file and for what is not supported: a
    normalizer, a space added before the text, a model that is not BPE, …
    """
    path = Path(path)
    with naming(path):
        file = check_type(read_json(path, LARGEST_FILE), dict, "the file")
        model = _read_model(file)
        _refuse_normalizer(file.get("normalizer"))
        split, alphabet_is_bytes = _read_split(file.get("pre_tokenizer"))
        _check_decoder(file.get("decoder"), alphabet_is_bytes)
        ids = check_vocabulary(model.get("vocab"), "the vocabulary")
        specials = _read_special_tokens(file.get("added_tokens"), ids)
        ordinary = {token: i for token, i in ids.items() if token not in specials}
        tokens = _read_tokens(ordinary, alphabet_is_bytes)
        whole_pieces = check_type(model.get("ignore_merges", False), bool, "ignore_merges")
        pairs = _read_pairs(model.get("merges"), ordinary)
        merges = _order_merges(pairs, tokens, whole_pieces)
        return BPETokenizer(tokens, merges, split, specials, whole_pieces)


def _read_model(file: Mapping[str, Any]) -> dict[str, Any]:
    model = check_type(file.get("model"), dict, "the model")
    if model.get("type", "BPE") != "BPE":
        raise ValueError(f"the model is of type {model.get('type')!r}, but only BPE is supported")
    for option in _REFUSED_OPTIONS:
        if model.get(option):
            raise ValueError(f"the model has {option} = {model[option]!r}, which is not supported")
    return model


def _refuse_normalizer(normalizer: Any) -> None:
    """Raise ValueError for a normalizer, except for sequences of none, however deeply nested."""
    parts = [normalizer]
    while parts:
        part = parts.pop()
        if part is None:
            continue
        kind = check_type(part, dict, "the normalizer").get("type")
        if kind != "Sequence":
            raise ValueError(f"the normalizer {kind!r} changes the text, which is not supported")
        parts += check_type(part.get("normalizers"), list, "the list of normalizers")


def _read_split(pre_tokenizer: Any) -> tuple[list[str], bool]:
    """Return the expressions of the split, and whether ByteLevel follows it."""
    steps = _list_steps(pre_tokenizer)
    split: list[str] = []
    for number, step in enumerate(steps):
        kind = step.get("type")
        if kind == "Split":
            split.append(_read_expression(step))
        elif kind == "ByteLevel" and number == len(steps) - 1:
            if step.get("add_prefix_space", True):
                raise ValueError("the pre-tokenizer adds a space before the text, which is not supported")
            if check_type(step.get("use_regex", True), bool, "use_regex"):
                split.append(presplit.GPT2)
            return split, True
        else:
            raise ValueError(
                f"the pre-tokenizer {kind!r} is not supported: only splits and a final ByteLevel are"
            )
    return split, False


def _list_steps(pre_tokenizer: Any) -> list[dict[str, Any]]:
    if pre_tokenizer is None:
        return []
    step = check_type(pre_tokenizer, dict, "the pre-tokenizer")
    if step.get("type") != "Sequence":
        return [step]
    steps = check_type(step.get("pretokenizers"), list, "the list of pre-tokenizers")
    return [check_type(part, dict, "a pre-tokenizer") for part in steps]


def _read_expression(step: Mapping[str, Any]) -> str:
    if step.get("behavior") != "Isolated" or step.get("invert"):
        raise ValueError(
            f"a split must be Isolated and not inverted; this one has behavior {step.get('behavior')!r} and "
            f"invert {step.get('invert')!r}"
        )
    pattern = check_type(step.get("pattern"), dict, "the pattern of a split")
    if set(pattern) != {"Regex"}:
        raise ValueError(f"the pattern of a split must be a Regex, not {', '.join(map(repr, pattern))}")
    return from_oniguruma(check_type(pattern["Regex"], str, "the expression of a split"))


def _check_decoder(decoder: Any, alphabet_is_bytes: bool) -> None:
    kind = None if decoder is None else check_type(decoder, dict, "the decoder").get("type")
    if kind != ("ByteLevel" if alphabet_is_bytes else "Fuse"):
        raise ValueError(f"the decoder {kind!r} does not reverse this pre-tokenizer")


def _read_special_tokens(added: Any, ids: Mapping[str, int]) -> dict[str, int]:
    specials: dict[str, int] = {}
    later: set[str] = set()
    for entry in check_type([] if added is None else added, list, "the list of added tokens"):
        entry = check_type(entry, dict, "an added token")
        name = check_type(entry.get("content"), str, "the content of an added token")
        i = check_type(entry.get("id"), int, f"the id of the added token {name!r}")
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
    special.check_names(list(specials))
    _refuse_rivals(specials.keys() - later, later)
    return specials


def _refuse_rivals(first: Collection[str], later: Iterable[str]) -> None:
    """Raise ValueError if the order in which `tokenizers` searches for added tokens matters.

    It searches for those with "normalized": false, then for the others in what is left. Here the one that
    begins first in the text is taken, which is the same unless one of the others begins before it.
    """
    ordered, lengths = sorted(first), {len(name) for name in first}
    for name in later:
        for start in range(1, len(name)):
            rest = name[start:]
            at = bisect_left(ordered, rest)
            continues = at < len(ordered) and ordered[at].startswith(rest)
            if continues or any(rest[:length] in first for length in lengths):
                raise ValueError(f"the added token {name!r} overlaps with one that is searched for before it")


def _read_tokens(ids: Mapping[str, int], alphabet_is_bytes: bool) -> list[Any]:
    if not alphabet_is_bytes:
        return place_tokens((i, token) for token, i in ids.items())
    return place_tokens((i, byte_letters.to_bytes(token)) for token, i in ids.items())


def _read_pairs(merges: Any, ids: Mapping[str, int]) -> list[Pair]:
    """Return the merges, written "left right" in older files and ["left", "right"] in newer ones."""
    pairs: list[Pair] = []
    for rank, merge in enumerate(check_type(merges, list, "the list of merges")):
        symbols = merge.split(" ") if isinstance(merge, str) else check_type(merge, list, f"merge {rank}")
        pairs.append(find_pair(symbols, ids, f"merge {rank}"))
    return pairs


def _order_merges(pairs: list[Pair], tokens: list[Token | None], whole_pieces: bool) -> list[Pair]:
    """Return the merges, one for each token, each using what earlier merges make.

    Files made from a rank file list all pairs that would give a token, keep the order of ranks even if a
    token is made of a later one, and set ignore_merges. Their merges are rebuilt, as for a rank file.
    """
    ranks: dict[Pair, int] = {}
    made: dict[Any, int] = {}  # token -> the rank of the first merge that makes it
    for rank, pair in enumerate(pairs):
        if pair in ranks:
            raise ValueError(f"merge {rank} repeats merge {ranks[pair]}")
        ranks[pair] = rank
        made.setdefault(_join(pair, tokens), rank)
    uses_later = any(made.get(tokens[part], -1) >= rank for pair, rank in ranks.items() for part in pair)
    if len(made) == len(pairs) and not (whole_pieces and uses_later):
        return pairs  # BPETokenizer reports a merge that does use a later token
    return rebuild_merges(tokens, lambda pair, _: ranks.get(pair))


def _join(pair: Pair, tokens: list[Any]) -> Any:
    return tokens[pair[0]] + tokens[pair[1]]


# -- writing -----------------------------------------------------------------------------------------------


def save_tokenizers_json(tokenizer: BPETokenizer, path: str | Path) -> None:
    """Write a tokenizer.json.

    `tokenizers`, and `transformers` with the file as `tokenizer_file` of a `PreTrainedTokenizerFast`, give
    the ids of `encode(text, allowed_special="all")`: they recognize every special token in a text. They drop
    a symbol outside the alphabet, for which `encode` raises.

    Raises ValueError for a pattern that `tokenizers` may read differently, and for a special token spelled
    like another token. Raises OSError as `write_atomically`.
    """
    alphabet_is_bytes = tokenizer.alphabet == "bytes"
    ids = spell_tokens(tokenizer)
    everything = add_special_tokens(ids, tokenizer.special_tokens)
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
            "vocab": ids if _special_tokens_follow(tokenizer) else everything,
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


def _special_tokens_follow(tokenizer: BPETokenizer) -> bool:
    """Return whether the special tokens follow the others without a gap.

    `tokenizers` gives an added token that is not in the vocabulary the next id, whatever the file says.
    """
    ids = [i for i, token in enumerate(tokenizer.vocabulary) if token is not None]
    ids += sorted(tokenizer.special_tokens.values())
    return ids[:1] == [0] and all(later == i + 1 for i, later in pairwise(ids))
