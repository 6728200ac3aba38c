"""WordPiece: choose merges by a score, and cut words longest piece first (chapter 10).

The first piece of a word is written as it is, later ones with `##` before them. A text is cut at whitespace,
and each punctuation mark is a word of its own, as in BERT. So whitespace is lost, and `decode` puts one space
between words. The rest of BERT's preparation is left to the caller: BERT puts spaces around Chinese
characters, and its uncased models drop case and accents.

Schuster, Nakajima: Japanese and Korean Voice Search, 2012, choose the merges that raise the likelihood of the
text most; the program that made BERT's vocabulary was never published. The score here, count(ab) /
(count(a) · count(b)), is the one usually taught. It differs: for N symbols, the log-likelihood rises by about
count(ab) · (log(N · score) - 1), which favours frequent pairs.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from types import NoneType
from typing import Any, ClassVar, NamedTuple, Self

import regex

from bpe import counting, special, stretches
from bpe._progress import show_progress
from bpe._validate import check_ids, check_integer
from bpe.naive import count_pairs, merge_pair
from bpe.subwords.base import check_words, collect_names, count_words, encode_words, number_to_learn
from bpe.tokenizer import Memory, ReadOnlyDict, Tokenizer

PREFIX = "##"
Pair = tuple[str, str]

# Punctuation in BERT: in ASCII, all printable characters but letters, digits and the space.
_SIGN = r"\p{P}$+<=>^`|~"
_WORD = regex.compile(rf"[{_SIGN}]|[^\s{_SIGN}]+")


def words(text: str) -> list[str]:
    """Cut a text at whitespace, and make each punctuation mark a word of its own.

    Equals `BertPreTokenizer` of the library `tokenizers`.

    >>> words("It's 5 o'clock.")
    ['It', "'", 's', '5', 'o', "'", 'clock', '.']
    """
    return _WORD.findall(text)


class Step(NamedTuple):
    """One step of training: the merged pair, the piece it became, how often it occurred, its score."""

    pair: Pair
    piece: str
    frequency: int
    score: float


def symbols_of(word: str) -> list[str]:
    """Return the characters of a word as pieces.

    >>> symbols_of("low")
    ['l', '##o', '##w']
    """
    return [word[0], *(PREFIX + character for character in word[1:])]


class _Words:
    """The training words as pieces, with counts that follow each merge.

    frequency[pair], count[piece]: how often they occur, weighted by the counts of the words.
    where[pair]: the numbers of the words that hold the pair, or once held it.
    beside[piece]: the pairs that the piece belongs to, or once belonged to.
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
        """Add a word's pairs and pieces to the counts, or with sign -1 subtract them; return the pairs."""
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
        """Return what the heap orders by: highest score first, then most frequent, then alphabetical."""
        left, right = pair
        frequency = self.frequency[pair]
        return -frequency / (self.count[left] * self.count[right]), -frequency, pair

    def merge(self, pair: Pair, piece: str) -> set[Pair]:
        """Replace the pair with the piece in all words; return the pairs whose score may have changed."""
        changed: set[Pair] = set()
        for number in self.where.pop(pair):
            changed |= self._count(number, -1)
            self.words[number] = merge_pair(self.words[number], pair, piece)
            changed |= self._count(number, +1)
        return changed.union(*(self.beside.get(symbol, set()) for symbol in (*pair, piece)))


def learn_pieces(counts: Mapping[str, int], min_frequency: int = 2) -> Iterator[Step]:
    """Merge the pair with the highest score, again and again, yielding each step, until no pair is left.

    The score is count(ab) / (count(a) · count(b)): up to a constant factor, how much more often a and b are
    neighbours than if pieces were in random order. Of pairs with equal scores, the more frequent one is
    merged; of these, the first in alphabetical order.

    counts: word -> how often it occurs.
    min_frequency: pairs that occur less often are never merged.
    """
    text = _Words(counts)
    heap = [text.entry(pair) for pair, frequency in text.frequency.items() if frequency >= min_frequency]
    heapq.heapify(heap)
    while heap:
        score, frequency, pair = entry = heapq.heappop(heap)
        # Each change of a score adds an entry, so those that are out of date can be skipped.
        if text.frequency[pair] != -frequency or text.entry(pair) != entry:
            continue
        piece = pair[0] + pair[1].removeprefix(PREFIX)
        for changed in text.merge(pair, piece):
            if text.frequency[changed] >= min_frequency:
                heapq.heappush(heap, text.entry(changed))
        yield Step(pair, piece, -frequency, -score)


