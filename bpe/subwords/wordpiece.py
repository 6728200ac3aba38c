"""WordPiece: merges chosen by a score, and words cut by the longest piece first: chapter 10.

A word's first piece stands as it is, each later one has `##` before it. A text is cut at white space, and
every punctuation mark is a word of its own, as in BERT; so white space is lost, and `decode` puts one space
between words. What BERT does to a text before that is left to the caller: it puts spaces around Chinese
characters, and its uncased models drop case and accents.

Schuster, Nakajima: Japanese and Korean Voice Search, 2012, chose the merges that raise the likelihood of the
text most; the program that made BERT's vocabulary was never published. The score used here, count(ab) /
(count(a) · count(b)), is the one that is mostly taught. It is not the same: the log-likelihood rises by
about count(ab) · (log(N · score) - 1) for N symbols, so there frequent pairs count more.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

import regex

from bpe import special
from bpe._progress import show_progress
from bpe._validate import check_id, check_integer, check_items
from bpe.naive import count_pairs, merge_pair
from bpe.subwords.base import check_words, count_words, names_of, number_to_learn
from bpe.tokenizer import ReadOnlyDict, Tokenizer

PREFIX = "##"
CACHED_WORDS = 100_000
Pair = tuple[str, str]

# What BERT takes as punctuation: of ASCII every sign that is no letter, digit or control character.
_SIGN = r"\p{P}$+<=>^`|~"
_WORD = regex.compile(rf"[{_SIGN}]|[^\s{_SIGN}]+")


def words(text: str) -> list[str]:
    """The words of a text: what stands between white space, and each punctuation mark by itself.

    The same as `BertPreTokenizer` of the library `tokenizers`.

    >>> words("It's 5 o'clock.")
    ['It', "'", 's', '5', 'o', "'", 'clock', '.']
    """
    return _WORD.findall(text)


class Step(NamedTuple):
    """One step of training: the pair that was joined, what it became, how often it occurred, its score."""

    pair: Pair
    piece: str
    frequency: int
    score: float


def symbols_of(word: str) -> list[str]:
    """The characters of a word as pieces.

    >>> symbols_of("low")
    ['l', '##o', '##w']
    """
    return [word[0], *(PREFIX + character for character in word[1:])]


class _Words:
    """The training words as pieces, with all counts, kept up to date while pairs are joined.

    frequency[pair], count[piece]: how often they occur, weighted by the words' counts.
    where[pair]: the numbers of words that hold the pair, or held it once.
    beside[piece]: the pairs that the piece is part of, or was once.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.words = [symbols_of(word) for word in counts]
        self.weights = list(counts.values())
        self.frequency: dict[Pair, int] = {}
        self.count: dict[str, int] = {}
        self.where: dict[Pair, set[int]] = {}
        self.beside: dict[str, set[Pair]] = {}
        for number in range(len(self.words)):
            self._count(number, +1)

    def _count(self, number: int, sign: int) -> set[Pair]:
        """Add a word's pairs and pieces to the counts, or take them off; the pairs."""
        pieces, weight = self.words[number], sign * self.weights[number]
        for piece in pieces:
            self.count[piece] = self.count.get(piece, 0) + weight
        pairs = count_pairs(pieces)
        for pair, times in pairs.items():
            self.frequency[pair] = self.frequency.get(pair, 0) + weight * times
            if sign > 0:
                self.where.setdefault(pair, set()).add(number)
                for piece in pair:
                    self.beside.setdefault(piece, set()).add(pair)
        return set(pairs)

    def entry(self, pair: Pair) -> tuple[float, int, Pair]:
        """The pair as it is ordered now: highest score first, then most frequent, then by its pieces."""
        left, right = pair
        frequency = self.frequency[pair]
        return -frequency / (self.count[left] * self.count[right]), -frequency, pair

    def join(self, pair: Pair, piece: str) -> set[Pair]:
        """Replace the pair by the piece in all words; the pairs whose score may have changed."""
        changed: set[Pair] = set()
        for number in self.where.pop(pair):
            changed |= self._count(number, -1)
            self.words[number] = merge_pair(self.words[number], pair, piece)
            changed |= self._count(number, +1)
        return changed.union(*(self.beside.get(symbol, set()) for symbol in (*pair, piece)))


def learn_pieces(counts: Mapping[str, int], min_frequency: int = 2) -> Iterator[Step]:
    """Join the pair of the highest score again and again, and give each step, until no pair is left.

    The score is count(ab) / (count(a) · count(b)): how much more often the two stand together than if pieces
    were thrown together at random, but for a factor that is the same for all. Of equal scores the more
    frequent pair is taken, of these the first in alphabetical order.
    counts: words and how often each occurs.
    min_frequency: pairs that occur less often are left alone.
    """
    text = _Words(counts)
    heap = [text.entry(pair) for pair, frequency in text.frequency.items() if frequency >= min_frequency]
    heapq.heapify(heap)
    while heap:
        score, frequency, pair = entry = heapq.heappop(heap)
        # Each change of a score adds an entry, so one that is out of date can be passed over.
        if -frequency < min_frequency or text.frequency[pair] != -frequency or text.entry(pair) != entry:
            continue
        piece = pair[0] + pair[1].removeprefix(PREFIX)
        for changed in text.join(pair, piece):
            if text.frequency[changed] >= min_frequency:
                heapq.heappush(heap, text.entry(changed))
        yield Step(pair, piece, -frequency, -score)


