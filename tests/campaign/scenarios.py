"""Commands that write: what is there before, what to run, and what is there afterwards."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from disturbed import RAW

from bpe import BPETokenizer, CharTokenizer

HERE = Path(__file__).parent
TEXT = "the cat sat on the mat, and the dog sat on the cat.\n" * 40
POEMS = [
    f"{chr(0x4E00 + k)}前明月光，疑是地上霜。舉頭望明月，低頭思故{chr(0x5000 + k)}。" for k in range(520)
]

Files = dict[str, str]  # name -> SHA-256 of what counts in it


@dataclasses.dataclass(frozen=True)
class Scenario:
    """program, arguments: what to run, in the folder. before: the arguments of runs that came earlier.

    again: what to run after a kill, if not the same. mixed: whether what is there may be of both runs.
    """

    arguments: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    program: str = "bpe"
    needs: tuple[str, ...] = ()
    weight: int = 1


def _run(arguments: str) -> tuple[str, ...]:
    return tuple(arguments.split())


TRAIN = _run("minigpt train --corpus tang --tokenizer few.json --characters-seen 3000 --device cpu")
SCENARIOS = {
    "train": Scenario(_run("train text.txt --vocab-size 290 --output data/t.json"), weight=3),
    "train over another": Scenario(
        _run("train text.txt --vocab-size 290 --output data/t.json"),
        (_run("train text.txt --vocab-size 270 --output data/t.json"),),
        weight=3,
    ),
    "encode to .npy": Scenario(
        _run("encode a.json text.txt --output data/ids.npy"),
        (_run("encode b.json text.txt --output data/ids.npy"),),
        weight=3,
    ),
    "encode to .pt": Scenario(_run("encode a.json text.txt --output data/ids.pt"), needs=("torch",)),
    "decode": Scenario(
        _run("decode a.json a.npy --output data/out.txt"),
        (_run("decode a.json --ids 97 --output data/out.txt"),),
        weight=3,
    ),
    "encode-splits": Scenario(_run("encode-splits a.json --name x"), weight=3),
    "encode-splits of another": Scenario(
        _run("encode-splits b.json --name x --force"), (_run("encode-splits a.json --name x"),), weight=4
    ),
    "wikitext2": Scenario(_run("wikitext2 --source one --force"), weight=3),
    "wikitext2 from another": Scenario(
        _run("wikitext2 --source two --force"), (_run("wikitext2 --source one --force"),), weight=4
    ),
    "poems": Scenario(_run("--source raw"), program="poems", needs=("opencc",), weight=2),
    "poems again": Scenario(
        _run("--source raw --force"), (_run("--source raw"),), program="poems", needs=("opencc",), weight=2
    ),
    "vocabularies": Scenario(_run("vocabularies gpt2"), program="vocabularies", weight=2),
    "minigpt": Scenario(TRAIN, needs=("torch",), weight=2),
    "minigpt again": Scenario((*TRAIN, "--force"), (TRAIN,), needs=("torch",)),
}


@cache
def _tokenizers() -> dict[str, Any]:
    return {
        "a.json": BPETokenizer.train(TEXT, 270, progress=False),
        "b.json": BPETokenizer.train(TEXT[::-1], 270, progress=False),
        "few.json": CharTokenizer("\n，。" + "".join(POEMS), unknown="<unk>", min_frequency=2),
    }


def furnish(folder: Path) -> None:
    """Make what the commands read, and a data folder with small corpora."""
    import numpy

    (folder / "data" / "wikitext2").mkdir(parents=True)
    for name, tokenizer in _tokenizers().items():
        tokenizer.save(folder / name)
    (folder / "text.txt").write_bytes(TEXT.encode())
    (folder / "data" / "tang_poems.txt").write_bytes("".join(f"{poem}\n" for poem in POEMS).encode())
    numpy.save(folder / "a.npy", numpy.array(_tokenizers()["a.json"].encode(TEXT), dtype="uint16"))
    for source, words in (("one", "the cat sat\n"), ("two", "a dog ran off\n")):
        (folder / source).mkdir()
        for number, split in enumerate(["train", "valid", "test"], 1):
            (folder / source / f"{split}.txt").write_bytes(f" = {split} = \n\n {words}".encode() * number)
    for split in ("train", "valid", "test"):
        (folder / "data" / "wikitext2" / f"{split}.txt").write_bytes(f"{split} {TEXT}".encode())
    (folder / "raw").mkdir()
    for name, content in RAW.items():
        (folder / "raw" / name).write_bytes(content)


def command(how: str, folder: Path, program: str, arguments: tuple[str, ...]) -> list[str]:
    return [sys.executable, str(HERE / "disturbed.py"), how, str(folder / "data"), program, *arguments]


def environment(folder: Path) -> dict[str, str]:
    temporary = folder.parent / f"{folder.name}-temporary"
    temporary.mkdir(exist_ok=True)
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parents[1])]),
        "PYTHONUTF8": "1",
        "BPE_DATA": str(folder / "data"),
        "TMPDIR": str(temporary),
        "OMP_NUM_THREADS": "1",
    }


def start(how: str, folder: Path, program: str, arguments: tuple[str, ...]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(how, folder, program, arguments),
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes], seconds: float = 120) -> tuple[int, str]:
    """Return how the command ended and what it said as errors."""
    _, said = process.communicate(timeout=seconds)
    return process.returncode, said.decode("utf-8", "backslashreplace")


def contents(folder: Path) -> Files:
    """What is in the data folder; of the records of a run, without its times."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(_what_counts(path)).hexdigest()
        for path in sorted((folder / "data").rglob("*"))
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


TIMES = {"seconds", "tokens_per_second", "machine", "time", "date"}


def _what_counts(path: Path) -> bytes:
    data = path.read_bytes()
    if path.name in ("result.json", "metrics.jsonl"):
        lines = [
            line
            for line in (data.decode() if path.suffix == ".jsonl" else json.dumps(json.loads(data))).split(
                "\n"
            )
            if line
        ]
        return repr([_without_times(json.loads(line)) for line in lines]).encode()
    if path.name == "checkpoint.pt":
        import torch

        content = torch.load(io.BytesIO(data), weights_only=True)
        return repr(
            [content["step"], content["fingerprint"], {k: v.tolist() for k, v in content["model"].items()}]
        ).encode()
    return data


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(entry) for key, entry in value.items() if key not in TIMES}
    return [_without_times(entry) for entry in value] if isinstance(value, list) else value


def temporary_files(folder: Path, but: str = "") -> list[str]:
    """What is left of writing. but: the name of what may be there; locks may."""
    return [str(path) for path in folder.rglob(".*") if path.name not in (".lock", but)]


def copied(template: Path, rng: random.Random, parent: Path) -> Path:
    folder = parent / f"case-{rng.getrandbits(48):012x}"
    shutil.copytree(template, folder)
    return folder


Check = Callable[[Path], None]
