"""Files of torch.save: what strangers may put in one, and that it takes no more memory than the file."""

import errno
import io
import struct
import tracemalloc
import warnings
import zipfile

import pytest

torch = pytest.importorskip("torch")

from bpe._tensors import check_stored, load_tensors  # noqa: E402

IDS = torch.arange(5)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "ids.pt"
    torch.save(IDS, path)
    return path


def rewrite(path, change=lambda name, content: content, **options):
    """Write the archive again, with its members changed."""
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)), **options)


def refused(path):
    with pytest.raises(ValueError, match=r"ids\.pt is not a test, or is damaged") as caught:
        load_tensors(path, "a test")
    return str(caught.value.__cause__)


def test_what_was_saved_is_loaded(path):
    assert torch.equal(load_tensors(path, "a test"), IDS)
    rewrite(path)
    assert torch.equal(load_tensors(path, "a test"), IDS)
    for dtype in (torch.uint8, torch.int16, torch.uint16, torch.bfloat16, torch.float64):
        torch.save({"a": [IDS.to(dtype), 1, None, (True, "x", 2.5)]}, path)
        assert torch.equal(load_tensors(path, "a test")["a"][0], IDS.to(dtype))


def test_members_that_are_compressed(path):
    rewrite(
        path, lambda name, content: bytes(50_000_000) if name.endswith("data/0") else content, compress_type=8
    )
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    assert "compressed" in refused(path)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_members_that_are_counted_twice(path):
    """Two entries of the list of members name the same bytes."""
    torch.save(torch.zeros(1000), path)
    with zipfile.ZipFile(path) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        member = archive.getinfo("ids/data/0")
        with zipfile.ZipFile(path, "a") as longer:
            for number in range(3):
                again = zipfile.ZipInfo(f"ids/data/{number}" if number else "ids/data/0")
                again.header_offset, again.file_size = member.header_offset, member.file_size
                again.compress_size, again.CRC = member.compress_size, member.CRC
                longer.filelist.append(again)
            longer._didModify = True
    assert refused(path) in ("two members have one name", "its members have more bytes than the file")


def test_calls_that_take_memory(path):
    call = b"\x80\x02cbuiltins\nbytearray\n\x8a\x08" + struct.pack("<q", 10**11) + b"\x85R."
    rewrite(path, lambda name, content: call if name.endswith("data.pkl") else content)
    assert "bytearray is not part of a tensor" in refused(path)


def test_a_file_in_the_format_of_old(path):
    torch.save(IDS, path, _use_new_zipfile_serialization=False)
    assert "not a zip file" in refused(path)


@pytest.mark.parametrize(
    "value",
    [torch.eye(3).to_sparse(), torch.empty(10**12, device="meta"), {1, 2}, 1j, bytearray(3), torch.float32],
    ids=["sparse", "meta", "set", "complex", "bytearray", "dtype"],
)
def test_other_objects_are_refused(path, value):
    torch.save(value, path)
    assert "not part of a tensor" in refused(path) or "dtype" in str(value) or value is torch.float32


def test_numbers_of_elements_that_are_not_there(path):
    def state(number):
        return lambda name, content: content.replace(b"K\x05", b"\x8a\x08" + struct.pack("<q", number))

    for number in (6, 10**10, -1, 2**62):
        torch.save(IDS, path)
        rewrite(path, state(number))
        refused(path)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(1).expand(10**10),
        torch.zeros(4).as_strided((5,), (0,)),
        torch.zeros(4).as_strided((4, 2), (1, 0)),
    ],
)
def test_one_number_that_is_many_elements(path, tensor):
    torch.save(tensor, path)
    with pytest.raises(ValueError, match=r"its tensors state [\d,]+ bytes, and [\d,]+ are stored"):
        check_stored([load_tensors(path, "a test")])


def test_tensors_that_share_their_numbers():
    check_stored([])
    check_stored([IDS, IDS.clone(), torch.zeros(0)])
    check_stored([IDS[1:3]])
    with pytest.raises(ValueError, match="state 80 bytes, and 40 are stored"):
        check_stored([IDS, IDS.view(5, 1)])


def test_a_memory_that_is_too_small(path, monkeypatch):
    def full(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr(torch, "load", full)
    with pytest.raises(OSError) as caught:
        load_tensors(path, "a test")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOMEM, str(path))
