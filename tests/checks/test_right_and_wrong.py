"""Every check takes right answers of different makes, and refuses wrong ones that are easily believed.

The tests of each chapter have more wrong ones, with what is said of them.
"""

import codecs
import heapq
import json
import math
import re
from collections import Counter, OrderedDict, UserDict, deque
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
import regex
from test_checks_01 import characters_needed, unknown_rate

from bpe import BPETokenizer, corpora, count_pairs, merge_pair, presplit
from bpe.formats import byte_letters

RIGHT, WRONG = [], []


class Text(str):
    """A string of a learner's own."""


def right(exercise, *answers):
    RIGHT.extend((exercise, answer if isinstance(answer, list) else [answer]) for answer in answers)


def wrong(exercise, *answers):
    WRONG.extend((exercise, answer if isinstance(answer, list) else [answer]) for answer in answers)


def find_check(exercise):
    chapter, number = exercise.split(".")
    return getattr(import_module(f"bpe.checks.chapter_{chapter}"), f"exercise_{number}")


def after(function, change):
    """The function, with what it returns changed."""
    return lambda *arguments: change(function(*arguments))


# -- 00 ------------------------------------------------------------------------------------------------------

right(
    "00.1",
    " ".join,
    lambda text: "".join(c + " " for c in text)[:-1],
    after(" ".join, Text),
)
wrong(
    "00.1",
    lambda text: text.replace("", " ").strip(),
    lambda text: re.sub(r"(?<=.)(?=.)", " ", text),  # a point is no newline
    lambda text: " ".join(text.split()),
)

# -- 01 ------------------------------------------------------------------------------------------------------


def escape(text, number="{}".format):
    known = set("abcdefghijklmnopqrstuvwxyz0123456789; \n")
    return "".join(c if c in known else f"&{number(ord(c))};" for c in text)


def unescape(text):
    return re.sub(r"&(\d+);", lambda found: chr(int(found[1])), text)


def unescape_by_parts(text):
    first, *rest = text.split("&")
    for part in rest:
        number, _, after_it = part.partition(";")
        first += chr(int(number)) + after_it
    return first


right(
    "01.1",
    after(unknown_rate, np.float64),
    lambda known, text: Fraction(sum(c not in known for c in text), max(1, len(text))),
    lambda known, text: Decimal(sum(c not in known for c in text)) / max(1, len(text)),
    lambda known, text: np.mean([c not in known for c in text or next(iter(known))]),
)
wrong(
    "01.1",
    after(unknown_rate, lambda rate: round(rate, 2)),
    lambda known, text: unknown_rate(known, text.lower()),
    lambda known, text: 1 - unknown_rate(known, text),
    after(unknown_rate, lambda rate: f"{rate}"),
)
right(
    "01.2",
    after(characters_needed, np.int64),
    lambda text, share: int(
        np.searchsorted(np.cumsum(sorted(Counter(text).values())[::-1]), share * len(text))
        + (share * len(text) > 0)
    ),
    lambda text, share: next(
        k
        for k in range(len(text) + 1)
        if sum(n for _, n in Counter(text).most_common(k)) >= share * len(text)
    ),
)
wrong(
    "01.2",
    lambda text, share: round(share * len(set(text))),
    lambda text, share: min(characters_needed(text, share) + 1, len(set(text))),
    lambda text, share: characters_needed(sorted(set(text)), share),
)
right(
    "01.3",
    [escape, unescape],
    [lambda text: escape(text, "{:07}".format) if text != "茶" else escape(text), unescape],
    [escape, unescape_by_parts],
    [after(escape, Text), after(unescape, Text)],
)
wrong(
    "01.3",
    [escape, lambda text: unescape(unescape(text))],
    [lambda text: " ".join(map(escape, text.split())), unescape],
    [escape, lambda text: re.sub(r"&(\d{5});", lambda found: chr(int(found[1])), text)],
)

# -- 02 ------------------------------------------------------------------------------------------------------


def code_point(sequence):
    code = sequence[0] & (0x7F >> len(sequence)) if len(sequence) > 1 else sequence[0]
    for byte in sequence[1:]:
        code = code << 6 | byte & 0x3F
    return code


def shown(chunks):
    decoder = codecs.getincrementaldecoder("utf-8")()
    return [decoder.decode(chunk) for chunk in chunks]


def shown_by_waiting(chunks):
    waiting = b""
    for chunk in chunks:
        waiting += chunk
        text = waiting.decode(errors="ignore")
        waiting = waiting[len(text.encode()) :]
        yield text


def shown_stripped(chunks):
    waiting = b""
    for chunk in chunks:
        waiting += chunk
        text = waiting.decode(errors="replace").rstrip("\ufffd")
        waiting = waiting[len(text.encode()) :]
        yield text


