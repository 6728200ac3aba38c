"""What is the compiled engine's own; that it equals the others is tested with them."""

from pathlib import Path

import pytest

numpy = pytest.importorskip("numpy")
pytest.importorskip("numba")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from independent import NAMES, ours  # noqa: E402

from bpe import compiled, naive  # noqa: E402


@given(st.lists(st.integers(0, 2), max_size=400), st.integers(1, 3))
def test_more_pairs_and_positions_than_there_was_room_for(text, min_frequency):
    """Room is taken in small steps, so that it runs out again and again."""
    ids = numpy.array(text, dtype=numpy.int32)
    symbols, weights = compiled._separated(ids, numpy.array([len(text)]), [1])
    state = compiled._begun(symbols, weights, 60, min_frequency)
    room = max(int(state.numbers[compiled.PAIRS]), 1)
    used = max(int(state.numbers[compiled.POSITIONS]), 1)
    small = {
        name: getattr(state, name)[:room].copy()
        for name in ("left", "right", "frequency", "first", "end", "seen_frequency", "seen_position", "heap")
    }
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
            state = compiled._with_more_room(state)
    assert list(map(tuple, steps[:done].tolist())) == expected


def test_a_text_that_is_too_long(monkeypatch):
    monkeypatch.setattr(compiled, "LONGEST_TEXT", 10)
    with pytest.raises(ValueError, match="12 symbols are more than this engine takes, 10"):
        list(compiled.learn_merges([[1] * 10], [1], 1, 2))


def test_pieces_of_every_length_on_both_sides_of_the_limit():
    steps = list(naive.learn_merges([[0, 1] * 40], [1], 6, 2))
    ranks = {step.pair: (rank, step.new_id) for rank, step in enumerate(steps)}
    for length in range(compiled.SHORT - 3, compiled.SHORT + 4):
        text = [k % 2 for k in range(length)]
        assert compiled.apply_merges(text, ranks) == naive.apply_merges(text, ranks)


def test_many_symbols_of_a_large_alphabet():
    text = [k * k % 30_011 for k in range(5_000)] * 2
    assert list(compiled.learn_merges([text], [1], 30, 40_000)) == list(
        naive.learn_merges([text], [1], 30, 40_000)
    )


@pytest.mark.parametrize("name", NAMES)
def test_real_vocabularies(name):
    """Permuted bytes, holes, special tokens at the front, pieces that are taken whole."""
    tokenizer = ours(name)
    readme = Path(__file__).resolve().parent.parent / "README.md"
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
