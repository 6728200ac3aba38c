"""Hostile names and texts in everything that shows: nothing invisible arrives, and HTML is escaped."""

from __future__ import annotations

import contextlib
import html.parser
import io
import os
import random
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from campaign_cases import run_cases, sizes
from click.testing import CliRunner

import bpe
from bpe import BPETokenizer, CharTokenizer, Unigram, WordBPE, WordPiece, checks, forest, metrics, show
from bpe.__main__ import main

HIDDEN = [
    *"\x00\x07\x08\x0b\r\x1b\x7f\x85\x9b\xad\u061c\u180e\u200b\u200d\u200e\u202e\u2066\u2028\u2029\u2060\ufeff",
    *(
        "\x1b[31m",
        "\x1b]0;title\x07",
        "\x9b31m",
        "\U000e0041",
        "\U0001f3f4\U000e0067\U000e007f",
        "\ufff9\ufffb",
    ),
]
PAGES = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</td></table><b>", "\"onmouseover=\"x",
    "'><svg/onload=x>",
    "<!--", "]]>", "&lt;b&gt;", "&#x1b;", "<style>*{display:none}</style>", "</span>", "javascript:alert(1)",
]  # fmt: skip
NEVER = {"Cc", "Cf", "Zl", "Zp", "Cs"}
HARMLESS = {"style", "scope", "role", "aria-label", "aria-hidden"}  # attributes


def hostile(rng: random.Random) -> str:
    parts = [
        rng.choice(HIDDEN),
        rng.choice(PAGES),
        rng.choice(["a", "月", "e\u0301", " ", "\n", "\t", "x" * 30]),
    ]
    rng.shuffle(parts)
    return "".join(parts)


def refuse_hidden(text: str, where: str) -> None:
    left = {character for character in text if unicodedata.category(character) in NEVER} - {"\n"}
    assert not left, f"{where} lets {sorted(map(ascii, left))} through: {ascii(text)[:300]}"


TAGS = {
    "table",
    "caption",
    "tr",
    "th",
    "td",
    "span",
    "div",
    "br",
    "thead",
    "tbody",
    "b",
    "svg",
    "g",
    "text",
    "rect",
    "path",
    "line",
}


class _Page(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.text: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS - {"b", "svg"} or any(name not in HARMLESS for name, _ in attributes):
            self.faults.append(f"<{tag} {attributes}>")
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}>")

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"<!--{data}")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def refuse_foreign_tags(page: str, where: str) -> None:
    """A page has only the tags that the module writes, well nested, and no attribute that acts."""
    parser = _Page()
    parser.feed(page)
    parser.close()
    assert not parser.faults and not parser.open, (
        f"{where} writes {parser.faults or parser.open}: {page[:300]}"
    )
    refuse_hidden(page, where)
    refuse_hidden("".join(parser.text), where)


def check_shown(value: Any, where: str) -> None:
    refuse_hidden(repr(value), f"repr of {where}")
    refuse_hidden(str(value), f"str of {where}")
    if hasattr(value, "_repr_html_"):
        refuse_foreign_tags(value._repr_html_(), f"HTML of {where}")


def tokenizers(text: str, name: str) -> Iterator[Any]:
    letters = sorted(set(text) - set(" "))
    yield BPETokenizer.train(
        text * 4, 270, pattern=[bpe.presplit.regex.escape(name)], special_tokens=[name], progress=False
    )
    yield BPETokenizer.train(
        text * 4, 200, alphabet="characters", special_tokens=[name + "x"], progress=False
    )
    yield CharTokenizer(text, unknown=name + "xx")
    yield WordBPE(letters, [], [name], unknown=name + "?")
    yield WordPiece([*letters, name], [name + "x"], unknown=name + "?")
    yield Unigram(
        [
            (name, 0.0, "control"),
            *((letter, -1.0) for letter in letters if letter != name),
            ("<unk>", 0, "unknown"),
        ]
    )


