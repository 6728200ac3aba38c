"""A tokenizer whose tokens are single characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from types import NoneType
from typing import Any, ClassVar, Self

from bpe._validate import PositionError, check_documents, check_ids, check_integer, refuse_surrogates
from bpe.tokenizer import ReadOnlyDict, Tokenizer


class CharTokenizer(Tokenizer):
    """Each character of the text it was made from is a token; ids follow the order of code points.

    text: a str, or an iterable of str.
    unknown: a string such as "<unk>" that stands for every character outside the vocabulary. Its id is the
    last one. Without it, such a character is an error.
    min_frequency: only characters that occur at least this often become tokens. With 2, the text itself has
    unknown characters, so a model can learn what comes before and after one.

    >>> tokenizer = CharTokenizer("banana")
    >>> tokenizer.encode("nab")
    [2, 0, 1]
    """

    KIND = "characters"
    CONTENT: ClassVar = {"characters": list, "unknown": (str, NoneType)}
    vocabulary: tuple[str, ...]

    def __init__(
        self, text: str | Iterable[str], *, unknown: str | None = None, min_frequency: int = 1
    ) -> None:
        counts: Counter[str] = Counter()
        for document in check_documents(text, ordered=False):
            counts.update(document)
        least = check_integer(min_frequency, "min_frequency", least=1)
        characters = sorted(character for character, count in counts.items() if count >= least)
        if not characters:
            reason = f"no character occurs {least} times" if counts else "the text is empty"
            raise ValueError(f"{reason}, so there are no characters to take as tokens")
        self._define(characters, unknown)

    def _define(self, characters: list[str], unknown: str | None) -> None:
        if unknown is not None and (not isinstance(unknown, str) or len(unknown) < 2):
            raise ValueError(
                f"the unknown token must be a string of two or more characters, such as '<unk>', "
                f"so that no character can be mistaken for it; got {unknown!r}"
            )
        refuse_surrogates(unknown or "")
        self.characters = tuple(characters)
        self.unknown = unknown
        self.special_tokens = ReadOnlyDict()
        self.unknown_id = None if unknown is None else len(characters)
        self.vocabulary = self.characters if unknown is None else (*characters, unknown)
        self._ids = {character: i for i, character in enumerate(characters)}

    def _encode_ordinary(self, text: str) -> list[int]:
        if self.unknown_id is not None:
            return [self._ids.get(character, self.unknown_id) for character in text]
        try:
            return [self._ids[character] for character in text]
        except KeyError as error:
            [character] = error.args
            raise PositionError(
                f"character {character!r} (U+{ord(character):04X})",
                text.index(character),
                f" is not among the {len(self.characters):,} characters of this vocabulary; "
                f"CharTokenizer(…, unknown='<unk>') would accept it",
            ) from None

    def _find_cut(self, text: str, stop: int) -> int:
        return stop

    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids to text; an unknown token gives its own name. Raises as `token`."""
        return "".join(self.vocabulary[i] for i in check_ids(ids, self.vocab_size))

    def _decode_each(self, ids: Iterable[int]) -> Iterator[bytes]:
        return (self.vocabulary[i].encode("utf-8") for i in check_ids(ids, self.vocab_size))

    def _content(self) -> dict[str, Any]:
        return {"characters": list(self.characters), "unknown": self.unknown}

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Self:
        characters, unknown = content["characters"], content["unknown"]
        single = {item for item in characters if isinstance(item, str) and len(item) == 1}
        if not characters or characters != sorted(single):
            raise ValueError("its characters are not a sorted list of different ones")
        tokenizer = cls.__new__(cls)
        tokenizer._define(characters, unknown)
        return tokenizer

    def _own_facts(self) -> dict[str, str]:
        return {"unknown token": repr(self.unknown)}
