"""The tokenizer: training, encoding, decoding, and what it says to bad input."""

import tracemalloc

import numpy
import pytest
from engines import ENGINES
from hypothesis import given
from hypothesis import strategies as st

from bpe import BPETokenizer, MergeStep, count_pieces

any_text = st.text(st.characters(exclude_categories=["Cs"]))

TEXT = "low lower lowest, 月光月光 the low light\n" * 3
BYTES = [bytes([value]) for value in range(256)]


@pytest.fixture(scope="module")
def tokenizer() -> BPETokenizer:
    return BPETokenizer.train(TEXT, 280, special_tokens=["<|end|>", "<|end|>ing"])


# -- laws ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@given(any_text)
def test_bytes_take_any_text_and_give_it_back(tokenizer, engine, text):
    # Hypothesis tries strings that it finds in the source, "<|end|>" among them.
    ids = tokenizer.encode(text, engine=engine, disallowed_special=())
    assert tokenizer.decode(ids, errors="strict") == text
    assert tokenizer.decode_bytes(ids) == text.encode("utf-8")
    assert b"".join(map(tokenizer.token, ids)) == text.encode("utf-8")


@given(any_text.filter(bool), st.sampled_from([None, "words", "verse", r"\d", r"x*"]))
def test_characters_give_their_text_back(text, pattern):
    tokenizer = BPETokenizer.train(text, 2000, alphabet="characters", pattern=pattern)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert "".join(tokenizer.tokens(text)) == text


@pytest.mark.parametrize("alphabet", ["bytes", "characters"])
@given(st.text("abc \n", min_size=1, max_size=80), st.sampled_from([None, "words"]))
def test_tokens_are_unique_and_merges_use_earlier_ones(alphabet, text, pattern):
    tokenizer = BPETokenizer.train(text, 300, alphabet=alphabet, pattern=pattern)
    vocabulary = tokenizer.vocabulary
    assert len(set(vocabulary)) == len(vocabulary) == tokenizer.vocab_size
    first = len(vocabulary) - len(tokenizer.merges)
    for new_id, (left, right) in enumerate(tokenizer.merges, start=first):
        assert max(left, right) < new_id
        assert vocabulary[left] + vocabulary[right] == vocabulary[new_id]


@given(
    st.text("ab c", min_size=1),
    st.sampled_from(["bytes", "characters"]),
    st.sampled_from([None, "words", ["words", r"b"]]),
    st.sampled_from([[], ["<|end|>"], ["a b", "."]]),
)
def test_save_load_and_fingerprint(tmp_path_factory, text, alphabet, pattern, special):
    path = tmp_path_factory.mktemp("bytepair") / "tokenizer.json"
    # A text of special tokens alone has nothing to learn from.
    tokenizer = BPETokenizer.train(
        "c" + text, 300, alphabet=alphabet, pattern=pattern, special_tokens=special, min_frequency=1
    )
    tokenizer.save(path)
    loaded = BPETokenizer.load(path)
    assert loaded.fingerprint == tokenizer.fingerprint
    assert loaded.encode(text, allowed_special="all") == tokenizer.encode(text, allowed_special="all")
    assert loaded.special_tokens == tokenizer.special_tokens
    assert (loaded.merges, loaded.vocabulary) == (tokenizer.merges, tokenizer.vocabulary)


def test_the_fingerprint_covers_all_five():
    tokens, merges = [*BYTES, b"ab", b"abc"], [(97, 98), (256, 99)]
    fingerprints = {
        BPETokenizer(tokens, merges).fingerprint,
        BPETokenizer([*BYTES, b"ab", b"abd"], [(97, 98), (256, 100)]).fingerprint,
        BPETokenizer(tokens, merges[:1]).fingerprint,
        BPETokenizer(tokens, merges, "words").fingerprint,
        BPETokenizer(tokens, merges, None, {"<|end|>": 258}).fingerprint,
        BPETokenizer(tokens, merges, whole_pieces=True).fingerprint,
    }
    assert len(fingerprints) == 6
    assert (
        BPETokenizer(tokens, merges, "words").fingerprint == BPETokenizer(tokens, merges, r"\S+").fingerprint
    )


# -- training -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_merges_of_a_small_text(engine):
    log: list[MergeStep] = []
    tokenizer = BPETokenizer.train("aaabdaaabac", 259, engine=engine, progress=log.append)
    assert log == [((97, 97), 256, 4, 9), ((256, 97), 257, 2, 7), ((257, 98), 258, 2, 5)]
    assert tokenizer.tokens("aaabdaaabac") == [b"aaab", b"d", b"aaab", b"a", b"c"]


