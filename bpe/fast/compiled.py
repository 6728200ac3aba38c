"""The compiled engine: the merges and ids of `bpe.naive`, from flat arrays and code that Numba compiles.

Its parts: `training` learns merges, `encoding` applies them, `pieces` and `scanner` cut and count, `arrays`
holds what these share, and `machine_code` compiles and keeps the result on disk.
"""

from bpe.fast.encoding import Encoder, apply_merges
from bpe.fast.pieces import Pieces, count, lay_out
from bpe.fast.scanner import knows
from bpe.fast.training import learn_from_symbols, learn_merges

__all__ = [
    "Encoder",
    "Pieces",
    "apply_merges",
    "count",
    "knows",
    "lay_out",
    "learn_from_symbols",
    "learn_merges",
]
