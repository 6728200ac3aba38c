"""What a tokenizer does to a text, in numbers: chapter 11.

Everything here takes functions, from text to ids and from ids to text, so it works with the tokenizers of
this module and with those of any library:

    measure(text, tokenizer.encode, tokenizer.decode)                    # ours, tiktoken's, sentencepiece's
    def ids(text): return tokenizer.encode(text, add_special_tokens=False).ids
    measure(text, ids, tokenizer.decode)                                 # those of tokenizers

`encode` should put nothing around a text: with [CLS] and the like, no word is a single token.

A ratio says nothing without the text it was measured on; take one that the tokenizer did not learn from.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import regex

from bpe._validate import check_documents, check_finite, check_integer, check_items, check_mapping
from bpe.show import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Encode = Callable[[str], Iterable[int]]
Decode = Callable[[list[int]], str]
Words = Callable[[str], Iterable[str]]
Unit = Literal["bytes", "characters"]

ALPHA = 2.5

# A Han character, or a run of other letters, marks and digits; an apostrophe between letters belongs to it.
_WORD = regex.compile(r"(?V1)\p{Han}|[[\p{L}\p{M}\p{N}]--\p{Han}]+(?:['’][\p{L}--\p{Han}]+)*")


def words(text: str) -> list[str]:
    """The words of a text, as they are counted here unless you give a function of your own.

    A word is a run of letters, marks and digits, with the apostrophes between its letters. Punctuation and
    white space are no words. Chinese puts no spaces between words: each Han character is one, which is near
    the truth for classical verse, and too fine for modern prose. Thai, Lao, Khmer and Burmese have no spaces
    either, and Japanese kana: there a run is a phrase, and what follows from it can't be compared.

    >>> words("Don't stop: 月光!"), words("x1 += 3.5")
    (["Don't", 'stop', '月', '光'], ['x1', '3', '5'])
    """
    return _WORD.findall(text)


@dataclass(frozen=True)
class Measurement:
    """What was counted when a text was encoded; the ratios follow from it.

    documents, characters, bytes (of UTF-8), words, tokens: how many the text has.
    counts: id -> how often it occurred.
    unknown: how many tokens stand for what the tokenizer does not know.
    whole_words: how many words are a single token, counted as often as they occur.
    returned: how many documents came back exactly as they were; None where there was no `decode`.
    vocab_size: how many ids the tokenizer has; None where that was not told.

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
        return _ratio(self.characters, self.tokens)

    @property
    def bytes_per_token(self) -> float:
        """Bytes of the text in UTF-8 per token: comparable between texts of one script only."""
        return _ratio(self.bytes, self.tokens)

    @property
    def fertility(self) -> float:
        """Tokens per word. All tokens count, those of punctuation and white space too."""
        return _ratio(self.tokens, self.words)

    @property
    def unknown_share(self) -> float:
        """Unknown tokens among all tokens, 0 to 1. One of them may hide a whole word."""
        return _ratio(self.unknown, self.tokens)

    @property
    def whole_word_share(self) -> float:
        """Words that are one token, among all words, 0 to 1; the others are called continued words."""
        return _ratio(self.whole_words, self.words)

    @property
    def unused(self) -> int | None:
        """How many ids of the vocabulary the text never made; special tokens and holes are among them."""
        return None if self.vocab_size is None else self.vocab_size - len(self.counts)

    @property
    def unused_share(self) -> float:
        """The same as a share of the vocabulary, 0 to 1; NaN where its size was not told."""
        return (
            math.nan
            if self.vocab_size is None
            else _ratio(self.vocab_size - len(self.counts), self.vocab_size)
        )

    @property
    def returned_share(self) -> float:
        """Documents that came back exactly, among all, 0 to 1; NaN where there was no `decode`."""
        return math.nan if self.returned is None else _ratio(self.returned, self.documents)

    @property
    def efficiency(self) -> float:
        """The Rényi efficiency of the tokens, see `renyi_efficiency`; NaN where it is not defined.

        Without `vocab_size`, that of the tokens that occur. Where some don't, it is higher, so compare like
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

    text: a str, or an iterable of str, each its own document, encoded for itself.
    encode: from text to ids. decode: from ids to text, to see whether a document comes back.
    vocab_size: how many ids there are, special tokens and holes included.
    unknown: the ids of unknown tokens.
    words: from text to its words; `words` of this module says what a word is otherwise.

    A word counts as whole where it is encoded as one token that is not unknown: by itself, with a space
    before it, or with a space after it. Some tokenizers have the one, some the other. Where words stand
    without spaces, as in Chinese, this says nothing about tokenizers that mark the beginning or the end of a
    word (Unigram, BPE over words): their token for the midst of a text is another.

    Raises ValueError for an empty text, for an id that is negative or not below `vocab_size`, and, naming the
    document, where `encode` or `decode` raise or give what they should not; TypeError for what is no text, no
    function, or no integers.
    """
    for name, function in (("encode", encode), ("words", words), ("decode", decode)):
        if not callable(function) and not (name == "decode" and function is None):
            raise TypeError(f"{name} must be a function, not {type(function).__name__}")
    size = None if vocab_size is None else check_integer(vocab_size, "vocab_size", least=1)
    strange = {check_integer(i, "an unknown token's id", least=0) for i in check_items(unknown, "unknown")}
    documents = characters = num_bytes = returned = 0
    counts: Counter[int] = Counter()
    word_counts: Counter[str] = Counter()
    for number, document in enumerate(check_documents(text)):
        name = f"document {number}"
        ids = _ids(encode, document, name, size)
        counts.update(ids)
        word_counts.update(_words_of(words, document, name))
        documents, characters = number + 1, characters + len(document)
        num_bytes += len(document.encode("utf-8"))
        returned += decode is not None and _decoded(decode, ids, name) == document
    if not characters:
        raise ValueError("the text is empty, so there is nothing to measure")
    whole = sum(n for word, n in word_counts.items() if _is_whole(encode, word, strange, size))
    return Measurement(
        documents,
        characters,
        num_bytes,
        words=word_counts.total(),
        tokens=counts.total(),
        unknown=sum(counts[i] for i in strange),
        whole_words=whole,
        returned=None if decode is None else returned,
        vocab_size=size,
        counts=dict(counts),
    )


