"""What the tokenizers of chapter 10 share: pieces with ids, special tokens, and a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, Self

from bpe import special, storage
from bpe.inputs import id_below, integer, refuse_surrogates


class SubwordTokenizer(ABC):
    """A tokenizer whose ids are positions in a list of strings.

    unknown_id: the id that stands for what can't be encoded; None where there is none. A text that happens to
    hold the name of that token is ordinary text.
    A class adds how a text without special tokens is encoded, how ids become text, and what its file holds.
    """

    KIND: ClassVar[str]
    pieces: list[str]
    special_tokens: dict[str, int]
    unknown_id: int | None

    @abstractmethod
    def _encoded(self, text: str) -> list[int]:
        """The ids of a text that holds no special tokens."""

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids."""

    @abstractmethod
    def _content(self) -> dict[str, Any]:
        """All that defines the tokenizer, as JSON can hold it: what `__init__` takes, by name."""

    def encode(
        self, text: str, *, allowed_special: special.Names = (), disallowed_special: special.Names = "all"
    ) -> list[int]:
        """The ids of the text.

        allowed_special: special tokens that are taken as such where the text holds them, or "all".
        disallowed_special: those at which to raise; by default all that are not allowed. With () they are
        ordinary text.

        Raises ValueError, naming it and its position, for a special token that is not allowed and for a lone
        surrogate, TypeError for what is no str.
        """
        return self._with_special(text, allowed_special, disallowed_special, self._encoded)

    def _with_special(
        self,
        text: str,
        allowed: special.Names,
        disallowed: special.Names,
        encoded: Callable[[str], list[int]],
    ) -> list[int]:
        """The ids of the text: special tokens as such, what stands between them by `encoded`."""
        refuse_surrogates(text)
        ids: list[int] = []
        for part, is_special in special.parts(text, self.special_tokens, allowed, disallowed):
            ids += [self.special_tokens[part]] if is_special else encoded(part)
        return ids

    def tokens(self, text: str, **options: Any) -> list[str]:
        """The tokens of the text; the options are those of `encode`."""
        return [self.pieces[i] for i in self.encode(text, **options)]

    def token(self, id: int) -> str:
        """The token of one id. Raises TypeError for what is no integer, ValueError out of range."""
        return self.pieces[id_below(id, self.vocab_size)]

    @property
    def vocab_size(self) -> int:
        """Number of tokens, special ones included."""
        return len(self.pieces)

    @property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, over all that defines the tokenizer."""
        return storage.fingerprint(self.KIND, self._content())

    def save(self, path: str | Path) -> None:
        """Write the tokenizer as JSON; an earlier file is replaced only when all is written."""
        storage.save(path, self.KIND, self._content())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote. Raises ValueError for any other or damaged file."""
        content = storage.load(path, cls.KIND)
        try:
            return cls(**content)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<{name}: {self.vocab_size:,} tokens, {len(self.special_tokens):,} of them special>"


def names_of(unknown: str | None, special_tokens: Iterable[str]) -> list[str]:
    """The unknown token, where there is one, and the special tokens.

    Raises ValueError for an unknown token of fewer than two characters, for which a character could be taken,
    and for one that is a special token too.
    """
    names = special.different(special_tokens)
    if unknown is None:
        return names
    if not isinstance(unknown, str) or len(unknown) < 2:
        raise ValueError(
            f"the unknown token must be a string of two or more characters, such as '[UNK]', or None; "
            f"got {unknown!r}"
        )
    if unknown in names:
        raise ValueError(f"{unknown!r} can't be both the unknown token and a special token")
    return special.different([unknown, *names])


def number_to_learn(vocab_size: int, characters: int, others: int) -> int:
    """How many tokens are to be learned.

    characters: how many there are to begin with; others: special tokens, bytes and the like.
    Raises TypeError for what is no integer, ValueError where these alone are more than `vocab_size`.
    """
    number = integer(vocab_size, "vocab_size") - characters - others
    if number < 0:
        raise ValueError(
            f"vocab_size {vocab_size:,} is too small: there are {characters:,} characters and {others:,} "
            f"other tokens to begin with, so the least is {characters + others:,}"
        )
    return number


def refuse_unknown(word: str, known: Iterable[str]) -> None:
    """Raise ValueError for the first character of the word that is not among `known`."""
    characters = set(known)
    for character in word:
        if character not in characters:
            raise ValueError(
                f"character {character!r} (U+{ord(character):04X}) of {word[:40]!r} is not among the "
                f"{len(characters):,} characters of this vocabulary, and there is no unknown token"
            )
