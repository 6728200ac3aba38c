"""GPT-2's two files: vocab.json, token -> id, and merges.txt, one merge a line in rank order.

Tokens are spelled in the letters of `byte_letters`. OpenAI's own files are called encoder.json and
vocab.bpe. Neither has the pattern. Special tokens are entries like the others, spelled as they are, and
nothing marks them, so the reader takes their names as an argument.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bpe import presplit, special
from bpe._files import read_json, read_text, write_atomically
from bpe.bytepair import BPETokenizer
from bpe.formats import byte_letters
from bpe.formats.entries import LARGEST_FILE, check_type, naming, place_tokens
from bpe.formats.rebuild import needs_whole_pieces
from bpe.naive import Pair

VERSION_LINE = "#version: 0.2"


def load_gpt2(
    vocab: str | Path,
    merges: str | Path,
    split: presplit.Pattern = "gpt2",
    special_tokens: Iterable[str] = (),
) -> BPETokenizer:
    """Read vocab.json (or encoder.json) and merges.txt (or vocab.bpe).

    split: the pattern, as in `BPETokenizer`.
    special_tokens: the entries of vocab.json that are special tokens.

    Raises OSError, and ValueError, naming file and entry, if a file is damaged or the two do not match.
    """
    vocab, merges = Path(vocab), Path(merges)
    names = special.check_names(special_tokens)
    with naming(vocab):
        ids = check_vocabulary(read_json(vocab, LARGEST_FILE), "the file")
        for name in names:
            if name not in ids:
                raise ValueError(f"special token {name!r} is not among the tokens")
        specials = {name: ids.pop(name) for name in names}
        tokens = place_tokens((i, byte_letters.to_bytes(letters)) for letters, i in ids.items())
    text = read_text(merges, LARGEST_FILE)
    with naming(merges):
        return BPETokenizer(tokens, list(_pairs(text, ids)), split, specials)


def check_vocabulary(entries: Any, name: str) -> dict[str, int]:
    """Return a copy of token -> id. Raises ValueError, naming the entry, for another type."""
    entries = check_type(entries, dict, name)
    return {token: check_type(i, int, f"the id of token {token!r}") for token, i in entries.items()}


def _pairs(text: str, ids: Mapping[str, int]) -> Iterator[Pair]:
    lines = text.split("\n")  # not splitlines, which would also split at some of the letters
    if lines[0].startswith("#version"):
        lines[0] = ""
    for number, line in enumerate(lines, start=1):
        line = line.removesuffix("\r")
        if line:
            yield find_pair(line.split(" "), ids, f"line {number}")


def find_pair(symbols: list[Any], ids: Mapping[str, int], name: str) -> Pair:
    """Return the ids of the two symbols of a merge. Raises ValueError, naming it, for anything else."""
    if len(symbols) != 2:
        raise ValueError(f"{name} must be two tokens, not {symbols[:5]!r}")
    for symbol in symbols:
        if not isinstance(symbol, str) or symbol not in ids:
            raise ValueError(f"{name} uses {symbol!r}, which is not among the tokens")
    return ids[symbols[0]], ids[symbols[1]]


def spell_tokens(tokenizer: BPETokenizer) -> dict[str, int]:
    """Return letters -> id in id order, without special tokens. Characters are spelled as they are."""
    return {
        byte_letters.to_letters(token) if isinstance(token, bytes) else token: i
        for i, token in enumerate(tokenizer.vocabulary)
        if token is not None
    }


def add_special_tokens(ids: Mapping[str, int], special_tokens: Mapping[str, int]) -> dict[str, int]:
    """Return letters -> id with the special tokens. Raises ValueError if one is spelled like a token."""
    for name in special_tokens:
        if name in ids:
            raise ValueError(f"special token {name!r} is spelled like token {ids[name]}")
    return {**ids, **special_tokens}


def save_gpt2(tokenizer: BPETokenizer, vocab: str | Path, merges: str | Path) -> None:
    """Write vocab.json and merges.txt, with the special tokens and without the pattern.

    `tokenizers` and `transformers` give the same ids from them if they pre-split with the same pattern.

    Raises ValueError for what the format cannot hold: an alphabet of characters, tokens taken whole that no
    merge makes, and a special token spelled like another token. Raises OSError as `write_atomically`.
    """
    if tokenizer.alphabet != "bytes":
        raise ValueError("GPT-2's files hold bytes, but this tokenizer works on characters")
    if tokenizer.whole_pieces and needs_whole_pieces(tokenizer.vocabulary, tokenizer.merges):
        raise ValueError(
            "this tokenizer takes pieces whole that no merge makes, and GPT-2's files cannot express that"
        )
    ids = spell_tokens(tokenizer)
    letters = {i: token for token, i in ids.items()}
    lines = [VERSION_LINE, *(f"{letters[left]} {letters[right]}" for left, right in tokenizer.merges)]
    everything = add_special_tokens(ids, tokenizer.special_tokens)
    write_atomically(Path(vocab), json.dumps(everything, ensure_ascii=False).encode("utf-8"))
    write_atomically(Path(merges), ("\n".join(lines) + "\n").encode("utf-8"))
