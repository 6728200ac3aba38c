"""Reading what `torch.save` wrote, whoever wrote it: nothing in the file is executed or believed.

`torch.load(weights_only=True)` executes nothing, but a small file can still make it take much memory: by
members of the archive that are compressed or counted twice, by a call such as bytearray(10**12), and by
tensors whose elements are all the same stored one. So the archive is checked first, and the tensors after.
"""

from __future__ import annotations

import errno
import io
import os
import pickletools
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpe._files import read_bytes

if TYPE_CHECKING:
    from torch import Tensor

MOST_PICKLED = 1 << 21  # bytes of all but the tensors' elements; for a model of 8 layers about 40,000

# What dictionaries of ordinary tensors are pickled with.
_KNOWN = re.compile(
    r"collections OrderedDict|torch\._utils _rebuild_tensor_v[23]|torch\.storage UntypedStorage"
    r"|torch (\w+Storage|uint\d+)"
)


def load_tensors(path: Path, name: str) -> Any:
    """Read a file of tensors, numbers, strings, and containers of these, onto the CPU.

    name: what the file should be, for the error. What it holds has to be checked by the caller, and its
    tensors by `check_stored`. Raises ValueError, naming the file, for any other or damaged file, OSError,
    also if memory is too small, and ImportError without torch.
    """
    import torch

    data = read_bytes(path)
    try:
        return torch.load(_copy_archive(data), map_location="cpu", weights_only=True)
    except MemoryError:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), str(path)) from None
    except Exception as error:  # other files fail in many ways, and some errors advise to trust the file
        raise ValueError(f"{path} is not {name}, or is damaged") from error


def check_stored(tensors: Iterable[Tensor]) -> None:
    """Raise ValueError if tensors state more elements than are stored for them, all together."""
    stated, stored = 0, {}
    for tensor in tensors:
        stated += tensor.numel() * tensor.element_size()
        storage = tensor.untyped_storage()
        stored[storage.data_ptr()] = storage.nbytes()
    if stated > sum(stored.values()):
        raise ValueError(f"its tensors state {stated:,} bytes, and {sum(stored.values()):,} are stored")


def _copy_archive(data: bytes) -> io.BytesIO:
    """Copy the archive, so that torch reads the members that were checked, however the file is laid out."""
    copy = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(copy, "w") as checked:
        members = archive.infolist()
        if len(set(archive.namelist())) < len(members):
            raise ValueError("two members have one name")
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("a member is compressed, and torch.save compresses nothing")
        if sum(member.file_size for member in members) > len(data):
            raise ValueError("its members have more bytes than the file")
        for member in members:
            content = archive.read(member)
            if member.filename.endswith(".pkl"):
                _check_pickle(content)
            checked.writestr(member.filename, content)
    copy.seek(0)
    return copy


def _check_pickle(pickled: bytes) -> None:
    if len(pickled) > MOST_PICKLED:
        raise ValueError(f"{len(pickled):,} bytes besides the tensors are too many")
    for operation, argument, _ in pickletools.genops(pickled):
        if operation.name == "GLOBAL" and not _KNOWN.fullmatch(str(argument)):
            raise ValueError(f"{argument} is not part of a tensor")