right(
    "02.1",
    lambda data: sum(byte >> 6 != 0b10 for byte in data),
    lambda data: np.count_nonzero((np.frombuffer(data, np.uint8) & 0xC0) != 0x80),
    lambda data: len(re.findall(rb"[^\x80-\xbf]", data)),
)
wrong(
    "02.1",
    lambda data: len(str(data, "utf-8")),
    lambda data: len(str(data, encoding="UTF8")),
    lambda data: len(codecs.decode(data)),
    lambda data: len(data[:].decode()),
    lambda data: sum(byte < 0x80 or byte >= 0xE0 for byte in data),
)
right(
    "02.2",
    code_point,
    after(code_point, np.int32),
    lambda s: (
        int("".join([f"{s[0]:08b}".lstrip("1")[1:] or "0", *(f"{b:08b}"[2:] for b in s[1:])]), 2)
        if len(s) > 1
        else s[0]
    ),
)
wrong(
    "02.2",
    lambda sequence: ord(str(sequence, "utf-8")),
    lambda sequence: int.from_bytes(sequence, "big"),
    lambda sequence: sequence[0] if len(sequence) == 1 else code_point(sequence) & 0xFFFF,
)
right("02.3", shown, shown_by_waiting, after(shown, tuple), after(shown, lambda row: np.array(row, object)))
wrong(
    "02.3",
    shown_stripped,
    lambda chunks: [chunk.decode(errors="ignore") for chunk in chunks],
    lambda chunks: [b"".join(chunks[: k + 1]).decode(errors="ignore") for k in range(len(chunks))],
    after(shown, lambda row: [text.replace("\ufffd", "") for text in row]),
    lambda chunks: 5,
)

# -- 03 ------------------------------------------------------------------------------------------------------


def encode_in_one_pass(ids, merges):
    return reduce(lambda symbols, merge: merge_pair(symbols, *merge), merges.items(), ids)


def encode_by_rank(ids, merges):
    """The chapter's own loop."""
    ids = list(ids)
    while known := [pair for pair in pairwise(ids) if pair in merges]:
        first = min(known, key=list(merges).index)
        ids = merge_pair(ids, first, merges[first])
    return ids


def encode_in_place(ids, merges):
    ids = list(ids)
    for pair, new in merges.items():
        i = 0
        while i < len(ids) - 1:
            if (ids[i], ids[i + 1]) == pair:
                ids[i : i + 2] = [new]
            i += 1
    return ids


def encode_from_right(ids, merges):
    for (left, right_id), new in merges.items():
        ids = merge_pair(ids[::-1], (right_id, left), new)[::-1]
    return ids


def recover_merges(tokens):
    ids, merges = {token: i for i, token in enumerate(tokens)}, {}
    for new, token in enumerate(tokens):
        if len(token) > 1:
            left, second = encode_in_one_pass([ids[bytes([value])] for value in token], merges)
            merges[left, second] = new
    return merges.keys()


def recover_longest(tokens):
    ids = {token: i for i, token in enumerate(tokens)}
    for token in tokens[256:]:
        cut = max(k for k in range(1, len(token)) if token[:k] in ids and token[k:] in ids)
        yield ids[token[:cut]], ids[token[cut:]]


def recover_newest(tokens):
    ids = {token: i for i, token in enumerate(tokens)}
    for token in tokens[256:]:
        cuts = [
            (ids[token[:k]], ids[token[k:]])
            for k in range(1, len(token))
            if {token[:k], token[k:]} <= ids.keys()
        ]
        yield max(cuts, key=max)


right(
    "03.1",
    lambda text: "".join(max(count_pairs(text), key=count_pairs(text).get, default="")),
    lambda text: max(
        (a + b for a, b in pairwise(text)), key=Counter(map("".join, pairwise(text))).get, default=""
    ),
    lambda text: Text(next((a + b for (a, b), _ in Counter(pairwise(text)).most_common(1)), "")),
)
wrong(
    "03.1",
    lambda text: max(sorted({a + b for a, b in pairwise(text)}), key=text.count, default=""),
    lambda text: max((a + b for a, b in pairwise(text) if " " not in a + b), key=text.count, default=""),
)
right("03.2", (["so", "l"], ("o", "l")), [(("ab", "c", "d"), "bc")], (iter(["xaa", "a"]), ["a", "a"]))
wrong(
    "03.2",
    (["s", "o", "l"], ("o", "l")),
    (["a", "b", "a", "b"], ("a", "b")),
    (["a b", "c"], ("b", "c")),
    "sol",
)
right(
    "03.3",
    encode_in_one_pass,
    encode_in_place,
    after(encode_in_one_pass, tuple),
    after(encode_in_one_pass, np.array),
)
wrong(
    "03.3",
    encode_by_rank,
    encode_from_right,
    lambda ids, merges: encode_in_one_pass(ids, dict(reversed(merges.items()))),
    lambda ids, merges: encode_in_one_pass(encode_in_one_pass(ids, merges), merges),
)
right(
    "03.4",
    recover_merges,
    after(recover_merges, lambda merges: np.array(list(merges))),
    after(recover_merges, lambda merges: list(map(list, merges))),
)
wrong("03.4", recover_longest, recover_newest, after(recover_merges, lambda merges: sorted(merges)))

# -- 04 ------------------------------------------------------------------------------------------------------

SENTENCE = import_module("bpe.checks.chapter_04").SENTENCE
PIECES = presplit.pieces(SENTENCE, [presplit.GPT2])


def mended(text, names):
    either = regex.compile(r"(\L<names>)", names=sorted(names, key=len, reverse=True)) if names else None
    return [part for part in (either.split(text) if either else [text]) if part]


def mended_by_hand(text, names):
    plain = ""
    while text:
        name = max((name for name in names if text.startswith(name)), key=len, default="")
        if name:
            yield from (part for part in (plain, name) if part)
            plain = ""
        else:
            plain += text[0]
        text = text[len(name) or 1 :]
    if plain:
        yield plain