def test_training_stops_where_no_pair_is_frequent_enough():
    assert BPETokenizer.train("abcd", 300).merges == ()
    assert len(BPETokenizer.train("abcd", 300, min_frequency=1).merges) == 3
    assert len(BPETokenizer.train("ababab", 300, min_frequency=3).merges) == 1


def test_pairs_never_cross_documents():
    assert BPETokenizer.train(["a", "b", "a", "b"], 300).merges == ()
    assert BPETokenizer.train(iter(["ab", "ab"]), 300).merges == ((97, 98),)


def test_base_characters_may_be_more_than_the_text_has():
    tokenizer = BPETokenizer.train("abab", 5, alphabet="characters", base_tokens="cab猫")
    assert tokenizer.vocabulary == ("a", "b", "c", "猫", "ab")


def test_special_tokens_come_last_and_cut_the_text():
    tokenizer = BPETokenizer.train("ab<|end|>ab", 300, special_tokens=["<|end|>"], min_frequency=1)
    assert tokenizer.vocabulary[256:] == (b"ab",)
    assert tokenizer.special_tokens == {"<|end|>": 257}
    assert tokenizer.vocab_size == 258


def test_counting_and_learning_are_two_halves():
    counts = count_pieces(["to be", "or not to be"], "words")
    assert counts == {"to": 2, " ": 4, "be": 2, "or": 1, "not": 1}
    whole = BPETokenizer.train(["to be", "or not to be"], 300, pattern="words")
    assert BPETokenizer.train_from_counts(counts, 300, pattern="words").fingerprint == whole.fingerprint


def test_counts_may_be_numbers_of_numpy():
    """Small integers of numpy would overflow where the counts of pairs are added up."""
    counts = {"abab": 100, "ac": 90, "abc": 110}
    expected = BPETokenizer.train_from_counts(counts, 260)
    for engine in ENGINES:
        small = {piece: numpy.uint8(count) for piece, count in counts.items()}
        assert BPETokenizer.train_from_counts(small, 260, engine=engine).merges == expected.merges


def test_the_order_of_counts_decides_ties():
    one = BPETokenizer.train_from_counts({"ab": 2, "cd": 2}, 257)
    other = BPETokenizer.train_from_counts({"cd": 2, "ab": 2}, 257)
    assert (one.token(256), other.token(256)) == (b"ab", b"cd")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"text": ""}, ValueError, "training text is empty"),
        ({"text": []}, ValueError, "training text is empty"),
        ({"text": b"ab"}, TypeError, "not bytes"),
        ({"text": None}, TypeError, "not NoneType"),
        ({"text": ["ab", 5]}, TypeError, "document 1: text must be a str, not int"),
        ({"text": ["ab", "a\udc80"]}, ValueError, r"document 1: lone surrogate U\+DC80 at position 1"),
        ({"vocab_size": 255}, ValueError, "255 is too small: there are 256 base tokens and 0 special"),
        ({"vocab_size": 257, "special_tokens": ["x", "y"]}, ValueError, "the least is 258"),
        ({"vocab_size": "300"}, TypeError, "vocab_size must be an integer, not str"),
        ({"vocab_size": 300.5}, TypeError, "vocab_size must be an integer, not float"),
        ({"min_frequency": 0}, ValueError, "min_frequency must be 1 or more, not 0"),
        ({"alphabet": "words"}, ValueError, "unknown alphabet 'words'"),
        ({"base_tokens": [b"a"]}, ValueError, "always all 256"),
        ({"alphabet": "characters", "base_tokens": "b"}, ValueError, r"'a' \(U\+0061\).* not in base_tokens"),
        ({"alphabet": "characters", "base_tokens": ["a", "bc"]}, ValueError, "single character, not 'bc'"),
        ({"alphabet": "characters", "vocab_size": 1}, ValueError, "the least is 2"),
        ({"pattern": "("}, ValueError, "is not a regular expression"),
        ({"pattern": r"(?r)\w+"}, ValueError, "searches from the end"),
        ({"pattern": "(" * 5000 + ")" * 5000}, ValueError, "is not a regular expression"),
        ({"pattern": "\ud800"}, ValueError, "lone surrogate"),
        ({"pattern": [5]}, TypeError, "pattern must be a str, not int"),
        ({"special_tokens": "<|end|>"}, TypeError, "a list of strings"),
        ({"special_tokens": [""]}, ValueError, "must not be empty"),
        ({"special_tokens": [5]}, TypeError, "must be a str, not int"),
        ({"special_tokens": ["x", "x"]}, ValueError, "'x' is given twice"),
    ],
)
def test_bad_input_to_train(arguments, error, message):
    with pytest.raises(error, match=message):
        BPETokenizer.train(**({"text": "abab", "vocab_size": 300} | arguments))


