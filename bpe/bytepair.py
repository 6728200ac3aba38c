"""Byte pair encoding: the tokenizer of chapters 3 to 6.

The merge loops work on integers: `bpe.naive` has the ones to read, `bpe.fast` the fast ones. This file turns
text into integers and back, over bytes or over characters.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from bpe import counting, fast, presplit, saving, special, stretches
from bpe._progress import show_progress
from bpe._validate import (
    PositionError,
    check_id,
    check_ids,
    check_integer,
    refuse_surrogates,
    refuse_unordered,
)
from bpe._visible import visible
from bpe.naive import MergeStep, Pair
from bpe.tokenizer import LARGEST_ID, Memory, ReadOnlyDict, Token, Tokenizer

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from bpe.fast.compiled import Encoder

Alphabet = Literal["bytes", "characters"]
Progress = bool | Callable[[MergeStep], object] | None


class BPETokenizer(Tokenizer):
    """A tokenizer is five things, and everything else follows from them.

    tokens: id -> bytes, or id -> str for an alphabet of characters; None for an id that is not in use.
    merges: (left id, right id) in order of rank. The result is the token of the joined bytes.
    split: the regular expressions that cut a text first, as `bpe.presplit` describes; none by default.
    special_tokens: str -> id. Merges never make them, and `tokens` need not hold them.
    whole_pieces: if a piece is itself a token, use that token and skip merging.

    As attributes, `vocabulary` holds the tokens that are not special, and None in place of the special ones.
    Raises ValueError or TypeError, naming the entry, if these do not fit together.
    """

    KIND = "byte pair encoding"
    CONTENT: ClassVar = {
        "alphabet": str,
        "tokens": list,
        "merges": list,
        "split": list,
        "special_tokens": dict,
        "whole_pieces": bool,
    }

    def __init__(
        self,
        tokens: Sequence[Token | None],
        merges: Iterable[Pair] = (),
        split: presplit.Pattern = None,
        special_tokens: Mapping[str, int] | None = None,
        whole_pieces: bool = False,
    ) -> None:
        ordinary, special_ids = _set_apart(tokens, {} if special_tokens is None else special_tokens)
        self.vocabulary = tuple(ordinary)
        self.merges = tuple(as_pairs(merges))
        self.split = presplit.resolve(split)
        self.special_tokens = ReadOnlyDict(special_ids)
        self.unknown_id = None
        if not isinstance(whole_pieces, bool):
            raise TypeError(f"whole_pieces must be True or False, not {whole_pieces!r}")
        self.whole_pieces = whole_pieces
        self.alphabet: Alphabet = find_alphabet(self.vocabulary)
        self._special_names = {i: name for name, i in special_ids.items()}
        self._ids = index_tokens(self.vocabulary)
        self._ranks = rank_pairs(self.merges, self.vocabulary, self._ids)
        # The first item of a bytes token is an int, of a str a str: what iterating over a piece gives.
        self._symbol_ids: dict[Any, int] = {token[0]: i for token, i in self._ids.items() if len(token) == 1}
        self._cache = Memory()

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
    ) -> Self:
        """Learn merges from a text.

        text: a str, or an iterable of str, each its own document: pairs never cross documents.
        vocab_size: target vocabulary size: base tokens + merges + special tokens.
        alphabet: what the base tokens are: the 256 bytes, or the characters of the text.
        base_tokens: these instead, for an alphabet of characters that is wider than the text.
        pattern: how the text is cut first: None, a name from `bpe.presplit`, a regular expression, or a
        list of these. Encoding cuts in the same way.
        special_tokens: strings that get ids of their own, after the merges. The text is cut at them.
        min_frequency: stop when no pair occurs this often, which may leave fewer tokens than the target.
        engine: "naive", "incremental", "compiled" (which needs Numba), or "auto"; all give the same merges.
        progress: a bar for True, none for False; None shows it in interactive use, but not in CI, tests or
        stored notebooks. A function is called with each `MergeStep`.

        Of the most frequent pairs, the one that occurs first in the current sequence is merged.

        >>> BPETokenizer.train("aaabdaaabac", 259).tokens("aaab")
        [b'aaab']
        """
        names = special.check_names(special_tokens)
        # Counting a long text takes a while, so what can fail does so before it.
        fast.choose_engine(engine, 0)
        check_integer(min_frequency, "min_frequency", least=1)
        if base_tokens is not None:
            base_tokens = list(base_tokens)  # perhaps an iterator
        least_base = counting.base_tokens(alphabet, base_tokens, ())
        counting.num_merges(vocab_size, len(least_base), len(names))
        return cls.train_from_counts(
            counting.count(text, pattern, names),
            vocab_size,
            alphabet=alphabet,
            base_tokens=base_tokens,
            pattern=pattern,
            special_tokens=names,
            min_frequency=min_frequency,
            engine=engine,
            progress=progress,
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
    ) -> Self:
        """Learn merges from pieces and how often each occurs, as `count_pieces` gives them.

        The order of `counts` decides ties: of the most frequent pairs, the one that occurs first in the
        earliest piece is merged. If they are in order of first appearance, the merges are those learned from
        the text. The other parameters are those of `train`; `pattern` is only kept for encoding.
        """
        names = special.check_names(special_tokens)
        counts = counting.check_counts(counts)
        if not counts:
            raise ValueError("the training text is empty, so there is nothing to learn from")
        tokens = counting.base_tokens(alphabet, base_tokens, counts)
        num_merges = counting.num_merges(vocab_size, len(tokens), len(names))
        min_frequency = check_integer(min_frequency, "min_frequency", least=1)
        engine = fast.choose_engine(engine, counting.count_characters(counts))
        symbol_ids = {token[0]: i for i, token in enumerate(tokens)}
        if engine == "compiled":
            from bpe.fast import compiled

            arrays = compiled.lay_out(counts, symbol_ids, alphabet == "bytes")
            steps = compiled.learn_from_symbols(*arrays, num_merges, len(tokens), min_frequency)
        else:
            pieces = [[symbol_ids[symbol] for symbol in _symbols(piece, alphabet)] for piece in counts]
            learn_merges = fast.load_engine(engine).learn_merges
            steps = learn_merges(pieces, list(counts.values()), num_merges, len(tokens), min_frequency)
        merges: list[Pair] = []
        for step in show_progress(steps, num_merges, progress, desc="merges"):
            left, right = step.pair
            merges.append(step.pair)
            tokens.append(tokens[left] + tokens[right])
        if min_frequency == 2:  # with another one, training stops where it was meant to
            counting.warn_if_few(len(merges), num_merges)
        return cls(tokens, merges, pattern, {name: len(tokens) + k for k, name in enumerate(names)})

    def with_special_tokens(self, names: Iterable[str]) -> Self:
        """The same tokenizer with more special tokens, whose ids follow the largest one in use."""
        added = special.check_names(names)
        special.check_names([*self.special_tokens, *added])
        specials = {**self.special_tokens, **{name: self.vocab_size + k for k, name in enumerate(added)}}
        return type(self)(self.vocabulary, self.merges, self.split, specials, self.whole_pieces)

    # -- encoding ------------------------------------------------------------------------------------

    def encode(
        self,
        text: str,
        *,
        allowed_special: special.Names = (),
        disallowed_special: special.Names = "all",
        engine: str = "auto",
    ) -> list[int]:
        """Encode a text, as `Tokenizer.encode`.

        engine: as in `train`; all give the same ids.

        Raises as `Tokenizer.encode`; for a character (or byte) outside the alphabet it names the position.
        """
        ids: list[int] = []
        rows = self._encode_rows(
            text, allowed_special=allowed_special, disallowed_special=disallowed_special, engine=engine
        )
        for row in rows:
            ids += row if isinstance(row, list) else row.tolist()
        return ids

    def encode_array(self, text: str, **options: Any) -> NDArray[numpy.int32]:
        """Encode a text to an array, as `Tokenizer.encode_array`; the compiled engine makes no list."""
        import numpy

        rows = list(self._encode_rows(text, **options))
        if len(rows) == 1 and not isinstance(rows[0], list):
            array: NDArray[numpy.int32] = rows[0]
            return array
        arrays = [numpy.asarray(row, dtype=numpy.int32) for row in rows]
        return numpy.concatenate([numpy.empty(0, dtype=numpy.int32), *arrays])

    def _encode_rows(
        self,
        text: str,
        *,
        allowed_special: special.Names = (),
        disallowed_special: special.Names = "all",
        engine: str = "auto",
    ) -> Iterator[Any]:
        """Encode part by part, cut at special tokens: lists of ids, arrays from the compiled engine."""
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, not {type(text).__name__}")
        engine = fast.choose_engine(engine, len(text))
        start = 0
        parts = special.parts(text, self.special_tokens, allowed_special, disallowed_special)
        for part, is_special in parts:
            if is_special:
                yield [self.special_tokens[part]]
            else:
                try:
                    yield self._encode_ordinary(part, engine)
                except (UnicodeEncodeError, KeyError):
                    # Reading the text for lone surrogates beforehand would make encoding about 10 % slower.
                    refuse_surrogates(text)
                    self._refuse_unknown(part, start)
                    raise
            start += len(part)

    def _find_cut(self, text: str, stop: int) -> int:
        if self.split:
            return stretches.find_border(text, stop, self.split)
        if self.whole_pieces:
            return 0
        for place in range(min(stop, len(text) - 1), 0, -1):
            left: Any = text[place - 1]
            right: Any = text[place]
            if self.alphabet == "bytes":  # encoding will refuse a lone surrogate
                left, right = (character.encode("utf-8", "surrogatepass") for character in (left, right))
            if (left[-1], right[0]) not in self._joints:
                return place
        return 0

    def _encode_ordinary(self, text: str, engine: str = "incremental") -> Any:
        """Encode text that holds no special token. Raises KeyError for a symbol outside the alphabet."""
        if engine == "compiled":
            # Without a split the whole text is the piece; the encoder sees only the runs within it.
            if self.whole_pieces and not self.split and (token := _symbols(text, self.alphabet)) in self._ids:
                return [self._ids[token]]
            return self._encoder.encode(text)
        apply_merges = fast.load_engine(engine).apply_merges
        ids: list[int] = []
        for piece in presplit.pieces(text, self.split):
            symbols = _symbols(piece, self.alphabet)
            if self.whole_pieces and symbols in self._ids:
                ids.append(self._ids[symbols])
            elif engine == "naive":
                ids += apply_merges([self._symbol_ids[symbol] for symbol in symbols], self._ranks)
            else:
                ids += self._encode_runs(symbols, apply_merges)
        return ids

    def _encode_runs(self, symbols: Any, apply_merges: Callable[..., list[int]]) -> list[int]:
        """Encode a piece run by run, remembering the ids of short runs."""
        ids: list[int] = []
        for run in presplit.cut_runs(symbols, self._joints):
            merged = self._cache.get(run)
            if merged is None:
                merged = apply_merges([self._symbol_ids[symbol] for symbol in run], self._ranks)
                self._cache.keep(run, merged)
            ids += merged
        return ids

    def _refuse_unknown(self, text: str, start: int) -> None:
        """Raise ValueError for the first symbol outside the alphabet; `start` is where the text begins."""
        for piece in presplit.pieces(text, self.split):
            whole = self.whole_pieces and _symbols(piece, self.alphabet) in self._ids
            for position, character in enumerate("" if whole else piece, start):
                for symbol in _symbols(character, self.alphabet):
                    if symbol in self._symbol_ids:
                        continue
                    name = f"character {character!r} (U+{ord(character):04X})"
                    if isinstance(symbol, int):
                        name = f"byte 0x{symbol:02x} of {character!r}"
                    known = f"the {len(self._symbol_ids):,} base tokens"
                    raise PositionError(name, position, f" is not among {known}")
            start += len(piece)

    @cached_property
    def _encoder(self) -> Encoder:
        from bpe.fast.compiled import Encoder

        whole_pieces = self.whole_pieces and bool(self.split)
        return Encoder(self.vocabulary, self._symbol_ids, self._ranks, self.split, whole_pieces)

    @cached_property
    def _joints(self) -> set[tuple[object, object]]:
        merged: Any = [(self.vocabulary[left], self.vocabulary[right]) for left, right in self.merges]
        return presplit.find_joints(merged)

    # -- decoding ------------------------------------------------------------------------------------

    def decode(self, ids: Iterable[int], errors: str = "replace") -> str:
        """Decode ids to text.

        errors: what to do if their bytes are not UTF-8, as for `bytes.decode`. The default shows U+FFFD,
        which loses the bytes; "strict" raises UnicodeDecodeError.

        Raises TypeError for an id that is not an integer, ValueError for one out of range or not in use.
        """
        # A character may be spread over several tokens, so bytes are joined before they are decoded.
        return self.decode_bytes(ids).decode("utf-8", errors)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Decode ids to bytes, in UTF-8 for an alphabet of characters. Raises as `decode`."""
        joined = io.BytesIO()  # b"".join would keep a record of 80 bytes for each token
        joined.writelines(self._decode_each(ids))
        return joined.getvalue()

    def _decode_each(self, ids: Iterable[int]) -> Iterator[bytes]:
        table = self._bytes_by_id
        for position, i in enumerate(check_ids(ids, self.vocab_size)):
            token = table.get(i)
            if token is None:
                raise ValueError(f"id {i} at position {position} is not in use: no token has it")
            yield token

    @cached_property
    def _bytes_by_id(self) -> dict[int, bytes]:
        # One object for each token, however often it occurs, so a long text takes little memory.
        tokens = {i: token for i, token in enumerate(self.vocabulary) if token is not None}
        return {
            i: token.encode("utf-8") if isinstance(token, str) else token
            for i, token in (tokens | self._special_names).items()
        }

    # -- what it is ----------------------------------------------------------------------------------

    def token(self, id: int) -> Token | None:
        """Return the token of an id: bytes, or str for an alphabet of characters; None for an unused id.

        A special token comes as its UTF-8 where the alphabet is bytes. Raises as `Tokenizer.token`.
        """
        index = check_id(id, self.vocab_size)
        if index in self._special_names:
            name: Token = _symbols(self._special_names[index], self.alphabet)
            return name
        return self.vocabulary[index] if index < len(self.vocabulary) else None

    @cached_property
    def _ids_by_token(self) -> dict[Token, int]:
        # Not id by id: the ids of special tokens may be far above the others.
        special = {self.token(i): i for i in self._special_names}
        return {**dict(self.special_tokens.items()), **special, **self._ids}  # type: ignore[dict-item]

    @property
    def vocab_size(self) -> int:
        """The largest id + 1, special tokens and unused ids included."""
        return max(len(self.vocabulary), 1 + max(self._special_names, default=-1))

    def __len__(self) -> int:
        """The number of ids in use, so without holes."""
        return len(self._ids) + len(self._special_names)

    def save(self, path: str | Path) -> None:
        """Write the tokenizer as JSON; an existing file is replaced only once the new one is complete."""
        saving.save_content(path, self.KIND, self._content(), ties="first occurrence")

    def _content(self) -> dict[str, Any]:
        return {
            "alphabet": self.alphabet,
            # JSON has no bytes, and not every token is UTF-8.
            "tokens": [token.hex() if isinstance(token, bytes) else token for token in self.vocabulary],
            "merges": self.merges,
            "split": self.split,
            "special_tokens": dict(self.special_tokens),
            "whole_pieces": self.whole_pieces,
        }

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Self:
        tokens, alphabet = content["tokens"], content["alphabet"]
        if alphabet not in ("bytes", "characters"):
            raise ValueError(f"unknown alphabet {alphabet!r}")
        if alphabet == "bytes":
            tokens = [None if token is None else bytes.fromhex(token) for token in tokens]
        return cls(
            tokens, content["merges"], content["split"], content["special_tokens"], content["whole_pieces"]
        )

    def _own_facts(self) -> dict[str, str]:
        return {
            "alphabet": self.alphabet,
            "merges": f"{len(self.merges):,}",
            "split": "\n".join(visible(expression, keep=" ") for expression in self.split) or "none",
        }

    def __repr__(self) -> str:
        return (
            f"<BPETokenizer: {len(self):,} tokens over {self.alphabet}, {len(self.merges):,} merges, "
            f"{len(self.special_tokens)} special>"
        )