def encode_chat(tokenizer, messages):
    ids = []
    for role, text in messages:
        frame = tokenizer.special_tokens
        ids += [frame[f"<|{role}|>"], *tokenizer.encode(text, disallowed_special=()), frame["<|end|>"]]
    return ids


def encode_chat_as_text(tokenizer, messages):
    text = "".join(f"<|{role}|>{text}<|end|>" for role, text in messages)
    return tokenizer.encode(text, allowed_special="all")


right("04.1", [PIECES], tuple(PIECES), iter(PIECES), [list(map(Text, PIECES))])
wrong(
    "04.1",
    [re.findall(r"\w+|\W", SENTENCE)],
    [re.findall(r" ?\w+| ?[^\w\s]+|\s+", SENTENCE)],
    [SENTENCE.split(" ")],
)
right("04.2", mended, mended_by_hand, after(mended, tuple))
wrong(
    "04.2",
    lambda text, names: [p for p in re.split(f"({'|'.join(map(re.escape, sorted(names)))})", text) if p],
    lambda text, names: [text] if not text else mended(text, sorted(names, key=len)[:1]),
    after(mended, lambda parts: list(dict.fromkeys(parts))),
)
right(
    "04.3",
    r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))",
    r"\p{N}{1,3}(?=(\p{N}{3})*(\P{N}|$))",
    regex.compile(r"(?:\p{N}(?=(?:\p{N}{3})*(?!\p{N}))|\p{N}{2}(?=(?:\p{N}{3})*(?!\p{N}))|\p{N}{3})"),
)
wrong(
    "04.3",
    r"\p{N}{1,3}",
    r"\d{1,3}(?=(?:\d{3})*(?!\d))",
    r"\p{N}{1,3}(?=(?:\p{N}{3})*\b)",
    r"\p{N}{1,3}(?=(?:\p{N}{3})+)",
)
right("04.4", encode_chat, after(encode_chat, tuple), after(encode_chat, np.array))
wrong(
    "04.4",
    encode_chat_as_text,
    lambda tokenizer, messages: encode_chat(tokenizer, [(role, text.strip()) for role, text in messages]),
    lambda tokenizer, messages: encode_chat(tokenizer, [(r, t.replace("<|end|>", "")) for r, t in messages]),
    after(encode_chat, lambda ids: ids[:-1]),
)

# -- 05 ------------------------------------------------------------------------------------------------------

MARKS = ("，".encode(), "。".encode())
GIVEN = object()  # an answer that needs the poems: see `answers`


def with_mark(tokenizer):
    return [t for t in tokenizer.vocabulary if t not in MARKS and any(mark in t for mark in MARKS)]


def with_mark_decoded(tokenizer):
    return [t for t in with_mark(tokenizer) if t.decode(errors="ignore").encode() == t]


def from_characters(text, num_merges, base=None):
    base = sorted({*text, "□"}) if base is None else base
    return BPETokenizer.train(
        text, len(base) + num_merges, alphabet="characters", base_tokens=base, progress=False
    )


def legible(tokenizer, text):
    return "".join(c if c in tokenizer.vocabulary else "□" for c in text)


right(
    "05.2",
    [GIVEN, with_mark],
    [
        GIVEN,
        lambda tokenizer: (
            t for t in tokenizer.vocabulary if re.search("(，|。)".encode(), t) and len(t) > 3
        ),
    ],
    [
        GIVEN,
        lambda tokenizer: tuple(
            filter(lambda t: max(map(t.count, MARKS)) and t not in MARKS, tokenizer.vocabulary)
        ),
    ],
)
wrong(
    "05.2",
    [GIVEN, with_mark_decoded],
    [GIVEN, lambda tokenizer: [t for t in tokenizer.vocabulary if any(mark in t for mark in MARKS)]],
    [GIVEN, lambda tokenizer: [t for t in with_mark(tokenizer) if MARKS[0] in t]],
    [GIVEN, after(with_mark, lambda found: sorted(found, key=len, reverse=True))],
)
right(
    "05.3",
    [from_characters, legible],
    [
        from_characters,
        lambda tokenizer, text: "".join(c if c in set(tokenizer.vocabulary) else "□" for c in text),
    ],
    [lambda text, n: from_characters(text, n, {*text, "□"}), after(legible, Text)],
)
wrong(
    "05.3",
    [lambda text, n: from_characters(text, n, sorted(set(text))), legible],
    [lambda text, n: from_characters(text + "□", n), lambda tokenizer, text: text],
    [from_characters, lambda tokenizer, text: re.sub(r"[^月光\n]+", "□", text)],
    [from_characters, lambda tokenizer, text: "".join(c for c in text if c in tokenizer.vocabulary)],
)

# -- 06 ------------------------------------------------------------------------------------------------------


def windows_of_text(tokenizer, text, size):
    ids = tokenizer.encode(text)
    return [tokenizer.decode(ids[i : i + size]) for i in range(0, len(ids), size)]


def windows_of_tokens(tokenizer, text, size):
    rest = deque(tokenizer.tokens(text))
    while rest:
        yield "".join(rest.popleft() for _ in range(min(size, len(rest))))


