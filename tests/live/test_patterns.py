"""Expressions of regex as expressions of JavaScript: what is taken, and what is refused."""

import pytest

from bpe import BPETokenizer, live, presplit
from bpe.live import patterns


@pytest.mark.parametrize("name", presplit.PATTERNS)
def test_named_patterns_are_taken(name):
    for expression in presplit.PATTERNS[name]:
        assert patterns.translate(expression)


def _spelled(expression: str) -> str:
    return "".join(
        part if isinstance(part, str) else patterns.spell(part) for part in patterns.translate(expression)
    )


@pytest.mark.parametrize(
    ("expression", "javascript"),
    [
        ("a", "a"),
        ("[a-c]+", "[a-c]+"),
        ("a++b", r"(?=(?<a1>a+))\k<a1>b"),
        ("ab?+", r"a(?=(?<a1>b?))\k<a1>"),
        ("(?>ab|a)", r"(?=(?<a1>ab|a))\k<a1>"),
        ("(?i:k)", r"(?:[Kk\u{212a}])"),
        ("(?i)a(?-i:b)", "[Aa](?:b)"),
        ("a{,2}b", "a{0,2}b"),
        ("(ab)+?", "(?:(?:ab))+?"),
        ("(?P<x>a)", "(?:a)"),
        ("a$", r"a(?=\n?(?![\s\S]))"),
        (r"\x41\u0042", "AB"),
        ("[]a]", r"[\u{5d}a]"),
    ],
)
def test_translated(expression, javascript):
    assert _spelled(expression) == javascript


@pytest.mark.parametrize(
    "expression",
    [
        r"(a)\1",
        r"(?P<x>a)(?P=x)",
        "a*",
        "(?:a?)+b",
        "(?m)a$",
        "(?x)a b",
        "(?:a){e<=1}",
        r"a\Gb",
        r"\Xa",
        "(?|a|b)",
        "(a)?(?(1)a|b)",
        "(?V1)[a--b]",
        "[[:alpha:]]",
        "(?<=a++)b",
        "(?#why)a",
        "a(*PRUNE)b",
    ],
)
def test_refused(expression):
    with pytest.raises(ValueError, match=r"can't run in a page; explorer\(…, kernel=True\) takes any"):
        live.explorer(BPETokenizer.train("abab", 257, pattern=expression))
