"""Cutting text into pieces before any merge: no merge crosses from one piece to the next.

A split is a list of regular expressions (of the `regex` package), applied in turn, each to the pieces
left by the one before. The pieces are the matches and the gaps between them, so joined they are the text.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import pairwise
from typing import AnyStr

import regex

from bpe._validate import refuse_surrogates

# Contractions, letters, digits, other signs, each with one space before; then white space. As published
# with GPT-2; tiktoken's spelling of it cuts in the same places.
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# cl100k_base as tiktoken 0.14 has it: `\s++$` and the possessive quantifiers are later additions.
GPT4 = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)

# o200k_base: a word's capitals may stand at its front only, and a contraction belongs to its word.
GPT4O = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# The models/llama3 tokenizer of Meta's llama-models; GPT-4's of 2023 but for a run of line ends in one piece.
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# Qwen up to version 3: Llama 3's, with each digit alone.
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

# DeepSeek-V3's tokenizer.json: digits, then Chinese and Japanese, then the rest, one after the other.
DEEPSEEK = (
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)

# A poem's lines, its punctuation and its line ends apart.
VERSE = r"[，。！？；：、]|\n"

# Words at white space; the white space between them is a piece too.
WORDS = r"\S+"

PATTERNS: dict[str, tuple[str, ...]] = {
    "gpt2": (GPT2,),
    "gpt4": (GPT4,),
    "gpt4o": (GPT4O,),
    "llama3": (LLAMA3,),
    "qwen": (QWEN,),
    "deepseek": DEEPSEEK,
    "verse": (VERSE,),
    "words": (WORDS,),
}

Pattern = str | Iterable[str] | None


def resolve(pattern: Pattern) -> tuple[str, ...]:
    """The expressions that `pattern` stands for.

    pattern: None (no split), a name in PATTERNS, a regular expression, or a list of these.
    Raises ValueError for an expression that `regex` cannot compile, TypeError for what is no string.
    """
    if pattern is None:
        return ()
    if not isinstance(pattern, Iterable):
        raise TypeError(f"a pattern must be a str or a list of str, not {type(pattern).__name__}")
    named = [pattern] if isinstance(pattern, str) else pattern
    expressions: list[str] = []
    for item in named:
        if not isinstance(item, str):
            raise TypeError(f"a pattern must be a str, not {type(item).__name__}")
        expressions += PATTERNS.get(item, (item,))
    for expression in expressions:
        try:
            compiled = regex.compile(expression)
        except (regex.error, RecursionError) as error:
            raise ValueError(f"{expression!r} is not a regular expression: {error}") from None
        refuse_surrogates(expression)
        if compiled.flags & regex.REVERSE:
            raise ValueError(f"{expression!r} searches from the end, (?r), and pieces are cut from the start")
    return tuple(expressions)


def _cut(text: str, expression: regex.Pattern[str]) -> Iterator[str]:
    end = 0
    for match in expression.finditer(text):
        if match.end() == match.start():
            continue
        if match.start() > end:
            yield text[end : match.start()]
        yield match.group()
        end = match.end()
    if end < len(text):
        yield text[end:]


def pieces(text: str, expressions: Iterable[str]) -> list[str]:
    """The pieces of `text`: matches and gaps of the first expression, these cut by the next, and so on.

    >>> pieces("床前明月光，疑是地上霜。", [VERSE])
    ['床前明月光', '，', '疑是地上霜', '。']
    """
    current = [text] if text else []
    for expression in expressions:
        compiled = regex.compile(expression)
        current = [piece for longer in current for piece in _cut(longer, compiled)]
    return current


# A boundary between two symbols only goes away when a merge joins a token that ends in the left symbol to a
# token that begins with the right one. A tokenizer has few such joints, so most of a text falls into short
# runs that no merge reaches across: each can be encoded by itself, and need not be encoded twice.


def find_joints(merged: Iterable[tuple[AnyStr, AnyStr]]) -> set[tuple[object, object]]:
    """The pairs of symbols at which merges join tokens.

    merged: the two tokens of each merge.

    >>> find_joints([("t", "h"), ("th", "e")]) == {("t", "h"), ("h", "e")}
    True
    """
    return {(left[-1], right[0]) for left, right in merged}


def cut_runs(symbols: AnyStr, joints: Container[tuple[object, object]]) -> Iterator[AnyStr]:
    """Cut a text, or bytes, where no merge can reach across; the runs joined are the whole.

    >>> list(cut_runs("the tenth", {("t", "h"), ("h", "e")}))
    ['the', ' ', 't', 'e', 'n', 'th']
    """
    start = 0
    for end, pair in enumerate(pairwise(symbols), start=1):
        if pair not in joints:
            yield symbols[start:end]
            start = end
    if symbols:
        yield symbols[start:]