def make_tokenizer(splits, size, limit, learn_from=("train",), base_from=("train", "valid", "test")):
    return BPETokenizer.train(
        "".join(splits[name] for name in learn_from)[:limit],
        size,
        alphabet="characters",
        base_tokens=sorted(set("".join(splits[name] for name in base_from))),
        progress=False,
    )


def find_joints(tokenizer):
    return {(tokenizer.token(left)[-1], tokenizer.token(right_id)[0]) for left, right_id in tokenizer.merges}


def safe_cuts(tokenizer, text):
    return [i for i, pair in enumerate(pairwise(text), 1) if pair not in find_joints(tokenizer)]


right("06.1", windows_of_text, windows_of_tokens, after(windows_of_text, tuple))
wrong(
    "06.1",
    lambda tokenizer, text, size: [text[i : i + size] for i in range(0, len(text), size)],
    lambda tokenizer, text, size: windows_of_text(tokenizer, text, size)[
        : len(tokenizer.encode(text)) // size
    ],
    after(windows_of_text, lambda row: row or [""]),
)
right(
    "06.2",
    make_tokenizer,
    lambda splits, size, limit: make_tokenizer(splits, size, limit, ("train",), ("test", "valid", "train")),
    lambda splits, size, limit: BPETokenizer.train(
        splits["train"][:limit],
        size,
        alphabet="characters",
        base_tokens=set("".join(splits.values())),
        progress=False,
    ),
)
wrong(
    "06.2",
    lambda splits, size, limit: make_tokenizer(splits, size, limit, ("train", "valid", "test")),
    lambda splits, size, limit: make_tokenizer(splits, size, limit, ("train",), ("train", "valid")),
    lambda splits, size, limit: make_tokenizer(splits, size, 10**9),
    lambda splits, size, limit: make_tokenizer(splits, size + 1, limit),
)
right("06.3", safe_cuts, after(safe_cuts, set), after(safe_cuts, np.array), after(safe_cuts, tuple))
wrong(
    "06.3",
    lambda tokenizer, text: [i for i in range(1, len(text)) if text[i - 1] == "\n"],
    lambda tokenizer, text: [i for i in safe_cuts(tokenizer, text) if i > 1],
    lambda tokenizer, text: [
        i for i in range(1, len(text)) if text[i - 1 : i + 1] not in "".join(map(str, tokenizer.vocabulary))
    ],
)

# -- 07 ------------------------------------------------------------------------------------------------------


def bits_per_byte(costs, text):
    return sum(costs) / math.log(2) / len(text.encode())


def sees_by_change(model, ids):
    import torch

    before = model(torch.tensor([ids]))
    return any(
        not torch.equal(model(torch.tensor([[*ids[:p], ids[p] + 1, *ids[p + 1 :]]]))[:, :p], before[:, :p])
        for p in range(1, len(ids))
    )


def sees_by_prefix(model, ids, positions=lambda n: range(1, n)):
    import torch

    ids = torch.tensor([ids])
    whole = model(ids)
    return np.bool_(not all(torch.allclose(model(ids[:, :p]), whole[:, :p]) for p in positions(ids.shape[1])))


def sees_last(model, ids):
    import torch

    before = model(torch.tensor([ids]))[:, :-1]
    return bool((model(torch.tensor([[*ids[:-1], ids[-1] + 1]]))[:, :-1] != before).any())


def sees_first_row(model, ids):
    import torch

    rows = [model(torch.tensor([[ids[0], *[i + k for i in ids[1:]]]]))[0, 0] for k in (0, 1)]
    return bool((rows[0] != rows[1]).any())


def nucleus(probabilities, top_p):
    kept, total = [0.0] * len(probabilities), 0.0
    for i in sorted(range(len(probabilities)), key=lambda i: -probabilities[i]):
        if total >= top_p:
            break
        kept[i] = probabilities[i]
        total += probabilities[i]
    return [p / total for p in kept]


def nucleus_of_numpy(probabilities, top_p):
    given = np.array(probabilities)
    order = np.argsort(-given, kind="stable")
    ends = np.cumsum(given[order])
    kept = np.zeros_like(given)
    number = np.searchsorted(ends, top_p) + 1
    kept[order[:number]] = given[order[:number]]
    return kept / kept.sum()


def nucleus_above(probabilities, top_p):
    least = min(p for p, kept in zip(probabilities, nucleus(probabilities, top_p), strict=True) if kept)
    kept = [p if p >= least else 0.0 for p in probabilities]  # all equals of the last
    return [p / sum(kept) for p in kept]


def windows(num_tokens, block_size, stride):
    first, end = 0, min(block_size, num_tokens)
    while first < num_tokens:
        yield max(0, end - block_size), first, end
        first, end = end, min(end + stride, num_tokens)


def windows_from_starts(num_tokens, block_size, stride):
    starts = range(0, max(1, num_tokens - block_size + stride), stride) if num_tokens else []
    return [(s, s + block_size - stride if s else 0, min(s + block_size, num_tokens)) for s in starts]


