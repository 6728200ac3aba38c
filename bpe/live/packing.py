"""Tokenizers as small data for a page: `live.js` unpacks them and encodes as they do."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable
from itertools import chain, pairwise
from typing import Any

from bpe.bytepair import BPETokenizer
from bpe.characters import CharTokenizer
from bpe.live import patterns
from bpe.subwords.lattice import BYTES
from bpe.subwords.unigram import UNKNOWN_PENALTY, Unigram
from bpe.tokenizer import Token, Tokenizer

MOST_TOKENS = 40_000  # of a tokenizer: vocabularies of real models have more, and are not ours to publish
INLINE = 4  # ranges; a class with more is kept once for all expressions


def pack_numbers(numbers: Iterable[int]) -> str:
    """Pack integers of 0 or more in base64: seven bits a byte, lowest first; the eighth bit: more follow.

    >>> pack_numbers([1, 300])
    'AawC'
    """
    packed = bytearray()
    for number in numbers:
        while number > 127:
            packed.append(number & 127 | 128)
            number >>= 7
        packed.append(number)
    return base64.b64encode(packed).decode("ascii")


def pack_ascending(numbers: Iterable[int]) -> str:
    """Pack integers in ascending order, as the differences from one to the next."""
    return pack_numbers(after - before for before, after in pairwise(chain([0], numbers)))


def _pack_floats(numbers: Iterable[float]) -> str:
    return base64.b64encode(b"".join(struct.pack("<f", number) for number in numbers)).decode("ascii")


def pack_class(ranges: patterns.Ranges) -> str:
    return pack_ascending(chain.from_iterable(ranges))


class Classes:
    """The large classes of characters that expressions refer to by number, each once."""

    def __init__(self) -> None:
        self._numbers: dict[patterns.Ranges, int] = {}

    def pack_expression(self, expression: str) -> list[str | int]:
        """Return an expression in parts: text for JavaScript, and numbers of classes."""
        packed: list[str | int] = [""]
        for part in patterns.translate(expression):
            if isinstance(part, tuple) and len(part) > INLINE:
                packed += [self._numbers.setdefault(part, len(self._numbers)), ""]
            else:
                packed[-1] += part if isinstance(part, str) else patterns.spell(part)  # type: ignore[operator]
        return [part for part in packed if part != ""]

    def packed(self) -> list[str]:
        return [pack_class(ranges) for ranges in self._numbers]


def pack_tokenizer(tokenizer: Tokenizer, label: str, classes: Classes) -> dict[str, Any]:
    """Return what `unpackTokenizer` in live.js reads.

    Raises ValueError for another kind than BPETokenizer, CharTokenizer and Unigram, for more than 40,000
    tokens, and for a pattern that JavaScript has no counterpart of.
    """
    if len(tokenizer) > MOST_TOKENS:
        raise ValueError(
            f"a tokenizer of {len(tokenizer):,} tokens is too large for a page, which takes at most "
            f"{MOST_TOKENS:,}; explorer(…, kernel=True) takes any"
        )
    if isinstance(tokenizer, BPETokenizer):
        results = [_joined(tokenizer, pair) for pair in tokenizer.merges]
        return {
            "label": label,
            "alphabet": tokenizer.alphabet,
            **_pack_base(tokenizer, set(results)),
            "merges": pack_numbers(chain.from_iterable(tokenizer.merges)),
            **_pack_results(results),
            "split": [classes.pack_expression(expression) for expression in tokenizer.split],
            "whole": tokenizer.whole_pieces,
            "unknown": None,
            "unknown_name": None,
        }
    if isinstance(tokenizer, CharTokenizer):
        return {
            "label": label,
            "alphabet": "characters",
            "singles": "".join(tokenizer.characters),
            "places": None,
            "longer": [],
            "merges": "",
            **_pack_results([]),
            "split": [],
            "whole": False,
            "unknown": tokenizer.unknown_id,
            "unknown_name": tokenizer.unknown,
        }
    if isinstance(tokenizer, Unigram):
        return _pack_unigram(tokenizer, label)
    raise ValueError(
        f"a page can encode with BPETokenizer, CharTokenizer and Unigram, not with "
        f"{type(tokenizer).__name__}; explorer(…, kernel=True) takes every kind"
    )


def _pack_unigram(tokenizer: Unigram, label: str) -> dict[str, Any]:
    """The pieces that a text is cut into, with their scores as numbers of 32 bits, and the bytes."""
    scored = tokenizer.scored_pieces()
    ids = {entry.text: i for i, entry in enumerate(tokenizer.entries) if entry.kind == "byte"}
    return {
        "label": label,
        "alphabet": "pieces",
        "pieces": list(scored),
        "ids": pack_numbers(i for i, _ in scored.values()),
        "scores": _pack_floats(score for _, score in scored.values()),
        "unknown_score": min(entry.score for entry in tokenizer.entries if entry.kind == "normal")
        - UNKNOWN_PENALTY,
        "bytes": [ids[name] for name in BYTES] if ids else [],
        "prefix": tokenizer.prefix,
        "unknown": tokenizer.unknown_id,
        "unknown_name": None if tokenizer.unknown_id is None else tokenizer.vocabulary[tokenizer.unknown_id],
    }


def _joined(tokenizer: BPETokenizer, pair: tuple[int, int]) -> int:
    """The id that a merge makes."""
    left, right = (tokenizer.vocabulary[i] for i in pair)
    return tokenizer.id_of(left + right)  # type: ignore[operator]


def _pack_results(results: list[int]) -> dict[str, Any]:
    """The ids that merges make: usually one after the other."""
    first = results[0] if results else 0
    in_order = results == list(range(first, first + len(results)))
    return {"first": first, "made": None if in_order else pack_numbers(results)}


def _pack_base(tokenizer: BPETokenizer, made: set[int]) -> dict[str, Any]:
    """The tokens that no merge makes: symbols, and perhaps some longer ones."""
    base = {i: to_string(token) for i, token in enumerate(tokenizer.vocabulary) if token and i not in made}
    singles = {i: token for i, token in base.items() if len(token) == 1}
    longer = [(i, token) for i, token in base.items() if len(token) > 1]
    if tokenizer.alphabet == "bytes" and list(singles.items()) == [(i, chr(i)) for i in range(256)]:
        return {"singles": None, "places": None, "longer": longer}
    return {"singles": "".join(singles.values()), "places": pack_ascending(singles), "longer": longer}


def to_string(token: Token) -> str:
    """Return a token as a string of JavaScript: bytes as the characters U+0000 to U+00FF."""
    return token if isinstance(token, str) else token.decode("latin-1")
