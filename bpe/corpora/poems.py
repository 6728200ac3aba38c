"""The rules that choose the Tang poems, from the raw JSON files to the prepared text.

`prepare_poems.py` applies them in turn, and chapter 5 shows them one by one:

    read_poems -> to_simplified -> keep those with a form_of -> without_duplicates -> in_random_order

The raw files are the collection 全唐诗 of github.com/chinese-poetry/chinese-poetry (MIT);
`bpe.corpora.poem_sources` gets them.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from bpe._files import decode_utf8, read_text

OPENCC_VERSION = "1.4.2"
# The SHA-256 of the text that OpenCC 1.4.2 makes from the raw files. Its dictionaries grow: another version
# may simplify one character more, which changes the text and every figure of the course.
TEXT_SHA256 = "59c39eed079b075431d476863aa8395c7c5dd714e2bb58858afce3200cfec0f3"


class EntryError(ValueError):
    """A raw file is not a JSON list of poems. The message names the file and the entry."""


def form_pattern(syllables: int, couplets: int) -> re.Pattern[str]:
    """Return the pattern of a poem with that many characters in each verse, and that many couplets.

    A couplet is two verses; the first ends in a comma, the second in a full stop.
    """
    verse = rf"[\u4e00-\u9fff]{{{syllables}}}"
    return re.compile(f"(?:{verse}，{verse}。){{{couplets}}}")


# Length and punctuation alone distinguish them here. The forms also have rules of tone and rhyme, which are
# not checked.
FORMS = {
    "five-syllable quatrains": form_pattern(syllables=5, couplets=2),
    "seven-syllable quatrains": form_pattern(syllables=7, couplets=2),
    "five-syllable regulated verse": form_pattern(syllables=5, couplets=4),
    "seven-syllable regulated verse": form_pattern(syllables=7, couplets=4),
}


def form_of(poem: str) -> str | None:
    """Return the name of the form, one of FORMS, that the whole poem has, or None."""
    return next((name for name, pattern in FORMS.items() if pattern.fullmatch(poem)), None)


def read_poems(paths: Iterable[Path]) -> list[str]:
    """Return all poems of the raw files, in their order, each with its paragraphs joined.

    Raises EntryError, naming file and entry, if a file is not a JSON list of poems.
    """
    return [join_paragraphs(entry) for path in paths for entry in read_entries(path)]


def read_entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of one raw file: title, author, and the poem itself under `paragraphs`.

    Raises EntryError, naming file and entry, if the file is not a JSON list of poems.
    """
    try:
        entries = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # not UTF-8, or not JSON, or nested too deeply
        raise EntryError(f"{path} isn't JSON in UTF-8: {error}") from error
    if not isinstance(entries, list):
        raise EntryError(f"{path} should hold a list of poems, not a {type(entries).__name__}")
    for number, entry in enumerate(entries, start=1):
        if not _is_poem(entry):
            raise EntryError(
                f"{path}, entry {number}: not a poem, since it has no list of strings `paragraphs`"
            )
    return entries


def _is_poem(entry: object) -> bool:
    paragraphs = entry.get("paragraphs") if isinstance(entry, dict) else None
    return isinstance(paragraphs, list) and all(isinstance(part, str) for part in paragraphs)


def join_paragraphs(entry: dict[str, Any]) -> str:
    """Return the poem of a raw entry as one string. Its paragraphs are couplets."""
    return "".join(entry["paragraphs"])


def to_simplified(poems: Iterable[str]) -> list[str]:
    """Convert the poems to simplified characters with OpenCC's `t2s`.

    It maps traditional characters to simplified ones and nothing else. Old variants stay as they are: the
    most frequent are 疎 (now 疏), 鴈 (now 雁) and 劒 (now 剑). So do 著 and 沈, though most verses would have
    着 and 沉 today: both are also standard characters, as in 著名 (famous) and in the surname 沈.

    Raises ImportError, saying what to install, if OpenCC is missing.
    """
    try:
        import opencc
    except ImportError as error:
        raise ImportError(
            f"OpenCC, which turns traditional characters into simplified ones, can't be imported ({error}). "
            f"Install it with: python -m pip install opencc=={OPENCC_VERSION}"
        ) from error
    converter = opencc.OpenCC("t2s")
    return [converter.convert(poem) for poem in poems]


def without_duplicates(poems: Iterable[str]) -> list[str]:
    """Keep the first occurrence of each poem."""
    return list(dict.fromkeys(poems))


def in_random_order(poems: Iterable[str]) -> list[str]:
    """Shuffle the poems in the same way on every machine, whatever their order was.

    So the first 2,000 are a fair sample, and the last 500 are unseen poems of the same kind.
    """
    shuffled = sorted(poems)
    random.Random(0).shuffle(shuffled)
    return shuffled


@dataclass(frozen=True)
class Selection:
    """The chosen poems, and how many others were left out for each reason."""

    poems: list[str]
    read: int
    irregular: int
    duplicates: int


def select(raw_poems: Sequence[str]) -> Selection:
    """Apply every rule in turn to the poems that `read_poems` returns.

    Raises ImportError, saying what to install, if OpenCC is missing.
    """
    regular = [poem for poem in to_simplified(raw_poems) if form_of(poem)]
    unique = without_duplicates(regular)
    return Selection(
        poems=in_random_order(unique),
        read=len(raw_poems),
        irregular=len(raw_poems) - len(regular),
        duplicates=len(regular) - len(unique),
    )


def to_text(poems: Iterable[str]) -> bytes:
    """Return the content of tang_poems.txt: UTF-8, a newline after each poem."""
    return "".join(f"{poem}\n" for poem in poems).encode()


def from_text(text: bytes) -> list[str]:
    """Return the poems in the content of tang_poems.txt, the inverse of `to_text`.

    Raises ValueError if it is not UTF-8, or if the last line has no newline, as in a truncated file.
    """
    *poems, rest = decode_utf8(text, "the text").split("\n")
    if rest:
        raise ValueError("the last line does not end in a newline")
    return poems


@dataclass(frozen=True)
class Figures:
    """The totals of the chosen poems, without newlines."""

    poems: int
    by_form: Counter[str]
    of_no_form: int
    characters: int
    different_characters: int


def figures(poems: Sequence[str]) -> Figures:
    """Count poems, forms and characters."""
    forms = [form_of(poem) for poem in poems]
    characters = Counter("".join(poems))
    return Figures(
        poems=len(poems),
        by_form=Counter(form for form in forms if form),
        of_no_form=forms.count(None),
        characters=characters.total(),
        different_characters=len(characters),
    )


def installed_opencc() -> str:
    """Return the version of the installed OpenCC, or "none"."""
    try:
        return metadata.version("opencc")
    except metadata.PackageNotFoundError:
        return "none"