right(
    "07.1",
    after(bits_per_byte, np.float64),
    lambda costs, text: Fraction(sum(costs) / math.log(2)) / len(text.encode()),
    lambda costs, text: np.log2(np.e) * np.mean(costs) * len(costs) / len(text.encode()),
)
wrong(
    "07.1",
    after(bits_per_byte, str),
    lambda costs, text: bits_per_byte(costs, text.strip() or "a"),
    lambda costs, text: 2 ** bits_per_byte(costs, text),
)
right("07.2", sees_by_change, sees_by_prefix, lambda model, ids: bool(sees_by_prefix(model, ids)))
wrong(
    "07.2",
    sees_last,
    sees_first_row,
    lambda model, ids: sees_by_prefix(model, ids, lambda n: [n - 1]),
    lambda model, ids: False,
)
right("07.3", nucleus, nucleus_of_numpy, after(nucleus, tuple))
wrong(
    "07.3",
    nucleus_above,
    lambda ps, top_p: [p if p >= 1 - top_p else 0.0 for p in ps],
    after(nucleus, sorted),
)
right(
    "07.4",
    windows,
    after(windows, lambda found: list(map(list, found))),
    after(windows, lambda found: np.array(list(found))),
)
wrong(
    "07.4",
    windows_from_starts,
    lambda n, block, stride: windows(n, block, block),
    lambda n, block, stride: [(max(0, i + 1 - block), i, i + 1) for i in range(n)],
)

# -- 08 ------------------------------------------------------------------------------------------------------


def changes(symbols, pair, new):
    after_it, before = count_pairs(merge_pair(symbols, pair, new)), count_pairs(symbols)
    after_it.subtract(before)
    return Counter({p: n for p, n in after_it.items() if n})


def add_in_order(shards, order=sorted):
    total = OrderedDict()
    for _, counts in order(shards):
        for piece, count in counts.items():
            total[piece] = total.get(piece, 0) + count
    return total


def by_number(shards):
    return sorted(shards, key=lambda shard: shard[0])


def encode_with_heap(ids, merges, is_stale=lambda now, new, alive: now != new):
    symbols = [*ids, None]
    before, following = list(range(-1, len(ids))), list(range(1, len(ids) + 2))
    heap = []

    def put(i):
        if (new := merges.get((symbols[i], symbols[following[i]]))) is not None:
            heapq.heappush(heap, (new, i))

    for i in range(len(ids)):
        put(i)
    while heap:
        new, i = heapq.heappop(heap)
        j = following[i]
        now = merges.get((symbols[i], symbols[j])) if symbols[i] is not None else None
        if is_stale(now, new, symbols[i] is not None):
            continue
        symbols[i], symbols[j] = now, None
        following[i] = following[j]
        before[following[j]] = i
        if before[i] >= 0:
            put(before[i])
        put(i)
    return [symbol for symbol in symbols if symbol is not None]


right(
    "08.1",
    changes,
    after(changes, dict),
    after(changes, lambda found: {p: np.int64(n) for p, n in found.items()}),
)
wrong(
    "08.1",
    after(changes, lambda found: {p: -n for p, n in found.items()}),
    lambda symbols, pair, new: {pair: -count_pairs(symbols)[pair]},
    after(changes, lambda found: {p: n for p, n in found.items() if n > 0}),
)
right("08.2", ("aaa", "aa"), ("xxx", ("x", "x")), (tuple("bbb"), ["b", "b"]), (Text("ccc"), "cc"))
wrong("08.2", ("aaaaa", "aa"), ("aba", "ab"), ("aa", "aa"))
right(
    "08.3",
    lambda shards: add_in_order(shards, by_number),
    lambda shards: sum((Counter(counts) for _, counts in by_number(shards)), Counter()),
    lambda shards: UserDict(add_in_order(shards, by_number)),
)
wrong(
    "08.3",
    lambda shards: add_in_order(shards, list),
    lambda shards: dict(sorted(add_in_order(shards, by_number).items())),
    lambda shards: {piece: n for _, counts in by_number(shards) for piece, n in counts.items()},
    lambda shards: add_in_order(shards, lambda s: by_number(s)[::-1]),
)
right("08.4", encode_with_heap, after(encode_with_heap, tuple), after(encode_with_heap, iter))
wrong(
    "08.4",
    lambda ids, merges: encode_with_heap(
        ids, merges, lambda now, new, alive: now is None
    ),  # whatever is there
    encode_in_one_pass,
    encode_by_rank,
)

# -- 09 ------------------------------------------------------------------------------------------------------


def from_letters(letters, tell=lambda letter: f"{letter!r} is no letter of a byte"):
    made = {byte_letters.to_letters(bytes([value])): value for value in range(256)}
    for letter in letters:
        if letter not in made:
            raise ValueError(tell(letter))
    return bytes(made[letter] for letter in letters)


def unreachable(tokenizer, skip=lambda tokenizer, token: False):
    found = set()
    for i, token in enumerate(tokenizer.vocabulary):
        try:
            text = token.decode() if token else None
        except UnicodeDecodeError:
            continue
        if text and not skip(tokenizer, token) and tokenizer.encode(text, disallowed_special=()) != [i]:
            found.add(i)
    return found