class WordPiece(Tokenizer):
    """A vocabulary of pieces; words are cut longest piece first.

    pieces: id -> piece; pieces that continue a word have `##` before them.
    special_tokens: strings that are never pieces of a word.
    unknown: the token for a word that pieces can't cover; with None, such a word is an error. It and the
    special tokens keep their places if they are among `pieces`, else they follow.
    max_characters: a longer word is always unknown; the library `tokenizers` calls this
    max_input_chars_per_word.

    Raises ValueError or TypeError, naming the entry, if these do not fit together.

    >>> tokenizer = WordPiece(["low", "##est", "##er", "l", "##o"])
    >>> tokenizer.tokens("lowest slow")
    ['low', '##est', '[UNK]']
    """

    KIND = "wordpiece"
    CONTENT: ClassVar = {
        "pieces": list,
        "special_tokens": list,
        "unknown": (str, NoneType),
        "max_characters": int,
    }
    vocabulary: tuple[str, ...]

    def __init__(
        self,
        pieces: Iterable[str],
        special_tokens: Iterable[str] = (),
        unknown: str | None = "[UNK]",
        max_characters: int = 100,
    ) -> None:
        given = special.check_names(pieces, "piece")
        names = collect_names(unknown, special_tokens)
        self.vocabulary = tuple(dict.fromkeys([*given, *names]))
        self._ids = {piece: i for i, piece in enumerate(self.vocabulary)}
        special_ids = {name: self._ids.pop(name) for name in names}
        self.unknown = unknown
        self.unknown_id = None if unknown is None else special_ids.pop(unknown)
        self.special_tokens = ReadOnlyDict(special_ids)
        self.max_characters = check_integer(max_characters, "max_characters", least=1)
        # Of the parts of words that pieces match: a long text is compared with no others.
        lengths = {len(piece) for piece in self._ids}
        lengths |= {len(piece) - len(PREFIX) for piece in self._ids if piece.startswith(PREFIX)}
        self._lengths = sorted(lengths, reverse=True)
        self._cache = Memory()

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
        vocab_size: target vocabulary size: characters (those inside a word with ##) + pieces + the unknown
        token + special tokens.
        min_frequency: never merge pairs that occur less often; the bare score is highest for pairs of rare
        characters, which occur once. The vocabulary may be smaller than the target.
        progress: a bar for True, none for False; None shows it to people only.
        The other parameters are those of the class.
        """
        names = special.check_names(special_tokens)
        # Counting a long text takes a while, so what can fail does so before it.
        check_integer(min_frequency, "min_frequency", least=1)
        number_to_learn(vocab_size, 0, len(collect_names(unknown, names)))
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
        """Learn pieces from word counts; the other parameters are those of `train`."""
        names = special.check_names(special_tokens)
        counts = check_words(counts, words)
        least = check_integer(min_frequency, "min_frequency", least=1)
        pieces = dict.fromkeys(sorted({symbol for word in counts for symbol in symbols_of(word)}))
        number = number_to_learn(vocab_size, len(pieces), len(collect_names(unknown, names)))
        wanted = len(pieces) + number
        new = _new_pieces(learn_pieces(counts, least), pieces, number)
        for piece in show_progress(new, number, progress, desc="pieces"):
            pieces[piece] = None
        if least == 2:  # with another one, training stops where it was meant to
            counting.warn_if_few(len(pieces) - wanted + number, number)
        return cls(list(pieces), names, unknown)

    def _encode_ordinary(self, text: str) -> list[int]:
        return encode_words(words(text), self._encode_word, self._cache)

    def _find_cut(self, text: str, stop: int) -> int:
        return stretches.find_pair(text, stop, r"\s(?s:.)")

    def _encode_word(self, word: str) -> list[int]:
        """Take the longest piece that the word begins with, then the longest of the rest, and so on."""
        ids: list[int] = []
        start = 0
        while start < len(word) <= self.max_characters:
            prefix = PREFIX if start else ""
            for length in self._lengths:
                end = start + length
                if start < end <= len(word) and (piece := prefix + word[start:end]) in self._ids:
                    ids.append(self._ids[piece])
                    start = end
                    break
            else:
                break
        return ids if start == len(word) else self._encode_unknown(word)

    def _encode_unknown(self, word: str) -> list[int]:
        if self.unknown_id is None:
            raise ValueError(f"pieces can't cover the word {word[:40]!r}, and there is no unknown token")
        return [self.unknown_id]

    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids to words with one space between them; a special token is a word of its own.

        Raises as `token`.
        """
        text: list[str] = []
        for i in check_ids(ids, self.vocab_size):
            piece = self.vocabulary[i]
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
        """Return this tokenizer with more special tokens; their ids follow the others.

        Raises ValueError for a name that is a token already.
        """
        added = special.check_names(names)
        for name in added:
            if name in self:
                raise ValueError(f"{name!r} is a token already, with the id {self.id_of(name)}")
        specials = [*self.special_tokens, *added]
        return type(self)(self.vocabulary, specials, self.unknown, self.max_characters)


def _new_pieces(steps: Iterator[Step], known: Mapping[str, None], number: int) -> Iterator[str]:
    """Yield the first `number` pieces that are not among `known`; two pairs may make the same piece."""
    found = 0
    while found < number and (step := next(steps, None)):
        if step.piece not in known:
            found += 1
            yield step.piece
