"""Open damaged files of one kind, in a process of its own with limits on memory.

    python damaged_files.py KIND FIRST LAST

Says `case N` before each case, and `failed N MESSAGE` for each fault: the parent notices a process that
hangs or dies, and knows at which case.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import random
import signal
import struct
import sys
import tarfile
import tempfile
import traceback
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from campaign_cases import seeded
from mutations import EXPRESSIONS, mutate_bytes, mutate_json, to_text

MOST_MEMORY = 1_000_000_000  # bytes beyond what the process takes at first
MOST_SECONDS = 5.0  # of work, for a case; nearly all take milliseconds
TEXTS = [
    "the low, lower 月光!\n",
    "a" * 40 + "!",
    "x" * 60,
    " \r\n\t 12345 '",
    "ab" * 30 + "\x1b\u202e",
    "A a\u0301",
]

Open = Callable[[Path], Any]
Use = Callable[[Any, Path], object]


class FaultError(Exception):
    """A file was opened, and what came of it is wrong; or it was refused in a wrong way."""


# --- what came of a file


def use_tokenizer(tokenizer: Any, folder: Path) -> None:
    """A tokenizer that was opened can be shown, saved, pickled and used."""
    from bpe import BPETokenizer, CharTokenizer, load_tokenizer

    repr(tokenizer), tokenizer._repr_html_(), tokenizer.facts(), len(tokenizer), tokenizer.vocab_size
    if not 0 <= len(tokenizer) <= tokenizer.vocab_size <= 2**31:
        raise FaultError(f"{len(tokenizer)} tokens in a vocabulary of {tokenizer.vocab_size}")
    path = folder / "again.json"
    tokenizer.save(path)
    for back in (load_tokenizer(path), pickle.loads(pickle.dumps(tokenizer))):
        if back != tokenizer:
            raise FaultError("it is another one after saving")
    path.unlink()
    for text in TEXTS:
        try:
            ids = tokenizer.encode(text, disallowed_special=())
        except ValueError:
            continue
        if not all(type(i) is int and 0 <= i < tokenizer.vocab_size for i in ids):
            raise FaultError(f"{text!r} has the ids {ids[:9]}")
        decoded = tokenizer.decode(ids)
        if isinstance(tokenizer, BPETokenizer):
            if decoded != text:
                raise FaultError(f"{text!r} becomes {decoded!r}")
            if tokenizer.encode(text, disallowed_special=(), engine="naive") != ids:
                raise FaultError(f"{text!r} has other ids by the naive engine")
        if isinstance(tokenizer, CharTokenizer) and tokenizer.unknown is None and decoded != text:
            raise FaultError(f"{text!r} becomes {decoded!r}")
    [tokenizer.token(i) for i in range(min(tokenizer.vocab_size, 400))]


def use_ids(ids: Any, folder: Path) -> None:
    if not isinstance(ids, list) or not all(type(i) is int for i in ids):
        raise FaultError(f"not ids: {str(ids)[:60]}")


def use_nothing(content: Any, folder: Path) -> None:
    """What was opened is only data."""


def use_finite(content: Any, folder: Path) -> None:
    """What was opened can be written as JSON."""
    json.dumps(content, allow_nan=False)


# --- kinds of files: what to write, how to open it, what to do then


def ours(rng: random.Random, folder: Path, kind: str, sealed: bool) -> Path:
    """Write a file of ours. sealed: with the fingerprint of its damaged content, so that this is read."""
    from bpe import saving

    file = json.loads(tokenizers()[kind])
    path = folder / "tokenizer.json"
    if not sealed:
        if rng.random() < 0.5:
            path.write_bytes(mutate_bytes(rng, tokenizers()[kind]))
        else:
            path.write_bytes(to_text(rng, mutate_json(rng, file)))
        return path
    if rng.random() < 0.06 and kind in DOUBLING:
        file["content"] = DOUBLING[kind](rng.choice([20, 28, 34, 64]))
    elif rng.random() < 0.15 and "split" in file["content"]:
        file["content"]["split"] = rng.sample(EXPRESSIONS, rng.choice([1, 1, 2]))
    else:
        file["content"] = mutate_json(rng, file["content"])
    if rng.random() < 0.08:
        file["kind"] = rng.choice(list(saving.KINDS))
    file["fingerprint"] = saving.fingerprint(file["kind"], file["content"])
    path.write_bytes(to_text(rng, file))
    return path


def _doubling_words(number: int) -> dict[str, Any]:
    merges = [[0, 0], *([k, k] for k in range(2, number + 1))]
    return {"characters": ["a"], "merges": merges, "special_tokens": [], "unknown": "[UNK]"}


DOUBLING: dict[str, Callable[[int], Any]] = {"words": _doubling_words}


@cache
def tokenizers() -> dict[str, bytes]:
    """A file of each of our kinds, small."""
    from bpe import BPETokenizer, CharTokenizer, Unigram, WordBPE, WordPiece

    text = "the low lower lowest 月光月光 the low light a aa ab\n" * 2
    made = {
        "bytes": BPETokenizer.train(
            text, 266, pattern="gpt4", special_tokens=["<|end|>", "a b"], progress=False
        ),
        "letters": BPETokenizer.train(
            text, 30, alphabet="characters", pattern=["verse", "words"], progress=False
        ),
        "characters": CharTokenizer(text, unknown="<unk>"),
        "words": WordBPE.train(text, 30, special_tokens=["<|end|>"], progress=False),
        "wordpiece": WordPiece.train(text, 40, special_tokens=["<|end|>"], progress=False),
        "unigram": Unigram.train(text, 60, byte_fallback=False, special_tokens=["<s>"], progress=False),
        "unigram with bytes": Unigram.train(text, 290, progress=False),
    }
    files = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, tokenizer in made.items():
            tokenizer.save(Path(folder) / "tokenizer.json")
            files[kind] = (Path(folder) / "tokenizer.json").read_bytes()
    return files


@cache
def byte_pairs(whole: bool = False) -> Any:
    from bpe import BPETokenizer

    text = "the low lower lowest 月光月光 the low light a aa ab\n" * 2
    trained = BPETokenizer.train(text, 266, pattern="words", special_tokens=["<|end|>"], progress=False)
    return (
        BPETokenizer([*trained.vocabulary, b"qqq"], trained.merges, "words", None, True) if whole else trained
    )


def tokenizers_json(rng: random.Random, folder: Path) -> Path:
    from bpe import formats

    path = folder / "tokenizer.json"
    formats.save_tokenizers_json(byte_pairs(rng.random() < 0.3), path)
    data = path.read_bytes()
    if rng.random() < 0.15:
        path.write_bytes(mutate_bytes(rng, data))
        return path
    file = json.loads(data)
    if rng.random() < 0.1:
        file["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {"Regex": rng.choice(EXPRESSIONS)}
        path.write_bytes(to_text(rng, file))
    elif rng.random() < 0.5:  # a part that is read with care
        part = rng.choice(["model", "added_tokens", "pre_tokenizer", "normalizer", "decoder"])
        file[part] = mutate_json(rng, file[part])
        path.write_bytes(to_text(rng, file))
    else:
        path.write_bytes(to_text(rng, mutate_json(rng, file)))
    return path


def gpt2(rng: random.Random, folder: Path) -> Path:
    from bpe import formats

    vocab, merges = folder / "vocab.json", folder / "merges.txt"
    formats.save_gpt2(byte_pairs(), vocab, merges)
    if rng.random() < 0.5:
        merges.write_bytes(mutate_bytes(rng, merges.read_bytes()))
    elif rng.random() < 0.3:
        vocab.write_bytes(mutate_bytes(rng, vocab.read_bytes()))
    else:
        vocab.write_bytes(to_text(rng, mutate_json(rng, json.loads(vocab.read_bytes()))))
    return vocab


def open_gpt2(path: Path) -> Any:
    from bpe import formats

    return formats.load_gpt2(path, path.with_name("merges.txt"), "gpt2", ["<|end|>"])


def ranks(rng: random.Random, folder: Path) -> Path:
    from bpe import formats

    path = folder / "ranks.tiktoken"
    formats.save_tiktoken(byte_pairs(whole=True), path)
    lines = path.read_bytes().splitlines(keepends=True)
    match rng.randrange(5):
        case 0:
            rng.shuffle(lines)
        case 1:  # the same tokens with other ranks
            numbers = [line.split()[1] for line in lines]
            rng.shuffle(numbers)
            lines = [
                line.split()[0] + b" " + number + b"\n" for line, number in zip(lines, numbers, strict=True)
            ]
        case 2:
            line = rng.randrange(len(lines))
            lines[line] = rng.choice(
                [
                    b"",
                    b"\n",
                    b"YWI= 4\n",
                    b"= 1\n",
                    b"YQ== 1e3\n",
                    b"YQ== -1\n",
                    b"YQ== 999999999\n",
                    lines[0],
                ]
            )
    data = b"".join(lines)
    path.write_bytes(mutate_bytes(rng, data) if rng.random() < 0.7 else data)
    return path


def open_ranks(path: Path) -> Any:
    from bpe import formats

    return formats.load_tiktoken(path, "gpt2", {"<|end|>": 300})


@cache
def sentencepiece_model() -> bytes:
    from made_models import model

    from bpe.subwords.lattice import Piece

    pieces = [Piece("<unk>", 0.0, "unknown"), Piece("<s>", 0.0, "control"), Piece("ab", 0.0, "user-defined")]
    pieces += [
        Piece(text, -float(k)) for k, text in enumerate(["▁", "a", "b", "▁the", "l", "ow", "o", "w", "月"], 1)
    ]
    return model([*pieces, Piece("x", 0.0, "unused")], prefix=True)


def sentencepiece(rng: random.Random, folder: Path) -> Path:
    path = folder / "m.model"
    data = sentencepiece_model()
    if rng.random() < 0.15:  # a number in the place of a score
        at = data.rfind(b"\x15", 0, rng.randint(10, len(data)))
        data = (
            data[: at + 1]
            + struct.pack("<f", rng.choice([float("nan"), float("inf"), 3e38, 1.0]))
            + data[at + 5 :]
        )
    path.write_bytes(mutate_bytes(rng, data))
    return path


@cache
def checkpoint() -> bytes:
    import numpy

    from bpe.minigpt import checkpoints
    from bpe.minigpt.model import MiniGPTConfig
    from bpe.minigpt.training import Trainer, TrainingSettings

    config = MiniGPTConfig(7, block_size=4, embedding_dim=8, num_heads=2, num_layers=1, dropout=0.0)
    trainer = Trainer(
        config, TrainingSettings(3, batch_size=2), numpy.arange(50) % 7, _seven().fingerprint, "cpu"
    )
    trainer.train_step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.pt"
        checkpoints.save(path, trainer)
        return path.read_bytes()


@cache
def _seven() -> Any:
    from bpe import CharTokenizer

    return CharTokenizer("abcdefg")


def checkpoints(rng: random.Random, folder: Path) -> Path:
    import torch

    path = folder / "checkpoint.pt"
    if rng.random() < 0.4:
        path.write_bytes(mutate_bytes(rng, checkpoint()))
        return path
    content = torch.load(io.BytesIO(checkpoint()), weights_only=True)
    part = rng.choice(
        ["config", "config", "settings", "step", "model", "optimizer", "random_states", "format"]
    )
    if part == "model" and rng.random() < 0.8:
        name = rng.choice(list(content["model"]))
        content["model"][name] = _hostile_tensor(rng)
    elif part == "config":
        name = rng.choice(list(content["config"]))
        content["config"][name] = rng.choice(
            [10**3, 10**6, 10**9, 2**40, -1, 0, 1.5, "7", None, True, 2**70, float("nan")]
        )
    elif part in ("optimizer", "random_states", "model"):
        content[part] = rng.choice([{}, [], None, {"cpu": torch.zeros(3)}, {"state": {}, "param_groups": []}])
    else:
        content[part] = mutate_json(rng, content[part])
    torch.save(content, path)
    return path


def _hostile_tensor(rng: random.Random) -> Any:
    import torch

    return rng.choice(
        [
            torch.zeros(1).expand(10 ** rng.choice([3, 8, 10])),
            torch.zeros(0),
            torch.zeros(3, 3, dtype=torch.int64),
            torch.full((7, 8), float("nan")),
            torch.zeros(7, 8, dtype=torch.bfloat16),
            torch.zeros(7, 8, dtype=torch.complex64),
            torch.eye(7).to_sparse(),
            torch.zeros(1).as_strided((7, 8), (0, 0)),
            None,
            5,
            "x",
        ]
    )


def open_checkpoint(path: Path) -> Any:
    from bpe.minigpt import checkpoints

    return checkpoints.load_model(path, _seven(), "cpu")


def use_model(model: Any, folder: Path) -> None:
    import torch

    with torch.no_grad():
        model(torch.zeros(1, 1, dtype=torch.int64))
    if sum(parameter.numel() for parameter in model.parameters()) > 10_000_000:
        raise FaultError("a model of a few kilobytes grew")


def resumed(path: Path) -> Any:
    import numpy

    from bpe.minigpt import checkpoints
    from bpe.minigpt.model import MiniGPTConfig
    from bpe.minigpt.training import Trainer, TrainingSettings

    config = MiniGPTConfig(7, block_size=4, embedding_dim=8, num_heads=2, num_layers=1, dropout=0.0)
    trainer = Trainer(
        config, TrainingSettings(3, batch_size=2), numpy.arange(50) % 7, _seven().fingerprint, "cpu"
    )
    checkpoints.resume(path, trainer)
    if not 0 <= trainer.step <= 3:
        raise FaultError(f"it continues at step {trainer.step} of 3")
    trainer.train_step()
    return trainer.model


def ids_npy(rng: random.Random, folder: Path) -> Path:
    import numpy

    path = folder / "ids.npy"
    data = io.BytesIO()
    kind = rng.choice(["uint16", "int64", "uint64", "float32", "bool", "complex64", "S3", "<M8[s]", "uint8"])
    shape = rng.choice([(9,), (9,), (9,), (3, 3), (), (0,)])
    numpy.save(data, numpy.zeros(shape, dtype=kind))
    content = data.getvalue()
    if rng.random() < 0.2:
        shape_text = rng.choice(
            [
                b"(10000000000,)",
                b"(-1,)",
                b"(2**40,)",
                b"(9,)*9",
                b"(1e3,)",
                b"(True,)",
                b"(999999999999999999999,)",
            ]
        )
        content = content.replace(b"(9,)", shape_text).replace(b"F', 'b", b"F', 'b")
    path.write_bytes(mutate_bytes(rng, content) if rng.random() < 0.7 else content)
    return path


def ids_pt(rng: random.Random, folder: Path) -> Path:
    import torch

    path = folder / "ids.pt"
    content = rng.choice(
        [
            torch.arange(9),
            torch.zeros(1, dtype=torch.int64).expand(10 ** rng.choice([4, 8, 10])),
            torch.zeros(3, 3),
            [1, 2],
            {"a": 1},
            torch.zeros(9, dtype=torch.bool),
            7,
            _hostile_tensor(rng),
        ]
    )
    torch.save(content, path)
    if rng.random() < 0.5:
        path.write_bytes(mutate_bytes(rng, path.read_bytes()))
    return path


def ids_text(rng: random.Random, folder: Path) -> Path:
    path = folder / "ids.txt"
    odd = [
        "1",
        "22",
        "0",
        "-1",
        "٣",
        "1e3",
        "0x1",
        "[1,",
        "²",
        "9" * 5_000,
        "99999999999",
        "1_0",
        "+1",
        "\x00",
    ]
    words = [rng.choice(odd) for _ in range(rng.choice([0, 1, 2, 2]))]
    text = rng.choice([" ", "\n", "\u3000", ","]).join(["1", "2", *words])
    path.write_bytes(mutate_bytes(rng, text.encode()) if rng.random() < 0.3 else text.encode())
    return path


def open_ids(path: Path) -> Any:
    from bpe import saving

    return saving.read_ids(path)


NAMES = ["poet.tang.0.json", "other.json"]


def archives(rng: random.Random, folder: Path) -> Path:
    """An archive with members that honest ones have, and others; or a damaged one."""
    path = folder / rng.choice(["a.tar.gz", "a.zip"])
    prefixes = ["", "", "x/", "../", "/", "C:\\", "..\\", "x/../", "\x1b[1m", "a\x00", "月", "a" * 300]
    names = [
        rng.choice(prefixes) + rng.choice([*NAMES, NAMES[0] + "/", ""]) for _ in range(rng.randint(0, 4))
    ]
    if path.suffix == ".zip":
        with zipfile.ZipFile(
            path, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
        ) as zipped:
            for name in names:
                info = zipfile.ZipInfo(name or "x")
                info.compress_type = zipped.compression
                info.external_attr = rng.choice([0, 0o100644 << 16, 0o120777 << 16, 0o010644 << 16])
                zipped.writestr(info, rng.choice([b"[]", b"x" * 100, bytes(3_000_000)]))
    else:
        data = io.BytesIO()
        form = rng.choice([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
        with tarfile.open(fileobj=data, mode="w", format=form) as tar:
            for name in names:
                info = tarfile.TarInfo(name[:99] if form == tarfile.USTAR_FORMAT else name)
                info.type = rng.choice(
                    [tarfile.REGTYPE] * 6
                    + [
                        tarfile.SYMTYPE,
                        tarfile.LNKTYPE,
                        tarfile.CHRTYPE,
                        tarfile.FIFOTYPE,
                        tarfile.DIRTYPE,
                        b"S",
                        b"Z",
                    ]
                )
                info.linkname = rng.choice(["", "/etc/passwd", "../x"])
                content = rng.choice([b"[]", b"x" * 100, bytes(3_000_000)]) if info.isreg() else b""
                info.size = len(content)
                if form == tarfile.PAX_FORMAT and rng.random() < 0.4:
                    key = rng.choice(
                        ["size", "path", "comment", "GNU.sparse.size", "GNU.sparse.map", "mtime"]
                    )
                    value = rng.choice(["1", "-1", "99999999999", "x", "a" * 9_000, "../x", "0,1"])
                    info.pax_headers = {key: value}
                try:
                    tar.addfile(info, io.BytesIO(content))
                except (ValueError, UnicodeError):
                    continue
        raw = data.getvalue()
        if rng.random() < 0.5:
            raw = mutate_bytes(rng, raw)
        before = b""
        if rng.random() < 0.15:  # a chain of long names
            number, size = rng.choice([(3, 1_000), (40, 1_000), (3, 3_900_000), (300, 3_900_000)])
            before = gzip.compress(long_name(size), 6) * number
        path.write_bytes(before + gzip.compress(raw, 1))
    if rng.random() < 0.4:
        path.write_bytes(mutate_bytes(rng, path.read_bytes()))
    return path


def long_name(size: int) -> bytes:
    """A header of GNU tar that brings a long name for the next one."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, size
    return info.tobuf(tarfile.GNU_FORMAT) + b"a" * size + bytes(-size % 512)


