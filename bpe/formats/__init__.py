"""Read and write tokenizers in the file formats of other libraries.

    tokenizers_json   Hugging Face `tokenizers`: tokenizer.json, which holds everything
    tiktoken          tiktoken's rank file: a token and its rank a line, without pattern and special tokens
    gpt2              GPT-2: vocab.json and merges.txt, without the pattern
    sentencepiece     sentencepiece: the .model of a Unigram tokenizer, read only

Files are read as data only: JSON, base64, protobuf and plain text, never pickle. Nothing in them is executed
but their regular expressions, which `dialect` restricts. What cannot be read exactly is refused with a
ValueError that names the file and the entry. So is a file of more than 100 MB (a model of sentencepiece: 20
MB). Reading takes seconds for each megabyte at most, and memory of some ten times the file.
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
