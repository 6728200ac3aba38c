"""What is the compiled engine's own; that it equals the others is tested with them."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from unittest.mock import Mock

import pytest

numpy = pytest.importorskip("numpy")
pytest.importorskip("numba")

from click.testing import CliRunner  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from independent import NAMES, ours  # noqa: E402

from bpe import BPETokenizer, WordBPE, naive, presplit  # noqa: E402
from bpe.__main__ import main  # noqa: E402
from bpe.commands.compile import compile_engine  # noqa: E402
from bpe.fast import compiled, scanner  # noqa: E402

BYTES = [bytes([i]) for i in range(256)]


@given(st.lists(st.integers(0, 2), max_size=400), st.integers(1, 3))
def test_more_pairs_and_positions_than_there_was_room_for(text, min_frequency):
    """Room is taken in small steps, so that it runs out again and again."""
    symbols = numpy.array([compiled.NOTHING, *text, compiled.NOTHING], dtype=numpy.int32)
    weights = numpy.empty(0, dtype=numpy.int64)
    state = compiled._begun(symbols, weights, 60, min_frequency)
    room = max(int(state.numbers[compiled.PAIRS]), 1)
    used = max(int(state.numbers[compiled.POSITIONS]), 1)
    small = {name: getattr(state, name)[:room].copy() for name in compiled.OF_PAIRS}
    state = state._replace(**small, positions=state.positions[:used].copy())
    expected = [
        (*s.pair, s.frequency, s.tokens_left) for s in naive.learn_merges([text], [1], 50, 10, min_frequency)
    ]
    steps = numpy.empty((50, 4), dtype=numpy.int64)
    done, finished = 0, False
    while not finished and done < 50:
        learned, finished = compiled._learn(state, steps[done:], 10 + done, min_frequency)
        done += learned
        if not finished and done < 50:
            state = compiled._with_more_room(state, *compiled._needed(state, state.heap[0]))
    assert list(map(tuple, steps[:done].tolist())) == expected


def test_a_text_that_is_too_long(monkeypatch):
    monkeypatch.setattr(compiled, "LONGEST_TEXT", 10)
    with pytest.raises(ValueError, match="12 symbols are more than this engine takes, 10"):
        list(compiled.learn_merges([[1] * 10], [1], 1, 2))


@pytest.mark.parametrize(
    "counts", [{"ab": 2**62, "cab": 2**62, "xy": 3}, {"ab": 2**63}, {"ab": 2**70}, {"a" * 2**10: 2**52}]
)
def test_counts_that_are_too_many_for_64_bits(counts):
    """Added up in 64 bits they would begin anew below zero, and other pairs be merged."""
    for tokenizer, size in ((BPETokenizer, 258), (WordBPE, 10)):
        with pytest.raises(ValueError, match="give engine='incremental'"):
            tokenizer.train_from_counts(counts, size, engine="compiled")
        tokenizer.train_from_counts(counts, size, engine="incremental")


def test_the_largest_counts():
    counts = {"ab": 2**60, "cab": 2**59}
    made = [BPETokenizer.train_from_counts(counts, 258, engine=name) for name in ("incremental", "compiled")]
    assert made[0].merges == made[1].merges == [(97, 98), (99, 256)]


@pytest.mark.parametrize("number", [10**9, 2**70])
def test_numbers_that_no_text_reaches(number):
    for engine in ("incremental", "compiled"):
        options = {"engine": engine, "progress": False}
        assert BPETokenizer.train("abab", number, **options).merges == [(97, 98)]
        assert BPETokenizer.train("abab", number, min_frequency=1, **options).vocab_size == 258
        assert BPETokenizer.train("abab", 300, min_frequency=number, **options).vocab_size == 256
        assert len(WordBPE.train("abab", number, **options).merges) == 1


def test_what_the_compiled_code_would_not_notice():
    """It checks no bounds: it would write beside its arrays."""
    with pytest.raises(ValueError, match="id 50 is not below 10, the id of the first new token"):
        list(compiled.learn_merges([[50, 1, 50, 1]], [1], 2, 10))
    with pytest.raises(ValueError, match="there are 3 pieces and 1 counts"):
        list(compiled.learn_merges([[1, 2], [1, 2], [3, 4]], [1], 2, 10))
    pieces = [[1, 2, 1, 2], [3, 4]]
    assert list(compiled.learn_merges(pieces, [1, 1], 9, 10, 0)) == list(
        naive.learn_merges(pieces, [1, 1], 9, 10, 0)
    )


def test_pieces_of_every_length_on_both_sides_of_the_limit():
    steps = list(naive.learn_merges([[0, 1] * 40], [1], 6, 2))
    ranks = {step.pair: (rank, step.new_id) for rank, step in enumerate(steps)}
    for length in range(compiled.SHORT - 3, compiled.SHORT + 4):
        text = [k % 2 for k in range(length)]
        assert compiled.apply_merges(text, ranks) == naive.apply_merges(text, ranks)


PIECES = st.lists(
    st.one_of(st.text("ab\n", min_size=1, max_size=12), st.text("月光a ", min_size=1, max_size=5)), min_size=1
)


@given(PIECES, st.integers(1, 5), st.integers(1, 40))
def test_pieces_counted_by_several_workers(pieces, workers, at_once):
    """In the order of first appearance, whoever found them first; tables grow again and again."""
    text = "\n".join(pieces)
    expected = Counter(presplit.pieces(text, presplit.resolve("gpt4")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanner, "STRETCH", at_once)
        patch.setattr(compiled, "ROOM", 2)
        patch.setattr(compiled, "_cores", lambda: workers)
        counted = compiled.counted(text, presplit.resolve("gpt4"))
    assert list(counted.items()) == list(expected.items())
    assert len(counted) == len(expected)


@given(st.lists(st.binary(min_size=1, max_size=20), min_size=2), st.integers(0, 3))
def test_keys_tell_pieces_apart(pieces, shift):
    """Wherever a piece lies in the text; of up to 7 bytes by the key alone, zeros included."""
    text = b"x" * shift + b"".join(pieces)
    words = compiled._words_of(numpy.frombuffer(text, dtype=numpy.uint8))
    places = []
    for piece in pieces:
        start = places[-1][1] if places else shift
        places.append((start, start + len(piece)))
    keys = [compiled._key_of(words, *place) for place in places]
    for piece, key, (start, end) in zip(pieces, keys, places, strict=True):
        assert key > 0 and key >> 56 == len(piece)
        for other, other_key, (other_start, other_end) in zip(pieces, keys, places, strict=True):
            if max(len(piece), len(other)) <= compiled.EXACT or piece == other:
                assert (key == other_key) == (piece == other)
            if end - start == other_end - other_start > compiled.EXACT:
                same = compiled._same_piece(words, start, words, other_start, end - start)
                assert same == (piece == other)


@pytest.mark.parametrize("alphabet", [BYTES, "ab "], ids=["bytes", "characters"])
def test_whole_tokens_of_every_length(alphabet):
    """By the key alone, with a look at the bytes, and past the lengths that a key tells apart."""
    lengths = [*range(3, 20), *range(120, 136), 300]
    words = [" " + first * (length - 2) + last for length in lengths for first in "ab" for last in "ab"]
    tokens = [word.encode() if alphabet is BYTES else word for word in words]
    tokenizer = BPETokenizer([*alphabet, *tokens], [], "gpt4", whole_pieces=True)
    text = "".join([*words, *reversed(words), " " + "a" * 20 + "b", " " + "a" * 127 + "b" * 2])
    assert tokenizer.encode(text, engine="compiled") == tokenizer.encode(text, engine="incremental")
    assert len(set(tokenizer.encode(text, engine="compiled"))) > len(words)


def test_many_symbols_of_a_large_alphabet():
    text = [k * k % 30_011 for k in range(5_000)] * 2
    assert list(compiled.learn_merges([text], [1], 30, 40_000)) == list(
        naive.learn_merges([text], [1], 30, 40_000)
    )


@pytest.mark.parametrize("name", NAMES)
def test_real_vocabularies(name):
    """Permuted bytes, holes, special tokens at the front, pieces that are taken whole."""
    tokenizer = ours(name)
    readme = Path(__file__).resolve().parents[2] / "README.md"
    text = (
        readme.read_text(encoding="utf-8")
        + "def f(x):\n\n        return 1234567 \t床前明月光，疑是地上霜。 '\u0301’LL 👩\u200d🏽" * 20
    )
    expected = tokenizer.encode(text, engine="incremental")
    assert tokenizer.encode(text, engine="compiled") == expected
    special = next(iter(tokenizer.special_tokens))
    options = {"allowed_special": "all"}
    with_special = tokenizer.encode(f"{special}a{special}", engine="incremental", **options)
    assert tokenizer.encode(f"{special}a{special}", engine="compiled", **options) == with_special


def test_the_command_that_compiles():
    said = CliRunner().invoke(compile_engine, [], standalone_mode=False)
    assert said.exception is None
    assert said.output.startswith("The compiled engine is ready (")


EVERYTHING = """
from bpe import BPETokenizer, WordBPE, compiled, scanner
from bpe.commands.compile import TEXT, compile_engine