@pytest.fixture(autouse=True)
def quick_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


@sizes(15, 800)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_shown(number: int) -> None:
    def run(rng: random.Random) -> None:
        text, name = hostile(rng) + hostile(rng), hostile(rng)
        for tokenizer in tokenizers(text, name):
            check_shown(tokenizer, type(tokenizer).__name__)
            for label, value in tokenizer.facts().items():
                refuse_hidden(label + value, f"facts of {type(tokenizer).__name__}")
            with contextlib.suppress(ValueError):
                check_shown(show.tokens(tokenizer, text), "show.tokens")
        check_shown(show.pieces([text, text.encode(), name.encode()[:-1]]), "show.pieces")
        check_shown(show.rows({name: [text], text: [name.encode()]}), "show.rows")
        check_shown(show.Table([name, text], [[text, name], [name.encode(), None]]), "show.Table")
        refuse_hidden(show.readable(text) + show.readable(text.encode()), "show.readable")
        trained = BPETokenizer.train(text * 3, 262, progress=False)
        measured = metrics.measure([text, name], trained.encode, trained.decode)
        check_shown(metrics.table({name: measured, text: measured}), "metrics.table")
        check_shown(metrics.compare({name: {text: measured}}, "tokens"), "metrics.compare")

    run_cases("shown", number, run)


@sizes(1, 12)
def test_what_is_drawn(number: int) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")

    def run(rng: random.Random) -> None:
        text = hostile(rng)
        axes = forest.draw(forest.grow(BPETokenizer.train(text * 3, 262, progress=False), text))
        for label in axes.texts:
            refuse_hidden(label.get_text(), "forest.draw")
        pyplot.close("all")

    run_cases("drawn", number, run)


def exercises() -> list[Any]:
    """The checks of all chapters."""
    import importlib
    import pkgutil

    found = []
    for module in pkgutil.iter_modules(checks.__path__):
        if module.name.startswith("chapter_"):
            chapter = importlib.import_module(f"bpe.checks.{module.name}")
            found += [getattr(chapter, name) for name in getattr(chapter, "__all__", [])] or [
                value
                for name, value in vars(chapter).items()
                if callable(value)
                and not name.startswith("_")
                and getattr(value, "__module__", "") == chapter.__name__
            ]
    return found