def open_archive(path: Path) -> Any:
    from bpe.corpora import download

    try:
        return list(download.read_archive(path, NAMES, 2_000_000))
    except download.SourceError as error:
        raise ValueError(str(error)) from error


def poem_json(rng: random.Random, folder: Path) -> Path:
    path = folder / "poet.tang.0.json"
    content = [
        {"title": "t", "author": "a", "paragraphs": ["牀前明月光，疑是地上霜。", "舉頭望明月，低頭思故鄉。"]}
    ] * 3
    data = json.dumps(content, ensure_ascii=False).encode()
    path.write_bytes(
        mutate_bytes(rng, data) if rng.random() < 0.3 else to_text(rng, mutate_json(rng, content))
    )
    return path


def open_poems(path: Path) -> Any:
    from bpe.corpora import poems

    return poems.read_poems([path])


def use_poems(found: list[str], folder: Path) -> None:
    from bpe.corpora import poems

    [poems.form_of(poem) for poem in found]
    poems.without_duplicates(found)
    poems.from_text(poems.to_text(found))


def prepared_poems(rng: random.Random, folder: Path) -> Path:
    path = folder / "tang_poems.txt"
    path.write_bytes(mutate_bytes(rng, "床前明月光，疑是地上霜。举头望明月，低头思故乡。\n".encode() * 3))
    return path


