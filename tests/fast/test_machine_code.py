"""What is compiled stays right, whatever becomes of the files that keep it."""

import importlib.util

import pytest

numba = pytest.importorskip("numba")

from numba.core.caching import IndexDataCacheFile  # noqa: E402

CODE = "from bpe.machine_code import compiled\n\n\n@compiled\ndef times(x):\n    return {} * x\n"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Where machine code is kept; its files."""
    folder = tmp_path / "kept"
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    return lambda suffix: list(folder.rglob(f"*.{suffix}"))


@pytest.fixture
def times(tmp_path):
    """A compiled function as a new process has it: times(3)(x) is 3 x."""

    def made(factor):
        path = tmp_path / "made.py"
        path.write_text(CODE.format(factor), encoding="ascii")
        spec = importlib.util.spec_from_file_location("made", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.times

    return made


def hits(function):
    return sum(function.stats.cache_hits.values())


def test_it_is_compiled_once(kept, times):
    assert times(3)(7) == 21
    again = times(3)
    assert again(7) == 21 and hits(again) == 1
    other = times(4)
    assert other(7) == 28 and hits(other) == 0


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("left", [0, 10, -10])
def test_a_damaged_file_is_made_anew(kept, times, suffix, left):
    times(3)(7)
    (path,) = kept(suffix)
    path.write_bytes(path.read_bytes()[:left])
    damaged = times(3)
    assert damaged(7) == 21 and hits(damaged) == 0
    mended = times(3)
    assert mended(7) == 21 and hits(mended) == 1


def test_files_that_two_processes_mixed_up(kept, times):
    """One wrote the list, with its own types, and the other the file."""
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


@pytest.mark.parametrize("stopped_by", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_full_disk_and_ctrl_c(kept, times, monkeypatch, stopped_by):
    """What an older version of the code left is not taken for what could not be written."""
    times(3)(7)

    def stopped(*_):
        raise stopped_by

    with monkeypatch.context() as patch:
        patch.setattr(IndexDataCacheFile, "_save_data", stopped)
        if isinstance(stopped_by, OSError):
            assert times(4)(7) == 28
        else:
            with pytest.raises(KeyboardInterrupt):
                times(4)(7)
    assert times(4)(7) == 28
