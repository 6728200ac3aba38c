"""What the tests of the campaign share: numbered cases with seeds, and texts that try hard.

CAMPAIGN=0.1 runs a tenth of the cases, CAMPAIGN=10 ten times as many, others among them.
CAMPAIGN_SEED=encoding-17 runs that case alone, as often as the cause takes to find.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from independent import FRAGMENTS

SCALE = float(os.environ.get("CAMPAIGN", "1"))
ONLY = os.environ.get("CAMPAIGN_SEED", "")
SHOWN = 12  # failures of a test; hundreds of cases may fail for one reason

Case = Callable[[random.Random], object]


def sizes(few: int, many: int) -> pytest.MarkDecorator:
    """Run a test with few cases in `make test`, and with many in `make test-full`."""
    return pytest.mark.parametrize("number", [few, pytest.param(many, marks=pytest.mark.full)])


def skip_unless_asked(name: str) -> None:
    """Skip a test if another's case was asked for."""
    if ONLY and ONLY.rpartition("-")[0] != name:
        pytest.skip("a case of another test was asked for")


def numbers(name: str, number: int) -> range:
    """Return the numbers of the cases to run."""
    skip_unless_asked(name)
    if ONLY:
        case = int(ONLY.rpartition("-")[2])
        return range(case, case + 1)
    return range(max(1, round(number * SCALE)))


def seeded(name: str, case: int) -> random.Random:
    return random.Random(f"{name}-{case}")


def run_cases(name: str, number: int, run: Case) -> None:
    """Run all cases, each with its own seed, and report those that fail together."""
    failures: list[Exception] = []
    for case in numbers(name, number):
        try:
            run(seeded(name, case))
        except Exception as error:
            error.add_note(f"Again: CAMPAIGN_SEED={name}-{case}")
            failures.append(error)
        if len(failures) == SHOWN:
            break
    if failures:
        raise ExceptionGroup(f"{len(failures)} cases of {name} failed", failures)


# --- what any tokenizer must do


def outcome(encode: Callable[[], Any]) -> Any:
    """Return what a call returns, or the message of its ValueError."""
    try:
        return encode()
    except ValueError as error:
        return str(error)


def check_stream(rng: random.Random, tokenizer: Any, text: str, **options: Any) -> None:
    """A text that arrives in chunks has the ids, or the error, that it has as a whole."""
    cuts = sorted(rng.randint(0, len(text)) for _ in range(rng.choice([0, 1, 3, len(text)])))
    chunks = [text[start:stop] for start, stop in pairwise([0, *cuts, len(text)])]
    size = rng.choice([1, 1, 2, 3, 5, 8, 20, 1 << 20])
    whole = outcome(lambda: tokenizer.encode(text, **options))
    rows = outcome(lambda: [i for row in tokenizer.encode_stream(chunks, size=size, **options) for i in row])
    # A text with two faults: the special token may be noticed first, or the symbol without a token.
    of_another_kind = isinstance(rows, str) and ("special token" in rows) != ("special token" in str(whole))
    assert rows == whole or (isinstance(whole, str) and of_another_kind), (text, chunks, size, options)
    assert "".join(tokenizer.stretches(chunks, size)) == text
    if isinstance(whole, list):
        assert b"".join(tokenizer.decode_stream(iter(whole))) == tokenizer.decode_bytes(whole)


# --- texts

ALPHABETS = [
    "ab", "aab", "abc ", "a", "ab\n", "\r\n a", "xy01 ,.", "the catsonm ", "ABab'st ", "床前明月光，。\n",
    "月光a ", "e\u0301a\u0308\u0323", "👩\u200d👧🏽\ufe0f ", "\x00\x07\x1b\x7f\x85\x9f",
    "\u2028\u2029\u00a0\u3000 ",
    "\U0010ffff\ud7ff\ue000\uffff", "नि\u0e33한ひ", "'sStT'ſ\u212a", "0123456789 ", "<|end|>in",
    "/!?-\r\n\t ",
    "".join(map(chr, range(32, 127))), "ßẞİıǅʰªº½Ⅷ",
]  # fmt: skip


def make_text(rng: random.Random, longest: int = 60) -> str:
    """Return a text of runs, of letters of a small alphabet, of fragments, or of all of these."""
    parts: list[str] = []
    alphabet = rng.choice(ALPHABETS)
    for _ in range(rng.randint(0, 4)):
        match rng.randrange(6):
            case 0 | 1:
                parts.append("".join(rng.choices(alphabet, k=rng.randint(0, longest // 3))))
            case 2:
                parts.append(rng.choice(alphabet) * rng.choice([1, 2, 3, 7, 8, 31, 32]))
            case 3:
                parts.append("".join(rng.choices(alphabet, k=rng.randint(1, 5))) * rng.randint(2, 6))
            case 4:
                parts.append(rng.choice(FRAGMENTS))
            case 5:
                parts += parts[-1:] * rng.randint(1, 3)
    return "".join(parts)[: 2 * longest]
