"""Cutting a text that arrives in chunks into stretches that can be encoded, or counted, one by one.

A text may be cut only where that changes nothing, whatever comes before and after: where every piece ends and
no special token lies across. Such a place is recognised by the two characters beside it. A text without one
is a single stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import regex

from bpe.presplit import PATTERNS

SIZE = 1 << 20  # characters
TRIES = 1_000  # places in a block; a text can have a special token across every one

FindCut = Callable[[str, int], int]

# For the patterns of real models: whitespace that does not end a line, after anything else; and a line end or
# punctuation after a letter or number. There, each of them ends a piece and begins another:
# 1. No alternative of theirs matches across such a place. Only `\s` ones match whitespace after the beginning
#    of a piece, except that line ends and slashes may follow signs. Only signs follow signs, and only
#    letters, marks and contractions, which begin with an apostrophe, follow letters.
# 2. Each character after such a place begins a match wherever a search arrives at it, so no gap between
#    matches lies across either.
# 3. What is before the place is cut as if the text ended there: classes and quantifiers end there anyway, and
#    the lookaheads and `$` come after whitespace, which is never the last character before it.
# 4. What comes after is cut as if the text began there: none of them looks behind.
# 5. DeepSeek's first two expressions find numbers, and Chinese and Japanese characters. No match of theirs
#    lies across, so the third one gets the same pieces, but for one that is cut at the place.
_REAL = r"\S[^\S\r\n]|[\p{L}\p{N}][\r\n,.;:!?，。；：！？、]"

# Expressions -> what finds the two characters beside a place where a text may be cut.
BORDERS = {
    **{PATTERNS[name]: _REAL for name in ("gpt2", "gpt4", "gpt4o", "llama3", "qwen", "deepseek")},
    PATTERNS[
        "verse"
    ]: r"[，。！？；：、\n](?s:.)|(?s:.)[，。！？；：、\n]",  # it matches only these, each alone
    PATTERNS["words"]: r"\S\s|\s\S",
}


def find_border(text: str, stop: int, expressions: Sequence[str]) -> int:
    """Return the last place, up to `stop`, where pieces end whatever is around it; 0 if there is none."""
    border = BORDERS.get(tuple(expressions))
    return 0 if border is None else find_pair(text, stop, border)


def find_pair(text: str, stop: int, pair: str) -> int:
    """Return the last place, up to `stop`, between two characters that `pair` matches; 0 if there is none."""
    match = regex.search(f"(?r){pair}", text, endpos=stop + 1)  # (?r) searches from the end
    return 0 if match is None else match.end() - 1


def cut(
    chunks: Iterable[str], find_cut: FindCut, names: Collection[str] = (), size: int = SIZE
) -> Iterator[str]:
    """Cut a text into stretches of roughly `size` characters; joined, they are the text.

    chunks: the text, in parts of any length.
    find_cut: returns the last place in a text, up to a given one, where it may be cut; 0 if there is none.
    names: special tokens. No cut lies inside one, nor inside what could become one.
    """
    longest = max(map(len, names), default=1)
    held: list[str] = []  # what was searched since the last cut, without a place for one
    tail = ""
    for block in _blocks(chunks, size):
        text = tail + block
        place = _find(text, find_cut, names, len(text) - longest + 1)
        if place:
            yield "".join([*held, text[:place]])
            held.clear()
        kept = max(place, len(text) - 2 * longest)
        held.append(text[place:kept])
        tail = text[kept:]
    if rest := "".join([*held, tail]):
        yield rest


def _find(text: str, find_cut: FindCut, names: Collection[str], stop: int) -> int:
    for _ in range(TRIES):
        place = find_cut(text, stop) if stop > 0 else 0
        if not any(name in text[max(place - len(name) + 1, 0) : place + len(name) - 1] for name in names):
            return place
        stop = place - 1
    return 0


def _blocks(chunks: Iterable[str], size: int) -> Iterator[str]:
    """Join short chunks, and cut long ones, to blocks of one to two times `size`, but for the last."""
    block: list[str] = []
    length = 0
    for chunk in chunks:
        if not isinstance(chunk, str):
            raise TypeError(f"a chunk must be a str, not {type(chunk).__name__}")
        for start in range(0, len(chunk), size):
            block.append(chunk[start : start + size])
            length += len(block[-1])
            if length >= size:
                yield "".join(block)
                block, length = [], 0
    yield "".join(block)
