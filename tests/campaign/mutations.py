"""Ways to damage a file: byte by byte, and entry by entry of what JSON holds."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

EXPRESSIONS = [
    r"(?:(?:a|a)+)+$", r"(a+)+$", r"(x+x+)+y", r"(?R)?a", r"(?:a|(?R))*b", r"(.*)*\1$", r"(?:a?){60}a{60}",
    "|".join("a" * k for k in range(1, 300)), "a|" * 60_000, "(" * 3_000 + ")" * 3_000, "(?:a{900}){900}",
    r"\p{L}{1,60000}", "[" + "ab" * 30_000 + "]", r"(?<=(a|aa)+)b", r"\X*", r"(?(DEFINE)(?<x>(?&x)))(?&x)",
    r"(?:(?:(?:(?:a{9}){9}){9}){9}){9}", r"(?<x>a(?&x)?a)", r"(?e)(?:aaaa){e}", r"(?b)(?:abc){e<=9}",
    "(", "[",
    r"\K", r"a\Kb", "(?r)a", "$^", "", r"(?V1)[a--b]", r"(?i)ſ", r"\L<words>", "a" * 90_000, r"(\w+\s?)*$",
]  # fmt: skip
STRINGS = [
    "", " ", "a", "ab", "\ud800", "\udcff", "\ud83d\ude00", "a\ud800", "\x00", "\n", "\x1b]0;title\x07",
    "\u202e",
    "..", "../../outside", "/etc/passwd", "C:\\x", "a/b", "a\\b", "-x", "~", "a" * 100_000, "▁", "##", "</w>",
    "[UNK]", "<unk>", "<0x41>", "Ġ", "月", "e\u0301", "true", "null", "6", "zz", "0g", "abc",
    "\ufeff", "martian", "bytes", "characters", "byte pair encoding", "unigram", "normal",
    "unknown", "control",
    "user-defined", "unused",
]  # fmt: skip
NUMBERS = [
    0, 1, -1, 2, 255, 256, 257, 65_535, 10**6, 10**7, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64,
    2**70, 10**400, -(2**70), 0.0, -0.0, 0.5, 1e-300, 1e38, 3.5e38, 1e308, -1e308, float("nan"),
    float("inf"), float("-inf"),
]  # fmt: skip


def hostile_value(rng: random.Random) -> Any:
    match rng.randrange(12):
        case 0:
            return rng.choice([None, True, False])
        case 1 | 2 | 3:
            return rng.choice(NUMBERS)
        case 4 | 5 | 6:
            return rng.choice(STRINGS)
        case 7:
            return rng.choice(EXPRESSIONS)
        case 8:
            return rng.choice([[], {}, [[]], [None], {"": None}, [[], {}], {"type": None}, [{}] * 3])
        case 9:
            return nested(
                rng.choice([2, 50, 450, 700, 900, 980, 3_000]),
                rng.choice(["", "normalizers", "pretokenizers"]),
            )
        case 10:
            return [rng.choice(NUMBERS + STRINGS[:10]) for _ in range(rng.randint(1, 4))]
        case _:
            return dict.fromkeys(map(str, range(rng.randint(1, 4))), rng.choice(NUMBERS))


def nested(depth: int, key: str) -> Any:
    value: Any = None
    for _ in range(depth):
        value = {"type": "Sequence", key: [value]} if key else [value]
    return value


def mutate_json(rng: random.Random, content: Any, times: int | None = None) -> Any:
    """Return a copy with one to three entries changed."""
    content = copy.deepcopy(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3]) if times is None else times):
        content = _mutate_once(rng, content)
    return content


def _mutate_once(rng: random.Random, content: Any) -> Any:
    # Walk from the root to an entry; stop sooner or later.
    holder: Any = None
    key: Any = None
    here = content
    while isinstance(here, (dict, list)) and here and (holder is None or rng.random() < 0.75):
        holder = here
        key = rng.choice(list(here)) if isinstance(here, dict) else rng.randrange(len(here))
        here = here[key]
    if holder is None:
        return hostile_value(rng)
    match rng.randrange(14):
        case 0 | 1 | 2 | 3:
            holder[key] = hostile_value(rng)
        case 4:
            del holder[key]
        case 5 if isinstance(holder, list):
            holder.insert(rng.randint(0, len(holder)), copy.deepcopy(here))
        case 6 if isinstance(holder, list):
            other = rng.randrange(len(holder))
            holder[key], holder[other] = holder[other], holder[key]
        case 7 if isinstance(holder, list):
            holder.insert(rng.randint(0, len(holder)), hostile_value(rng))
        case 8 if isinstance(here, list):
            holder[key] = {str(k): value for k, value in enumerate(here)}
        case 8 if isinstance(here, dict):
            holder[key] = rng.choice([list(here), list(here.values()), [list(item) for item in here.items()]])
        case 9:
            holder[key] = rng.choice([[here], {"a": here}, json.dumps(here)])
        case 10 if isinstance(here, str):
            place = rng.randint(0, len(here))
            holder[key] = (
                here[:place] + rng.choice([*STRINGS[:16], "/", "x"]) + here[place + rng.randint(0, 2) :]
            )
        case 10 if isinstance(here, (int, float)):
            holder[key] = rng.choice(
                [
                    here + 1,
                    here - 1,
                    -here,
                    here * 1.5 if abs(here) < 1e300 else here,
                    f"{here!r:.20}",
                    bool(here),
                ]
            )
        case 11 if isinstance(holder, dict):
            holder[rng.choice([*STRINGS, "dropout", "type"])] = hostile_value(rng)
        case 12 if isinstance(holder, dict):
            holder[rng.choice(STRINGS)] = holder.pop(key)
        case 13 if isinstance(here, list):
            rng.choice([here.reverse, here.clear, lambda: here.extend(here[:])])()
        case _:
            holder[key] = hostile_value(rng)
    return content


def to_text(rng: random.Random, content: Any) -> bytes:
    """Write JSON, at times as a strange writer would: with repeated keys, surrogates as bytes, …"""
    text = json.dumps(content, ensure_ascii=rng.random() < 0.7)
    match rng.randrange(20):
        case 0 if text.startswith("{"):  # the first key again
            end = text.find(":")
            text = "{" + text[1:end] + ": null, " + text[1:]
        case 1:
            text = "\ufeff" + text
        case 2:
            text = text.replace(": ", " :\r\n\t", 5) + "\n\n"
        case 3:
            text = text + rng.choice(["x", "{}", "\x00", "]", ","])
        case 4:
            return text.encode(rng.choice(["utf-16", "utf-32", "utf-8-sig"]), "surrogatepass")
    return text.encode("utf-8", "surrogatepass")


def mutate_bytes(rng: random.Random, data: bytes) -> bytes:
    """Flip, cut, insert, repeat or exchange bytes, in one to four places."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        place = rng.randint(0, len(data))
        end = min(len(data), place + rng.choice([1, 1, 2, 4, 8, 100]))
        match rng.randrange(9):
            case 0 | 1 if data:
                place = min(place, len(data) - 1)
                data = data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]
            case 2:
                data = data[:place]
            case 3:
                data = data[:place] + data[end:]
            case 4:
                data = data[:place] + rng.randbytes(end - place) + data[place:]
            case 5:
                data = data[:end] + data[place:end] * rng.choice([1, 2, 50]) + data[end:]
            case 6:
                data = (
                    data[:place]
                    + rng.choice([b"\0", b"\xff", b"\n", b"\r\n", b"9" * 30, b"\x80", b"-", b"\x1b"])
                    + data[end:]
                )
            case 7:
                data = data[place:] + data[:place]
            case _:
                data = data[:place] + bytes(rng.choice([1, 4, 1000])) + data[end:]
    return data