def renyi_efficiency(counts: Mapping[Any, int], alpha: float = ALPHA, vocab_size: int | None = None) -> float:
    """How evenly tokens are used, 0 to 1: Rényi entropy over the largest it could be.

    counts: token -> how often it occurs. vocab_size: the number of tokens there are; by default, of those
    that occur. alpha: 0 or more; the more, the more the frequent tokens decide.

    With p the share of each token,

        H(alpha) = log(sum of p ** alpha) / (1 - alpha),        for alpha = 1 its limit, -(sum of p · log p)
        efficiency = H(alpha) / log(vocab_size)

    1 where all tokens occur equally often, 0 where one is all there is.

    Zouhar et al.: Tokenization and the Noiseless Channel, 2023: with alpha = 2.5 it went along with the
    quality of translations. It is a hint, and no proof; Cognetta et al.: Two Counterexamples to Tokenization
    and the Noiseless Channel, 2024, raise it and make translations worse.

    Raises ValueError for counts below 0, for none above, for alpha below 0, and for a vocab_size below 2 or
    below the number of tokens that occur; TypeError for what is no number.
    """
    order = check_finite(alpha, "alpha")
    if order < 0:
        raise ValueError(f"alpha must be 0 or more, not {alpha}")
    found = check_mapping(counts, "counts")
    occurring = [n for i in found if (n := check_integer(found[i], f"the count of {i!r}", least=0))]
    if not occurring:
        raise ValueError("there are no tokens, so their distribution is not defined")
    size = len(occurring) if vocab_size is None else check_integer(vocab_size, "vocab_size", least=1)
    if size < len(occurring):
        raise ValueError(f"vocab_size is {size:,}, but {len(occurring):,} different tokens occur")
    if size == 1:
        raise ValueError("with a single token in the vocabulary the efficiency is not defined")
    total = sum(occurring)
    shares = [n / total for n in occurring]
    if math.isclose(order, 1, abs_tol=1e-9):
        entropy = -math.fsum(p * math.log(p) for p in shares)
    else:
        # Divided by the largest first: the power of a small share would be rounded to 0.
        top = max(shares)
        entropy = (math.log(math.fsum((p / top) ** order for p in shares)) + order * math.log(top)) / (
            1 - order
        )
    return min(1.0, max(0.0, entropy / math.log(size)))