def _symbols(piece: str, alphabet: str) -> Any:
    """Return what a piece is made of: its bytes, or the piece itself for an alphabet of characters."""
    return piece.encode("utf-8") if alphabet == "bytes" else piece


# --- the parts of a tokenizer, validated on construction


def _set_apart(
    tokens: Sequence[Token | None], special_tokens: Mapping[str, int]
) -> tuple[list[Token | None], dict[str, int]]:
    """Separate the ordinary tokens from the special ones, which may be among `tokens` or not."""
    refuse_unordered(tokens, "tokens")
    if not isinstance(special_tokens, Mapping):
        raise TypeError(
            f"special_tokens must be a mapping from each to its id, such as {{'<|end|>': 256}}, not "
            f"{type(special_tokens).__name__}"
        )
    ordinary, ids = list(tokens), {}
    names: dict[int, str] = {}
    for name in special.check_names(list(special_tokens)):
        i = check_integer(special_tokens[name], f"the id of special token {name!r}", least=0)
        if i > LARGEST_ID:
            raise ValueError(f"special token {name!r} has the id {i}; the largest is {LARGEST_ID}")
        held = ordinary[i] if i < len(ordinary) else None
        if i in names or held not in (None, name, name.encode("utf-8")):
            other = names.get(i, held)
            raise ValueError(f"special token {name!r} has the id {i}, which is already that of {other!r}")
        names[i], ids[name] = name, i
        if held is not None:
            ordinary[i] = None
    while ordinary and ordinary[-1] is None:
        ordinary.pop()
    return ordinary, ids