def signatures():
    return {
        f"{module.__name__}.{name}": function.signatures
        for module in (compiled, scanner)
        for name, function in vars(module).items() if hasattr(function, "signatures")
    }

compile_engine(standalone_mode=False)
ready = signatures()
for alphabet in ("bytes", "characters"):
    for pattern in ("gpt2", "words", None):
        options = {"alphabet": alphabet, "pattern": pattern, "engine": "compiled", "progress": False}
        for text in (TEXT, [TEXT, TEXT]):
            made = BPETokenizer.train(text, 11_000, special_tokens=["三"], **options)
        for whole in (True, False):
            made = BPETokenizer(made.vocabulary, made.merges, made.split, made.special_tokens, whole)
            made.encode(TEXT, allowed_special="all", engine="compiled")
WordBPE.train(TEXT, 11_000, engine="compiled", progress=False)
print({name: here for name, here in signatures().items() if here != ready[name]})
"""


def test_nothing_is_left_to_compile():
    done = subprocess.run([sys.executable, "-c", EVERYTHING], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "{}"


def test_the_command_without_numba(monkeypatch):
    monkeypatch.setattr("bpe.commands.compile.find_spec", lambda name: None)
    said = CliRunner().invoke(compile_engine, [])
    assert said.exit_code == 1
    assert "Numba is not installed; python -m pip install numba brings it." in said.output


def test_the_command_where_numba_can_not_be_loaded(monkeypatch):
    refused = Mock(side_effect=ImportError("Numba needs NumPy 2.3 or less"))
    monkeypatch.setattr("bpe.commands.compile.BPETokenizer.train", refused)
    said = CliRunner().invoke(main, ["compile"])
    assert said.exit_code == 1
    assert said.output.strip().endswith("Error: Numba needs NumPy 2.3 or less")