@pytest.mark.parametrize(
    ("counts", "error"),
    [({"": 1}, ValueError), ({"a": 0}, ValueError), ({"a": 1.5}, TypeError), ({}, ValueError)],
)
def test_bad_counts(counts, error):
    with pytest.raises(error):
        BPETokenizer.train_from_counts(counts, 300)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("alphabet", ["bytes", "characters"])
def test_counts_of_what_is_no_text(engine, alphabet):
    options = {"engine": engine, "alphabet": alphabet}
    with pytest.raises(ValueError, match=r"piece 'a\\udc80': lone surrogate U\+DC80 at position 1"):
        BPETokenizer.train_from_counts({"a\udc80": 2}, 300, **options)


# -- encoding -----------------------------------------------------------------------------------------


def test_short_texts():
    tokenizer = BPETokenizer.train("abab", 300)
    assert tokenizer.encode("") == []
    assert tokenizer.encode("a") == [97]
    assert tokenizer.decode([]) == ""


def test_the_lowest_rank_goes_first_not_the_longest_token():
    tokenizer = BPETokenizer([*BYTES, b"bc", b"ab", b"abc"], [(98, 99), (97, 98), (257, 99)])
    assert tokenizer.tokens("abc") == [b"a", b"bc"]


def test_whole_pieces_are_taken_before_any_merge():
    tokens = [*BYTES, b"bc", b"abc"]
    assert BPETokenizer(tokens, [(98, 99)]).tokens("abc") == [b"a", b"bc"]
    assert BPETokenizer(tokens, [(98, 99)], whole_pieces=True).tokens("abc") == [b"abc"]


def test_ids_as_an_array(tokenizer):
    array = tokenizer.encode_array(TEXT)
    assert array.dtype == numpy.int32
    assert array.tolist() == tokenizer.encode(TEXT)
    assert tokenizer.decode(array) == TEXT


def test_a_character_outside_the_alphabet_is_named_with_its_position():
    tokenizer = BPETokenizer.train("ab ab", 4, alphabet="characters", pattern="words")
    with pytest.raises(ValueError, match=r"'猫' \(U\+732B\) at position 4 is not among the 3 base tokens"):
        tokenizer.encode("ab a猫")


def test_a_byte_outside_the_alphabet_is_named_with_its_position():
    with pytest.raises(ValueError, match="byte 0xe7 of '猫' at position 1"):
        BPETokenizer(BYTES[:128]).encode("a猫")


