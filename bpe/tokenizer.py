"""What all tokenizers have in common. Each kind adds only how it learns, encodes and decodes."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from sys import getsizeof
from textwrap import shorten
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from bpe import saving, special, stretches
from bpe._validate import (
    LONGEST_MESSAGE,
    PositionError,
    check_id,
    check_integer,
    cut_short,
    refuse_surrogates,
    refuse_unordered,
)
from bpe._visible import visible

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

Token = bytes | str
Options = Any  # keyword arguments of `encode`

LARGEST_ID = 2**31 - 1  # so that int32 holds every id
BATCH = 1 << 16  # tokens that are joined at once


class Memory(dict[Any, list[int]]):
    """The ids of pieces that were encoded before: up to 32 MB of them, and no piece of more than 64 symbols.

    Long pieces rarely come again. What is full stays as it is.
    """

    LONGEST, LARGEST, ENTRY = 64, 32_000_000, 100  # ENTRY: bytes that a dict takes for an entry, roughly
    size = 0  # bytes

    def keep(self, piece: Token, ids: list[int]) -> None:
        if len(piece) <= self.LONGEST:
            size = getsizeof(piece) + getsizeof(ids) + self.ENTRY
            if self.size + size <= self.LARGEST:
                self.size += size
                self[piece] = ids


class ReadOnlyDict(dict[str, int]):
    """A dict that can't be changed. It is still a dict for json, pickle, and libraries that insist on one."""

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError("a tokenizer can't be changed: make another one with the special tokens you want")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class Tokenizer(ABC):
    """Text to ids and back. The base class of every kind of tokenizer in this module.

    vocabulary: id -> token; None for an id that is not in use, and for a special token kept outside.
    special_tokens: str -> id, in the order in which they were given; read-only.
    unknown_id: the id that stands for what can't be encoded, or None.

    What defines a tokenizer can't be changed after construction: to change one, make another. So two
    tokenizers are equal if their fingerprints are, and a tokenizer can be a key of a dict. Pickles and copies
    carry what defines it, and nothing that it remembers from encoding.
    """

    KIND: ClassVar[str]  # its name in files, a key of `bpe.saving.KINDS`
    CONTENT: ClassVar[dict[str, type | tuple[type, ...]]]  # what a file of this kind holds, and of which type
    vocabulary: tuple[Token | None, ...]
    special_tokens: Mapping[str, int]
    unknown_id: int | None

    # -- what a kind defines -------------------------------------------------------------------------

    @abstractmethod
    def _encode_ordinary(self, text: str) -> list[int]:
        """Encode text that holds no special token."""

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids to text."""

    @abstractmethod
    def _content(self) -> dict[str, Any]:
        """Return all that defines the tokenizer, as JSON holds it."""

    def _find_cut(self, text: str, stop: int) -> int:
        """Return the last place, up to `stop`, where any text may be cut and encoded in two; 0 if none.

        By default there is none.
        """
        return 0

    def _decode_each(self, ids: Iterable[int]) -> Iterator[bytes]:
        """Yield the parts of what `decode_bytes` returns, by default a single one."""
        yield self.decode_bytes(ids)

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Self:
        """Make the tokenizer that `_content` describes; by default, from the arguments of `__init__`."""
        return cls(**content)

    # -- text to ids ---------------------------------------------------------------------------------

    def encode(
        self, text: str, *, allowed_special: special.Names = (), disallowed_special: special.Names = "all"
    ) -> list[int]:
        """Encode a text.

        allowed_special: special tokens that become their ids where the text holds them, or "all".
        disallowed_special: special tokens at which to raise; by default all that are not allowed. With (),
        the others are ordinary text.

        Raises ValueError, naming it and its position, for a special token that is not allowed and for a lone
        surrogate; ValueError, naming it, for a character without a token; TypeError if `text` is not a str.
        """
        return self._encode_parts(text, allowed_special, disallowed_special, self._encode_ordinary)

    def _encode_parts(
        self,
        text: str,
        allowed: special.Names,
        disallowed: special.Names,
        encode_ordinary: Callable[[str], list[int]],
    ) -> list[int]:
        refuse_surrogates(text)
        ids: list[int] = []
        for part, is_special in special.parts(text, self.special_tokens, allowed, disallowed):
            ids += [self.special_tokens[part]] if is_special else encode_ordinary(part)
        return ids

    def encode_array(self, text: str, **options: Options) -> NDArray[numpy.int32]:
        """Encode a text to a numpy array of int32, of shape (number of tokens,).

        options: those of `encode`. Raises as `encode`.
        """
        import numpy

        return numpy.array(self.encode(text, **options), dtype=numpy.int32)

    def encode_stream(
        self,
        chunks: Iterable[str],
        *,
        allowed_special: special.Names = (),
        disallowed_special: special.Names = "all",
        size: int = stretches.SIZE,
    ) -> Iterator[list[int]]:
        """Encode one text that arrives in chunks; the rows in a row are the ids of the whole text.

        chunks: the text in parts of any length, such as a file that is read bit by bit.
        size: how many characters are encoded at once, roughly.

        The text is cut where that provably changes nothing, so memory does not grow with it:
        `CharTokenizer` cuts anywhere, `WordBPE` and `WordPiece` at whitespace, `BPETokenizer` at places where
        a piece ends under each pattern in `bpe.presplit.PATTERNS`, and without a pattern where no merge
        joins. A text without such a place, or a tokenizer with none, takes the memory of a whole text: with
        `Unigram`, whose sums are rounded, and with other patterns, all that comes before may matter.

        Raises as `encode`, with positions in the whole text, when it arrives there.
        """
        position = 0
        allowed, disallowed = (
            list(names) if isinstance(names, Iterator) else names
            for names in (allowed_special, disallowed_special)
        )
        for stretch in self.stretches(chunks, size):
            try:
                ids = self.encode(stretch, allowed_special=allowed, disallowed_special=disallowed)
            except PositionError as error:
                raise error.moved(position) from None
            yield ids
            position += len(stretch)

    def stretches(self, chunks: Iterable[str], size: int = stretches.SIZE) -> Iterator[str]:
        """Cut a text that arrives in chunks where `encode_stream` does; the parameters are the same."""
        if isinstance(chunks, str) or not isinstance(chunks, Iterable):
            raise TypeError(f"chunks must be an iterable of str, not {type(chunks).__name__}: give [text]")
        refuse_unordered(chunks, "chunks")
        return stretches.cut(
            chunks, self._find_cut, self.special_tokens, check_integer(size, "size", least=1)
        )

    def encode_batch(self, texts: Iterable[str], **options: Options) -> list[list[int]]:
        """Encode several texts, each by itself; options are those of `encode`."""
        if isinstance(texts, str):
            raise TypeError("texts must be a list of str, not one str")
        refuse_unordered(texts, "texts")
        # An iterator of special tokens would be used up by the first text.
        options = {
            name: list(value) if isinstance(value, Iterator) else value for name, value in options.items()
        }
        return [self.encode(text, **options) for text in texts]

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Decode ids to the UTF-8 of their text. Raises as `decode`."""
        return self.decode(ids).encode("utf-8")

    def decode_stream(self, ids: Iterable[int]) -> Iterator[bytes]:
        """Yield what `decode_bytes` returns, a part at a time. Raises as `decode` when it arrives there.

        With `CharTokenizer` and `BPETokenizer` memory does not grow with the number of ids. With the others,
        whose tokens decode differently after others, all comes in one part.
        """
        parts = self._decode_each(ids)
        while batch := list(islice(parts, BATCH)):
            yield b"".join(batch)

    def decode_batch(self, rows: Iterable[Iterable[int]], **options: Any) -> list[str]:
        """Decode several rows of ids, each by itself; options are those of `decode`."""
        refuse_unordered(rows, "rows")
        return [self.decode(ids, **options) for ids in rows]

    def tokens(self, text: str, **options: Options) -> list[Any]:
        """Encode a text and return its tokens; options are those of `encode`."""
        return [self.token(i) for i in self.encode(text, **options)]

    # -- the vocabulary ------------------------------------------------------------------------------

    def token(self, id: int) -> Token | None:
        """Return the token of an id: bytes, or str if the kind works on characters; None for an unused id.

        Raises TypeError if `id` is not an integer, ValueError if it is out of range.
        """
        return self.vocabulary[check_id(id, self.vocab_size)]

    def id_of(self, token: Token) -> int:
        """Return the id of a token, as `token(id)` gives it; a special token may also be named by its string.

        If both an ordinary and a special token are spelled so, the ordinary one is meant.
        Raises ValueError if there is no such token.
        """
        try:
            return self._ids_by_token[token]
        except (KeyError, TypeError):
            raise ValueError(f"{token!r} is not a token of this tokenizer") from None

    def __contains__(self, token: object) -> bool:
        """Whether some id has this token, as `id_of` takes it."""
        return isinstance(token, (bytes, str)) and token in self._ids_by_token

    @cached_property
    def _ids_by_token(self) -> dict[Token, int]:
        ids: dict[Token, int] = dict(self.special_tokens.items())
        for i in reversed(range(self.vocab_size)):
            if (token := self.token(i)) is not None:
                ids[token] = i
        return ids

    @property
    def vocab_size(self) -> int:
        """The largest id + 1: the number of rows that an embedding needs, unused ids included."""
        return len(self.vocabulary)

    def __len__(self) -> int:
        """The number of ids in use, so without holes."""
        return sum(self.token(i) is not None for i in range(self.vocab_size))

    # -- identity ------------------------------------------------------------------------------------

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, over all that defines the tokenizer."""
        return saving.fingerprint(self.KIND, self._content())

    def __eq__(self, other: object) -> bool:
        """Whether the fingerprints, and so the definitions, are equal."""
        return self.fingerprint == other.fingerprint if isinstance(other, Tokenizer) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and (name in vars(self) or hasattr(type(self), name)):
            raise AttributeError(f"a tokenizer can't be changed: make another one with the {name} you want")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a tokenizer can't be changed, so {name} can't be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._from_content, (self._content(),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    # -- files ---------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the tokenizer as JSON; an existing file is replaced only once the new one is complete."""
        saving.save_content(path, self.KIND, self._content())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote. Raises ValueError for any other or damaged file, and FileNotFoundError.

        A kind opens its own files alone; `Tokenizer.load`, like `bpe.load_tokenizer`, opens every kind.
        """
        if cls is Tokenizer:
            opened: Self = saving.load_tokenizer(path)
            return opened
        return cls._open(path, saving.load_content(path, cls.KIND))

    @classmethod
    def _open(cls, path: str | Path, content: dict[str, Any]) -> Self:
        """Make the tokenizer that a file describes. Raises ValueError, naming it, if it describes none."""
        try:
            saving.check_entries(content, cls.CONTENT)
            return cls._from_content(content)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(cut_short(f"{path} is damaged: {error}", LONGEST_MESSAGE)) from None

    # -- how it is shown -----------------------------------------------------------------------------

    def facts(self) -> dict[str, str]:
        """What the table in a notebook and `python -m bpe inspect` show: name -> value, nothing invisible."""
        specials = ", ".join(f"{visible(name)} = {i}" for name, i in self.special_tokens.items())
        return {
            "kind": self.KIND,
            "tokens": f"{len(self):,}",
            "vocabulary size": f"{self.vocab_size:,}",
            **self._own_facts(),
            "special tokens": specials or "none",
            "fingerprint": self.fingerprint,
        }

    def _own_facts(self) -> dict[str, str]:
        """The facts that only this kind has."""
        return {}

    def __repr__(self) -> str:
        specials = f", {len(self.special_tokens):,} of them special" if self.special_tokens else ""
        return f"<{type(self).__name__}: {len(self):,} tokens{specials}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left">{html.escape(name)}</th>'
            f'<td style="text-align:left">{html.escape(shorten(value, 100))}</td></tr>'
            for name, value in self.facts().items()
        )
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>"