def read_json(file, make_tokens=None, split_from=None):
    model = file["model"]
    special = {added["content"]: added["id"] for added in file["added_tokens"]}
    ids = {letters: i for letters, i in model["vocab"].items() if letters not in special}
    tokens = [None] * (max(ids.values()) + 1)
    for letters, i in ids.items():
        tokens[i] = from_letters(letters)
    if make_tokens:
        tokens = make_tokens(tokens, ids)
    merges = [m.split(" ") if isinstance(m, str) else m for m in model["merges"]]
    pairs = [(ids[left], ids[second]) for left, second in merges]
    steps = file["pre_tokenizer"]["pretokenizers"]
    split = [step["pattern"]["Regex"] for step in steps if step["type"] == "Split"]
    return BPETokenizer(tokens, pairs, split[split_from:], special, model.get("ignore_merges", False))


right(
    "09.1",
    lambda letters: from_letters(letters, lambda letter: f"U+{ord(letter):04X} is no letter of a byte"),
    lambda letters: bytearray(from_letters(letters)),
    lambda letters: memoryview(from_letters(letters, lambda letter: f"no byte is written {letter}")),
)
wrong(
    "09.1",
    lambda letters: letters.replace("Ġ", " ").replace("Ċ", "\n").encode("latin-1"),
    lambda letters: from_letters(letters, lambda letter: "a wrong letter"),
    after(from_letters, lambda token: token.decode("latin-1")),
    lambda letters: from_letters("".join(c for c in letters if c not in "月 \n")),
)
right(
    "09.2", unreachable, after(unreachable, sorted), after(unreachable, lambda found: np.array(sorted(found)))
)
wrong(
    "09.2",
    lambda tokenizer: unreachable(tokenizer, lambda tokenizer, token: tokenizer.whole_pieces),
    lambda tokenizer: unreachable(tokenizer) | set(tokenizer.special_tokens.values()),
    lambda tokenizer: unreachable(tokenizer, lambda tokenizer, token: token not in (b"xy", b"ab")),
)
right(
    "09.3",
    read_json,
    lambda file: read_json(UserDict(file)),
    lambda file: read_json(file, lambda tokens, ids: tuple(tokens)),
)
wrong(
    "09.3",
    lambda file: read_json(file, lambda tokens, ids: [token for token in tokens if token is not None]),
    lambda file: read_json(file, lambda tokens, ids: tokens[: len(file["model"]["vocab"])]),
    lambda file: read_json(file, split_from=1),
)

# -- 10 ------------------------------------------------------------------------------------------------------


def words_of(tokens):
    words = "".join(tokens).split("</w>")
    return words if words[-1] else words[:-1]


def longest_first(word, pieces):
    start, found = 0, []
    while start < len(word):
        fits = [p for p in pieces if ("##" * (start > 0) + word[start:]).startswith(p)]
        fits = [p for p in fits if p.startswith("##") == (start > 0)]
        if not fits:
            return ["[UNK]"]
        found.append(max(fits, key=len))
        start += len(found[-1].removeprefix("##"))
    return found


def longest_anywhere(word, pieces):
    start, found = 0, []
    while start < len(word):
        for end in range(len(word), start, -1):
            if "##" * (start > 0) + word[start:end] in pieces:
                found.append("##" * (start > 0) + word[start:end])
                start = end
                break
        else:
            found.append("[UNK]")
            break
    return found


def expected_use(text, probability, number=float):
    n = len(text)
    ways = [(i, i + len(p), p) for i in range(n) for p in probability if text.startswith(p, i)]
    left, back = [number(0)] * (n + 1), [number(0)] * (n + 1)
    left[0] = back[n] = number(1)
    for i, j, p in ways:
        left[j] += left[i] * number(probability[p])
    for i, j, p in reversed(ways):
        back[i] += number(probability[p]) * back[j]
    use = {}
    for i, j, p in ways:
        if share := left[i] * number(probability[p]) * back[j] / left[n]:
            use[p] = use.get(p, 0) + share
    return use


right("10.1", words_of, after(words_of, tuple), after(words_of, lambda words: map(Text, words)))
wrong(
    "10.1",
    lambda tokens: "".join(tokens).replace("</w>", " ").split(" "),
    lambda tokens: [t.removesuffix("</w>") for t in tokens],
    lambda tokens: re.findall("(.*?)</w>", "".join(tokens)),
)
right("10.2", longest_first, after(longest_first, tuple), after(longest_first, iter))
wrong(
    "10.2",
    longest_anywhere,
    after(longest_first, lambda found: [p.removeprefix("##") for p in found]),
    lambda word, pieces: longest_first(word, pieces | {word}),
)
right(
    "10.3",
    expected_use,
    lambda text, p: expected_use(text, p, Fraction),
    lambda text, p: Counter(expected_use(text, p, np.float64)),
)
wrong(
    "10.3",
    after(expected_use, lambda use: {p: min(share, 1.0) for p, share in use.items()}),
    after(expected_use, lambda use: {p: share / sum(use.values()) for p, share in use.items()}),
    lambda text, p: dict.fromkeys(p, 0.0) | expected_use(text, p),
)

# -- 11 ------------------------------------------------------------------------------------------------------


def fitting(encode, sentences, num_tokens):
    ends = np.cumsum([len(encode(sentence)) for sentence in sentences])
    return np.count_nonzero(ends <= num_tokens)


def bytes_per_token(lines, encode, decode, number=int):
    tokens = sum(len(encode(line)) for line in lines)
    if not tokens:
        raise ValueError("no tokens")
    return number(sum(len(line.encode()) for line in lines)) / tokens


