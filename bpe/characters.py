"""A tokenizer whose tokens are single characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bpe import storage
from bpe.inputs import documents_of, id_below, integer, refuse_surrogates


class CharTokenizer:
    """Each character of the text it was made from is a token; ids follow the order of code points.

    text: a str, or an iterable of str.
    unknown: a string such as "<unk>" that stands for every character outside the vocabulary. Its id is
    the last one. Without it such a character is an error.
    min_frequency: only characters that the text holds so often are tokens. With 2, the text itself has
    unknown characters, so that a model can learn what stands before and after one.

    >>> tokenizer = CharTokenizer("banana")
    >>> tokenizer.encode("nab")
    [2, 0, 1]
    """

    KIND = "characters"

    def __init__(
        self, text: str | Iterable[str], *, unknown: str | None = None, min_frequency: int = 1
    ) -> None:
        counts: Counter[str] = Counter()
        for document in documents_of(text):
            counts.update(document)
        least = integer(min_frequency, "min_frequency", least=1)
        characters = sorted(character for character, count in counts.items() if count >= least)
        if not characters:
            raise ValueError(
                "the text is empty, so there are no characters to take as tokens"
                if not counts
                else f"no character occurs {least} times, so there are none to take as tokens"
            )
        self._fill(characters, unknown)

    def _fill(self, characters: list[str], unknown: str | None) -> None:
        if unknown is not None and (not isinstance(unknown, str) or len(unknown) < 2):
            raise ValueError(
                f"the unknown token must be a string of two or more characters, such as '<unk>', "
                f"so that no character can be taken for it; got {unknown!r}"
            )
        refuse_surrogates(unknown or "")
        self.characters = characters
        self.unknown = unknown
        self._ids = {character: i for i, character in enumerate(characters)}
        self._strings = characters if unknown is None else [*characters, unknown]

    @property
    def vocab_size(self) -> int:
        """Number of characters, plus one for the unknown token where there is one."""
        return len(self._strings)

    def encode(self, text: str) -> list[int]:
        """The ids of the text's characters.

        Raises ValueError, with its position, for the first character that is not in the vocabulary
        (where there is no unknown token), and for a lone surrogate.
        """
        refuse_surrogates(text)
        if self.unknown is not None:
            unknown_id = len(self.characters)
            return [self._ids.get(character, unknown_id) for character in text]
        try:
            return [self._ids[character] for character in text]
        except KeyError as error:
            [character] = error.args
            raise ValueError(
                f"character {character!r} (U+{ord(character):04X}) at position {text.index(character)} is "
                f"not among the {len(self.characters):,} characters of this vocabulary; "
                f"CharTokenizer(…, unknown='<unk>') would take it"
            ) from None

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids; an unknown token gives its own name. Raises as `token` does."""
        return "".join(map(self.token, ids))

    def tokens(self, text: str) -> list[str]:
        """The tokens of the text, as strings."""
        return [self.token(i) for i in self.encode(text)]

    def token(self, id: int) -> str:
        """The token of one id. Raises TypeError for what is no integer, ValueError out of range."""
        return self._strings[id_below(id, self.vocab_size)]

    @property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, over all that defines the tokenizer."""
        return storage.fingerprint(self.KIND, self._content())

    def save(self, path: str | Path) -> None:
        """Write the tokenizer as JSON; an earlier file is replaced only when all is written."""
        storage.save(path, self.KIND, self._content())

    @classmethod
    def load(cls, path: str | Path) -> CharTokenizer:
        """Read what `save` wrote. Raises ValueError for any other or damaged file."""
        content = storage.load(path, cls.KIND)
        characters, unknown = content.get("characters"), content.get("unknown")
        if not (
            isinstance(characters, list)
            and characters
            and all(isinstance(character, str) and len(character) == 1 for character in characters)
            and characters == sorted(set(characters))
            and (unknown is None or isinstance(unknown, str))
        ):
            raise ValueError(f"{path} is damaged: its characters are not a sorted list of different ones")
        tokenizer = cls.__new__(cls)
        try:
            tokenizer._fill(characters, unknown)
        except ValueError as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        return tokenizer

    def _content(self) -> dict[str, Any]:
        return {"characters": self.characters, "unknown": self.unknown}

    def __repr__(self) -> str:
        return f"<CharTokenizer: {self.vocab_size:,} tokens>"
