"""How the Tang poems are chosen: every rule from the raw JSON files to the text, each in one place.

`prepare_poems.py` runs the rules in turn and chapter 5 shows them one by one:

    read_poems -> to_simplified -> keep those with a form_of -> without_duplicates -> in_random_order

The raw files are the collection 全唐诗 of github.com/chinese-poetry/chinese-poetry (MIT);
`bpe.sources` gets them.
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

OPENCC_VERSION = "1.4.2"
# Of the text that OpenCC 1.4.2 makes from the raw files. Its dictionaries grow: another version may
# simplify a character more, and then the text, and every figure of the course, is another one.
TEXT_SHA256 = "59c39eed079b075431d476863aa8395c7c5dd714e2bb58858afce3200cfec0f3"


class EntryError(ValueError):
    """A raw file that isn't a JSON list of poems; the message names the file and the entry."""


def form_pattern(syllables: int, couplets: int) -> re.Pattern[str]:
    """The poems of so many couplets in which every verse has so many characters.

    A couplet is two verses; the first ends in a comma, the second in a full stop.
    """
    verse = rf"[\u4e00-\u9fff]{{{syllables}}}"
    return re.compile(f"(?:{verse}，{verse}。){{{couplets}}}")


# Told apart by length and punctuation alone: these forms also have rules of tone and rhyme, which nobody
# checks here.
FORMS = {
    "five-syllable quatrains": form_pattern(syllables=5, couplets=2),
    "seven-syllable quatrains": form_pattern(syllables=7, couplets=2),
    "five-syllable regulated verse": form_pattern(syllables=5, couplets=4),
    "seven-syllable regulated verse": form_pattern(syllables=7, couplets=4),
}


def form_of(poem: str) -> str | None:
    """The name of the form, one of FORMS, that the whole poem has; None for a poem of no such form."""
    return next((name for name, pattern in FORMS.items() if pattern.fullmatch(poem)), None)


def read_poems(paths: Iterable[Path]) -> list[str]:
    """All poems of the raw files, in their order, each with its paragraphs joined.

    Raises EntryError, naming file and entry, when a file isn't a JSON list of poems.
    """
    return [join_paragraphs(entry) for path in paths for entry in read_entries(path)]


def read_entries(path: Path) -> list[dict[str, Any]]:
    """The entries of one raw file: title, author, and the poem itself under `paragraphs`.

    Raises EntryError, naming file and entry, when the file isn't a JSON list of poems.
    """
    try:
        entries = json.loads(path.read_bytes())
    except ValueError as error:  # no UTF-8, or no JSON
        raise EntryError(f"{path} isn't JSON in UTF-8: {error}") from error
    if not isinstance(entries, list):
        raise EntryError(f"{path} should hold a list of poems, not one {type(entries).__name__}")
    for number, entry in enumerate(entries, start=1):
        if not _is_poem(entry):
            raise EntryError(f"{path}, entry {number}: no poem, for it has no list of strings `paragraphs`")
    return entries


def _is_poem(entry: object) -> bool:
    paragraphs = entry.get("paragraphs") if isinstance(entry, dict) else None
    return isinstance(paragraphs, list) and all(isinstance(part, str) for part in paragraphs)


def join_paragraphs(entry: dict[str, Any]) -> str:
    """The poem of a raw entry, as one string: its paragraphs are couplets."""
    return "".join(entry["paragraphs"])


def to_simplified(poems: Iterable[str]) -> list[str]:
    """The poems in simplified characters, through OpenCC's `t2s`.

    It maps traditional characters to simplified ones and nothing else, so variants such as 鴈 (now 雁)
    and 皷 (now 鼓) stay as they are.

    Raises ImportError, saying what to install, when OpenCC isn't there.
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
    """Each poem once, at its first place."""
    return list(dict.fromkeys(poems))


def in_random_order(poems: Iterable[str]) -> list[str]:
    """The poems shuffled, in the same way everywhere and whatever order they come in.

    So the first 2,000 are a fair sample, and the last 500 are poems of the same kind that it lacks.
    """
    shuffled = sorted(poems)
    random.Random(0).shuffle(shuffled)
    return shuffled


@dataclass(frozen=True)
class Selection:
    """The poems chosen, and how many others were left out for which reason."""

    poems: list[str]
    read: int
    irregular: int
    duplicates: int


def select(raw_poems: Sequence[str]) -> Selection:
    """Apply every rule in turn to poems as `read_poems` gives them.

    Raises ImportError, saying what to install, when OpenCC isn't there.
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
    """The content of tang_poems.txt: UTF-8, each poem ended by a line feed."""
    return "".join(f"{poem}\n" for poem in poems).encode()


def from_text(text: bytes) -> list[str]:
    """The poems that `to_text` made this content from.

    Raises ValueError when it isn't UTF-8 or the last line has no line feed, as in a truncated file.
    """
    *poems, rest = text.decode().split("\n")
    if rest:
        raise ValueError("the last line has no line feed at its end")
    return poems


@dataclass(frozen=True)
class Figures:
    """What can be counted in the chosen poems; line ends count nowhere."""

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
    """The version of OpenCC that is installed, or "none"."""
    try:
        return metadata.version("opencc")
    except metadata.PackageNotFoundError:
        return "none"