def length_after(tokenizer, text, k):
    return len(
        BPETokenizer(tokenizer.vocabulary[: 256 + k], tokenizer.merges[:k], tokenizer.split).encode(text)
    )


def fewest_merges(tokenizer, text, limit):
    for k in range(len(tokenizer.merges) + 1):
        if length_after(tokenizer, text, k) <= limit:
            return np.int32(k)
    raise ValueError("not even all merges")


def fewest_by_halves(tokenizer, text, limit):
    low, high = 0, len(tokenizer.merges) + 1
    while low < high:
        middle = (low + high) // 2
        if middle > len(tokenizer.merges) or length_after(tokenizer, text, middle) <= limit:
            high = middle
        else:
            low = middle + 1
    if low > len(tokenizer.merges):
        raise ValueError("not even all merges")
    return low


right(
    "11.1",
    fitting,
    after(fitting, int),
    lambda encode, sentences, n: max(
        k for k in range(len(sentences) + 1) if sum(len(encode(s)) for s in sentences[:k]) <= n
    ),
)
wrong(
    "11.1",
    lambda encode, sentences, n: fitting(encode, sorted(sentences, key=len), n),
    lambda encode, sentences, n: sum(
        len(encode("".join(sentences[: k + 1]))) <= n for k in range(len(sentences))
    ),
    lambda encode, sentences, n: sum(len(encode(s)) <= n for s in sentences),
)
right(
    "11.2",
    bytes_per_token,
    lambda *arguments: bytes_per_token(*arguments, Fraction),
    lambda *arguments: bytes_per_token(*arguments, np.float64),
)
wrong(
    "11.2",
    lambda lines, encode, decode: bytes_per_token(["".join(lines)], encode, decode),
    lambda lines, encode, decode: bytes_per_token(["\n".join(lines)], encode, decode),
    lambda lines, encode, decode: sum(map(len, lines)) / sum(len(encode(line)) for line in lines),
    lambda lines, encode, decode: bytes_per_token(lines, encode, decode) if any(lines) else 0.0,
)
right("11.3", fewest_merges, fewest_by_halves, after(fewest_merges, int))
wrong(
    "11.3",
    lambda tokenizer, text, limit: max(0, len(text.encode()) - limit),
    after(fewest_by_halves, lambda k: max(0, k - 1)),
    lambda tokenizer, text, limit: fewest_merges(
        BPETokenizer(tokenizer.vocabulary, tokenizer.merges), text, limit
    ),
)

# -- 12 ------------------------------------------------------------------------------------------------------


def worth_of_tokens(tokenizer, number, value_of=Fraction):
    place, pairs = len(number.partition(".")[0]), []
    for token in tokenizer.tokens(number):
        digits = token.decode()
        value = value_of(0)
        for digit in digits.replace(".", ""):
            place -= 1
            value += int(digit) * value_of(10) ** place
        pairs.append((digits, value))
    return pairs


AROUND = r"(?<=\p{N}\.\p{N}*)\p{N}{1,3}|\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"


def scaffolding(tokenizer, text, steps=reversed, count_made=True):
    ids = {token: i for i, token in enumerate(tokenizer.vocabulary)}
    made = set(tokenizer.encode(text, disallowed_special=()))
    needed = set(made)
    for left, second in steps(tokenizer.merges):
        if ids[tokenizer.token(left) + tokenizer.token(second)] in needed:
            needed |= {left, second}
    return needed - (made if count_made else set())


def heal(tokenizer, prompt, start=bytes.startswith):
    ids = tokenizer.encode(prompt, disallowed_special=())
    if not ids:
        return [], []
    last = tokenizer.token(ids[-1])
    return ids[:-1], {i for i, token in enumerate(tokenizer.vocabulary) if token and start(token, last)}


right(
    "12.1",
    lambda *arguments: list(map(list, worth_of_tokens(*arguments))),
    lambda tokenizer, number: worth_of_tokens(tokenizer, number, Decimal),
    after(worth_of_tokens, tuple),
)
wrong(
    "12.1",
    lambda tokenizer, number: worth_of_tokens(tokenizer, number, float),
    lambda tokenizer, number: [
        (t.decode(), Fraction(t.decode().strip(".") or 0)) for t in tokenizer.tokens(number)
    ],
    after(worth_of_tokens, lambda pairs: [pair for pair in pairs if pair[1]]),
)
right("12.2", AROUND, regex.compile(AROUND), AROUND.replace("(?:", "("))
wrong(
    "12.2",
    r"\p{N}{1,3}",
    r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))",
    AROUND.replace(r"\p{N}\.", r"\."),
    AROUND.replace(r"\p{N}", "[0-9]"),
)
right(
    "12.3",
    scaffolding,
    after(scaffolding, sorted),
    after(scaffolding, lambda found: np.array(sorted(found), int)),
)
wrong(
    "12.3",
    lambda tokenizer, text: scaffolding(tokenizer, text, iter),
    lambda tokenizer, text: scaffolding(tokenizer, text, count_made=False),
    lambda tokenizer, text: (
        set(range(tokenizer.vocab_size)) - set(tokenizer.encode(text, disallowed_special=()))
    ),
)
right(
    "12.4",
    heal,
    after(heal, lambda two: [tuple(two[0]), sorted(two[1])]),
    after(heal, lambda two: (np.array(two[0], int), iter(sorted(two[1])))),
)
wrong(
    "12.4",
    lambda tokenizer, prompt: heal(tokenizer, prompt, lambda token, last: last in token),
    lambda tokenizer, prompt: heal(
        tokenizer, prompt, lambda token, last: token.startswith(last) and token != last
    ),
    lambda tokenizer, prompt: heal(tokenizer, prompt.rstrip()),
)