def open_prepared_poems(path: Path) -> Any:
    from bpe import corpora

    os.environ["BPE_DATA"] = str(path.parent)
    return corpora.tang_poems()


def results_json(rng: random.Random, folder: Path) -> Path:
    path = folder / "minigpt_tiny.json"
    content = {
        "command": "x",
        "profile": "tiny",
        "summary": [{"corpus": "tang", "seeds": [0, 1]}],
        "runs": [_result()],
    }
    _write_damaged(rng, path, content)
    return path


def _write_damaged(rng: random.Random, path: Path, content: dict[str, Any]) -> None:
    """Write JSON with other values, or with other bytes."""
    path.write_bytes(
        to_text(rng, mutate_json(rng, content))
        if rng.random() < 0.7
        else mutate_bytes(rng, json.dumps(content).encode())
    )


def open_results(path: Path) -> Any:
    from bpe.minigpt import results

    results.FOLDER = path.parent
    return results.read("minigpt_tiny")


def _result() -> dict[str, Any]:
    return {
        "corpus": "tang", "tokenizer": "bytes", "profile": "tiny", "seed": 0, "characters_seen": None,
        "fingerprint": "0" * 64, "parameters": {"embedding": 5, "body": 6}, "tokens": 9, "characters": 9,
        "bytes": 9, "flops": 9, "seconds": 1.0,
        "tokens_per_second": 9, "characters_per_token": 1.5,
        "held_out": {"bits_per_byte": 2.0, "bits_per_character": 5.0},
        "curve": [{"characters": 1, "flops": 1, "bits_per_byte": 2.0}],
        "machine": {"device": "cpu"}, "samples": ["a"],
    }  # fmt: skip


