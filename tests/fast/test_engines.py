"""The engines give the same merges, tie for tie, and the same ids."""

import sys
from types import ModuleType

import pytest
from engines import ENGINES
from hypothesis import given
from hypothesis import strategies as st

from bpe import BPETokenizer, fast, naive, presplit
from bpe.fast import WORTH_COMPILING, choose_engine

FAST = [fast.load_engine(name) for name in ENGINES if name != "naive"]


def alphabets(most: int) -> st.SearchStrategy[list[list[int]]]:
    """Pieces over few symbols, so that ties and runs like `aaaa` are everywhere."""
    return st.integers(1, most).flatmap(
        lambda size: st.lists(st.lists(st.integers(0, size - 1), max_size=30), max_size=6)
    )


@st.composite
def counted_pieces(draw):
    pieces = draw(alphabets(4))
    counts = draw(st.lists(st.integers(1, 3), min_size=len(pieces), max_size=len(pieces)))
    return pieces, counts


@pytest.mark.parametrize("engine", FAST)
@given(counted_pieces(), st.integers(0, 20), st.integers(0, 4))
def test_same_merges_frequencies_and_lengths(engine: ModuleType, counted, num_merges, min_frequency):
    pieces, counts = counted
    assert list(engine.learn_merges(pieces, counts, num_merges, 10, min_frequency)) == list(
        naive.learn_merges(pieces, counts, num_merges, 10, min_frequency)
    )


@pytest.mark.parametrize("engine", FAST)
@given(counted_pieces(), st.lists(st.integers(0, 3), max_size=60))
def test_same_ids_on_any_text(engine: ModuleType, counted, text):
    steps = list(naive.learn_merges(*counted, 20, 10))
    ranks = {step.pair: (rank, step.new_id) for rank, step in enumerate(steps)}
    assert engine.apply_merges(text, ranks) == naive.apply_merges(text, ranks)


@pytest.mark.parametrize("engine", FAST)
@given(alphabets(3))
def test_encoding_the_training_text_gives_what_training_left(engine: ModuleType, pieces):
    steps = list(engine.learn_merges(pieces, [1] * len(pieces), 20, 10))
    ranks = {step.pair: (rank, step.new_id) for rank, step in enumerate(steps)}
    left = sum(len(engine.apply_merges(piece, ranks)) for piece in pieces)
    assert left == (steps[-1].tokens_left if steps else sum(map(len, pieces)))


@pytest.mark.parametrize("engine", [naive, *FAST])
def test_the_pair_that_occurs_first_wins_a_tie(engine: ModuleType):
    first = next(engine.learn_merges([[3, 4], [1, 2], [1, 2], [3, 4]], [1, 1, 1, 1], 1, 10))
    assert first == ((3, 4), 10, 2, 6)


@pytest.mark.parametrize("engine", [naive, *FAST])
def test_the_first_position_moves_when_a_merge_takes_it_away(engine: ModuleType):
    # (1, 2) occurs first, but after (0, 1) is merged its first place is gone and (3, 4) comes before it.
    text = [0, 1, 2, 0, 1, 0, 1, 3, 4, 1, 2, 1, 2, 3, 4]
    pairs = [step.pair for step in engine.learn_merges([text], [1], 3, 10)]
    assert pairs == [(0, 1), (3, 4), (1, 2)]


@pytest.mark.parametrize("engine", [naive, *FAST])
def test_a_count_weighs_a_piece(engine: ModuleType):
    repeated = list(engine.learn_merges([[1, 2, 3], [2, 3]] + [[4, 5]] * 3, [1] * 5, 9, 10))
    counted = list(engine.learn_merges([[1, 2, 3], [2, 3], [4, 5]], [1, 1, 3], 9, 10))
    assert repeated == counted


@pytest.mark.parametrize("engine", ENGINES)
@given(
    st.lists(st.text("ab ", max_size=15), min_size=1, max_size=4).filter(any),
    st.sampled_from([None, "words", r"a+"]),
    st.sampled_from(["bytes", "characters"]),
)
def test_counted_pieces_have_the_ties_of_the_text(engine, documents, pattern, alphabet):
    """Training on unique pieces with counts gives the merges of the pieces one after the other."""
    tokenizer = BPETokenizer.train(
        documents, 270, alphabet=alphabet, pattern=pattern, engine=engine, progress=False
    )
    plain = BPETokenizer(tokenizer.vocabulary[: len(tokenizer.vocabulary) - len(tokenizer.merges)])
    expressions = presplit.resolve(pattern)
    pieces = [plain.encode(piece) for text in documents for piece in presplit.pieces(text, expressions)]
    steps = naive.learn_merges(pieces, [1] * len(pieces), len(tokenizer.merges), plain.vocab_size)
    assert tokenizer.merges == tuple(step.pair for step in steps)


def test_engines_are_chosen_by_name():
    tokenizer = BPETokenizer.train("abab", 257)
    assert [tokenizer.encode("abab", engine=name) for name in ENGINES] == [[256, 256]] * len(ENGINES)
    with pytest.raises(ValueError, match=r"unknown engine 'fast'.*'incremental'"):
        tokenizer.encode("abab", engine="fast")
    with pytest.raises(ValueError, match="unknown engine 'fast'"):
        BPETokenizer.train("abab", 257, engine="fast")


