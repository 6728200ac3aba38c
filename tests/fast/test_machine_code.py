"""Machine code on disk stays right, whatever happens to its files, and follows every change of the source."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

numba = pytest.importorskip("numba")

from numba.core.caching import IndexDataCacheFile  # noqa: E402

import bpe  # noqa: E402
from bpe.fast import encoding, machine_code  # noqa: E402

CODE = """from bpe.fast.machine_code import compile_kernel


@compile_kernel
def times(x):
    return {} * x
"""


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The files of the folder that keeps machine code, by their suffix."""
    folder = tmp_path / "kept"
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    return lambda suffix: list(folder.rglob(f"*.{suffix}"))


@pytest.fixture
def times(tmp_path):
    """Make a compiled function as a new process has it: times(3)(x) is 3 x."""

    def make(factor):
        path = tmp_path / "made.py"
        path.write_text(CODE.format(factor), encoding="ascii")
        machine_code.hash_sources.cache_clear()
        spec = importlib.util.spec_from_file_location("made", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.times

    return make


def hits(function):
    return sum(function.stats.cache_hits.values())


def test_it_is_compiled_once(kept, times):
    assert times(3)(7) == 21
    again = times(3)
    assert again(7) == 21 and hits(again) == 1
    other = times(4)
    assert other(7) == 28 and hits(other) == 0


# One pair merged by a kernel of encoding.py, which calls hash_key and may_hold in arrays.py.
KERNEL = """
from bpe.fast import encoding
table, bits = encoding._make_pair_table(encoding._make_entries({(1, 2): (0, 3)}))
found = encoding._find_rank(table, bits, 1, 2)
hits = sum(encoding._find_rank.stats.cache_hits.values())
print(encoding.__file__, found, hits)
"""


def test_a_change_in_another_file_compiles_again(tmp_path):
    """The kernel's machine code includes the kernels that it calls, wherever they are."""
    package = tmp_path / "bpe"
    shutil.copytree(Path(bpe.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    arrays = package / "fast" / "arrays.py"

    def run():
        """Return what the kernel found, and whether its machine code was read from the disk."""
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        command = [sys.executable, "-c", KERNEL]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path
        )
        path, found, hits = done.stdout.rsplit(maxsplit=2)
        assert Path(path).parent == arrays.parent
        return int(found), int(hits) == 1

    assert run() == (3, False)
    assert run() == (3, True)
    os.utime(arrays, (1, 1))
    assert run() == (3, True)
    source = arrays.read_text(encoding="utf-8")
    changed = source.replace(
        "    return bits[(hashed >> 43) & (len(bits) - 1)] >>", "    return bits[0] * 0 >>"
    )
    assert changed != source
    arrays.write_text(changed, encoding="utf-8")
    assert run() == (encoding.NEVER, False)  # now no filter seems to hold anything


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("left", [0, 10, -10])
def test_a_damaged_file_is_made_again(kept, times, suffix, left):
    times(3)(7)
    (path,) = kept(suffix)
    path.write_bytes(path.read_bytes()[:left])
    damaged = times(3)
    assert damaged(7) == 21 and hits(damaged) == 0
    mended = times(3)
    assert mended(7) == 21 and hits(mended) == 1


def test_files_that_two_processes_mixed_up(kept, times):
    """One wrote the index, with its own types, and the other the file."""
    both = times(3)
    assert both(7) == 21 and both(0.5) == 1.5
    first, second = sorted(kept("nbc"))
    second.write_bytes(first.read_bytes())
    mixed = times(3)
    assert mixed(7) == 21 and mixed(0.5) == 1.5
    mended = times(3)
    assert mended(0.5) == 1.5 and hits(mended) == 1


def test_where_no_file_can_be_written(tmp_path, kept, times, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")
    (tmp_path / "kept").write_bytes(b"")
    assert times(3)(7) == 21


def test_where_no_source_can_be_read(kept, times, monkeypatch):
    """Without it no key is safe, so nothing is kept."""

    def refuse(folder):
        raise FileNotFoundError(folder)

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert times(3)(7) == 21
    assert not kept("nbi")


@pytest.mark.parametrize(
    "stopped_by",
    [OSError(28, "No space left on device"), KeyboardInterrupt()],
    ids=["a full disk", "Ctrl-C"],
)
def test_a_full_disk_and_ctrl_c(kept, times, monkeypatch, stopped_by):
    """What an older version of the code left must not pass for what could not be written."""
    times(3)(7)

    def stop(*_):
        raise stopped_by

    with monkeypatch.context() as patch:
        patch.setattr(IndexDataCacheFile, "_save_data", stop)
        if isinstance(stopped_by, OSError):
            assert times(4)(7) == 28
        else:
            with pytest.raises(KeyboardInterrupt):
                times(4)(7)
    assert times(4)(7) == 28
