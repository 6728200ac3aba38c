"""Text as it stands in a file: UTF-8, with its line ends kept."""

from __future__ import annotations

from pathlib import Path


def decoded(data: bytes, name: object) -> str:
    """The text of UTF-8 bytes. Raises ValueError, with name and position, for bytes that are not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name} is not UTF-8: byte 0x{data[error.start]:02x} at position {error.start:,} "
            f"({error.reason})"
        ) from None


def read(path: Path) -> str:
    """The text of a file. Raises OSError, and ValueError as `decoded` does."""
    return decoded(path.read_bytes(), path)
