"""Archives made for tests."""

import io
import tarfile
import zipfile
from pathlib import Path

Members = list[tuple[str, bytes]]


def tar_of(path: Path, members: Members) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members:
            add_to_tar(tar, tarfile.TarInfo(name), content)
    return path


def add_to_tar(tar: tarfile.TarFile, info: tarfile.TarInfo, content: bytes = b"") -> None:
    info.size = len(content)
    tar.addfile(info, io.BytesIO(content))


def zip_of(path: Path, members: Members) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in members:
            zipped.writestr(zipfile.ZipInfo(name), content)
    return path