@pytest.mark.parametrize("engine", ENGINES)
def test_lone_surrogates_are_refused(tokenizer, engine):
    for encode in (tokenizer.encode, tokenizer.encode_array):
        with pytest.raises(ValueError, match=r"lone surrogate U\+D83D at position 2"):
            encode("ab\ud83d", engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", [None, b"ab", 5, ["ab"]])
def test_encode_takes_only_str(tokenizer, text, engine):
    for encode in (tokenizer.encode, tokenizer.encode_array):
        with pytest.raises(TypeError, match="text must be a str"):
            encode(text, engine=engine)


# -- special tokens -----------------------------------------------------------------------------------


def test_special_tokens_do_not_pass_by_themselves(tokenizer):
    with pytest.raises(ValueError, match=r"special token '<\|end\|>' at position 2"):
        tokenizer.encode("a <|end|>")


def test_allowed_special_tokens(tokenizer):
    end, ending = tokenizer.special_tokens.values()
    assert tokenizer.encode("a<|end|>b", allowed_special={"<|end|>"}) == [97, end, 98]
    assert tokenizer.encode("<|end|>ing", allowed_special="all") == [ending]
    assert tokenizer.decode([97, end, 98]) == "a<|end|>b"
    assert tokenizer.token(end) == b"<|end|>"


def test_special_tokens_as_ordinary_text(tokenizer):
    ids = tokenizer.encode("a<|end|>", disallowed_special=())
    assert not set(ids) & set(tokenizer.special_tokens.values())
    assert tokenizer.decode(ids) == "a<|end|>"


def test_positions_after_special_tokens_are_those_of_the_text():
    tokenizer = BPETokenizer.train("ab", 3, alphabet="characters", special_tokens=["<e>"])
    with pytest.raises(ValueError, match="at position 5"):
        tokenizer.encode("a<e>b猫", allowed_special="all")


def test_unknown_names_of_special_tokens_are_refused(tokenizer):
    with pytest.raises(ValueError, match=r"not a special token of this tokenizer: '<\|x\|>'; it has '<\|end"):
        tokenizer.encode("a", allowed_special={"<|x|>"})
    with pytest.raises(TypeError, match="give a set"):
        tokenizer.encode("a", allowed_special="<|end|>")


def test_special_tokens_added_later(tokenizer):
    more = tokenizer.with_special_tokens(["<a b>", "(.*)"])
    assert more.special_tokens["<a b>"] == tokenizer.vocab_size
    assert more.vocab_size == tokenizer.vocab_size + 2
    assert more.tokens("(.*)<a b>", allowed_special="all") == [b"(.*)", b"<a b>"]
    assert more.fingerprint != tokenizer.fingerprint
    assert more.encode("low") == tokenizer.encode("low")
    with pytest.raises(ValueError, match="given twice"):
        tokenizer.with_special_tokens(["<|end|>"])
    with pytest.raises(TypeError, match="a list of strings, not the string"):
        tokenizer.with_special_tokens("<|more|>")


@given(st.lists(st.sampled_from(["a", "b", "<|end|>", "<|end|>ing", "<|en"]), max_size=8).map("".join))
def test_allowed_or_not_the_text_comes_back(tokenizer, text):
    for options in ({"allowed_special": "all"}, {"disallowed_special": ()}):
        assert tokenizer.decode(tokenizer.encode(text, **options)) == text


OVERLAPPING = BPETokenizer([b"a", b"b", b"c"], special_tokens={"ab": 3, "bc": 4, "abc": 5})


def test_a_special_token_that_is_text_hides_no_other():
    with pytest.raises(ValueError, match="special token 'bc' at position 1"):
        OVERLAPPING.encode("abc", disallowed_special={"bc"})
    assert OVERLAPPING.encode("abc", allowed_special={"bc"}, disallowed_special=()) == [0, 4]
    assert OVERLAPPING.encode("abc", allowed_special={"ab"}, disallowed_special=()) == [3, 2]
    assert OVERLAPPING.encode("abc", allowed_special="all") == [5]


def test_a_special_token_that_is_allowed_and_disallowed_is_refused():
    for allowed in ("all", {"ab"}):
        with pytest.raises(ValueError, match="special token 'ab' at position 0"):
            OVERLAPPING.encode("ab", allowed_special=allowed, disallowed_special={"ab"})


@pytest.mark.parametrize("odd", [{"<x>", 1}, [b"ab"]])
def test_odd_names_of_special_tokens(odd):
    with pytest.raises(ValueError, match="not a special token of this tokenizer"):
        OVERLAPPING.encode("ab", allowed_special=odd)


# -- decoding -----------------------------------------------------------------------------------------


def test_a_character_in_pieces_is_joined_before_it_is_decoded():
    tokenizer = BPETokenizer(BYTES)
    assert tokenizer.decode([0xE6, 0x9C, 0x88]) == "月"
    assert tokenizer.decode([0xE6, 0x9C]) == "\ufffd"
    with pytest.raises(UnicodeDecodeError):
        tokenizer.decode([0x80], errors="strict")


def test_decoding_takes_little_more_memory_than_the_text():
    tokenizer = BPETokenizer.train("abab", 257)
    ids = [97] * 200_000
    tokenizer.decode([97])
    tracemalloc.start()
    tokenizer.decode(ids)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * len(ids)


def test_bad_ids(tokenizer):
    for i in (-1, tokenizer.vocab_size):
        with pytest.raises(ValueError, match=f"id {i} is out of range: ids go from 0 to"):
            tokenizer.decode([0, i])
    for i in ("a", 1.0, None, [1]):
        with pytest.raises(TypeError, match="an id must be an integer"):
            tokenizer.decode([i])


def test_a_hole_has_no_text():
    tokenizer = BPETokenizer([b"a", None, b"b"], special_tokens={"<e>": 4})
    assert (tokenizer.token(1), tokenizer.token(3), tokenizer.vocab_size) == (None, None, 5)
    for hole in (1, 3):
        with pytest.raises(ValueError, match=f"id {hole} at position 1 is not in use"):
            tokenizer.decode([0, hole])


# -- the five parts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"tokens": []}, TypeError, "none at all"),
        ({"tokens": [b"a", "b"]}, TypeError, "bytes, str"),
        ({"tokens": [b"<e>"], "special_tokens": {"<e>": 0}}, TypeError, "none at all"),
        ({"tokens": [b"a", b""]}, ValueError, "token 1 is empty"),
        ({"tokens": [b"a", b"a"]}, ValueError, "tokens 0 and 1 are both b'a'"),
        ({"merges": [(0, 9)]}, ValueError, "merge 0 uses the id 9"),
        ({"merges": [(0, -1)]}, ValueError, "merge 0 uses the id -1"),
        ({"merges": [(0, "1")]}, TypeError, "an id of merge 0 must be an integer"),
        ({"merges": [(1, 0)]}, ValueError, "makes b'ba', which is not among the tokens"),
        ({"merges": [(2, 0), (0, 1)]}, ValueError, "which no earlier merge makes"),
        ({"merges": [(0, 1), (0, 1)]}, ValueError, "an earlier merge makes already"),
        ({"special_tokens": {"<e>": 0}}, ValueError, "has the id 0, which is already that of b'a'"),
        (
            {"special_tokens": {"<e>": 7, "<f>": 7}},
            ValueError,
            "has the id 7, which is already that of '<e>'",
        ),
        ({"special_tokens": {"<e>": -1}}, ValueError, "must be 0 or more"),
        ({"special_tokens": {"<e>": "7"}}, TypeError, "must be an integer"),
    ],
)
def test_parts_that_do_not_fit_together(arguments, error, message):
    with pytest.raises(error, match=message):
        BPETokenizer(**({"tokens": [b"a", b"b", b"ab", b"aba"]} | arguments))