def run_result(rng: random.Random, folder: Path) -> Path:
    runs = folder / "runs" / "tang-bytes-tiny-seed0"
    runs.mkdir(parents=True)
    path = runs / "result.json"
    content = _result()
    _write_damaged(rng, path, content)
    return path


def open_run_result(path: Path) -> Any:
    """Read the result of a run into the table of all, and show the table."""
    from bpe.minigpt import results, table

    os.environ["BPE_DATA"] = str(path.parents[2])
    results.FOLDER = path.parents[2] / "results"
    table.write("tiny")
    return list(table.lines("tiny"))


@cache
def parquet() -> bytes:
    import pyarrow
    from pyarrow import parquet as writer

    data = io.BytesIO()
    writer.write_table(pyarrow.table({"text": ["= A =", "", "a b c"] * 3}), data)
    return data.getvalue()


def wikitext(rng: random.Random, folder: Path) -> Path:
    kind = rng.choice(["parquet", "txt", "tokens"])
    for split in ("train", "valid", "test"):
        (folder / f"{split}.{kind}").write_bytes(
            parquet() if kind == "parquet" else b" = A = \n\n a b c \n" * 3
        )
    path = folder / f"train.{kind}"
    path.write_bytes(mutate_bytes(rng, path.read_bytes()))
    return path


