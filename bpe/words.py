"""Byte pair encoding over words, as it came to machine translation: chapter 10.

A text is cut at white space, and a mark at the end of every word says where the next one begins. So the white
space itself is lost: `decode` puts one space between words.

Sennrich, Haddow, Birch: Neural Machine Translation of Rare Words with Subword Units, 2016. As in their
algorithm 1 the mark is a symbol of its own; later libraries, `tokenizers` among them, attach it to the last
character before the first merge.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from bpe import incremental, naive, parts, special
from bpe.bytepair import Progress
from bpe.engines import engine_for, engine_named
from bpe.inputs import (
    documents_of,
    finite,
    id_below,
    integer,
    items_of,
    mapping_of,
    refuse_surrogates,
    seed_number,
)
from bpe.parts import Pair
from bpe.progress import watched
from bpe.subwords import SubwordTokenizer, names_of, number_to_learn, refuse_unknown

END = "</w>"
CACHED_WORDS = 100_000


def count_words(
    text: str | Iterable[str], special_tokens: Iterable[str] = (), cut: Callable[[str], list[str]] = str.split
) -> dict[str, int]:
    """How often each word occurs, in the order of first appearance.

    text: a str, or an iterable of str. special_tokens: the text is cut at them, and they are not counted.
    cut: gives the words of a text; by default what stands between white space.

    >>> count_words("to be or not to be")
    {'to': 2, 'be': 2, 'or': 1, 'not': 1}
    """
    names = special.different(special_tokens)
    counts: dict[str, int] = {}
    for document in documents_of(text):
        for part, is_special in special.parts(document, names):
            for word in () if is_special else cut(part):
                counts[word] = counts.get(word, 0) + 1
    return counts


def checked_words(counts: Mapping[str, int], cut: Callable[[str], list[str]] = str.split) -> dict[str, int]:
    """The counts, looked over.

    Raises ValueError for what is not one word by `cut`, for a count below 1, and where there are none;
    TypeError for what is no mapping, and for a count that is no integer.
    """
    checked: dict[str, int] = {}
    for word, count in mapping_of(counts, "counts").items():
        if not isinstance(word, str) or cut(word) != [word]:
            raise ValueError(f"{word!r} is not one word")
        refuse_surrogates(word)
        # An int of Python: the small ones of numpy would be added up in their few bits.
        checked[word] = integer(count, f"the count of {word!r}", least=1)
    if not checked:
        raise ValueError("the training text has no words, so there is nothing to learn from")
    return checked


class _Forgetful(Mapping[Pair, "tuple[int, int]"]):
    """Ranks that deny a pair with the probability `dropout`, each time that they are asked."""

    def __init__(self, ranks: Mapping[Pair, tuple[int, int]], dropout: float, chance: random.Random) -> None:
        self.ranks, self.dropout, self.chance = ranks, dropout, chance

    def __contains__(self, pair: object) -> bool:
        return pair in self.ranks and self.chance.random() >= self.dropout

    def __getitem__(self, pair: Pair) -> tuple[int, int]:
        return self.ranks[pair]

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.ranks)

    def __len__(self) -> int:
        return len(self.ranks)


class WordBPE(SubwordTokenizer):
    """Byte pair encoding over words with the mark `</w>` at their end.

    characters: the single characters that are tokens; the ids follow their order, then comes the mark.
    merges: (left id, right id) in the order of their rank; the k-th makes the k-th token after the mark.
    special_tokens: strings that get ids of their own, after all others.
    unknown: the token that stands for a character that is no token, with the id after the last merge's; None
    makes that an error.

    Raises ValueError or TypeError, naming the entry, where these do not fit together.

    >>> tokenizer = WordBPE.train("low low lower", 10)
    >>> tokenizer.tokens("low slow")
    ['low</w>', '[UNK]', 'low</w>']
    """

    KIND = "byte pair encoding of words"

    def __init__(
        self,
        characters: Iterable[str],
        merges: Iterable[Pair] = (),
        special_tokens: Iterable[str] = (),
        unknown: str | None = "[UNK]",
    ) -> None:
        self.characters = list(items_of(characters, "characters"))
        for character in self.characters:
            if not isinstance(character, str) or len(character) != 1:
                raise ValueError(f"a base token must be a single character, not {character!r}")
            refuse_surrogates(character)
        self.merges = parts.pairs_of(items_of(merges, "merges"))
        self.unknown = unknown
        names = names_of(unknown, special_tokens)
        # A token is a tuple of its symbols: characters "</w>" in a text are four of them, the mark is one.
        symbols: list[Any] = [(symbol,) for symbol in [*self.characters, END]]
        for rank, pair in enumerate(self.merges):
            for i in pair:
                if not 0 <= i < len(symbols):
                    raise ValueError(f"merge {rank} uses the id {i}, which no earlier token has")
            symbols.append(symbols[pair[0]] + symbols[pair[1]])
        self._ranks = parts.ranks_of(self.merges, symbols, parts.ids_of(symbols))
        self._symbol_ids: dict[str, int] = {symbol[0]: i for i, symbol in enumerate(symbols[: self._base])}
        self._words = ["".join(symbol[:-1] if symbol[-1] == END else symbol) for symbol in symbols]
        self._ends = [symbol[-1] == END for symbol in symbols]
        ids = {name: len(symbols) + k for k, name in enumerate(names)}
        self.unknown_id = None if unknown is None else ids.pop(unknown)
        self.special_tokens = ids
        self.pieces = ["".join(symbol) for symbol in symbols] + names
        self._cache: dict[str, list[int]] = {}

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
    ) -> WordBPE:
        """Learn merges from the words of a text.

        text: a str, or an iterable of str. The text is cut at white space and at special tokens.
        vocab_size: how many tokens there are to be: characters + the mark + merges + the unknown token +
        special tokens.
        min_frequency: stop when no pair occurs so often, which may leave fewer tokens than asked for.
        engine: "naive", "incremental", "compiled" (which needs Numba), or "auto"; all give the same merges.
        The other parameters are those of the class, and `progress` is that of `BPETokenizer.train`.

        Of the most frequent pairs, the one that occurs first in the earliest word is merged.
        """
        names = special.different(special_tokens)
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
    ) -> WordBPE:
        """Learn merges from words and how often each occurs; the parameters are those of `train`.

        >>> tokenizer = WordBPE.train_from_counts({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 15)
        >>> [tokenizer.token(i) for i in range(11, 14)]
        ['es', 'est', 'est</w>']
        """
        names = special.different(special_tokens)
        counts = checked_words(counts)
        learn_merges = engine_named(engine_for(engine, sum(map(len, counts)))).learn_merges
        characters = sorted(set().union(*counts))
        base = {symbol: i for i, symbol in enumerate([*characters, END])}
        num_merges = number_to_learn(vocab_size, len(characters), 1 + len(names_of(unknown, names)))
        steps = learn_merges(
            [[base[symbol] for symbol in (*word, END)] for word in counts],
            list(counts.values()),
            num_merges,
            len(base),
            integer(min_frequency, "min_frequency", least=1),
        )
        merges = [step.pair for step in watched(steps, num_merges, progress, desc="merges")]
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
        """The ids of the text's words; how much white space stood between them is lost.

        dropout: the probability, 0 to 1, with which a merge that could be made is passed over, each time that
        it is looked up: the words stay the same, and their tokens vary with `seed`. 1 leaves single symbols.
        Where a word holds a pair twice, both are merged if either is not passed over.
        Provilkov, Emelianenko, Voita: BPE-Dropout, 2020.

        The other parameters are those of `BPETokenizer.encode`. Raises ValueError as it does, and for a
        character that is no token where there is no unknown token.
        """
        if not 0 <= (dropout := finite(dropout, "dropout")) <= 1:
            raise ValueError(f"dropout is a probability, from 0 to 1, not {dropout}")
        chance = random.Random(seed_number(seed))
        encoded = partial(self._dropped, dropout=dropout, chance=chance) if dropout else self._encoded
        return self._with_special(text, allowed_special, disallowed_special, encoded)

    def _encoded(self, text: str) -> list[int]:
        ids: list[int] = []
        for word in text.split():
            merged = self._cache.get(word)
            if merged is None:
                merged = incremental.apply_merges(self._symbols(word), self._ranks)
                if len(self._cache) < CACHED_WORDS:
                    self._cache[word] = merged
            ids += merged
        return ids

    def _dropped(self, text: str, dropout: float, chance: random.Random) -> list[int]:
        # The naive engine asks the ranks anew at every step, for every pair that it sees.
        ranks = _Forgetful(self._ranks, dropout, chance)
        return [i for word in text.split() for i in naive.apply_merges(self._symbols(word), ranks)]

    def _symbols(self, word: str) -> list[int]:
        """The ids of a word's characters, and of the mark."""
        if self.unknown_id is None:
            refuse_unknown(word, self.characters)
            return [self._symbol_ids[symbol] for symbol in (*word, END)]
        return [self._symbol_ids.get(symbol, self.unknown_id) for symbol in (*word, END)]

    def decode(self, ids: Iterable[int]) -> str:
        """The words of the ids, with one space between them; a special token is a word of its own.

        The unknown token stands where the character stood. Raises as `token` does.
        """
        words: list[list[str]] = [[]]
        for i in items_of(ids, "ids"):
            i = id_below(i, self.vocab_size)
            if i < len(self._words):
                words[-1].append(self._words[i])
                if self._ends[i]:
                    words.append([])
            elif i == self.unknown_id:
                words[-1].append(self.pieces[i])
            else:
                words += [[self.pieces[i]], []]
        return " ".join(filter(None, map("".join, words)))

    # -- files ---------------------------------------------------------------------------------------

    def _content(self) -> dict[str, Any]:
        return {
            "characters": self.characters,
            "merges": self.merges,
            "special_tokens": list(self.special_tokens),
            "unknown": self.unknown,
        }
