"""Cutting text into pieces before any merge: no merge crosses from one piece to the next.

A split is a list of regular expressions (of the `regex` package), applied in turn, each to the pieces
left by the one before. The pieces are the matches and the gaps between them; joined, they are the text.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator
from difflib import get_close_matches
from itertools import chain, pairwise
from typing import AnyStr

import regex

from bpe._validate import refuse_surrogates, refuse_unordered

# Contractions; letters, digits and other signs with an optional space before them; then whitespace. As
# published with GPT-2; tiktoken's spelling of it cuts in the same places.
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# cl100k_base as tiktoken 0.14 has it: `\s++$` and the possessive quantifiers are later additions.
GPT4 = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)

# o200k_base: capitals only begin a word, and a contraction belongs to its word.
GPT4O = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# The Llama 3 tokenizer of Meta's llama-models: GPT-4's pattern of 2023, but a run of newlines is one piece.
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# Qwen up to version 3: Llama 3's pattern, with each digit by itself.
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

# DeepSeek-V3's tokenizer.json: three expressions in turn, for digits, Chinese and Japanese, and the rest.
DEEPSEEK = (
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)

# A poem's verses, with punctuation and newlines apart.
VERSE = r"[，。！？；：、]|\n"

# Words between whitespace; the whitespace is a piece too.
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

# An expression may come from a file that nobody has read, and some expressions take for ever, or all memory.
LONGEST = 10_000  # characters of all expressions together, and MOST of them; real ones have a few hundred
MOST = 100
MOST_COPIES = 100_000  # characters, once `{n}` is written out, as compiling does in part
# Seconds to cut a text, and for each character: the slowest of the patterns above takes 0.0000004.
SECONDS, SECONDS_A_CHARACTER = 10.0, 0.00001

_FAST = frozenset(chain.from_iterable(PATTERNS.values()))


def resolve(pattern: Pattern) -> tuple[str, ...]:
    """Return the expressions that `pattern` names.

    pattern: None (no split), a name in PATTERNS, a regular expression, or a list of these.
    Raises ValueError for an expression that `regex` cannot compile, for one beyond the limits above, and for
    a misspelled name; TypeError if it is not a str, and for a set, since their order matters.
    """
    if pattern is None:
        return ()
    refuse_unordered(pattern, "a pattern")
    expressions: list[str] = []
    for item in [pattern] if isinstance(pattern, str) else pattern:
        refuse_surrogates(item, "a pattern")
        if item not in PATTERNS:
            _refuse_misspelled(item)
        expressions += PATTERNS.get(item, (item,))
        _refuse_large(expressions)
    for expression in expressions:
        try:
            compiled = regex.compile(expression)
        except (regex.error, RecursionError) as error:
            raise ValueError(f"{_shorten(expression)} is not a regular expression: {error}") from None
        if regex.search(r"(?<!\\)(?:\\\\)*\\K", expression):
            raise ValueError(
                f"{_shorten(expression)} moves the start of a match, \\K, so pieces could overlap"
            )
        if compiled.flags & regex.REVERSE:
            raise ValueError(
                f"{_shorten(expression)} searches from the end, (?r), and pieces are cut from the start"
            )
    return tuple(expressions)


def _refuse_large(expressions: list[str]) -> None:
    """Raise ValueError for expressions that could take unlimited time or memory before any text is cut."""
    if len(expressions) > MOST:
        raise ValueError(f"a pattern may have {MOST} expressions, not more")
    shown = _shorten(expressions[-1])
    if sum(map(len, expressions)) > LONGEST:
        raise ValueError(f"a pattern may have {LONGEST:,} characters, not more; it has {shown}")
    if sum(map(_count_copies, expressions)) > MOST_COPIES:
        raise ValueError(f"the repetitions {{n}} of {shown} make more than {MOST_COPIES:,} characters of it")
    if regex.search(r"\(\?(?:R|[+-]?[0-9]|&|P>)", expressions[-1]):
        raise ValueError(f"{shown} calls a group, such as (?R) or (?1), which can take unlimited memory")


def _count_copies(expression: str) -> int:
    """The most characters that an expression has if each repetition `{n}` is written out."""
    characters, copies = len(expression), 1
    for before, numbers in regex.findall(r"(.|^)\{([0-9, ]+)\}", expression, regex.DOTALL):
        times = max(1, *(int(number[:9]) for number in numbers.replace(",", " ").split()))
        characters += times
        if before == ")" or before.isspace():  # a group, or perhaps one, if spaces are ignored
            copies *= times
    return characters * copies


def _shorten(expression: str) -> str:
    return repr(expression if len(expression) <= 100 else expression[:100] + "…")


# What other programs call some of the patterns.
_ALIASES = {"cl100kbase": "gpt4", "o200kbase": "gpt4o", "r50kbase": "gpt2", "p50kbase": "gpt2"}


def _refuse_misspelled(item: str) -> None:
    """Raise ValueError for what looks like a name: as an expression, it would match only itself."""
    name = "".join(filter(str.isalnum, item)).lower()
    close = [_ALIASES[name]] if name in _ALIASES else get_close_matches(name, PATTERNS, 1, 0.75)
    if regex.fullmatch(r"[\w-]{2,}", item) or (close and regex.fullmatch(r"[\w .-]{3,}", item)):
        guess = f": did you mean {close[0]!r}?" if close else "."
        raise ValueError(
            f"{item!r} is not the name of a pattern{guess} The names are {', '.join(PATTERNS)}; as an "
            f"expression, write '(?:{item})'"
        )


def _cut(text: str, expression: regex.Pattern[str], deadline: float | None) -> Iterator[str]:
    end = 0
    timeout = None if deadline is None else max(deadline - time.monotonic(), 0.001)
    for match in expression.finditer(text, timeout=timeout):
        if match.end() == match.start():
            continue
        if match.start() > end:
            yield text[end : match.start()]
        yield match.group()
        end = match.end()
    if end < len(text):
        yield text[end:]


def pieces(text: str, expressions: Iterable[str]) -> list[str]:
    """Cut a text into pieces: matches and gaps of the first expression, cut again by the next, and so on.

    Raises ValueError, naming it, for an expression that takes too long on this text.

    >>> pieces("床前明月光，疑是地上霜。", [VERSE])
    ['床前明月光', '，', '疑是地上霜', '。']
    """
    current = [text] if text else []
    for expression in expressions:
        compiled = regex.compile(expression)
        deadline = _find_deadline(expression, len(text))
        try:
            current = [piece for longer in current for piece in _cut(longer, compiled, deadline)]
        except (TimeoutError, MemoryError, RecursionError):
            raise ValueError(
                f"the expression {_shorten(expression)} takes too much time or memory on this text of "
                f"{len(text):,} characters"
            ) from None
    return current


def _find_deadline(expression: str, length: int) -> float | None:
    """When to give up, on the clock `time.monotonic`; never for a pattern of ours.

    They are fast on every text, and looking at the clock for each match takes as long as the match.
    """
    return None if expression in _FAST else time.monotonic() + SECONDS + SECONDS_A_CHARACTER * length


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
