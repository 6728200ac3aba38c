"""A text that arrives in chunks gives the ids, and the counts, of the whole text."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bpe
from bpe import BPETokenizer, CharTokenizer, Tokenizer, Unigram, WordBPE, WordPiece, counting, presplit
from bpe.stretches import BORDERS, cut, find_border

TRAINING = (
    "It's the lower LOWEST light, we'LL don't 12345 12, 月光月光，床前明月光。\n\n  the end  \r\n\t'S "
    "a\u0301 "
) * 3
SPECIAL = ["<|end|>", "<|end|>ing", "a b", "。\n", "  "]
PIECES = [
    *"aAsStTlLe'’ſ1٣½月，。,.;:!?/-_\u3000\u00a0\u2028\x85\x1c\x00\u0301ー・゠ゝ👩\u200dǅʰ \n\r\t",
    "  ",
    "\r\n",
    "\n\n",
    " \n ",
    "'ll",
    "'re ",
    "low",
    "the ",
    "12345",
    *SPECIAL,
    "<|end",
    "|>",
    "ing",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
ANY = st.text(st.characters(exclude_categories=["Cs"]))
OTHER = r"\w+|(?<=a)b"  # nobody has proved anything about it


def learned(split=None, alphabet="bytes") -> BPETokenizer:
    everything = {*"".join(PIECES), *TRAINING} if alphabet == "characters" else None
    size = 330 if alphabet == "bytes" else len(everything) + 60
    return BPETokenizer.train(
        TRAINING, size, pattern=split, special_tokens=SPECIAL, alphabet=alphabet, base_tokens=everything
    )


def whole(split=None) -> BPETokenizer:
    made = learned(split)
    tokens = [*made.vocabulary, b" the end", "月光，床前".encode(), b"  \r"]
    names = {name: 500 + k for k, name in enumerate(SPECIAL)}
    return BPETokenizer(tokens, made.merges, split, names, whole_pieces=True)


MADE = {
    "characters": lambda: CharTokenizer("".join(PIECES), unknown="<unk>"),
    "words": lambda: WordBPE.train(TRAINING, 90, special_tokens=SPECIAL),
    "wordpiece": lambda: WordPiece.train(TRAINING, 120, special_tokens=SPECIAL),
    "unigram": lambda: Unigram.train(TRAINING, 360, special_tokens=SPECIAL),
    "no split": learned,
    "no split, characters": lambda: learned(alphabet="characters"),
    "whole pieces": whole,
    "another expression": lambda: learned(OTHER),
    "two expressions": lambda: learned(["gpt4", "verse"]),
    **{name: (lambda name=name: learned(name)) for name in presplit.PATTERNS},
    **{f"{name}, characters": (lambda name=name: learned(name, "characters")) for name in ("gpt4o", "verse")},
    **{f"{name}, whole": (lambda name=name: whole(name)) for name in presplit.PATTERNS},
}


@cache
def made(kind: str) -> Tokenizer:
    return MADE[kind]()


@st.composite
def chunked(draw, texts=TEXTS | ANY) -> list[str]:
    """A text in chunks; some are empty."""
    text = draw(texts)
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    return [text[start:end] for start, end in pairwise([0, *places, len(text)])]


def outcome(encode: Callable[[], list[int]]) -> list[int] | str:
    """The ids, or the error, which names the position of a character without a token."""
    try:
        return encode()
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize(
    "options",
    [
        {"allowed_special": "all"},
        {"disallowed_special": ()},
        {"allowed_special": SPECIAL[1:3], "disallowed_special": ()},
    ],
)
@given(chunks=chunked(), size=st.integers(1, 30))
def test_chunks_give_the_ids_of_the_whole(kind, options, chunks, size):
    tokenizer = made(kind)
    if not tokenizer.special_tokens:
        options = {}
    text = "".join(chunks)

    def encode_stream() -> list[int]:
        rows = tokenizer.encode_stream(iter(chunks), size=size, **options)
        return [i for row in rows for i in row]

    assert outcome(encode_stream) == outcome(lambda: tokenizer.encode(text, **options))
    assert "".join(tokenizer.stretches(chunks, size)) == "".join(chunks)


@pytest.mark.parametrize("name", list(presplit.PATTERNS))
@given(before=TEXTS | ANY, after=TEXTS | ANY)
def test_a_border_is_one_whatever_is_around_it(name, before, after):
    """Wherever two characters look like a border, both sides are cut as if each were alone."""
    expressions = presplit.PATTERNS[name]
    text = before + after
    border = regex.compile(BORDERS[expressions])
    for place in range(1, len(text)):
        if border.fullmatch(text[place - 1 : place + 1]):
            left, right = text[:place], text[place:]
            cut_apart = presplit.pieces(left, expressions) + presplit.pieces(right, expressions)
            assert cut_apart == presplit.pieces(text, expressions)


@pytest.mark.parametrize("name", presplit.PATTERNS)
def test_a_border_at_every_change_of_class(name):
    """Every two characters of different classes that make a border do so in a few surroundings."""
    expressions = presplit.PATTERNS[name]
    border = regex.compile(BORDERS[expressions])
    samples = (
        "aAǅʰ月ゝー・゠1٣½ⅷ'’!/,，。-_$€\u0301\u200d\x00\x1c\x85\u2028\u3000\u00a0 \t\n\r👩\ufffd\U000e0001"
    )
    for left in samples:
        for right in samples:
            if border.fullmatch(left + right):
                for before in ("", "a", " ", "\n", "'", "!", "1", "  \n", "月", "\u0301", "'l"):
                    for after in ("", "a", " ", "\n", "'s", "!", "1", " \n ", "月", "\u0301", "\n\n"):
                        one, two = before + left, right + after
                        apart = presplit.pieces(one, expressions) + presplit.pieces(two, expressions)
                        assert apart == presplit.pieces(one + two, expressions)


def test_each_pattern_has_borders():
    assert list(BORDERS) == list(presplit.PATTERNS.values())
    assert find_border("a b", 3, ("a",)) == find_border("a b", 3, ()) == 0


@pytest.mark.parametrize("kind", [kind for kind in MADE if kind not in ("unigram", "whole pieces")])
@pytest.mark.parametrize("line", ["the cat, the dog\n", "床前明月光，疑是地上霜。\n", "1,234 5,678\r\n"])
def test_stretches_stay_short(kind, line):
    """So memory does not grow with the text, for the kinds that say so."""
    if "expression" in kind or (kind.startswith("word") and "床" in line):
        line += " "
    stretches = list(made(kind).stretches([line * 200], size=50))
    if "expression" in kind:
        assert stretches == [line * 200]
    else:
        assert max(map(len, stretches)) < 250


@given(chunks=chunked(), size=st.integers(1, 9))
@example(chunks=["ab<|e", "nd|>ab"], size=2)
def test_no_cut_is_inside_what_could_be_a_special_token(chunks, size):
    text = "".join(chunks)
    place = 0
    for stretch in cut(chunks, lambda text, stop: min(stop, len(text)), SPECIAL, size):
        for name in SPECIAL:
            for start in range(max(0, place - len(name) + 1), place):
                assert not text.startswith(name, start)
        place += len(stretch)
    assert place == len(text)


@pytest.mark.parametrize("kind", MADE)
def test_errors_name_the_position_in_the_whole_text(kind):
    tokenizer = made(kind)
    text = "the low, " * 40
    for wrong, message in (
        ("\ud800", r"lone surrogate U\+D800 at position 360"),
        ("<|end|>", r"special token '<\|end\|>' at position 360"),
    ):
        if wrong in tokenizer.special_tokens or len(wrong) == 1:
            with pytest.raises(ValueError, match=message):
                list(tokenizer.encode_stream([text, wrong, text], size=20))


def test_unknown_characters_are_named_with_their_position():
    text = "the cat, " * 40
    for tokenizer in (
        CharTokenizer(text),
        BPETokenizer.train(text, 20, alphabet="characters"),
        BPETokenizer.train(text, 20, alphabet="characters", pattern="gpt4"),
    ):
        with pytest.raises(ValueError, match=r"'月' \(U\+6708\) at position 360 is not among"):
            list(tokenizer.encode_stream([text + "月"], size=20))


@pytest.mark.parametrize("chunks", ["text", [b"bytes"], {"a", "b"}, 5])
def test_chunks_that_are_none(chunks):
    with pytest.raises(TypeError):
        list(made("no split").encode_stream(chunks))


def test_a_stream_is_read_no_further_than_needed():
    def chunks():
        yield "the cat " * 10
        yield "the dog " * 10
        raise AssertionError

    assert next(made("gpt4").encode_stream(chunks(), size=40))


# --- counting


@pytest.mark.parametrize("name", [None, OTHER, *presplit.PATTERNS])
@given(documents=st.lists(chunked(), max_size=3), size=st.integers(1, 30))
def test_chunks_give_the_counts_of_the_whole(name, documents, size):
    counts = counting.count_streams(map(iter, documents), name, SPECIAL, size)
    expected = bpe.count_pieces(["".join(chunks) for chunks in documents], name, SPECIAL)
    assert list(counts.items()) == list(expected.items())


# --- decoding


@pytest.mark.parametrize("kind", MADE)
@given(chunks=chunked())
@settings(max_examples=20)
def test_decoding_bit_by_bit(kind, chunks):
    tokenizer = made(kind)
    text = "".join(filter({*"".join(PIECES)}.__contains__, "".join(chunks)))
    ids = tokenizer.encode(text, disallowed_special=())
    assert b"".join(tokenizer.decode_stream(iter(ids))) == tokenizer.decode_bytes(ids)