def as_pairs(merges: Iterable[Pair]) -> list[Pair]:
    """Return the merges as tuples of int. Raises TypeError, naming the rank, for what is not a pair."""
    refuse_unordered(merges, "merges")
    pairs: list[Pair] = []
    for rank, pair in enumerate(merges):
        # Every pair of a trained tokenizer is a tuple of two int.
        if type(pair) is not tuple or list(map(type, pair)) != [int, int]:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise TypeError(f"merge {rank} must be a pair of ids, (left, right), not {pair!r}")
            name = f"an id of merge {rank}"
            pair = check_integer(pair[0], name), check_integer(pair[1], name)
        pairs.append(pair)
    return pairs


def find_alphabet(vocabulary: Sequence[Token | None]) -> Alphabet:
    """Tell whether the tokens are bytes or str. Raises TypeError if they are mixed, neither, or none."""
    kinds = {type(token) for token in vocabulary if token is not None}
    if kinds not in ({bytes}, {str}):
        names = ", ".join(sorted(kind.__name__ for kind in kinds)) or "none at all"
        raise TypeError(f"tokens must be all bytes or all str (None for an unused id), not {names}")
    return "bytes" if kinds == {bytes} else "characters"


def index_tokens(vocabulary: Sequence[Token | None]) -> dict[Token, int]:
    """Map token -> id. Raises ValueError for an empty token, a lone surrogate, and a repeated token."""
    ids: dict[Token, int] = {}
    for i, token in enumerate(vocabulary):
        if token is None:
            continue
        if not token:
            raise ValueError(f"token {i} is empty")
        if isinstance(token, str):
            refuse_surrogates(token)
        if ids.setdefault(token, i) != i:
            raise ValueError(f"tokens {ids[token]} and {i} are both {token!r}")
    return ids