@sizes(2, 40)
def test_what_checks_say(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Answers that return, raise, or are, hostile text."""
    found = exercises()

    def run(rng: random.Random) -> None:
        text = hostile(rng)

        class Odd(list):  # type: ignore[type-arg]
            def __repr__(self) -> str:
                return text

        def returns(*args: Any, **kwargs: Any) -> Any:
            return rng.choice([text, text.encode(), [text], {text: text}, Odd([text]), (text, 1)])

        def raises(*args: Any, **kwargs: Any) -> Any:
            raise rng.choice([ValueError, KeyError, RuntimeError])(text)

        for check in rng.sample(found, min(12, len(found))):
            for answer in (returns, raises, text, Odd([text])):
                capsys.readouterr()
                with contextlib.suppress(TypeError):  # some take more than one answer
                    check(answer)
                said = capsys.readouterr()
                refuse_hidden((said.out + said.err).replace("\t", ""), f"check {check.__name__}")

    run_cases("checks", number, run)


def as_file_name(name: str) -> str:
    """As much of the name as a file may have."""
    never = '<>:"/\\|?*' + "".join(map(chr, range(32))) if sys.platform == "win32" else "/\0"
    return "".join(letter for letter in name if letter not in never)[:40]


def commands(rng: random.Random, folder: Path, text: str, name: str) -> Iterator[list[str]]:
    """Commands on hostile files, names, and options, many of which fail."""
    tokenizer = folder / "t.json"
    file_name = as_file_name(name)
    (folder / file_name).write_bytes(text.encode())
    (folder / "bad.json").write_text(rng.choice([text, "[", f'{{"format": "{file_name}"']), encoding="utf-8")
    (folder / f"{file_name}.json").write_bytes(tokenizer.read_bytes())
    shown = str(folder / file_name)
    # What is asked for is given exactly unless standard output is a terminal; here it is one.
    yield ["inspect", str(tokenizer), "--text", text.replace("\0", ""), "--special-tokens", "text"]
    yield ["inspect", f"{shown}.json", "--text", "a"]
    yield ["inspect", str(folder / "bad.json")]
    yield ["inspect", f"{shown}.missing"]
    yield ["compare", str(tokenizer), f"{shown}.json", "--text", "a"]
    yield ["compare", str(tokenizer), str(folder / "bad.json"), "--text", text.replace("\0", "")]
    yield ["encode", str(tokenizer), shown]
    yield ["encode", str(tokenizer), "--text", name.replace("\0", "")]
    yield ["encode", str(tokenizer), shown, "--output", f"{shown}.npy", "--special-tokens", "text"]
    yield ["encode", str(tokenizer), shown, "--output", f"{shown}.xyz"]
    yield ["decode", str(tokenizer), "--ids", name]
    yield ["decode", str(tokenizer), shown]
    yield ["decode", str(tokenizer), "--ids", " ".join(map(str, text.encode()))]
    yield ["fingerprint", f"{shown}.json"]
    yield ["fingerprint", str(folder / "bad.json")]
    yield [
        "train",
        shown,
        "--vocab-size",
        "300",
        "--special",
        name,
        "--output",
        str(folder / f"{file_name}.out"),
    ]
    yield ["train", shown, "--vocab-size", "300", "--pattern", name + "(", "--output", str(folder / "o.json")]
    yield [
        "train",
        shown,
        "--vocab-size",
        "5",
        "--alphabet",
        "characters",
        "--output",
        str(folder / "o.json"),
    ]
    yield ["train", shown, shown, "--vocab-size", "300", "--output", shown]
    yield ["train", shown, "--vocab-size", name, "--output", shown]
    yield ["train", shown, "--vocab-size", "300", "--output", str(folder / file_name / "x")]
    yield ["encode-splits", f"{shown}.json"]
    yield ["encode-splits", str(tokenizer), "--name", name]
    yield ["minigpt", "train", "--corpus", "tang", "--tokenizer", name, "--profile", "tiny"]
    yield ["minigpt", "train", "--corpus", name, "--tokenizer", "bytes"]
    yield ["minigpt", "train", "--corpus", "tang", "--tokenizer", "bytes", "--device", name]
    yield ["minigpt", "sample", str(folder), "--prompt", name]
    yield ["wikitext2", "--source", str(folder), "--force"]
    yield ["wikitext2"]
    yield ["wikitext2", "--source", str(folder / "missing" / file_name)]
    yield ["vocabularies", name]
    yield [name]
    yield ["train", f"--{file_name}"]


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@sizes(1, 60)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_commands_say(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    def run(rng: random.Random) -> None:
        folder = tmp_path / f"{rng.getrandbits(40):x}"
        folder.mkdir()
        text, name = hostile(rng), hostile(rng)
        data = folder / ("data" + as_file_name(name))
        monkeypatch.setenv("BPE_DATA", str(data))
        for parent in (folder, data / "wikitext2"):
            parent.mkdir(parents=True, exist_ok=True)
            for split in ("train", "valid", "test"):
                (parent / f"{split}.txt").write_bytes(f"{split} cat\n".encode())
        special = rng.choice([name, "a" + text])
        BPETokenizer.train(text * 3, 262, special_tokens=[special], progress=False).save(folder / "t.json")
        for arguments in commands(rng, folder, text, name):
            if any("\0" in argument for argument in arguments):
                arguments = [argument.replace("\0", "") for argument in arguments]
            said = run_on_a_terminal(arguments, monkeypatch)
            # A text that is decoded keeps its tabs.
            refuse_hidden(
                said.replace("\t", ""),
                f"{arguments[0]!r} {[ascii(argument)[:60] for argument in arguments[1:]]}",
            )
            assert "Traceback" not in said, said

    run_cases("commands", number, run)


def run_on_a_terminal(arguments: list[str], monkeypatch: pytest.MonkeyPatch, command: Any = main) -> str:
    """Run a command in this process; return what it wrote to a terminal."""
    out, err = _Terminal(io.BytesIO(), encoding="utf-8"), _Terminal(io.BytesIO(), encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b""), encoding="utf-8"))
        try:
            command(arguments, prog_name="bpe")
        except SystemExit as error:
            assert error.code in (0, 1, 2), error.code
        out.flush()
        err.flush()
    written = out.buffer.getvalue() + err.buffer.getvalue()  # type: ignore[attr-defined]
    return written.decode("utf-8")


@sizes(1, 40)
def test_what_prepare_poems_says(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opencc")
    monkeypatch.syspath_prepend(str(Path(bpe.__file__).parents[1]))
    import prepare_poems

    def run(rng: random.Random) -> None:
        folder = tmp_path / (f"{rng.getrandbits(40):x}" + as_file_name(hostile(rng)))
        folder.mkdir()
        monkeypatch.setenv("BPE_DATA", str(folder))
        (folder / "tang_poems.txt").write_bytes(f"{hostile(rng)}\n{hostile(rng)}\n".encode())
        (folder / "torn.txt").write_bytes(hostile(rng).encode())
        (folder / "x.zip").write_bytes(b"PK\x03\x04" + hostile(rng).encode())
        for arguments in (
            [],
            ["--output", str(folder / "torn.txt")],
            ["--force", "--source", str(folder)],
            ["--force", "--source", str(folder / "x.zip")],
            ["--source", hostile(rng).replace("\0", "")],
        ):
            said = run_on_a_terminal(arguments, monkeypatch, prepare_poems.main)
            refuse_hidden(said.replace("\t", ""), f"prepare_poems {arguments}")

    run_cases("poems", number, run)


@sizes(1, 12)
def test_what_samples_say(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    import numpy

    from bpe.minigpt import checkpoints
    from bpe.minigpt.model import MiniGPTConfig
    from bpe.minigpt.training import Trainer, TrainingSettings

    def run(rng: random.Random) -> None:
        folder = tmp_path / f"{rng.getrandbits(40):x}"
        folder.mkdir()
        tokenizer = CharTokenizer("\n" + "".join(HIDDEN) + hostile(rng), unknown="\x1b[31m")
        tokenizer.save(folder / "tokenizer.json")
        config = MiniGPTConfig(tokenizer.vocab_size, block_size=4, embedding_dim=8, num_heads=2, num_layers=1)
        ids = numpy.arange(50) % tokenizer.vocab_size
        trainer = Trainer(config, TrainingSettings(3, batch_size=2), ids, tokenizer.fingerprint, "cpu")
        checkpoints.save(folder / "checkpoint.pt", trainer)
        prompt = rng.choice(["\n", hostile(rng).replace("\0", "")])
        arguments = [
            "minigpt",
            "sample",
            str(folder),
            "--prompt",
            prompt,
            "--tokens",
            "30",
            "--seed",
            "1",
            "--device",
            "cpu",
        ]
        refuse_hidden(run_on_a_terminal(arguments, monkeypatch).replace("\t", ""), "minigpt sample")

    run_cases("samples", number, run)


def test_the_runner_sees_what_is_written(tmp_path: Path) -> None:
    """The harness notices a character that hides: nothing else stands between a command and the terminal."""
    with pytest.raises(AssertionError, match="lets"):
        refuse_hidden("a\u202e", "a test")
    with pytest.raises(AssertionError, match="writes"):
        refuse_foreign_tags("<table><tr><td><script>x</script></td></tr></table>", "a test")
    assert CliRunner().invoke(main, ["--version"]).exit_code == 0
