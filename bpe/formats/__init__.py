"""Tokenizers in the files of other libraries, read and written.

    tokenizers_json       Hugging Face `tokenizers`: tokenizer.json, which holds everything
    rank_file             tiktoken: one token and its rank a line; split and special tokens are not in it
    gpt2                  GPT-2: vocab.json and merges.txt; the split is not in it
    sentencepiece_model   sentencepiece: the .model of a Unigram tokenizer, read only

A file from elsewhere is only ever read as data: JSON, base64, protobuf and plain text, never pickle, and
nothing in it is run but its regular expressions, of which `dialect` says what they may hold. What cannot be
read exactly is refused with a ValueError that names the file and the entry.
"""

from bpe.formats.gpt2 import load_gpt2, save_gpt2
from bpe.formats.sentencepiece import load_sentencepiece
from bpe.formats.tiktoken import load_tiktoken, save_tiktoken
from bpe.formats.tokenizers_json import load_tokenizers_json, save_tokenizers_json

__all__ = [
    "load_gpt2",
    "load_sentencepiece",
    "load_tiktoken",
    "load_tokenizers_json",
    "save_gpt2",
    "save_tiktoken",
    "save_tokenizers_json",
]
