"""Byte pair encoding over words, as machine translation first used it (chapter 10).

A text is cut at whitespace, and a mark ends every word. So the whitespace itself is lost: `decode` puts one
space between words.

Sennrich, Haddow, Birch: Neural Machine Translation of Rare Words with Subword Units, 2016. As in their
algorithm 1, the mark is a symbol of its own; later libraries, `tokenizers` among them, attach it to the last
character before the first merge.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any, ClassVar, Self

from bpe import counting, fast, naive, special, stretches
from bpe._progress import show_progress
from bpe._validate import (
    check_finite,
    check_ids,
    check_integer,
    check_seed,
    refuse_surrogates,
    refuse_unordered,
)
from bpe.bytepair import Progress, as_pairs, index_tokens, rank_pairs
from bpe.fast import incremental
from bpe.naive import Pair
from bpe.subwords.base import check_words, collect_names, count_words, encode_words, number_to_learn
from bpe.tokenizer import Memory, ReadOnlyDict, Tokenizer

END = "</w>"
MOST_SYMBOLS = 10_000_000  # of all tokens together: each merge can double the longest


class WordBPE(Tokenizer):
    """Byte pair encoding over words that end with the mark `</w>`.

    characters: the single characters that are tokens; ids follow their order, and the mark comes next.
    merges: (left id, right id) in order of rank; the k-th makes the k-th token after the mark.
    special_tokens: strings that get ids of their own, after all others.
    unknown: the token for characters that are not tokens; its id follows the last merge's. With None, such a
    character is an error.

    Raises ValueError or TypeError, naming the entry, if these do not fit together.

    >>> tokenizer = WordBPE.train("low low lower", 10)
    >>> tokenizer.tokens("low slow")
    ['low</w>', '[UNK]', 'low</w>']
    """

    KIND = "byte pair encoding of words"
    CONTENT: ClassVar = {
        "characters": list,
        "merges": list,
        "special_tokens": list,
        "unknown": (str, NoneType),
    }
    vocabulary: tuple[str, ...]

    def __init__(
        self,
        characters: Iterable[str],
        merges: Iterable[Pair] = (),
        special_tokens: Iterable[str] = (),
        unknown: str | None = "[UNK]",
    ) -> None:
        refuse_unordered(characters, "characters")
        self.characters = tuple(characters)
        for character in self.characters:
            if not isinstance(character, str) or len(character) != 1:
                raise ValueError(f"a base token must be a single character, not {character!r}")
            refuse_surrogates(character)
        self.merges = tuple(as_pairs(merges))
        self.unknown = unknown
        names = collect_names(unknown, special_tokens)
        # A token is a tuple of symbols: the mark is one symbol, the characters "</w>" of a text are four.
        symbols: list[Any] = [(symbol,) for symbol in [*self.characters, END]]
        total = len(symbols)
        for rank, pair in enumerate(self.merges):
            for i in pair:
                if not 0 <= i < len(symbols):
                    raise ValueError(f"merge {rank} uses the id {i}, which no earlier token has")
            total += len(symbols[pair[0]]) + len(symbols[pair[1]])
            if total > MOST_SYMBOLS:
                raise ValueError(f"merge {rank} brings the tokens to more than {MOST_SYMBOLS:,} symbols")
            symbols.append(symbols[pair[0]] + symbols[pair[1]])
        self._ranks = rank_pairs(self.merges, symbols, index_tokens(symbols))
        self._symbol_ids: dict[str, int] = {symbol[0]: i for i, symbol in enumerate(symbols[: self._base])}
        self._words = ["".join(symbol[:-1] if symbol[-1] == END else symbol) for symbol in symbols]
        self._ends = [symbol[-1] == END for symbol in symbols]
        ids = {name: len(symbols) + k for k, name in enumerate(names)}
        self.unknown_id = None if unknown is None else ids.pop(unknown)
        self.special_tokens = ReadOnlyDict(ids)
        self.vocabulary = (*map("".join, symbols), *names)
        self._cache = Memory()

    @property
    def _base(self) -> int:
        return len(self.characters) + 1

    # -- training ------------------------------------------------------------------------------------

    @classmethod
    def train(
        cls,
        text: str | Iterable[str],
        vocab_size: int,
        *,
        special_tokens: Iterable[str] = (),
        unknown: str | None = "[UNK]",
        min_frequency: int = 2,
        engine: str = "auto",
        progress: Progress = None,
    ) -> Self:
        """Learn merges from the words of a text.

        text: a str, or an iterable of str. It is cut at whitespace and at special tokens.
        vocab_size: target vocabulary size: characters + the mark + merges + the unknown token + special
        tokens.
        min_frequency: stop when no pair occurs this often, which may leave fewer tokens than the target.
        engine: "naive", "incremental", "compiled" (which needs Numba), or "auto"; all give the same merges.
        progress: as in `BPETokenizer.train`. The other parameters are those of the class.

        Of the most frequent pairs, the one that occurs first in the earliest word is merged.
        """
        names = special.check_names(special_tokens)
        # Counting a long text takes a while, so what can fail does so before it.
        fast.choose_engine(engine, 0)
        check_integer(min_frequency, "min_frequency", least=1)
        number_to_learn(vocab_size, 0, 1 + len(collect_names(unknown, names)))
        return cls.train_from_counts(
            count_words(text, names),
            vocab_size,
            special_tokens=names,
            unknown=unknown,
            min_frequency=min_frequency,
            engine=engine,
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
        engine: str = "auto",
        progress: Progress = None,
    ) -> Self:
        """Learn merges from word counts; the other parameters are those of `train`.

        >>> tokenizer = WordBPE.train_from_counts({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 15)
        >>> [tokenizer.token(i) for i in range(11, 14)]
        ['es', 'est', 'est</w>']
        """
        names = special.check_names(special_tokens)
        counts = check_words(counts)
        learn_merges = fast.load_engine(fast.choose_engine(engine, sum(map(len, counts)))).learn_merges
        characters = sorted(set().union(*counts))
        base = {symbol: i for i, symbol in enumerate([*characters, END])}
        num_merges = number_to_learn(vocab_size, len(characters), 1 + len(collect_names(unknown, names)))
        steps = learn_merges(
            [[base[symbol] for symbol in (*word, END)] for word in counts],
            list(counts.values()),
            num_merges,
            len(base),
            check_integer(min_frequency, "min_frequency", least=1),
        )
        merges = [step.pair for step in show_progress(steps, num_merges, progress, desc="merges")]
        if min_frequency == 2:  # with another one, training stops where it was meant to
            counting.warn_if_few(len(merges), num_merges)
        return cls(characters, merges, names, unknown)

    # -- encoding and decoding -----------------------------------------------------------------------

    def encode(
        self,
        text: str,
        *,
        allowed_special: special.Names = (),
        disallowed_special: special.Names = "all",
        dropout: float = 0.0,
        seed: int = 0,
    ) -> list[int]:
        """Encode the words of a text; the whitespace between them is lost.

        dropout: the probability, 0 to 1, of skipping a possible merge each time it is considered: the words
        stay the same, and their tokens vary with `seed`. 1 leaves single symbols. If a word holds a pair
        twice, both are merged unless both are skipped. Provilkov, Emelianenko, Voita: BPE-Dropout, 2020.
        seed: 0 to 2**64 - 1; used only with dropout.

        The other parameters are those of `Tokenizer.encode`. Raises as it does, and ValueError for a
        character that is not a token if there is no unknown token.
        """
        if not 0 <= (dropout := check_finite(dropout, "dropout")) <= 1:
            raise ValueError(f"dropout is a probability, from 0 to 1, not {dropout}")
        rng = random.Random(check_seed(seed))

        def encode_part(part: str) -> list[int]:
            return self._encode_ordinary(part) if not dropout else self._encode_dropping(part, dropout, rng)

        return self._encode_parts(text, allowed_special, disallowed_special, encode_part)

    def _encode_ordinary(self, text: str) -> list[int]:
        return encode_words(text.split(), self._encode_word, self._cache)

    def _find_cut(self, text: str, stop: int) -> int:
        return stretches.find_pair(text, stop, r"\s(?s:.)")

    def _encode_word(self, word: str) -> list[int]:
        return incremental.apply_merges(self._symbols(word), self._ranks)

    def _encode_dropping(self, text: str, dropout: float, rng: random.Random) -> list[int]:
        def keep(pair: Pair) -> bool:
            return rng.random() >= dropout

        # The naive engine considers every pair at every step.
        words = [naive.apply_merges(self._symbols(word), self._ranks, keep) for word in text.split()]
        return [i for ids in words for i in ids]

    def _symbols(self, word: str) -> list[int]:
        """Return the ids of a word's characters and of the mark."""
        if self.unknown_id is not None:
            return [self._symbol_ids.get(symbol, self.unknown_id) for symbol in (*word, END)]
        for character in word:
            if character not in self._symbol_ids:
                raise ValueError(
                    f"character {character!r} (U+{ord(character):04X}) of {word[:40]!r} is not among the "
                    f"{len(self.characters):,} characters of this vocabulary, and there is no unknown token"
                )
        return [self._symbol_ids[symbol] for symbol in (*word, END)]

    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids to words with one space between them; a special token is a word of its own.

        The unknown token gives its own name, inside its word. Raises as `token`.
        """
        words: list[list[str]] = [[]]
        for i in check_ids(ids, self.vocab_size):
            if i < len(self._words):
                words[-1].append(self._words[i])
                if self._ends[i]:
                    words.append([])
            elif i == self.unknown_id:
                words[-1].append(self.vocabulary[i])
            else:
                words += [[self.vocabulary[i]], []]
        return " ".join(filter(None, map("".join, words)))

    # -- files ---------------------------------------------------------------------------------------

    def _content(self) -> dict[str, Any]:
        return {
            "characters": list(self.characters),
            "merges": self.merges,
            "special_tokens": list(self.special_tokens),
            "unknown": self.unknown,
        }

    def with_special_tokens(self, names: Iterable[str]) -> Self:
        """Return this tokenizer with more special tokens; their ids follow the others."""
        return type(self)(
            self.characters, self.merges, [*self.special_tokens, *special.check_names(names)], self.unknown
        )