def token_lengths(
    counts: Mapping[int, int], token: Callable[[int], bytes | str | None], unit: Unit = "bytes"
) -> dict[int, int]:
    """How many tokens have which length, shortest first: {length: number}.

    counts: id -> how often it counts: `Measurement.counts` for a text, `dict.fromkeys(ids, 1)` for a
    vocabulary.
    token: from an id to the token, as bytes or str; None, an id that is not in use, is left out. Marks such
    as ▁ or ## count like any character, so take them off.
    unit: "bytes" of UTF-8, or "characters": how many of them begin in the token. So a token that is the end
    of a character has the length 0, and the lengths add up to the text's.

    Raises ValueError for another unit and for counts below 0, TypeError for a token that is neither bytes nor
    str and for counts that are no integers.
    """
    if unit not in ("bytes", "characters"):
        raise ValueError(f"unknown unit {unit!r}: choose 'bytes' or 'characters'")
    lengths: Counter[int] = Counter()
    for i, times in check_mapping(counts, "counts").items():
        n = check_integer(times, f"the count of {i!r}", least=0)
        found = token(i)
        if found is None:
            continue
        if not isinstance(found, (bytes, str)):
            raise TypeError(f"the token of id {i} must be bytes or str, not {type(found).__name__}")
        encoded = found if isinstance(found, bytes) else found.encode("utf-8")
        # The bytes 80 to bf continue a character, all others begin one.
        lengths[len(encoded) if unit == "bytes" else sum(value & 0xC0 != 0x80 for value in encoded)] += n
    return dict(sorted(lengths.items()))


def premiums(encode: Encode, texts: Mapping[str, Sequence[str]], reference: str) -> dict[str, float]:
    """How many tokens each language needs for the same content, compared with one: {language: ratio}.

    texts: language -> its sentences; the k-th sentences of all languages say the same.
    reference: the language that the others are compared with; its own premium is 1.

    premium(A) = tokens of all sentences in A / tokens of all sentences in the reference. Where it is 1, there
    is parity. Petrov, La Malfa, Torr, Bibi: Language Model Tokenizers Introduce Unfairness Between Languages,
    2023, define it for a text and its translation. Of totals, as here, it is the ratio of the bills, and
    premium(A to B) is 1 over premium(B to A); a mean of the sentences' ratios is another number.

    Raises ValueError for an unknown reference, languages that differ in the number of sentences or have none,
    and for a language without a token; otherwise as `measure`.
    """
    if reference not in check_mapping(texts, "texts"):
        raise ValueError(
            f"the reference {reference!r} is not among the languages {', '.join(map(repr, texts))}"
        )
    tokens: dict[str, int] = {}
    for language, sentences in texts.items():
        if isinstance(sentences, str) or not isinstance(sentences, Sized):
            kind = "one str" if isinstance(sentences, str) else type(sentences).__name__
            raise TypeError(f"the sentences of {language!r} must be a list of str, not {kind}")
        if len(sentences) != len(texts[reference]) or not sentences:
            raise ValueError(
                f"{language!r} has {len(sentences)} sentences and {reference!r} {len(texts[reference])}: "
                f"each language needs the same ones, and at least one"
            )
        checked = check_documents(sentences)
        tokens[language] = sum(len(_ids(encode, text, f"{language!r}", None)) for text in checked)
        if not tokens[language]:
            raise ValueError(f"the sentences of {language!r} give no tokens, so there is nothing to compare")
    return {language: number / tokens[reference] for language, number in tokens.items()}


# -- tables and plots ------------------------------------------------------------------------------------

# column: (what it shows, how it is written)
COLUMNS: dict[str, tuple[Callable[[Measurement], float], str]] = {
    "tokens": (lambda m: m.tokens, "{:,.0f}"),
    "chars/token": (lambda m: m.characters_per_token, "{:.2f}"),
    "bytes/token": (lambda m: m.bytes_per_token, "{:.2f}"),
    "tokens/word": (lambda m: m.fertility, "{:.2f}"),
    "whole words": (lambda m: m.whole_word_share, "{:.1%}"),
    "unknown": (lambda m: m.unknown_share, "{:.1%}"),
    "unused": (lambda m: m.unused_share, "{:.1%}"),
    "Rényi": (lambda m: m.efficiency, "{:.3f}"),
    "returned": (lambda m: m.returned_share, "{:.0%}"),
}


def table(measurements: Mapping[str, Measurement], columns: Iterable[str] = COLUMNS) -> Table:
    """A row for each measurement: {name: measurement}. What is not defined is shown as a dash.

    columns: which of COLUMNS, in which order. Raises ValueError for another one, TypeError for what are no
    measurements.
    """
    names = _known(columns)
    _check(measurements, "measurements")
    return Table(
        ["", *names],
        [[name, *(_written(column, found) for column in names)] for name, found in measurements.items()],
    )


def compare(measurements: Mapping[str, Mapping[str, Measurement]], column: str) -> Table:
    """One column for many texts: {tokenizer: {text: measurement}}, a row for each tokenizer.

    Raises ValueError for a column that is not in COLUMNS, and for tokenizers with different texts, TypeError
    for what are no measurements.
    """
    [name] = _known([column])
    texts = _texts(measurements)
    return Table(
        ["", *texts],
        [[label, *(_written(name, row[text]) for text in texts)] for label, row in measurements.items()],
    )