def open_wikitext(path: Path) -> Any:
    from bpe.corpora import download, wikitext_sources

    try:
        return wikitext_sources.from_folder(path.parent)
    except download.SourceError as error:
        raise ValueError(str(error)) from error


def _open_tokenizer(path: Path) -> Any:
    from bpe import load_tokenizer

    return load_tokenizer(path)


def _open_tokenizers_json(path: Path) -> Any:
    from bpe import formats

    return formats.load_tokenizers_json(path)


def _open_sentencepiece(path: Path) -> Any:
    from bpe import formats

    return formats.load_sentencepiece(path)


Write = Callable[[random.Random, Path], Path]


def _ours(kind: str, sealed: bool) -> Write:
    return lambda rng, folder: ours(rng, folder, kind, sealed)


OURS = ["bytes", "letters", "characters", "words", "wordpiece", "unigram", "unigram with bytes"]
KINDS: dict[str, tuple[Write, Open, Use]] = {
    **{kind: (_ours(kind, True), _open_tokenizer, use_tokenizer) for kind in OURS},
    **{f"{kind}, unsealed": (_ours(kind, False), _open_tokenizer, use_tokenizer) for kind in OURS},
    "tokenizer.json": (tokenizers_json, _open_tokenizers_json, use_tokenizer),
    "vocab.json and merges.txt": (gpt2, open_gpt2, use_tokenizer),
    "ranks": (ranks, open_ranks, use_tokenizer),
    "sentencepiece": (sentencepiece, _open_sentencepiece, use_tokenizer),
    "checkpoint": (checkpoints, open_checkpoint, use_model),
    "checkpoint, resumed": (checkpoints, resumed, use_nothing),
    "ids.npy": (ids_npy, open_ids, use_ids),
    "ids.pt": (ids_pt, open_ids, use_ids),
    "ids.txt": (ids_text, open_ids, use_ids),
    "archive": (archives, open_archive, use_nothing),
    "raw poems": (poem_json, open_poems, use_poems),
    "prepared poems": (prepared_poems, open_prepared_poems, use_nothing),
    "results": (results_json, open_results, use_finite),
    "result of a run": (run_result, open_run_result, use_nothing),
    "wikitext": (wikitext, open_wikitext, use_nothing),
}


