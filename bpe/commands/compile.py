"""`compile`: compile the fast engine now, so that nobody waits for it later."""

from __future__ import annotations

import time
from importlib.util import find_spec

import click

from bpe.bytepair import BPETokenizer
from bpe.engines import WORTH_COMPILING

# Long enough to be cut and counted by compiled code.
TEXT = "Low, lower, lowest: 3 月光。\n"


@click.command(name="compile")
def compile_engine() -> None:
    """Compile the fast engine now. Without it, the first long text waits half a minute for that.

    Compiled code is kept on disk, and made again when Numba, Python or the engine's code change.
    """
    if not find_spec("numba"):
        raise click.ClickException('Numba is not installed; pip install "bpe-course[fast]" brings it.')
    start = time.perf_counter()
    text = TEXT * (WORTH_COMPILING // len(TEXT) + 1)
    for alphabet in ("bytes", "characters"):
        for pattern in ("gpt4", None):
            tokenizer = BPETokenizer.train(
                text, 270, alphabet=alphabet, pattern=pattern, engine="compiled", progress=False
            )
            tokenizer.encode_array(text, engine="compiled")
    click.echo(f"The compiled engine is ready ({time.perf_counter() - start:.0f} s).")
