"""Encode a text and count: tokens, words, unknown tokens, what comes back."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import regex

from bpe._validate import check_documents, check_integer
from bpe.metrics.statistics import renyi_efficiency

Encode = Callable[[str], Iterable[int]]
Decode = Callable[[list[int]], str]
Words = Callable[[str], Iterable[str]]

# A Han character, or a run of other letters, marks and digits; an apostrophe between letters belongs to it.
_WORD = regex.compile(r"(?V1)\p{Han}|[[\p{L}\p{M}\p{N}]--\p{Han}]+(?:['’][\p{L}--\p{Han}]+)*")


def words(text: str) -> list[str]:
    """Return the words of a text, as they are counted here unless you give a function of your own.

    A word is a run of letters, marks and digits, with the apostrophes between its letters. Punctuation and
    whitespace are not words. Chinese puts no spaces between words: each Han character counts as one, which is
    close for classical verse and too fine for modern prose. Thai, Lao, Khmer and Burmese have no spaces
    either, nor has Japanese kana: there a run is a phrase, and figures per word can't be compared.

    >>> words("Don't stop: 月光!"), words("x1 += 3.5")
    (["Don't", 'stop', '月', '光'], ['x1', '3', '5'])
    """
    return _WORD.findall(text)


@dataclass(frozen=True)
class Measurement:
    """What was counted while a text was encoded; the ratios follow from it.

    documents, characters, bytes (of UTF-8), words, tokens: how many the text has.
    counts: id -> how often it occurred.
    unknown: how many tokens are unknown tokens.
    whole_words: how many words are a single token, counted as often as they occur.
    returned: how many documents came back exactly; None if there was no `decode`.
    vocab_size: how many ids the tokenizer has; None if that was not given.

    A ratio with nothing to divide by, such as tokens per word of a text without words, is NaN.
    """

    documents: int
    characters: int
    bytes: int
    words: int
    tokens: int
    unknown: int
    whole_words: int
    returned: int | None
    vocab_size: int | None
    counts: Mapping[int, int] = field(repr=False)

    @property
    def characters_per_token(self) -> float:
        """Unicode characters (code points) per token: how much text fits into a context."""
        return _divide(self.characters, self.tokens)

    @property
    def bytes_per_token(self) -> float:
        """Bytes of UTF-8 per token: comparable between texts of one script only."""
        return _divide(self.bytes, self.tokens)

    @property
    def fertility(self) -> float:
        """Tokens per word. All tokens count, those of punctuation and whitespace too."""
        return _divide(self.tokens, self.words)

    @property
    def unknown_share(self) -> float:
        """Unknown tokens among all tokens, 0 to 1. One of them may hide a whole word."""
        return _divide(self.unknown, self.tokens)

    @property
    def whole_word_share(self) -> float:
        """Words that are one token among all words, 0 to 1; the others are called continued words."""
        return _divide(self.whole_words, self.words)

    @property
    def unused(self) -> int | None:
        """How many ids of the vocabulary the text never made, special tokens and holes included."""
        return None if self.vocab_size is None else self.vocab_size - len(self.counts)

    @property
    def unused_share(self) -> float:
        """`unused` as a share of the vocabulary, 0 to 1; NaN if its size was not given."""
        if self.vocab_size is None:
            return math.nan
        return _divide(self.vocab_size - len(self.counts), self.vocab_size)

    @property
    def returned_share(self) -> float:
        """Documents that came back exactly among all, 0 to 1; NaN if there was no `decode`."""
        return math.nan if self.returned is None else _divide(self.returned, self.documents)

    @property
    def efficiency(self) -> float:
        """The Rényi efficiency of the tokens, see `renyi_efficiency`; NaN if it is not defined.

        Without `vocab_size`, it is that of the tokens that occur, which is higher if some don't. Compare like
        with like.
        """
        size = len(self.counts) if self.vocab_size is None else self.vocab_size
        return renyi_efficiency(self.counts, vocab_size=size) if size > 1 else math.nan


def measure(
    text: str | Iterable[str],
    encode: Encode,
    decode: Decode | None = None,
    *,
    vocab_size: int | None = None,
    unknown: Iterable[int] = (),
    words: Words = words,
) -> Measurement:
    """Encode a text and count.

    text: a str, or an iterable of str, each its own document, encoded by itself.
    encode: from text to ids. decode: from ids to text, to see whether a document comes back.
    vocab_size: how many ids there are, special tokens and holes included.
    unknown: the ids of unknown tokens.
    words: from text to its words; `words` of this module by default.

    A word counts as whole if it is encoded as one token that is not unknown: by itself, with a space before
    it, or with a space after it, since tokenizers differ in which they have. For text without spaces, such
    as Chinese, this says nothing about tokenizers that mark the beginning or the end of a word (Unigram, BPE
    over words): inside a text their token is another.

    Raises ValueError for an empty text, for an id that is negative or not below `vocab_size`, and, naming the
    document, if `encode` or `decode` fails; TypeError if `decode` or `words` gives something else than text.
    """
    size = None if vocab_size is None else check_integer(vocab_size, "vocab_size", least=1)
    unknown = {check_integer(i, "an unknown token's id", least=0) for i in unknown}
    documents = characters = num_bytes = returned = 0
    counts: Counter[int] = Counter()
    word_counts: Counter[str] = Counter()
    for number, document in enumerate(check_documents(text)):
        name = f"document {number}"
        ids = encode_with(encode, document, name, size)
        counts.update(ids)
        word_counts.update(_find_words(words, document))
        documents, characters = number + 1, characters + len(document)
        num_bytes += len(document.encode("utf-8"))
        if decode is not None and _decode_with(decode, ids, name) == document:
            returned += 1
    if not characters:
        raise ValueError("the text is empty, so there is nothing to measure")
    return Measurement(
        documents,
        characters,
        num_bytes,
        words=word_counts.total(),
        tokens=counts.total(),
        unknown=sum(counts[i] for i in unknown),
        whole_words=sum(n for word, n in word_counts.items() if _is_whole(encode, word, unknown, size)),
        returned=None if decode is None else returned,
        vocab_size=size,
        counts=dict(counts),
    )


def encode_with(encode: Encode, text: str, name: str, vocab_size: int | None = None) -> list[int]:
    """Encode a text with any function and check its ids; `name` tells in an error which text it was."""
    try:
        ids = list(map(operator.index, encode(text)))
    except Exception as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"{name} can't be encoded: {reason}") from error
    if ids and min(ids) < 0:
        raise ValueError(f"encode gave the id {min(ids)} for {name}; ids are 0 or more")
    if ids and vocab_size is not None and max(ids) >= vocab_size:
        raise ValueError(f"encode gave the id {max(ids)} for {name}, and vocab_size is {vocab_size:,}")
    return ids


def _decode_with(decode: Decode, ids: list[int], name: str) -> str:
    try:
        text = decode(ids)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"the {len(ids)} ids of {name} can't be decoded: {reason}") from error
    if not isinstance(text, str):  # bytes would never equal the document
        raise TypeError(f"decode must give a str, but gave {type(text).__name__} for {name}")
    return text


def _find_words(words: Words, text: str) -> Iterable[str]:
    found = words(text)
    if isinstance(found, (str, Mapping)):  # a Counter would take its characters, or its counts
        raise TypeError(f"words must give a list of str, not a {type(found).__name__}")
    return found


def _is_whole(encode: Encode, word: str, unknown: set[int], vocab_size: int | None) -> bool:
    for framed in (word, f" {word}", f"{word} "):
        try:
            ids = encode_with(encode, framed, repr(framed), vocab_size)
        except ValueError:
            if framed == word:
                raise
            continue  # an alphabet of letters alone need not hold the space
        if len(ids) == 1 and ids[0] not in unknown:
            return True
    return False


def _divide(number: int, by: int) -> float:
    return number / by if by else math.nan