# --- the process


def limit_memory() -> None:
    try:
        import resource

        taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf(
            "SC_PAGE_SIZE"
        )
    except (ImportError, OSError):  # not Linux
        return
    resource.setrlimit(resource.RLIMIT_AS, (taken + MOST_MEMORY,) * 2)


def try_case(kind: str, rng: random.Random, folder: Path) -> None:
    write, open_file, use = KINDS[kind]
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(50_000)  # to write what is nested deeper than it may be
    path = write(rng, folder)
    sys.setrecursionlimit(usual)
    there = sorted(folder.rglob("*"))
    try:
        content = open_file(path)
    except (ValueError, OSError) as error:
        said = f"{error} {getattr(error, 'filename', '')}"
        if not any(name in said for name in (path.name, "merges.txt", "tang-bytes-tiny")):
            raise FaultError(
                f"the file is not named: {type(error).__name__}: {str(error)[:200]!r}"
            ) from error
        if len(str(error)) > 5_000:
            raise FaultError(f"a message of {len(str(error)):,} characters: {str(error)[:120]!r}") from None
    else:
        use(content, folder)
    left = [
        found
        for found in sorted(folder.rglob("*"))
        if found not in there and "results" not in found.parts and found.name != ".lock"
    ]
    if left:
        raise FaultError(f"left behind: {left}")


