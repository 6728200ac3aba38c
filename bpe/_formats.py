"""Which library's format a file has, so that an error can name the function that reads it."""

from __future__ import annotations

import base64
import binascii
import json
import re

# The beginning of each file, in bytes, is enough to tell; a JSON file may have to be read whole.
_HEAD = 4_096


def guess_format(data: bytes) -> str | None:
    """Return what the content of a file looks like and the function that opens it, or None.

    >>> guess_format(b"IQ== 0\\nIg== 1\\n")
    'a rank file of tiktoken: open it with bpe.formats.load_tiktoken'
    """
    data = data.removeprefix("\ufeff".encode())
    head = data[:_HEAD]
    if data.lstrip()[:1] == b"{":
        return _guess_json(data)
    if head.startswith(b"#version") or re.match(rb"[^\s]+ [^\s]+\r?\n", head):
        if _is_rank(head.splitlines()[0]):
            return "a rank file of tiktoken: open it with bpe.formats.load_tiktoken"
        if head.startswith(b"#version"):
            return f"merges of GPT-2's kind: {_GPT2}"
    # Field 1, a message whose own field 1 is a text: the first piece.
    if re.match(rb"\n[\x02-\x7f]\n", head):
        return (
            "a model of sentencepiece: if it is of type Unigram, open it with bpe.formats.load_sentencepiece"
        )
    return None


_GPT2 = "open vocab.json and merges.txt together with bpe.formats.load_gpt2"


def _guess_json(data: bytes) -> str | None:
    try:
        file = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if isinstance(file.get("model"), dict) and "added_tokens" in file:
        return "a tokenizer.json of Hugging Face: open it with bpe.formats.load_tokenizers_json"
    if len(file) > 1 and all(type(i) is int for i in file.values()):
        return f"a vocabulary of GPT-2's kind: {_GPT2}"
    return None


def _is_rank(line: bytes) -> bool:
    token, _, rank = line.partition(b" ")
    try:
        base64.b64decode(token, validate=True)
    except binascii.Error:
        return False
    return rank.isdigit()
