"""Texts that try hard: made at random from what tokenizers stumble over, and cut from the corpora."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path

from bpe import corpora
from bpe._files import data_folder

FRAGMENTS = [
    "the", "The", "THE", "don't", "DON'T", "I'll", "we've", "ſ", "'ſ", "K", "'s", "'S", "’s",
    "it's", "1", "12", "12345", "٣٤", "Ⅻ", "½", "一二三", "月", "床前明月光，", "疑是地上霜。",
    "！？；：、", "ひらがな", "カタカナー", "한국어", "हिन्दी", "ไทย", "العربية", "עברית", "Ωμέγα",
    "Привет", "ǅ", "ʰ", "ﬁ", "ß", "İ", "ı", "🙂", "👩‍👩‍👧", "👍🏽", "🇨🇳", "❤️", "e\u0301",
    "\u0301", "\u0301\u0301", "\u200d", "\ufeff", "\u00ad", "\u2028", " ", "  ", "    ", "\n",
    "\n\n", "\r\n", "\r", "\t", "\x0b", "\x0c", "\x1c", "\x1f", "\x85", "\xa0", "\u180e", "\u2009",
    "\u3000", "!", "...", "?!", "/", "//", "-", "_", "a_b", "(", ")", "[", "]", "{", "}", "$",
    "$\n", "^", "\\", "<b>", "&amp;", "#", "\x00", "\x7f", "\U0010ffff", "\ue000", "\u0378",
    "\U00020000", "\U0001e900", "\U000187f8", "\u1acf", "\ua7d2", "\u0c5c",
]  # fmt: skip


def _made_up(rng: random.Random) -> str:
    parts = [rng.choice(FRAGMENTS) for _ in range(rng.randrange(1, 14))]
    parts += [_any_character(rng) for _ in range(rng.choice([0, 0, 1, 3]))]
    rng.shuffle(parts)
    text = "".join(parts)
    form = rng.choice([None, None, "NFC", "NFD"])
    return unicodedata.normalize(form, text) if form else text


def _any_character(rng: random.Random) -> str:
    highest = rng.choice([0x80, 0x800, 0x3400, 0x10000, 0x20000, 0x110000])
    code = rng.randrange(highest)
    return chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd"


def corpus() -> str:
    """Some of the poems and of WikiText-2, or nothing where they were not prepared."""
    files = [
        data_folder() / "tang_poems.txt",
        *(data_folder() / corpora.WIKITEXT2 / f"{split}.txt" for split in ["valid"]),
    ]
    return "\n".join(Path(file).read_text(encoding="utf-8")[:200_000] for file in files if file.exists())


def make(number: int, seed: int = 0) -> list[str]:
    """Half of the texts made up, half cut from the corpora if they are there."""
    rng = random.Random(seed)
    text = corpus()
    texts = ["", *FRAGMENTS]
    while len(texts) < number:
        start = rng.randrange(len(text)) if text and len(texts) % 2 else None
        texts.append(_made_up(rng) if start is None else text[start : start + rng.randrange(1, 120)])
    return texts[:number]
