"""Files from the network whose SHA-256 is known beforehand, so that it doesn't matter who gives them."""

from __future__ import annotations

import hashlib
import multiprocessing
import subprocess
import time
from collections.abc import Iterable, Sequence
from multiprocessing.pool import ThreadPool
from pathlib import Path

PROBE_SECONDS = 5.0
READ_SECONDS = 20.0
RETRY_WAITS = (0.5, 1.0, 2.0, 4.0)  # seconds before the second, third, … try
COMMAND_SECONDS = 600


class SourceError(Exception):
    """Files can't be had from a source; the message is meant for the reader."""


class _PassingError(SourceError):
    """One that may be gone at the next try."""


def sha256(content: bytes) -> str:
    """The SHA-256 of the content, as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def probe(url: str) -> None:
    """Raise SourceError unless some answer comes within PROBE_SECONDS."""
    # The timeout of requests leaves out the look-up of the name, which can hang too: hence the thread.
    with ThreadPool(1) as pool:
        try:
            pool.apply_async(_any_answer, (url,)).get(timeout=PROBE_SECONDS)
        except multiprocessing.TimeoutError:
            raise SourceError(f"no answer within {PROBE_SECONDS:g} seconds") from None


def _any_answer(url: str) -> None:
    try:
        import requests
    except ImportError as error:
        raise SourceError(f"{error}; install it with: python -m pip install requests") from error
    try:
        requests.head(url, timeout=PROBE_SECONDS)
    except requests.RequestException as error:
        raise SourceError(f"it can't be reached ({type(error).__name__})") from error


def download(url: str, digest: str, largest: int) -> bytes:
    """The content of a file, checked. Failures that may pass are tried again.

    digest: its SHA-256. largest: the most bytes that are taken.
    Raises SourceError when after several tries the file can't be had or is another one.
    """
    for wait in RETRY_WAITS:
        try:
            return _get(url, digest, largest)
        except _PassingError:
            time.sleep(wait)
    return _get(url, digest, largest)


def _get(url: str, expected: str, largest: int) -> bytes:
    import requests

    try:
        with requests.get(url, stream=True, timeout=(PROBE_SECONDS, READ_SECONDS)) as response:
            _check_status(url, response.status_code)
            content = _bounded(response.iter_content(chunk_size=65_536), largest)
    except requests.RequestException as error:
        raise _PassingError(f"{url}: no complete answer ({type(error).__name__})") from error
    if (found := sha256(content)) != expected:
        raise _PassingError(f"{url} is another file: expected SHA-256 {expected}, found {found}")
    return content


def _check_status(url: str, status: int) -> None:
    """Raise SourceError for a status of failure; one of overload or of the server's own faults may pass."""
    if status == 429 or status >= 500:
        raise _PassingError(f"{url}: status {status}")
    if status != 200:
        raise SourceError(f"{url}: status {status}")


def _bounded(chunks: Iterable[bytes], largest: int) -> bytes:
    """The chunks joined, but no more of them than the file could have."""
    content = bytearray()
    for chunk in chunks:
        content += chunk
        if len(content) > largest:
            break
    return bytes(content)


def file_left_by(command: Sequence[str], name: str, folder: Path, pattern: str) -> Path:
    """Run another program in an empty folder; the file that it leaves there.

    name: what messages call the program. pattern: what the file's name is like.
    Raises SourceError when it fails, doesn't end within COMMAND_SECONDS, or leaves no such file.
    """
    try:
        subprocess.run(
            command,
            cwd=folder,
            timeout=COMMAND_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        raise SourceError(f"{name} did not finish within {COMMAND_SECONDS} seconds") from None
    except subprocess.CalledProcessError as error:
        first_lines = "; ".join(error.stderr.strip().splitlines()[:3])
        raise SourceError(f"{name} failed with status {error.returncode}: {first_lines}") from None
    left = next(folder.glob(pattern), None)
    if left is None:
        raise SourceError(f"{name} left no archive")
    return left
