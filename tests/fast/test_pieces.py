"""Pieces that several workers count, and the keys that tell them apart."""

from collections import Counter

import pytest

numpy = pytest.importorskip("numpy")
pytest.importorskip("numba")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from bpe import presplit  # noqa: E402
from bpe.fast import arrays, pieces, scanner  # noqa: E402

LINES = st.lists(
    st.one_of(st.text("ab\n", min_size=1, max_size=12), st.text("月光a ", min_size=1, max_size=5)), min_size=1
)


@given(LINES, st.integers(1, 5), st.integers(1, 40))
def test_pieces_counted_by_several_workers(lines, workers, stretch):
    """In order of first appearance, whoever finds them first; tables grow again and again."""
    text = "\n".join(lines)
    expected = Counter(presplit.pieces(text, presplit.resolve("gpt4")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanner, "STRETCH", stretch)
        patch.setattr(pieces, "ROOM", 2)
        patch.setattr(pieces, "_count_cores", lambda: workers)
        counts = pieces.count(text, presplit.resolve("gpt4"))
    assert list(counts.items()) == list(expected.items())
    assert len(counts) == len(expected)


@given(st.lists(st.binary(min_size=1, max_size=20), min_size=2), st.integers(0, 3))
def test_keys_tell_pieces_apart(strings, shift):
    """Wherever a piece is in the text; up to 7 bytes by the key alone, zeros included."""
    text = b"x" * shift + b"".join(strings)
    words = arrays.pack_words(numpy.frombuffer(text, dtype=numpy.uint8))
    places = []
    for piece in strings:
        start = places[-1][1] if places else shift
        places.append((start, start + len(piece)))
    keys = [arrays.make_key(words, *place) for place in places]
    for piece, key, (start, end) in zip(strings, keys, places, strict=True):
        assert key > 0 and key >> 56 == len(piece)
        for other, other_key, (other_start, other_end) in zip(strings, keys, places, strict=True):
            if max(len(piece), len(other)) <= arrays.EXACT or piece == other:
                assert (key == other_key) == (piece == other)
            if end - start == other_end - other_start > arrays.EXACT:
                same = arrays.is_same_piece(words, start, words, other_start, end - start)
                assert same == (piece == other)
