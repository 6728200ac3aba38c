"""The command that compiles the engine leaves nothing to compile."""

import subprocess
import sys
from unittest.mock import Mock

import pytest

pytest.importorskip("numba")

from click.testing import CliRunner

from bpe.__main__ import main
from bpe.commands.compile import compile_engine


def test_the_command_that_compiles():
    said = CliRunner().invoke(compile_engine, [], standalone_mode=False)
    assert said.exception is None
    assert said.output.startswith("The compiled engine is ready (")


EVERYTHING = """
from bpe import BPETokenizer, WordBPE
from bpe.commands.compile import TEXT, compile_engine
from bpe.fast import arrays, encoding, pieces, scanner, training

def signatures():
    return {
        f"{module.__name__}.{name}": function.signatures
        for module in (arrays, encoding, pieces, scanner, training)
        for name, function in vars(module).items() if hasattr(function, "signatures")
    }

compile_engine(standalone_mode=False)
ready = signatures()
assert len(ready) > 40
for alphabet in ("bytes", "characters"):
    for pattern in ("gpt2", "words", None):
        options = {"alphabet": alphabet, "pattern": pattern, "engine": "compiled", "progress": False}
        for text in (TEXT, [TEXT, TEXT]):
            made = BPETokenizer.train(text, 11_000, special_tokens=["三"], **options)
        for whole in (True, False):
            made = BPETokenizer(made.vocabulary, made.merges, made.split, made.special_tokens, whole)
            made.encode(TEXT, allowed_special="all", engine="compiled")
WordBPE.train(TEXT, 11_000, engine="compiled", progress=False)
print({name: here for name, here in signatures().items() if here != ready[name]})
"""


def test_nothing_is_left_to_compile():
    done = subprocess.run([sys.executable, "-c", EVERYTHING], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "{}"


def test_the_command_without_numba(monkeypatch):
    monkeypatch.setattr("bpe.commands.compile.find_spec", lambda name: None)
    said = CliRunner().invoke(compile_engine, [])
    assert said.exit_code == 1
    assert "Numba is not installed; install it with: python -m pip install numba" in said.output


def test_the_command_if_numba_can_not_be_loaded(monkeypatch):
    refused = Mock(side_effect=ImportError("Numba needs NumPy 2.3 or less"))
    monkeypatch.setattr("bpe.commands.compile.BPETokenizer.train", refused)
    said = CliRunner().invoke(main, ["compile"])
    assert said.exit_code == 1
    assert said.output.strip().endswith("Error: Numba needs NumPy 2.3 or less")