class WordPiece(Tokenizer):
    """A vocabulary of pieces, and words cut by taking the longest piece first.

    pieces: id -> piece; one that does not begin a word has `##` before it.
    special_tokens: strings that are never pieces of a word.
    unknown: the token that stands for a whole word that can't be covered; None makes that an error. It and
    the special tokens keep their place if they are among `pieces`, else they follow.
    max_characters: a longer word is unknown without a look, as in the library `tokenizers`, which calls it
    max_input_chars_per_word.

    Raises ValueError or TypeError, naming the entry, where these do not fit together.

    >>> tokenizer = WordPiece(["low", "##est", "##er", "l", "##o"])
    >>> tokenizer.tokens("lowest slow")
    ['low', '##est', '[UNK]']
    """

    KIND = "wordpiece"
    vocabulary: tuple[str, ...]

    def __init__(
        self,
        pieces: Iterable[str],
        special_tokens: Iterable[str] = (),
        unknown: str | None = "[UNK]",
        max_characters: int = 100,
    ) -> None:
        given = special.check_names(pieces, "piece")
        names = names_of(unknown, special_tokens)
        self.vocabulary = tuple(dict.fromkeys([*given, *names]))
        self._ids = {piece: i for i, piece in enumerate(self.vocabulary)}
        apart = {name: self._ids.pop(name) for name in names}
        self.unknown = unknown
        self.unknown_id = None if unknown is None else apart.pop(unknown)
        self.special_tokens = ReadOnlyDict(apart)
        self.max_characters = check_integer(max_characters, "max_characters", least=1)
        self._longest = max(map(len, self._ids), default=0)
        self._cache: dict[str, list[int]] = {}

    @classmethod
    def train(
        cls,
        text: str | Iterable[str],
        vocab_size: int,
        *,
        special_tokens: Iterable[str] = (),
        unknown: str | None = "[UNK]",
        min_frequency: int = 2,
        progress: bool | None = None,
    ) -> Self:
        """Learn pieces from the words of a text, by the score of `learn_pieces`.

        text: a str, or an iterable of str. It is cut into `words`, and at special tokens.
        vocab_size: how many tokens there are to be: characters (those inside a word with ##) + pieces + the
        unknown token + special tokens.
        min_frequency: pairs that occur less often are never joined; the bare score is highest for pairs of
        rare characters, which occur once. It may leave fewer tokens than asked for.
        progress: a bar for True, none for False; None shows it to people only.
        The other parameters are those of the class.
        """
        names = special.check_names(special_tokens)
        return cls.train_from_counts(
            count_words(text, names, words),
            vocab_size,
            special_tokens=names,
            unknown=unknown,
            min_frequency=min_frequency,
            progress=progress,
        )

    @classmethod
    def train_from_counts(
        cls,
        counts: Mapping[str, int],
        vocab_size: int,
        *,
        special_tokens: Iterable[str] = (),
        unknown: str | None = "[UNK]",
        min_frequency: int = 2,
        progress: bool | None = None,
    ) -> Self:
        """Learn pieces from words and how often each occurs; the parameters are those of `train`."""
        names = special.check_names(special_tokens)
        counts = check_words(counts, words)
        least = check_integer(min_frequency, "min_frequency", least=1)
        pieces = dict.fromkeys(sorted({symbol for word in counts for symbol in symbols_of(word)}))
        number = number_to_learn(vocab_size, len(pieces), len(names_of(unknown, names)))
        steps = _new_pieces(learn_pieces(counts, least), pieces, number)
        for piece in show_progress(steps, number, progress, desc="pieces"):
            pieces[piece] = None
        return cls(pieces, names, unknown)

    def _encode_ordinary(self, text: str) -> list[int]:
        ids: list[int] = []
        for word in words(text):
            cut = self._cache.get(word)
            if cut is None:
                cut = self._cut(word)
                if len(self._cache) < CACHED_WORDS:
                    self._cache[word] = cut
            ids += cut
        return ids

    def _cut(self, word: str) -> list[int]:
        """The ids of a word: the longest piece that it begins with, then the longest of the rest."""
        ids: list[int] = []
        start = 0
        while start < len(word) <= self.max_characters:
            prefix = PREFIX if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                if (piece := prefix + word[start:end]) in self._ids:
                    ids.append(self._ids[piece])
                    start = end
                    break
            else:
                break
        return ids if start == len(word) else self._unknown(word)

    def _unknown(self, word: str) -> list[int]:
        if self.unknown_id is None:
            raise ValueError(f"the word {word[:40]!r} can't be made of pieces, and there is no unknown token")
        return [self.unknown_id]

    def decode(self, ids: Iterable[int]) -> str:
        """The words of the ids, with one space between them; a special token is a word of its own.

        Raises as `token` does.
        """
        text: list[str] = []
        for i in check_items(ids, "ids"):
            piece = self.vocabulary[check_id(i, self.vocab_size)]
            if piece.startswith(PREFIX) and piece not in self.special_tokens:
                text.append(piece.removeprefix(PREFIX))
            else:
                text += [" ", piece] if text else [piece]
        return "".join(text)

    def _content(self) -> dict[str, Any]:
        return {
            "pieces": list(self.vocabulary),
            "special_tokens": list(self.special_tokens),
            "unknown": self.unknown,
            "max_characters": self.max_characters,
        }

    def with_special_tokens(self, names: Iterable[str]) -> Self:
        """The same tokenizer with more special tokens, whose ids follow the others."""
        specials = [*self.special_tokens, *names]
        return type(self)(self.vocabulary, specials, self.unknown, self.max_characters)


def _new_pieces(steps: Iterator[Step], known: Mapping[str, None], number: int) -> Iterator[str]:
    """The first `number` pieces that are not known yet; two pairs may make the same one."""
    found = 0
    while found < number and (step := next(steps, None)):
        if step.piece not in known:
            found += 1
            yield step.piece