def plot(
    measurements: Mapping[str, Mapping[str, Measurement]], column: str, axes: Axes | None = None
) -> Axes:
    """The same as bars, one group for each text: {tokenizer: {text: measurement}}. Needs matplotlib.

    axes: where to draw; a new figure by default. Returns the axes, so that you can add a title.
    Raises as `compare`.
    """
    import matplotlib.pyplot as plt

    [name] = _known([column])
    texts = _texts(measurements)
    value = COLUMNS[name][0]
    if axes is None:
        _, axes = plt.subplots(figsize=(7, 3.5))
    width = 0.8 / len(measurements)
    for k, (label, row) in enumerate(measurements.items()):
        left = [position + (k - (len(measurements) - 1) / 2) * width for position in range(len(texts))]
        axes.bar(left, [value(row[text]) for text in texts], width, label=label)
    axes.set_xticks(range(len(texts)), texts)
    axes.set_ylabel(name)
    axes.legend(fontsize=8)
    return axes


def _known(columns: Iterable[str]) -> list[str]:
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, not the string {columns!r}")
    names = list(check_items(columns, "columns"))
    for name in names:
        if not isinstance(name, str) or name not in COLUMNS:
            raise ValueError(f"unknown column {name!r}: choose from {', '.join(map(repr, COLUMNS))}")
    return names


def _texts(measurements: Mapping[str, Mapping[str, Measurement]]) -> list[str]:
    if not check_mapping(measurements, "measurements"):
        raise ValueError("there are no measurements to compare")
    for label, row in measurements.items():
        _check(row, f"the measurements of {label!r}")
    texts = list(next(iter(measurements.values())))
    for label, row in measurements.items():
        if set(row) != set(texts):
            raise ValueError(f"{label!r} was measured on {list(row)}, and the first on {texts}")
    return texts


def _check(measurements: Mapping[str, Measurement], name: str) -> None:
    for label, found in check_mapping(measurements, name).items():
        if not isinstance(found, Measurement):
            raise TypeError(f"{label!r} of {name} must be a Measurement, not {type(found).__name__}")


def _written(column: str, measurement: Measurement) -> str:
    value, form = COLUMNS[column]
    number = value(measurement)
    return "–" if math.isnan(number) else form.format(number)


# -- asking the functions --------------------------------------------------------------------------------


def _ratio(number: int, of: int) -> float:
    return number / of if of else math.nan


def _ids(encode: Encode, text: str, name: str, vocab_size: int | None) -> list[int]:
    """The ids of a text, looked over; `name` says in an error which text it was."""
    try:
        given = encode(text)
    except Exception as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"{name} can't be encoded: {reason}") from error
    if isinstance(given, str) or not isinstance(given, Iterable):
        kind = type(given).__name__
        raise TypeError(
            f"encode must give ids, but gave a {kind} for {name}; some libraries keep them in .ids"
        )
    try:
        ids = list(map(operator.index, given))
    except TypeError as error:
        raise TypeError(f"encode must give integers, but for {name}: {error}") from None
    if ids and min(ids) < 0:
        raise ValueError(f"encode gave the id {min(ids)} for {name}; ids are 0 or more")
    if ids and vocab_size is not None and max(ids) >= vocab_size:
        raise ValueError(f"encode gave the id {max(ids)} for {name}, and vocab_size is {vocab_size:,}")
    return ids


def _words_of(words: Words, text: str, name: str) -> list[str]:
    """The words of a text, looked over: a Counter would take nothing, a string or counts too."""
    found = words(text)
    if isinstance(found, (str, Mapping)) or not isinstance(found, Iterable):
        raise TypeError(f"words must give a list of str, but gave a {type(found).__name__} for {name}")
    listed = list(found)
    for word in listed:
        if not isinstance(word, str):
            raise TypeError(f"words must give a list of str, but one for {name} is a {type(word).__name__}")
    return listed


def _decoded(decode: Decode, ids: list[int], name: str) -> str:
    try:
        text = decode(ids)
    except Exception as error:
        raise ValueError(
            f"the {len(ids)} ids of {name} can't be decoded: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(text, str):
        raise TypeError(f"decode must give a str, but gave {type(text).__name__} for {name}")
    return text


def _is_whole(encode: Encode, word: str, unknown: set[int], vocab_size: int | None) -> bool:
    for framed in (word, f" {word}", f"{word} "):
        try:
            ids = _ids(encode, framed, repr(framed), vocab_size)
        except ValueError:
            if framed == word:
                raise
            continue  # an alphabet of letters alone need not hold the space
        if len(ids) == 1 and ids[0] not in unknown:
            return True
    return False