def test_ids_of_special_tokens_may_be_far_away_and_of_numpy(tmp_path):
    far = BPETokenizer([b"a"], special_tokens={"<e>": numpy.int64(2**31 - 1)})
    assert (far.vocab_size, len(far)) == (2**31, 2)
    assert far.decode([0, 2**31 - 1]) == "a<e>"
    assert far.id_of(b"<e>") == far.id_of("<e>") == 2**31 - 1 and far.id_of(b"a") == 0
    far.save(tmp_path / "far.json")
    assert BPETokenizer.load(tmp_path / "far.json") == far
    for engine in ENGINES:
        ids = far.encode_array("a<e>", allowed_special="all", engine=engine)
        assert ids.tolist() == far.encode("a<e>", allowed_special="all", engine=engine) == [0, 2**31 - 1]


@pytest.mark.parametrize("i", [2**31, 2**70])
def test_ids_that_no_array_holds(i):
    with pytest.raises(ValueError, match=f"has the id {i}; the largest is 2147483647"):
        BPETokenizer([b"a"], special_tokens={"<e>": i})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"special_tokens": {"<e>": True}}, "the id of special token '<e>' must be an integer, not bool"),
        ({"merges": [(False, True)]}, "an id of merge 0 must be an integer, not bool"),
        ({"whole_pieces": "no"}, "whole_pieces must be True or False, not 'no'"),
        ({"whole_pieces": 1}, "whole_pieces must be True or False, not 1"),
    ],
)
def test_no_boolean_is_an_id_and_nothing_else_a_boolean(options, message):
    with pytest.raises(TypeError, match=message):
        BPETokenizer([b"a", b"b", b"ab"], **options)


def test_a_boolean_is_not_an_id():
    for use in (BPETokenizer([b"a", b"b"]).token, lambda i: BPETokenizer([b"a", b"b"]).decode([i])):
        with pytest.raises(TypeError, match="an id must be an integer, not bool"):
            use(True)


def test_special_tokens_may_stand_among_the_tokens():
    inside = BPETokenizer([b"a", b"<e>", b"b"], special_tokens={"<e>": 1})
    assert inside.encode("a<e>b", allowed_special="all") == [0, 1, 2]
    assert inside.vocabulary == (b"a", None, b"b")
    at_the_end = BPETokenizer([b"a", b"b", b"<e>"], special_tokens={"<e>": 2})
    assert at_the_end.fingerprint == BPETokenizer([b"a", b"b"], special_tokens={"<e>": 2}).fingerprint