def main(kind: str, first: int, last: int) -> None:
    from bpe import presplit

    os.fsync = lambda _: None  # nothing here loses power
    presplit.SECONDS = 0.3  # before an expression of a file is given up
    with tempfile.TemporaryDirectory() as folder:  # whatever is imported or cached takes its memory now
        write, open_file, use = KINDS[kind]
        for number in range(3):
            (Path(folder) / str(number)).mkdir()
            try:
                use(open_file(write(random.Random(number), Path(folder) / str(number))), Path(folder))
            except Exception:
                continue
    limit_memory()
    for number in range(first, last):
        print("case", number, flush=True)
        if hasattr(signal, "setitimer"):  # ends the process, in compiled code too, wherever it hangs
            signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            inside = Path(folder) / "in"
            inside.mkdir()
            try:
                try_case(kind, seeded(kind, number), inside)
                if sorted(path.name for path in Path(folder).iterdir()) != ["in"]:
                    raise FaultError(
                        f"something was written beside the folder: {list(Path(folder).iterdir())}"
                    )
            except BaseException as error:
                lines = traceback.format_exception_only(error)[-1].strip()
                where = traceback.extract_tb(error.__traceback__)[-1]
                message = f"{lines[:300]} ({Path(where.filename).name}:{where.lineno})"
                print("failed", number, ascii(message), flush=True)
                if not isinstance(error, Exception):
                    raise
            os.chdir("/")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