@pytest.mark.skipif("compiled" not in ENGINES, reason="needs numba")
def test_auto_takes_the_compiled_engine_if_it_pays(monkeypatch):
    assert choose_engine("auto", WORTH_COMPILING - 1) == "incremental"
    assert choose_engine("auto", WORTH_COMPILING) == "compiled"
    assert choose_engine("naive", 10**9) == "naive"
    monkeypatch.setattr("bpe.fast.find_spec", lambda name: None)
    assert choose_engine("auto", 10**9) == "incremental"


def test_numba_that_can_not_be_loaded(monkeypatch):
    """For example if numpy is newer than it knows: the other engines work, on long texts too."""
    monkeypatch.setattr("bpe.fast.find_spec", lambda name: True)
    monkeypatch.setitem(sys.modules, "numba", None)
    fast._can_load.cache_clear()
    try:
        with pytest.warns(UserWarning, match="Numba can't be loaded, so long texts take longer"):
            trained = BPETokenizer.train(LONG, 270, pattern="gpt4", progress=False)
        assert BPETokenizer.train(LONG, 270, pattern="gpt4", engine="incremental").merges == trained.merges
        assert len(trained.encode_array(LONG)) == len(trained.encode(LONG))
    finally:
        fast._can_load.cache_clear()


def test_the_compiled_engine_without_numba(monkeypatch):
    monkeypatch.setattr("bpe.fast.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"python -m pip install numba$"):
        BPETokenizer.train("abab", 257, engine="compiled")
    with pytest.raises(ModuleNotFoundError, match=r"python -m pip install numba$"):
        BPETokenizer.train("abab", 257).encode("abab", engine="compiled")


def test_a_wrong_option_is_refused_before_the_text_is_read():
    def documents():
        raise AssertionError
        yield ""

    with pytest.raises(ValueError, match="unknown engine 'fast'"):
        BPETokenizer.train(documents(), 257, engine="fast")
    with pytest.raises(ValueError, match="min_frequency must be 1 or more, not 0"):
        BPETokenizer.train(documents(), 257, min_frequency=0)


# Long enough for "auto" to take the compiled engine, with every pattern.
LONG = "It's 2026, low lower LOWEST! 月光，月光 don't\n\n" * 3_000


@pytest.mark.parametrize(
    "pattern", [None, "gpt2", "gpt4", "gpt4o", "llama3", "qwen", "deepseek", "verse", "words"]
)
@pytest.mark.parametrize("alphabet", ["bytes", "characters"])
def test_long_texts_are_trained_on_and_encoded_alike(alphabet, pattern):
    options = {"alphabet": alphabet, "pattern": pattern, "special_tokens": ["月光"], "progress": False}
    trained = [BPETokenizer.train(LONG, 300, engine=name, **options) for name in ("incremental", "auto")]
    assert trained[0].fingerprint == trained[1].fingerprint
    options = {"allowed_special": "all"}
    ids = trained[0].encode(LONG, engine="incremental", **options)
    assert trained[0].encode(LONG, **options) == ids
    array = trained[0].encode_array(LONG, **options)
    assert (array.dtype, array.tolist()) == ("int32", ids)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_names_a_symbol_without_a_token_alike(engine):
    tokenizer = BPETokenizer.train("abab", 10, alphabet="characters", engine=engine)
    message = r"character '月' \(U\+6708\) at position 2 is not among the 2 base tokens"
    with pytest.raises(ValueError, match=message):
        tokenizer.encode("ab月", engine=engine)
    with pytest.raises(ValueError, match=message):
        tokenizer.encode_array("ab月", engine=engine)
    few = BPETokenizer([b"a", b"b"])
    with pytest.raises(ValueError, match="byte 0xe6 of '月' at position 1 is not among the 2 base tokens"):
        few.encode("a月", engine=engine)


@given(
    st.sampled_from(["bytes", "characters"]),
    st.sampled_from([None, "words", r"[ab]+"]),
    st.lists(st.text("abxqz ", min_size=1, max_size=5), max_size=6),
    st.lists(st.text("abxqz ", max_size=9), min_size=1, max_size=5),
)
def test_pieces_that_are_tokens_are_taken_whole_by_all_engines(alphabet, pattern, extra, texts):
    trained = BPETokenizer.train("zab xab qab xabxab " * 3, 270, alphabet="bytes")
    if alphabet == "characters":
        trained = BPETokenizer.train("zab xab qab xabxab " * 3, 12, alphabet="characters")
    made = [token.encode() if alphabet == "bytes" else token for token in [*extra, "qqq", "ab"]]
    vocabulary = list(dict.fromkeys([*trained.vocabulary, *made]))
    tokenizer = BPETokenizer(vocabulary, trained.merges, pattern, whole_pieces=True)
    for text in [*texts, *extra, "qqq", "zqqq"]:
        ids = tokenizer.encode(text, engine="naive")
        for engine in ENGINES:
            assert tokenizer.encode(text, engine=engine) == ids
            assert tokenizer.encode_array(text, engine=engine).tolist() == ids
