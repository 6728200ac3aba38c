"""Unigram: cut a text in the most probable way (chapter 10).

Every piece has a probability; of all ways to cut a text, the one with the highest product wins. Spaces are
written as `▁` first, and the text is not pre-split, so no whitespace is lost.

Kudo: Subword Regularization, 2018. The rules are those of the library sentencepiece, by Kudo and Richardson;
the tests compare with its version 0.2.3.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from ctypes import c_float
from typing import Any, ClassVar, NamedTuple, Self

from bpe import special
from bpe._validate import check_finite, check_ids, check_seed, refuse_surrogates, refuse_unordered
from bpe.subwords import unigram_training
from bpe.subwords.base import number_to_learn
from bpe.subwords.lattice import (
    BYTES,
    KINDS,
    LONGEST,
    SPACE,
    Edge,
    Kind,
    Path,
    Piece,
    best_path,
    random_path,
    sums,
)
from bpe.tokenizer import ReadOnlyDict, Tokenizer

UNKNOWN_PENALTY = 10.0
UNKNOWN = -1  # the name of an unknown character in a lattice


class Occurrence(NamedTuple):
    """A piece in a text: its begin and end, its id (None for an unknown character), its score."""

    begin: int
    end: int
    id: int | None
    score: float


class Unigram(Tokenizer):
    """Pieces with scores; a text is cut so that the sum of its scores is highest.

    pieces: each a `Piece`, or a tuple of its fields; ids follow their order.
    prefix: whether to put a space before the text, so that its first word is cut like the others
    (add_dummy_prefix in sentencepiece).

    A character that is not a piece scores 10 less than the lowest score. It becomes bytes if there are byte
    pieces, else the unknown token, one for a run of such characters; if there is neither, it is an error.
    A user-defined piece of n bytes scores 0.1 · (n - 1), so it beats normal pieces, which score below 0. This
    is the formula of sentencepiece 0.2.3; earlier versions had another one.
    Scores are kept in 32 bits, as in the files of sentencepiece.

    Raises ValueError or TypeError, naming the entry, if these do not fit together.

    >>> tokenizer = Unigram([("▁l", -2), ("ow", -1), ("▁", -3), ("l", -3), ("o", -3), ("w", -3)])
    >>> tokenizer.tokens("low")
    ['▁l', 'ow']
    """

    KIND = "unigram"
    CONTENT: ClassVar = {"pieces": list, "prefix": bool}
    vocabulary: tuple[str, ...]

    def __init__(
        self,
        pieces: Iterable[Piece | tuple[str, float] | tuple[str, float, Kind]],
        prefix: bool = True,
    ) -> None:
        refuse_unordered(pieces, "pieces")
        if isinstance(pieces, str):
            raise TypeError(f"pieces must be a list of pieces, not the string {pieces[:60]!r}")
        self.entries = tuple(_check_piece(number, entry) for number, entry in enumerate(pieces))
        self.vocabulary = tuple(special.check_names((entry.text for entry in self.entries), "piece"))
        if not isinstance(prefix, bool):
            raise TypeError(f"prefix must be True or False, not {prefix!r}")
        self.prefix = prefix
        ids = {kind: _ids_of(self.entries, kind) for kind in KINDS}
        if not ids["normal"]:
            raise ValueError("there is no normal piece")
        if len(ids["unknown"]) > 1:
            raise ValueError(f"there are two unknown tokens: {' and '.join(list(ids['unknown'])[:2])}")
        if ids["byte"] and sorted(ids["byte"]) != BYTES:
            raise ValueError("byte pieces are <0x00> to <0xFF>, all 256 of them or none")
        self.special_tokens = ReadOnlyDict(ids["control"])
        self.unknown_id = next(iter(ids["unknown"].values()), None)
        self._byte_ids = [ids["byte"][name] for name in BYTES] if ids["byte"] else []
        self._bytes = {i: value for value, i in enumerate(self._byte_ids)}
        self._scored = {text: (i, self.entries[i].score) for text, i in ids["normal"].items()}
        self._scored |= {text: (i, _user_defined_score(text)) for text, i in ids["user-defined"].items()}
        lowest = min(self.entries[i].score for i in ids["normal"].values())
        self._unknown_score = c_float(lowest - UNKNOWN_PENALTY).value
        self._lengths = _find_lengths(self._scored)

    # -- training ------------------------------------------------------------------------------------

    @classmethod
    def train(
        cls,
        text: str | Iterable[str],
        vocab_size: int,
        *,
        special_tokens: Iterable[str] = (),
        unknown: str | None = "<unk>",
        byte_fallback: bool = True,
        character_coverage: float = 1.0,
        max_length: int = 16,
        seed_factor: float = 4.0,
        shrinking_factor: float = 0.75,
        sub_iterations: int = 2,
        prefix: bool = True,
        progress: bool | None = None,
    ) -> Self:
        """Learn pieces and their scores: start with many pieces, and drop those that matter least.

        text: a str, or an iterable of str, each its own document. It is cut at special tokens.
        vocab_size: target vocabulary size: the unknown token, special tokens, 256 bytes if wanted,
        characters, and longer pieces.
        byte_fallback: whether to add tokens for the 256 bytes, so that no text is unknown.
        character_coverage: the share of the text, 0 to 1, that its tokens for characters cover; the rarest
        characters beyond it get none.
        max_length: of a piece, in characters.
        seed_factor: how many longer pieces training starts with, as a multiple of those wanted: those that
        cover most of the text. (sentencepiece has a fixed number, seed_sentencepiece_size.)
        shrinking_factor: the share of the pieces that each round keeps.
        sub_iterations: how many times each round estimates the probabilities.
        progress: a bar for True, none for False; None shows it to people only.

        If fewer pieces occur twice in the text, the vocabulary is smaller than the target.
        """
        fixed = unigram_training.fixed_pieces(unknown, special_tokens, byte_fallback)
        number_to_learn(vocab_size, 0, len(fixed))  # counting takes a while, so this fails before it
        names = [piece.text for piece in fixed if piece.kind == "control"]
        learned = unigram_training.learn(
            unigram_training.count_words(text, names, prefix),
            vocab_size,
            taken=[piece.text for piece in fixed],
            character_coverage=character_coverage,
            max_length=max_length,
            seed_factor=seed_factor,
            shrinking_factor=shrinking_factor,
            sub_iterations=sub_iterations,
            progress=progress,
        )
        return cls([*fixed, *(Piece(text, score) for text, score in learned)], prefix)

    # -- encoding ------------------------------------------------------------------------------------

    def _encode_ordinary(self, text: str) -> list[int]:
        return self.encode_normalized(self.normalize(text))

    def normalize(self, text: str) -> str:
        """Return the text as it is cut: spaces as `▁`, and one before the text if `prefix` is set.

        A `▁` in the text itself can't be told from a space afterwards.
        """
        refuse_surrogates(text)
        return unigram_training.mark_spaces(text, self.prefix)

    def encode_normalized(self, text: str) -> list[int]:
        """Encode a text that `normalize`, or another normalizer, gave.

        With the pieces of its model, the `encode(text)` of a processor of sentencepiece equals the
        `encode_normalized` of its `normalize(text)`. Raises ValueError for an unknown character if there is
        neither an unknown token nor bytes.
        """
        refuse_surrogates(text)
        return self._take_ids(text, best_path(self._lattice(text)))

    def sample(
        self,
        text: str,
        seed: int = 0,
        *,
        alpha: float = 1.0,
        allowed_special: special.Names = (),
        disallowed_special: special.Names = "all",
    ) -> list[int]:
        """Encode a text in a random way, drawn by its probability.

        seed: 0 to 2**64 - 1; each gives one way.
        alpha: the power to which probabilities are raised: below 1, rare ways become more frequent.
        The other parameters are those of `encode`.
        """
        if (alpha := check_finite(alpha, "alpha")) < 0:
            raise ValueError(f"alpha must be 0 or more, not {alpha}")
        rng = random.Random(check_seed(seed))

        def encode_part(part: str) -> list[int]:
            normalized = self.normalize(part)
            return self._take_ids(normalized, random_path(list(self._lattice(normalized)), rng, alpha))

        return self._encode_parts(text, allowed_special, disallowed_special, encode_part)

    def lattice(self, text: str) -> list[Occurrence]:
        """Return every occurrence of a piece in the normalized text, ordered by end, then longest first."""
        return [
            Occurrence(begin, end, None if i == UNKNOWN else i, score)
            for end, edges in enumerate(self._lattice(self.normalize(text)), start=1)
            for begin, i, score in edges
        ]

    def scored_pieces(self) -> dict[str, tuple[int, float]]:
        """Return the pieces that a text is cut into: piece -> (id, score)."""
        return dict(self._scored)

    def log_probability(self, text: str) -> float:
        """The natural logarithm of the probability of the text: the sum over all ways to cut it."""
        return sums(self._lattice(self.normalize(text)))[-1]

    def _lattice(self, text: str) -> Iterator[list[Edge[int]]]:
        """Yield, for each position, the pieces that end there, as `bpe.subwords.lattice` takes them."""
        for end in range(1, len(text) + 1):
            edges: list[Edge[int]] = []
            for length in self._lengths.get(text[max(end - 2, 0) : end], ()):
                if length <= end and (found := self._scored.get(text[end - length : end])):
                    edges.append((end - length, *found))
            edges.append((end - 1, *self._scored.get(text[end - 1], (UNKNOWN, self._unknown_score))))
            yield edges

    def _take_ids(self, text: str, path: Path[int]) -> list[int]:
        """Return the ids of a path; unknown characters become bytes, or a run of them one unknown token."""
        ids: list[int] = []
        unknown_before = False
        for begin, end, i in path:
            if i != UNKNOWN:
                ids.append(i)
            elif self._byte_ids:
                ids += [self._byte_ids[value] for value in text[begin:end].encode("utf-8")]
            elif self.unknown_id is None:
                raise ValueError(
                    f"character {text[begin]!r} (U+{ord(text[begin]):04X}) is not among the pieces, and "
                    f"there is neither an unknown token nor bytes"
                )
            elif not unknown_before:
                ids.append(self.unknown_id)
            unknown_before = i == UNKNOWN
        return ids

    # -- decoding ------------------------------------------------------------------------------------

    def decode(self, ids: Iterable[int], errors: str = "replace") -> str:
        """Decode ids to text; special tokens and the unknown token give their names.

        errors: what to do if bytes are not UTF-8, as for `bytes.decode`.
        Raises as `token`.
        """
        parts: list[str] = []
        stretch = bytearray()  # grows in place; bytes would be copied for each token
        for i in check_ids(ids, self.vocab_size):
            if i in self._bytes:
                stretch.append(self._bytes[i])
            elif self.entries[i].kind == "control":
                parts += [self._decode_stretch(stretch, errors), self.vocabulary[i]]
                stretch.clear()
            else:
                stretch += self.vocabulary[i].encode("utf-8")
        return "".join([*parts, self._decode_stretch(stretch, errors)])

    def _decode_stretch(self, stretch: bytearray, errors: str) -> str:
        """Decode what is between two special tokens; with `prefix`, encoding put a space before it."""
        text = stretch.decode("utf-8", errors).replace(SPACE, " ")
        return text.removeprefix(" ") if self.prefix else text

    # -- files ---------------------------------------------------------------------------------------

    def _content(self) -> dict[str, Any]:
        return {"pieces": [list(entry) for entry in self.entries], "prefix": self.prefix}

    def with_special_tokens(self, names: Iterable[str]) -> Self:
        """Return this tokenizer with more special tokens; their ids follow the others."""
        added = [Piece(name, 0.0, "control") for name in special.check_names(names)]
        return type(self)([*self.entries, *added], self.prefix)


def _check_piece(number: int, entry: Any) -> Piece:
    if not isinstance(entry, (tuple, list)) or len(entry) not in (2, 3):
        raise TypeError(f"piece {number} must be (text, score) or (text, score, kind), not {str(entry)[:60]}")
    piece = Piece(*entry)
    if isinstance(piece.text, str) and len(piece.text) > LONGEST:
        raise ValueError(f"piece {number} has {len(piece.text):,} characters; the most are {LONGEST:,}")
    if isinstance(piece.score, bool):
        raise TypeError(f"the score of piece {number} must be a number, not {piece.score}")
    if piece.kind not in KINDS:
        raise ValueError(f"piece {number} is of the unknown kind {piece.kind!r}")
    score = c_float(check_finite(piece.score, f"the score of piece {number}")).value
    if not math.isfinite(score):
        raise ValueError(f"the score of piece {number} is beyond 32 bits: {piece.score}")
    return Piece(piece.text, score, piece.kind)


def _ids_of(entries: Iterable[Piece], kind: Kind) -> dict[str, int]:
    return {entry.text: i for i, entry in enumerate(entries) if entry.kind == kind}


def _user_defined_score(text: str) -> float:
    return c_float(0.1 * (len(text.encode("utf-8")) - 1)).value


def _find_lengths(pieces: Iterable[str]) -> dict[str, list[int]]:
    """For the last two characters of pieces, find the lengths of the pieces that end so, longest first."""
    lengths: dict[str, set[int]] = {}
    for piece in pieces:
        if len(piece) > 1:
            lengths.setdefault(piece[-2:], set()).add(len(piece))
    return {end: sorted(found, reverse=True) for end, found in lengths.items()}
