"""Our training against `tokenizers` and `rustbpe` on the same split: the same merges, up to ties.

The others break ties by other rules, so the merges diverge at the first tie that they break differently.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from bpe import BPETokenizer, corpora, count_pairs, count_pieces, merge_pair, presplit
from bpe.formats import byte_letters
from bpe.formats.rebuild import rebuild_merges as rebuilt

Merge = tuple[bytes, bytes]
Trainer = Callable[[str, str, int], list[Merge]]


def texts() -> dict[str, str]:
    for corpus in ("tang_poems", "wikitext2"):
        if missing := corpora.missing_files(corpus):
            pytest.skip(f"{missing[0]} is missing")
    return {"poems": "\n".join(corpora.tang_poems()[:300]), "wikitext2": corpora.wikitext2("valid")[:60_000]}


def our_merges(text: str, split: str, number: int) -> list[Merge]:
    tokenizer = BPETokenizer.train(text, 256 + number, pattern=split)
    token = tokenizer.vocabulary
    return [(token[left], token[right]) for left, right in tokenizer.merges]


def merges_of_tokenizers(text: str, split: str, number: int) -> list[Merge]:
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    expressions = [
        tokenizers.pre_tokenizers.Split(tokenizers.Regex(expression), "isolated")
        for expression in presplit.resolve(split)
    ]
    bytes_of = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([*expressions, bytes_of])
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=256 + number,
        min_frequency=2,
        show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    made.train_from_iterator([text], trainer)
    merges = json.loads(made.to_str())["model"]["merges"]
    return [(byte_letters.to_bytes(left), byte_letters.to_bytes(right)) for left, right in merges]


def merges_of_rustbpe(text: str, split: str, number: int) -> list[Merge]:
    rustbpe = pytest.importorskip("rustbpe")
    made = rustbpe.Tokenizer()
    (pattern,) = presplit.resolve(split)
    made.train_from_iterator(iter([text]), 256 + number, pattern=pattern)
    tokens = [bytes(token) for token, _ in made.get_mergeable_ranks()]
    # It gives tokens, not pairs.
    return [(tokens[left], tokens[right]) for left, right in rebuilt(tokens, lambda pair, joined: joined)]


class Replay:
    """The training text after any merges, with the frequency of every pair, by definition."""

    def __init__(self, text: str, split: str) -> None:
        counts = count_pieces(text, split)
        self.pieces = [([bytes([value]) for value in piece.encode()], counts[piece]) for piece in counts]
        self.frequency: Counter[Merge] = Counter()
        for symbols, count in self.pieces:
            self._count(symbols, count)

    def _count(self, symbols: list[bytes], count: int) -> None:
        for pair, times in count_pairs(symbols).items():
            self.frequency[pair] += times * count

    def merge(self, pair: Merge) -> None:
        for k, (symbols, count) in enumerate(self.pieces):
            if pair in pairwise(symbols):
                merged = merge_pair(symbols, pair, pair[0] + pair[1])
                self._count(symbols, -count)
                self._count(merged, count)
                self.pieces[k] = merged, count


every_trainer = pytest.mark.parametrize("trainer", [merges_of_tokenizers, merges_of_rustbpe])
every_corpus = pytest.mark.parametrize("corpus", ["poems", "wikitext2"])


@every_trainer
@every_corpus
def test_the_same_merges_up_to_ties(corpus: str, trainer: Trainer) -> None:
    same_up_to_ties(corpus, texts()[corpus][:4_000], "gpt4o", trainer, number=150)


@pytest.mark.full
@every_trainer
@every_corpus
@pytest.mark.parametrize("split", ["gpt2", "gpt4o"])
def test_the_same_merges_of_more_text(corpus: str, split: str, trainer: Trainer) -> None:
    same_up_to_ties(corpus, texts()[corpus], split, trainer)


def same_up_to_ties(corpus: str, text: str, split: str, trainer: Trainer, number: int = 300) -> None:
    """Follow their merges and check each: without a tie, only one merge can be next."""
    ours, others = our_merges(text, split, number), trainer(text, split, number)
    assert len(ours) == len(others) == number
    replay = Replay(text, split)
    ties = 0
    for rank, (our, other) in enumerate(zip(ours, others, strict=True)):
        most = max(replay.frequency.values())
        assert replay.frequency[other] == most, f"merge {rank}"
        tied = [pair for pair, frequency in replay.frequency.items() if frequency == most]
        ties += len(tied) > 1
        if our != other and ours[:rank] == others[:rank]:  # the first difference
            assert our in tied and other in tied
            print(f"{corpus}, {split}, {trainer.__name__}: {rank} merges the same, then {our} or {other},")
            print(f"each {most} times")
        replay.merge(other)
    print(f"each of the {number} merges is of a most frequent pair; {ties} times there were several")
