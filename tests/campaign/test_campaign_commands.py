"""Texts and ids that commands read bit by bit, in bits of a few bytes: the same as at once."""

from __future__ import annotations

import io
import os
import random
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from campaign_cases import make_text, outcome, run_cases, sizes
from click.testing import CliRunner

from bpe import BPETokenizer, CharTokenizer, Unigram, WordBPE, WordPiece, _files, presplit, saving, tokenizer
from bpe.__main__ import main

pytest.importorskip("numpy")


@pytest.fixture(autouse=True)
def quick_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


@sizes(300, 10_000)
def test_utf8_in_chunks(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damaged UTF-8 too: the same error at the same place."""

    def run(rng: random.Random) -> None:
        data = make_text(rng, 30).encode()
        if rng.random() < 0.3:
            data = b"\xef\xbb\xbf" * rng.choice([1, 2]) + data
        if rng.random() < 0.5:
            place = rng.randint(0, len(data))
            data = (
                data[:place]
                + rng.choice([b"\xff", b"\x80", b"\xe6\x9c", b"\xed\xa0\x80", b"\xc0\x80"])
                + data[place:]
            )
        if rng.random() < 0.3:
            data = data[: rng.randint(0, len(data))]
        monkeypatch.setattr(_files, "CHUNK", rng.choice([1, 2, 3, 4, 7]))
        whole = outcome(lambda: _files.decode_utf8(data, "a file"))
        assert outcome(lambda: "".join(_files.decode_chunks(io.BytesIO(data), "a file"))) == whole, data

    run_cases("utf8", number, run)


def make(rng: random.Random, text: str) -> Any:
    given = (text + " the cat sat on the mat ") * 2
    names = rng.choice([[], ["<|end|>"], ["a", "at"]])
    pattern = rng.choice([None, *presplit.PATTERNS, r"\s+"])
    match rng.randrange(6):
        case 0 | 1:
            return BPETokenizer.train(given, 275, pattern=pattern, special_tokens=names, progress=False)
        case 2:
            return CharTokenizer(given, unknown="<unk>")
        case 3:
            return WordBPE.train(given, len(set(given)) + 20, special_tokens=names, progress=False)
        case 4:
            return WordPiece.train(given, 2 * len(set(given)) + 20, special_tokens=names, progress=False)
        case _:
            return Unigram.train(given, 300 + len(set(given)), special_tokens=names, progress=False)


def run(arguments: list[str]) -> tuple[int, bytes, str]:
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout_bytes, result.stderr


@sizes(10, 1_000)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_encode_and_decode(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suffixes = [".npy"] * 5 + [".pt"] * bool(find_spec("torch"))

    def run_case(rng: random.Random) -> None:
        monkeypatch.setattr(_files, "CHUNK", rng.choice([1, 3, 5, 1 << 20]))
        monkeypatch.setattr(tokenizer, "BATCH", rng.choice([1, 2, 1 << 16]))
        monkeypatch.setattr(saving, "STRETCH", rng.choice([1, 3, 1 << 16]))
        texts = [make_text(rng) for _ in range(rng.randint(1, 2))]
        made = make(rng, texts[0])
        made.save(tmp_path / "t.json")
        files = []
        for k, text in enumerate(texts):
            files.append(tmp_path / f"{k}.txt")
            files[-1].write_bytes(rng.choice([b"", b"\xef\xbb\xbf"]) + text.encode())
        texts = [_files.read_text(path) for path in files]
        how = rng.choice(["refuse", "take", "text"])
        options = {"refuse": {}, "take": {"allowed_special": "all"}, "text": {"disallowed_special": ()}}[how]
        expected = outcome(lambda: [made.encode(text, **options) for text in texts])
        arguments = ["encode", str(tmp_path / "t.json"), *map(str, files), "--special-tokens", how]
        status, said, errors = run(arguments)
        path = tmp_path / f"ids{rng.choice(suffixes)}"
        path.unlink(missing_ok=True)
        status_of_file, _, _ = run([*arguments, "--output", str(path)])
        if isinstance(expected, str):
            assert status == status_of_file == 1 and errors.startswith("Error: "), errors
            assert not path.exists()
            return
        assert status == status_of_file == 0, errors
        assert said == "".join(" ".join(map(str, ids)) + "\n" for ids in expected).encode()
        ids = [i for row in expected for i in row]
        assert saving.read_ids(path) == ids
        status, said, errors = run(["decode", str(tmp_path / "t.json"), str(path)])
        assert status == 0, errors
        assert said == made.decode_bytes(ids)

    run_cases("encode and decode", number, run_case)


@sizes(10, 1_000)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_train(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tokenizer of the command is that of `BPETokenizer.train` on the same documents."""

    def run_case(rng: random.Random) -> None:
        monkeypatch.setattr(_files, "CHUNK", rng.choice([1, 3, 5, 1 << 20]))
        texts = [make_text(rng) for _ in range(rng.randint(1, 3))]
        files = [tmp_path / f"{k}.txt" for k in range(len(texts))]
        for path, text in zip(files, texts, strict=True):
            path.write_bytes(text.encode())
        documents = [_files.read_text(path) for path in files]
        output = tmp_path / "t.json"
        output.unlink(missing_ok=True)
        arguments = ["train", *map(str, files), "--output", str(output)]
        options: dict[str, Any] = {"alphabet": rng.choice(["bytes", "characters"])}
        arguments += ["--alphabet", options["alphabet"]]
        if pattern := rng.choice([None, *presplit.PATTERNS, r"\s+"]):
            options["pattern"] = pattern
            arguments += ["--pattern", pattern]
        for name in rng.choice([[], [], ["<|end|>"], ["a", "ab"], ["\n"]]):
            options.setdefault("special_tokens", []).append(name)
            arguments += ["--special", name]
        if rng.random() < 0.3:
            left = rng.randint(1, 60)
            arguments += ["--characters", str(left)]
            for k, text in enumerate(documents):
                documents[k] = text[:left]
                left -= len(documents[k])
            documents = [text for text in documents if text]
        if (least := rng.choice([1, 2, 3])) != 2:
            options["min_frequency"] = least
            arguments += ["--min-frequency", str(least)]
        size = rng.choice([5, 40, 256, 270, 300])
        expected = outcome(lambda: BPETokenizer.train(documents, size, progress=False, **options).fingerprint)
        status, _, errors = run([*arguments, "--vocab-size", str(size)])
        if status == 0:
            assert saving.load_tokenizer(output).fingerprint == expected, errors
        else:
            assert " " in expected and errors.splitlines()[-1].startswith("Error: "), (errors, expected)
            assert not output.exists()

    run_cases("train", number, run_case)