def rank_pairs(
    merges: Sequence[Pair], vocabulary: Sequence[Token | None], ids: Mapping[Token, int]
) -> dict[Pair, tuple[int, int]]:
    """Map pair -> (rank, id of the joined token).

    Raises ValueError unless each merge joins tokens that are single symbols or made by an earlier merge,
    into a token of the vocabulary that no other merge makes. Then a merge never makes a pair with a lower
    rank than its own, which the engines rely on.
    """
    ranks: dict[Pair, tuple[int, int]] = {}
    made: set[int] = set()
    for rank, pair in enumerate(merges):
        joining: list[Any] = []
        for i in pair:
            token = vocabulary[i] if 0 <= i < len(vocabulary) else None
            if token is None:
                raise ValueError(f"merge {rank} uses the id {i}, which no token has")
            if len(token) > 1 and i not in made:
                raise ValueError(f"merge {rank} uses token {i}, {token!r}, which no earlier merge makes")
            joining.append(token)
        joined = joining[0] + joining[1]
        if joined not in ids:
            raise ValueError(f"merge {rank} makes {joined!r}, which is not among the tokens")
        if ids[joined] in made:
            raise ValueError(f"merge {rank} makes {joined!r}, which an earlier merge makes already")
        made.add(ids[joined])
        ranks[pair] = rank, ids[joined]
    return ranks
