"""`compile`: compile the fast engine now, so that nobody waits for it later."""

from __future__ import annotations

import time
import warnings
from importlib.util import find_spec

import click

from bpe.bytepair import BPETokenizer
from bpe.commands.console import say
from bpe.counting import FewTokensWarning
from bpe.subwords.words import WordBPE

# Long enough for compiled code to cut and count it in two parts, with more different pieces than a table has
# room for at first.
TEXT = "Low, lower, lowest: 3 月光。\n" * 12_000 + "".join(f"{chr(0x4E00 + k)}\n" for k in range(10_000))


@click.command(name="compile")
def compile_engine() -> None:
    """Compile the fast engine now. Otherwise the first long text waits half a minute for it.

    The compiled code is kept on disk. It is compiled again when Numba, Python or the engine's code changes.
    """
    if not find_spec("numba"):
        raise click.ClickException("Numba is not installed; install it with: python -m pip install numba")
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewTokensWarning)
        _use_all()
    say(f"The compiled engine is ready ({time.perf_counter() - start:.0f} s).")


def _use_all() -> None:
    """Train and encode in every way that has compiled code of its own."""
    for alphabet in ("bytes", "characters"):
        for pattern in ("gpt4", None):
            trained = BPETokenizer.train(
                TEXT, 11_000, alphabet=alphabet, pattern=pattern, engine="compiled", progress=False
            )
            # Taking whole pieces needs all that encoding needs, and more.
            whole = BPETokenizer(trained.vocabulary, trained.merges, pattern, whole_pieces=True)
            whole.encode_array(TEXT, engine="compiled")
    WordBPE.train(TEXT, 11_000, engine="compiled", progress=False)