# -- 13 ------------------------------------------------------------------------------------------------------


def pairs_of(documents):
    return sum(map(count_pairs, documents), Counter())


def pairs_joined(mark):
    return lambda documents: {p: n for p, n in count_pairs(mark.join(documents)).items() if mark not in p}


def shortened(tokenizer, text, limit):
    return tokenizer.decode_bytes(tokenizer.encode(text)[:limit]).decode(errors="ignore")


def longest_that_fits(tokenizer, text, limit):
    return max((text[:k] for k in range(len(text) + 1) if len(tokenizer.encode(text[:k])) <= limit), key=len)


def right_merge(symbols, pair):
    return merge_pair(symbols, pair, "".join(pair))


right(
    "13.1",
    pairs_of,
    lambda documents: Counter(pair for document in documents for pair in pairwise(document)),
    lambda documents: UserDict(pairs_of(documents)),
)
wrong("13.1", *map(pairs_joined, "\n |\0"), lambda documents: pairs_of(dict.fromkeys(documents)))
right(
    "13.2",
    shortened,
    after(shortened, Text),
    lambda tokenizer, text, limit: codecs.getincrementaldecoder("utf-8")().decode(
        tokenizer.decode_bytes(tokenizer.encode(text)[:limit])
    ),
)
wrong(
    "13.2",
    longest_that_fits,
    lambda tokenizer, text, limit: tokenizer.decode(tokenizer.encode(text)[:limit]).rstrip("\ufffd"),
    lambda tokenizer, text, limit: text[:limit],
)
right(
    "13.3",
    [
        lambda v: json.dumps({i: t.hex() for i, t in v.items()}),
        lambda s: {int(i): bytes.fromhex(t) for i, t in json.loads(s).items()},
    ],
    [
        lambda v: Text(json.dumps([[i, list(t)] for i, t in v.items()])),
        lambda s: {i: bytearray(t) for i, t in json.loads(s)},
    ],
    [
        lambda v: json.dumps({i: t.decode("latin-1") for i, t in v.items()}),
        lambda s: UserDict({np.int64(i): t.encode("latin-1") for i, t in json.loads(s).items()}),
    ],
)
wrong(
    "13.3",
    [
        lambda v: json.dumps({i: t.hex() for i, t in v.items()}),
        lambda s: {i: bytes.fromhex(t) for i, t in json.loads(s).items()},
    ],
    [
        lambda v: json.dumps({i: t.decode(errors="ignore") for i, t in v.items()}),
        lambda s: {int(i): t.encode() for i, t in json.loads(s).items()},
    ],
    [repr, lambda s: eval(s)],
)
right(
    "13.4",
    lambda merge, symbols, pair: merge(list(symbols), pair) == right_merge(symbols, pair),
    lambda merge, symbols, pair: np.bool_(merge(symbols, pair) == right_merge(symbols, pair)),
    lambda merge, symbols, pair: list(merge(symbols, pair)) == right_merge(symbols, pair),
)
wrong(
    "13.4",
    lambda merge, symbols, pair: "".join(merge(symbols, pair)) == "".join(symbols),
    lambda merge, symbols, pair: len(merge(symbols, pair)) == len(right_merge(symbols, pair)),
    lambda merge, symbols, pair: pair not in count_pairs(merge(symbols, pair)),
)


@pytest.fixture(scope="module")
def cut():
    try:
        poems = corpora.tang_poems()
    except FileNotFoundError:
        pytest.skip("the Tang poems are not prepared")
    return BPETokenizer.train("\n".join(poems[:2000]), 256 + 1_500, pattern="verse", progress=False)


def answers_of(exercise, answers, request):
    if exercise == "07.2":
        pytest.importorskip("torch")
    return [request.getfixturevalue("cut") if answer is GIVEN else answer for answer in answers]


def name(case):
    return case[0]


@pytest.mark.parametrize("case", RIGHT, ids=name)
def test_right_answers_are_taken(said, request, case):
    exercise, answers = case
    assert (
        said(find_check(exercise), *answers_of(exercise, answers, request))
        == f"exercise {exercise[3:]}: correct"
    )


@pytest.mark.parametrize("case", WRONG, ids=name)
def test_wrong_answers_are_refused(said, request, case):
    exercise, answers = case
    assert said(find_check(exercise), *answers_of(exercise, answers, request)).startswith(
        f"exercise {exercise[3:]}: not yet. "
    )


def test_each_exercise_has_three_right_answers_and_two_wrong_ones():
    from bpe.checks.record import find_exercises

    rights, wrongs = (Counter(exercise for exercise, _ in cases) for cases in (RIGHT, WRONG))
    for chapter, numbers in find_exercises().items():
        for exercise in (f"{chapter}.{number}" for number in numbers):
            if exercise != "05.1":  # its answer takes seconds to make: see the chapter's own tests
                assert rights[exercise] >= 3, exercise
                assert wrongs[exercise] >= 2, exercise
