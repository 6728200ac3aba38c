"""Byte pair encoding: the tokenizer, its training, and its file.

The loops are in the engines, `bpe.naive`, `bpe.incremental` and `bpe.compiled`, which work on integers. This
file turns text into integers and back, over bytes or over characters.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpe import parts, presplit, runs, special, storage
from bpe.counting import counted
from bpe.engines import engine_for, engine_named
from bpe.inputs import id_below, integer, mapping_of, refuse_surrogates
from bpe.pairs import MergeStep
from bpe.parts import Alphabet, Pair, Token
from bpe.progress import watched

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from bpe.compiled import Encoder

Progress = bool | Callable[[MergeStep], object] | None

LARGEST_ID = 2**31 - 1  # in an array of int32

# What a tokenizer remembers of encoding: at most so many runs of symbols, each at most so long.
CACHED_RUNS, CACHED_LENGTH = 100_000, 64


class BPETokenizer:
    """A tokenizer is five things, and everything else follows from them.

    tokens: id -> bytes, or id -> str for an alphabet of characters; None where an id is not in use.
    merges: (left id, right id) in the order of their rank. The result is the token of the joined bytes.
    split: the regular expressions that cut a text first, as `bpe.presplit` describes; none by default.
    special_tokens: str -> id. They are never made by merges, and `tokens` need not hold them.
    whole_pieces: take a piece that is itself a token as that token, before any merge.

    Raises ValueError or TypeError, naming the entry, where these do not fit together.
    """

    KIND = "byte pair encoding"

    def __init__(
        self,
        tokens: Sequence[Token | None],
        merges: Iterable[Pair] = (),
        split: presplit.Pattern = None,
        special_tokens: Mapping[str, int] | None = None,
        whole_pieces: bool = False,
    ) -> None:
        self.vocabulary: list[Token | None] = list(tokens)
        self.merges: list[Pair] = parts.pairs_of(merges)
        self.split = presplit.resolve(split)
        self.special_tokens: dict[str, int] = dict(special_tokens or {})
        self.whole_pieces = bool(whole_pieces)
        self._special_names = self._placed_special_tokens()
        self.alphabet: Alphabet = parts.alphabet_of(self.vocabulary)
        self._ids = parts.ids_of(self.vocabulary)
        self._ranks = parts.ranks_of(self.merges, self.vocabulary, self._ids)
        # The first item of a bytes token is an int, of a str a str: what iterating over a piece gives.
        self._symbol_ids: dict[Any, int] = {token[0]: i for token, i in self._ids.items() if len(token) == 1}
        self._cache: dict[Token, list[int]] = {}

    def _placed_special_tokens(self) -> dict[int, str]:
        """id -> special token, after checks; `vocabulary` then holds ordinary tokens only."""
        special.different(self.special_tokens)
        names: dict[int, str] = {}
        for name, i in self.special_tokens.items():
            i = integer(i, f"the id of special token {name!r}", least=0)
            held = self.vocabulary[i] if i < len(self.vocabulary) else None
            if i in names or held not in (None, name, name.encode("utf-8")):
                raise ValueError(f"special token {name!r} has the id {i}, which is {names.get(i, held)!r}")
            names[i] = name
            self.special_tokens[name] = i
            if held is not None:
                self.vocabulary[i] = None
        while self.vocabulary and len(self.vocabulary) - 1 in names:
            self.vocabulary.pop()
        return names

    # -- training ------------------------------------------------------------------------------------

    @classmethod
    def train(
        cls,
        text: str | Iterable[str],
        vocab_size: int,
        *,
        alphabet: Alphabet = "bytes",
        base_tokens: Iterable[Token] | None = None,
        pattern: presplit.Pattern = None,
        special_tokens: Iterable[str] = (),
        min_frequency: int = 2,
        engine: str = "auto",
        progress: Progress = None,
    ) -> BPETokenizer:
        """Learn merges from a text.

        text: a str, or an iterable of str, each its own document: pairs never cross documents.
        vocab_size: how many tokens there are to be: base tokens + merges + special tokens.
        alphabet: what the base tokens are: the 256 bytes, or the characters of the text.
        base_tokens: these instead, for an alphabet of characters that is wider than the text.
        pattern: how the text is cut first: None, a name from `bpe.presplit`, a regular expression, or a
        list of these. Encoding cuts in the same way.
        special_tokens: strings that get ids of their own, after the merges. The text is cut at them.
        min_frequency: stop when no pair occurs so often, which may leave fewer tokens than asked for.
        engine: "naive", "incremental", "compiled" (which needs Numba), or "auto"; all give the same merges.
        progress: a bar for True, none for False; None shows it to people and not in CI, tests and stored
        notebooks. A function is called with each `MergeStep`.

        Of the most frequent pairs, the one that occurs first in the current sequence is merged.

        >>> BPETokenizer.train("aaabdaaabac", 259).tokens("aaab")
        [b'aaab']
        """
        names = special.different(special_tokens)
        # Counting a long text takes a while: what else may be wrong is said before it.
        engine_for(engine, 0)
        integer(min_frequency, "min_frequency", least=1)
        counts = counted(text, pattern, names)
        return cls._learned(
            counts, vocab_size, alphabet, base_tokens, pattern, names, min_frequency, engine, progress
        )

    @classmethod
    def train_from_counts(
        cls,
        counts: Mapping[str, int],
        vocab_size: int,
        *,
        alphabet: Alphabet = "bytes",
        base_tokens: Iterable[Token] | None = None,
        pattern: presplit.Pattern = None,
        special_tokens: Iterable[str] = (),
        min_frequency: int = 2,
        engine: str = "auto",
        progress: Progress = None,
    ) -> BPETokenizer:
        """Learn merges from pieces and how often each occurs, as `count_pieces` gives them.

        The order of `counts` decides ties: of the most frequent pairs, the one that occurs first in the
        earliest piece is merged. In the order of the pieces' first appearance, the merges are those of
        the text itself. The other parameters are those of `train`; `pattern` is only kept for encoding.
        """
        names = special.different(special_tokens)
        return cls._learned(
            _checked_counts(counts),
            vocab_size,
            alphabet,
            base_tokens,
            pattern,
            names,
            min_frequency,
            engine,
            progress,
        )

    @classmethod
    def _learned(
        cls,
        counts: Mapping[str, int],
        vocab_size: int,
        alphabet: Alphabet,
        base_tokens: Iterable[Token] | None,
        pattern: presplit.Pattern,
        names: Collection[str],
        min_frequency: int,
        engine: str,
        progress: Progress,
    ) -> BPETokenizer:
        """The tokenizer that these counts lead to, whose pieces and numbers have been checked."""
        if not counts:
            raise ValueError("the training text is empty, so there is nothing to learn from")
        base = _base_tokens(alphabet, base_tokens, counts)
        num_merges = _num_merges(vocab_size, len(base), len(names))
        min_frequency = integer(min_frequency, "min_frequency", least=1)
        # `bpe.compiled.Pieces` know their size; to add it up they would have to become strings.
        size = getattr(counts, "size", None) or sum(map(len, counts))
        steps = _steps(counts, base, num_merges, min_frequency, engine_for(engine, size))
        tokens: list[Any] = list(base)
        merges: list[Pair] = []
        for step in watched(steps, num_merges, progress, desc="merges"):
            left, right = step.pair
            merges.append(step.pair)
            tokens.append(tokens[left] + tokens[right])
        return cls(tokens, merges, pattern, {name: len(tokens) + k for k, name in enumerate(names)})

    def with_special_tokens(self, names: Iterable[str]) -> BPETokenizer:
        """The same tokenizer with more special tokens, whose ids follow the largest one in use."""
        added = special.different(names)
        special.different([*self.special_tokens, *added])
        ids = {name: self.vocab_size + k for k, name in enumerate(added)}
        return BPETokenizer(
            self.vocabulary, self.merges, self.split, self.special_tokens | ids, self.whole_pieces
        )

    # -- encoding ------------------------------------------------------------------------------------

    def encode(
        self,
        text: str,
        *,
        allowed_special: special.Names = (),
        disallowed_special: special.Names = "all",
        engine: str = "auto",
    ) -> list[int]:
        """The ids of the text.

        allowed_special: special tokens that are taken as such where the text holds them, or "all".
        disallowed_special: those at which to raise, also where they are allowed; by default all that are
        not allowed. With () they are ordinary text.

        Raises ValueError, naming it and its position, for a special token that is not allowed, for a
        character (or byte) outside the alphabet, and for a lone surrogate.
        """
        array = self._encoded(text, allowed_special, disallowed_special, engine)
        if array is not None:
            listed: list[int] = array.tolist()
            return listed
        refuse_surrogates(text)
        engine = engine_for(engine, len(text))
        if engine == "compiled":
            engine = "incremental"  # it says which symbol has no token
        apply_merges = engine_named(engine).apply_merges
        ids: list[int] = []
        start = 0
        for part, is_special in special.parts(text, self.special_tokens, allowed_special, disallowed_special):
            for piece in [part] if is_special else presplit.pieces(part, self.split):
                token = self._as_token(piece)
                if is_special:
                    ids.append(self.special_tokens[piece])
                elif self.whole_pieces and token in self._ids:
                    ids.append(self._ids[token])
                else:
                    try:
                        ids += self._merged(token, apply_merges, cached=engine != "naive")
                    except KeyError as error:
                        raise self._unknown(error.args[0], piece, start) from None
                start += len(piece)
        return ids

    def _merged(self, piece: Any, apply_merges: Callable[..., list[int]], cached: bool) -> list[int]:
        """The ids of a piece. Raises KeyError for a symbol outside the alphabet."""
        if not cached:
            return apply_merges([self._symbol_ids[symbol] for symbol in piece], self._ranks)
        ids: list[int] = []
        for run in runs.cut(piece, self._joints):
            merged = self._cache.get(run)
            if merged is None:
                merged = apply_merges([self._symbol_ids[symbol] for symbol in run], self._ranks)
                if len(run) <= CACHED_LENGTH and len(self._cache) < CACHED_RUNS:
                    self._cache[run] = merged
            ids += merged
        return ids

    def _unknown(self, symbol: int | str, piece: str, start: int) -> ValueError:
        """The error for a symbol outside the alphabet; `start` is where the piece begins in the text."""
        if isinstance(symbol, str):
            position = piece.index(symbol)
            name = f"character {symbol!r} (U+{ord(symbol):04X})"
        else:
            encoded = piece.encode("utf-8")
            position = len(encoded[: encoded.index(symbol)].decode("utf-8", "ignore"))
            name = f"byte 0x{symbol:02x} of {piece[position]!r}"
        return ValueError(
            f"{name} at position {start + position} is not among the {len(self._symbol_ids):,} base tokens"
        )

    def encode_array(
        self,
        text: str,
        *,
        allowed_special: special.Names = (),
        disallowed_special: special.Names = "all",
        engine: str = "auto",
    ) -> NDArray[numpy.int32]:
        """The ids of the text as a numpy array of int32, of shape (number of tokens,).

        The options are those of `encode`. The compiled engine makes the array without a list. Raises
        ValueError as `encode` does, and for the id of a special token that int32 can't hold.
        """
        import numpy

        array = self._encoded(text, allowed_special, disallowed_special, engine)
        if array is not None:
            return array
        ids = self.encode(
            text, allowed_special=allowed_special, disallowed_special=disallowed_special, engine=engine
        )
        if ids and max(ids) > LARGEST_ID:
            raise ValueError(f"id {max(ids)} is too large for an array of int32: `encode` gives a list")
        return numpy.array(ids, dtype=numpy.int32)

    def _encoded(
        self, text: str, allowed_special: special.Names, disallowed_special: special.Names, engine: str
    ) -> NDArray[numpy.int32] | None:
        """The ids by the compiled engine; None for another, and where a symbol or an id can't be taken."""
        if not isinstance(text, str) or engine_for(engine, len(text)) != "compiled":
            return None
        import numpy

        arrays = []
        for part, is_special in special.parts(text, self.special_tokens, allowed_special, disallowed_special):
            if is_special and self.special_tokens[part] > LARGEST_ID:
                return None
            if is_special:
                arrays.append(numpy.array([self.special_tokens[part]], dtype=numpy.int32))
            elif (ids := self._encoder.encode(part)) is not None:
                arrays.append(ids)
            else:
                return None
        if len(arrays) == 1:
            return arrays[0]
        return numpy.concatenate([numpy.empty(0, dtype=numpy.int32), *arrays])

    @cached_property
    def _encoder(self) -> Encoder:
        from bpe.compiled import Encoder

        return Encoder(self.vocabulary, self._symbol_ids, self._ranks, self.split, self.whole_pieces)

    def tokens(self, text: str, **options: Any) -> list[Token | None]:
        """The tokens of the text; the options are those of `encode`."""
        return [self.token(i) for i in self.encode(text, **options)]

    def _as_token(self, piece: str) -> Any:
        return piece.encode("utf-8") if self.alphabet == "bytes" else piece

    @cached_property
    def _joints(self) -> set[tuple[object, object]]:
        merged: Any = [(self.vocabulary[left], self.vocabulary[right]) for left, right in self.merges]
        return runs.joints(merged)

    # -- decoding ------------------------------------------------------------------------------------

    def token(self, id: int) -> Token | None:
        """The token of one id: bytes, or str for an alphabet of characters; None for an unused id.

        Raises TypeError for what is no integer, ValueError out of range.
        """
        index = id_below(id, self.vocab_size)
        if index in self._special_names:
            name = self._special_names[index]
            return name.encode("utf-8") if self.alphabet == "bytes" else name
        return self.vocabulary[index] if index < len(self.vocabulary) else None

    def decode(self, ids: Iterable[int], errors: str = "replace") -> str:
        """The text of the ids.

        errors: what to do where their bytes are not UTF-8, as for `bytes.decode`. The default shows
        U+FFFD, which loses the bytes; "strict" raises UnicodeDecodeError.

        Raises TypeError for an id that is no integer, ValueError for one out of range or not in use.
        """
        # A character may be spread over several tokens, so bytes are joined before they are decoded.
        return self.decode_bytes(ids).decode("utf-8", errors)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of the ids, in UTF-8 for an alphabet of characters. Raises as `decode` does."""
        joined = io.BytesIO()  # b"".join would keep a record of 80 bytes for each token
        joined.writelines(self._decoded(ids))
        return joined.getvalue()

    def _decoded(self, ids: Iterable[int]) -> Iterator[bytes]:
        table, vocab_size = self._bytes_by_id, self.vocab_size
        for position, i in enumerate(ids):
            token = table.get(id_below(i, vocab_size))
            if token is None:
                raise ValueError(f"id {i} at position {position} is not in use: no token has it")
            yield token

    @cached_property
    def _bytes_by_id(self) -> dict[int, bytes]:
        # One object for each token, however often it occurs: a long text then takes little memory.
        tokens = {i: token for i, token in enumerate(self.vocabulary) if token is not None}
        return {
            i: token.encode("utf-8") if isinstance(token, str) else token
            for i, token in (tokens | self._special_names).items()
        }

    # -- what it is ----------------------------------------------------------------------------------

    @property
    def vocab_size(self) -> int:
        """The largest id + 1, special tokens and unused ids included."""
        return max(len(self.vocabulary), 1 + max(self._special_names, default=-1))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, over the five things that define the tokenizer."""
        return storage.fingerprint(self.KIND, self._content())

    def save(self, path: str | Path) -> None:
        """Write the tokenizer as JSON; an earlier file is replaced only when all is written."""
        storage.save(path, self.KIND, self._content(), ties="first occurrence")

    @classmethod
    def load(cls, path: str | Path) -> BPETokenizer:
        """Read what `save` wrote. Raises ValueError for any other or damaged file."""
        content = storage.load(path, cls.KIND)
        try:
            tokens = content["tokens"]
            if content["alphabet"] == "bytes":
                tokens = [None if token is None else bytes.fromhex(token) for token in tokens]
            return cls(
                tokens,
                content["merges"],
                content["split"],
                content["special_tokens"],
                content["whole_pieces"],
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None

    def _content(self) -> dict[str, Any]:
        return {
            "alphabet": self.alphabet,
            # JSON has no bytes, and not every token is UTF-8.
            "tokens": [token.hex() if isinstance(token, bytes) else token for token in self.vocabulary],
            "merges": self.merges,
            "split": self.split,
            "special_tokens": self.special_tokens,
            "whole_pieces": self.whole_pieces,
        }

    def __repr__(self) -> str:
        return (
            f"<BPETokenizer: {self.vocab_size:,} tokens over {self.alphabet}, {len(self.merges):,} merges, "
            f"{len(self.special_tokens)} special>"
        )


def _steps(
    counts: Mapping[str, int], base: Sequence[Any], num_merges: int, min_frequency: int, engine: str
) -> Iterator[MergeStep]:
    """The merges that an engine learns from counted pieces."""
    base_ids: dict[Any, int] = {token[0]: i for i, token in enumerate(base)}
    as_bytes = isinstance(base[0], bytes)
    if engine == "compiled":
        from bpe import compiled

        symbols, weights = compiled.laid_out(counts, base_ids, as_bytes)
        return compiled.learn(symbols, weights, num_merges, len(base), min_frequency)
    pieces = [[base_ids[symbol] for symbol in (piece.encode() if as_bytes else piece)] for piece in counts]
    steps: Iterator[MergeStep] = engine_named(engine).learn_merges(
        pieces, list(counts.values()), num_merges, len(base), min_frequency
    )
    return steps


def _num_merges(vocab_size: int, num_base: int, num_special: int) -> int:
    num_merges = integer(vocab_size, "vocab_size") - num_base - num_special
    if num_merges < 0:
        raise ValueError(
            f"vocab_size {vocab_size:,} is too small: there are {num_base:,} base tokens and {num_special:,} "
            f"special tokens, so the least is {num_base + num_special:,}"
        )
    return num_merges


def _checked_counts(counts: Mapping[str, int]) -> dict[str, int]:
    checked: dict[str, int] = {}
    for piece, count in mapping_of(counts, "counts").items():
        if not isinstance(piece, str) or not piece:
            raise ValueError(f"a piece must be a string that is not empty, not {piece!r}")
        try:
            refuse_surrogates(piece)
        except ValueError as error:
            raise ValueError(f"piece {piece!r}: {error}") from None
        checked[piece] = integer(count, f"the count of {piece!r}", least=1)
    return checked


def _base_tokens(alphabet: str, given: Iterable[Token] | None, counts: Mapping[str, int]) -> list[Any]:
    """The tokens that training starts from: all bytes, or the sorted characters."""
    if alphabet not in ("bytes", "characters"):
        raise ValueError(f"unknown alphabet {alphabet!r}: choose 'bytes' or 'characters'")
    if alphabet == "bytes":
        if given is not None:
            raise ValueError("base_tokens are for alphabet='characters'; bytes are always all 256")
        return [bytes([value]) for value in range(256)]
    needed = set().union(*counts)
    base = needed if given is None else set(given)
    for token in base:
        if not isinstance(token, str) or len(token) != 1:
            raise ValueError(f"a base token must be a single character, not {token!r}")
    if missing := needed - base:
        character = min(missing)
        raise ValueError(
            f"character {character!r} (U+{ord(character):04X}) of the training text is not in base_tokens"
        )
    return sorted(base)
