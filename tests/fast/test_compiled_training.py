"""The compiled engine's training: growing room, limits, and large numbers."""

import pytest

numpy = pytest.importorskip("numpy")
pytest.importorskip("numba")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from bpe import BPETokenizer, WordBPE, naive  # noqa: E402
from bpe.fast import compiled, training  # noqa: E402
from bpe.fast.arrays import NOTHING  # noqa: E402


@given(st.lists(st.integers(0, 2), max_size=400), st.integers(1, 3))
def test_more_pairs_and_positions_than_there_was_room_for(text, min_frequency):
    """Room grows in small steps, so that it runs out again and again."""
    symbols = numpy.array([NOTHING, *text, NOTHING], dtype=numpy.int32)
    weights = numpy.empty(0, dtype=numpy.int64)
    state = training._make_state(symbols, weights, 60, min_frequency)
    room = max(int(state.numbers[training.PAIRS]), 1)
    used = max(int(state.numbers[training.POSITIONS]), 1)
    small = {name: getattr(state, name)[:room].copy() for name in training.OF_PAIRS}
    state = state._replace(**small, positions=state.positions[:used].copy())
    expected = [
        (*s.pair, s.frequency, s.tokens_left) for s in naive.learn_merges([text], [1], 50, 10, min_frequency)
    ]
    steps = numpy.empty((50, 4), dtype=numpy.int64)
    done, finished = 0, False
    while not finished and done < 50:
        learned, finished = training._merge_batch(state, steps[done:], 10 + done, min_frequency)
        done += learned
        if not finished and done < 50:
            state = training._grow(state, *training._bound_growth(state, state.heap[0]))
    assert list(map(tuple, steps[:done].tolist())) == expected


def test_a_text_that_is_too_long(monkeypatch):
    monkeypatch.setattr(training, "LONGEST_TEXT", 10)
    with pytest.raises(ValueError, match="12 symbols are more than this engine takes, 10"):
        list(compiled.learn_merges([[1] * 10], [1], 1, 2))


@pytest.mark.parametrize(
    "counts", [{"ab": 2**62, "cab": 2**62, "xy": 3}, {"ab": 2**63}, {"ab": 2**70}, {"a" * 2**10: 2**52}]
)
def test_counts_that_are_too_many_for_64_bits(counts):
    """Their sum would overflow to a negative number, and other pairs would be merged."""
    for tokenizer, size in ((BPETokenizer, 258), (WordBPE, 10)):
        with pytest.raises(ValueError, match="give engine='incremental'"):
            tokenizer.train_from_counts(counts, size, engine="compiled")
        tokenizer.train_from_counts(counts, size, engine="incremental")


def test_the_largest_counts():
    counts = {"ab": 2**60, "cab": 2**59}
    made = [BPETokenizer.train_from_counts(counts, 258, engine=name) for name in ("incremental", "compiled")]
    assert made[0].merges == made[1].merges == ((97, 98), (99, 256))


@pytest.mark.parametrize("number", [10**9, 2**70])
def test_numbers_that_no_text_reaches(number):
    for engine in ("incremental", "compiled"):
        options = {"engine": engine, "progress": False}
        assert BPETokenizer.train("abab", number, **options).merges == ((97, 98),)
        assert BPETokenizer.train("abab", number, min_frequency=1, **options).vocab_size == 258
        assert BPETokenizer.train("abab", 300, min_frequency=number, **options).vocab_size == 256
        assert len(WordBPE.train("abab", number, **options).merges) == 1


def test_what_the_compiled_code_would_not_notice():
    """It checks no bounds: it would write outside its arrays."""
    with pytest.raises(ValueError, match="id 50 is not below 10, the id of the first new token"):
        list(compiled.learn_merges([[50, 1, 50, 1]], [1], 2, 10))
    with pytest.raises(ValueError, match="there are 3 pieces and 1 counts"):
        list(compiled.learn_merges([[1, 2], [1, 2], [3, 4]], [1], 2, 10))


def test_many_symbols_of_a_large_alphabet():
    text = [k * k % 30_011 for k in range(5_000)] * 2
    assert list(compiled.learn_merges([text], [1], 30, 40_000)) == list(
        naive.learn_merges([text], [1], 30, 40_000)
    )
