"""The engines that this machine can run."""

from importlib.util import find_spec

from bpe.fast import ENGINES as ALL

ENGINES = [name for name in ALL if name != "auto" and (name != "compiled" or find_spec("numba"))]
