"""What the subword tokenizers share: counting words, checking counts, names and sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from bpe import special
from bpe._validate import check_documents, check_integer, refuse_surrogates
from bpe.tokenizer import Memory


def collect_names(unknown: str | None, special_tokens: Iterable[str]) -> list[str]:
    """Return the unknown token, if there is one, followed by the special tokens.

    Raises ValueError if the unknown token has fewer than two characters, since a character could be mistaken
    for it, or if it is a special token too.
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


def number_to_learn(vocab_size: int, num_characters: int, num_others: int) -> int:
    """Return how many tokens training has to add to reach `vocab_size`.

    num_others: special tokens, bytes, and others that training starts with.
    Raises TypeError if `vocab_size` is not an integer, ValueError if it is too small.
    """
    number = check_integer(vocab_size, "vocab_size") - num_characters - num_others
    if number < 0:
        raise ValueError(
            f"vocab_size {vocab_size:,} is too small: training starts with {num_characters:,} characters and "
            f"{num_others:,} other tokens, so the least is {num_characters + num_others:,}"
        )
    return number


def count_words(
    text: str | Iterable[str], special_tokens: Iterable[str] = (), cut: Callable[[str], list[str]] = str.split
) -> dict[str, int]:
    """Count each word, in order of first appearance.

    text: a str, or an iterable of str. It is also cut at `special_tokens`, which are not counted.
    cut: from a text to its words; by default it cuts at whitespace.

    >>> count_words("to be or not to be")
    {'to': 2, 'be': 2, 'or': 1, 'not': 1}
    """
    names = special.check_names(special_tokens)
    counts: Counter[str] = Counter()
    for document in check_documents(text):
        for part, is_special in special.parts(document, names):
            if not is_special:
                counts.update(cut(part))
    return dict(counts)


def check_words(counts: Mapping[str, int], cut: Callable[[str], list[str]] = str.split) -> dict[str, int]:
    """Return the counts with Python's own integers: sums of numpy's small ones would overflow.

    Raises ValueError if there are no words, for a key that `cut` does not take as one word, and for a count
    below 1; TypeError for a count that is not an integer.
    """
    checked: dict[str, int] = {}
    for word, count in counts.items():
        if cut(word) != [word]:
            raise ValueError(f"{word!r} is not one word")
        refuse_surrogates(word)
        checked[word] = check_integer(count, f"the count of {word!r}", least=1)
    if not checked:
        raise ValueError("the training text has no words, so there is nothing to learn from")
    return checked


def encode_words(words: Iterable[str], encode_word: Callable[[str], list[int]], cache: Memory) -> list[int]:
    """Encode word by word, remembering what comes again."""
    ids: list[int] = []
    for word in words:
        encoded = cache.get(word)
        if encoded is None:
            encoded = encode_word(word)
            cache.keep(word, encoded)
        ids += encoded
    return ids
