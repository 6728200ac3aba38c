"""The compiled scanner cuts where `regex` cuts: on nasty text, and at every code point of Unicode."""

from itertools import pairwise

import pytest

numpy = pytest.importorskip("numpy")
pytest.importorskip("numba")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from bpe import presplit  # noqa: E402
from bpe.fast import scanner  # noqa: E402

NAMES = ["gpt2", "gpt4", "gpt4o", "llama3", "qwen"]
# Letters with and without case, marks, digits of many kinds, whitespace, apostrophes; ſ, which is an s
# when case does not matter, and the Kelvin sign, which is a k.
NASTY = st.text(
    st.sampled_from(
        "aAsStTdDmMlLvVeErRkK'’ſK"
        " \n\r\t\v\u00a0\u3000\u2028\x85\x1c\x00/!?.-_1٣²½ⅷ月，。éß\u0301\u0345ǅʰª👩\u200d🏽ก็ा"
    )
)
ANY = st.text(st.characters(exclude_categories=["Cs"]))


def cut(text: str, expressions: tuple[str, ...]) -> list[str]:
    data = text.encode("utf-8")
    ends = scanner.find_ends(numpy.frombuffer(data, dtype=numpy.uint8), expressions).tolist()
    return [data[start:end].decode("utf-8") for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize("name", NAMES)
@given(NASTY | ANY)
def test_pieces_are_those_of_regex(name, text):
    expressions = presplit.resolve(name)
    assert scanner.knows(expressions)
    assert cut(text, expressions) == list(presplit.pieces(text, expressions))


@pytest.mark.parametrize("name", NAMES)
@given(st.lists(NASTY, min_size=1), st.integers(2, 6))
def test_a_text_may_be_cut_at_borders(name, lines, parts):
    """The pieces between two borders are the same, whoever cuts them."""
    data = numpy.frombuffer("\n".join(lines).encode("utf-8"), dtype=numpy.uint8)
    expressions = presplit.resolve(name)
    borders = scanner.find_borders(data, parts)
    assert (borders[0], borders[-1]) == (0, len(data)) and len(borders) <= parts + 1
    ends = [end for border in pairwise(borders) for end in scanner.find_ends(data, expressions, *border)]
    assert ends == scanner.find_ends(data, expressions).tolist()


AROUND = ["{}", "a{}a", "A{}B", "1{}1", " {} ", "'{}", "!{}\n", "{0}{0}a", "a{} {}1"]


def at_every_change() -> list[str]:
    """Return the code points on both sides of a change of class; all between two changes are of one class."""
    table = scanner.make_classes()
    changes = numpy.flatnonzero(numpy.diff(table))
    return [chr(i) for i in sorted({*changes, *(changes + 1)}) if not 0xD800 <= i < 0xE000]


def everywhere() -> list[str]:
    return [chr(i) for i in range(scanner.CODE_POINTS) if not 0xD800 <= i < 0xE000]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("chosen", [at_every_change, pytest.param(everywhere, marks=pytest.mark.full)])
def test_every_code_point_alone_and_between_others(chosen, name, around):
    """All in one text, separated by what no piece crosses."""
    expressions = presplit.resolve(name)
    text = "\x1f0\x1f".join(around.format(*[code_point] * 2) for code_point in chosen())
    assert cut(text, expressions) == list(presplit.pieces(text, expressions))


def test_more_pieces_than_there_was_room_for():
    expressions = presplit.resolve("gpt2")
    text = "a1" * 1000
    assert cut(text, expressions) == list(text)


def test_which_splits_it_knows():
    assert [name for name in presplit.PATTERNS if scanner.knows(presplit.resolve(name))] == NAMES
    assert not scanner.knows(presplit.resolve(["gpt4", "words"]))
    assert not scanner.knows(())


def test_classes_are_those_of_regex():
    table = scanner.make_classes()
    for character, bits in (
        ("a", scanner.LETTER | scanner.LOWER),
        ("A", scanner.LETTER | scanner.UPPER),
        ("月", scanner.LETTER | scanner.UPPER | scanner.LOWER),
        ("\u0301", scanner.UPPER | scanner.LOWER),
        ("½", scanner.NUMBER),
        ("\u3000", scanner.SPACE),
        ("\r", scanner.SPACE | scanner.LINE_END),
        ("!", 0),
    ):
        assert table[ord(character)] == bits
