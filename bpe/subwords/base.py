"""What the subword tokenizers share: names of special tokens, words with counts, sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from bpe import special
from bpe._validate import check_documents, check_integer, check_mapping, refuse_surrogates


def names_of(unknown: str | None, special_tokens: Iterable[str]) -> list[str]:
    """The unknown token, where there is one, and the special tokens.

    Raises ValueError for an unknown token of fewer than two characters, for which a character could be taken,
    and for one that is a special token too.
    """
    names = special.check_names(special_tokens)
    if unknown is None:
        return names
    if not isinstance(unknown, str) or len(unknown) < 2:
        raise ValueError(
            f"the unknown token must be a string of two or more characters, such as '[UNK]', or None; "
            f"got {unknown!r}"
        )
    if unknown in names:
        raise ValueError(f"{unknown!r} can't be both the unknown token and a special token")
    return special.check_names([unknown, *names])


def number_to_learn(vocab_size: int, characters: int, others: int) -> int:
    """How many tokens are to be learned.

    characters: how many there are to begin with; others: special tokens, bytes and the like.
    Raises TypeError if it is not an integer, ValueError if these alone are more than `vocab_size`.
    """
    number = check_integer(vocab_size, "vocab_size") - characters - others
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


def count_words(
    text: str | Iterable[str], special_tokens: Iterable[str] = (), cut: Callable[[str], list[str]] = str.split
) -> dict[str, int]:
    """How often each word occurs, in the order of first appearance.

    text: a str, or an iterable of str. special_tokens: the text is cut at them, and they are not counted.
    cut: gives the words of a text; by default what stands between white space.

    >>> count_words("to be or not to be")
    {'to': 2, 'be': 2, 'or': 1, 'not': 1}
    """
    names = special.check_names(special_tokens)
    counts: dict[str, int] = {}
    for document in check_documents(text):
        for part, is_special in special.parts(document, names):
            for word in () if is_special else cut(part):
                counts[word] = counts.get(word, 0) + 1
    return counts


def check_words(counts: Mapping[str, int], cut: Callable[[str], list[str]] = str.split) -> dict[str, int]:
    """The counts, looked over.

    Raises ValueError for what is not one word by `cut`, for a count below 1, and where there are none;
    TypeError for what is no mapping, and for a count that is no integer.
    """
    checked: dict[str, int] = {}
    for word, count in check_mapping(counts, "counts").items():
        if not isinstance(word, str) or cut(word) != [word]:
            raise ValueError(f"{word!r} is not one word")
        refuse_surrogates(word)
        # An int of Python: the small ones of numpy would be added up in their few bits.
        checked[word] = check_integer(count, f"the count of {word!r}", least=1)
    if not checked:
        raise ValueError("the training text has no words, so there is nothing to learn from")
    return checked
