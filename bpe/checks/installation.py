"""Report what the course needs, what this machine has of it, and how to get the rest. Needs only Python."""

from __future__ import annotations

import hashlib
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from typing import NamedTuple

from bpe import corpora
from bpe._files import data_folder
from bpe.checks import describe, one_line

PYTHONS = ((3, 11), (3, 14))

# What each package of the course is for. The oldest tested versions are in the distribution's metadata.
PURPOSES = {
    "regex": "cutting text before merges: chapter 3 on",
    "tqdm": "progress bars",
    "click": "commands in a terminal",
    "filelock": "one process at a time in a folder",
    "platformdirs": "finding the data folder",
    "jupyterlab": "running the notebooks",
    "numpy": "arrays: chapter 1 on",
    "matplotlib": "plots: chapter 1 on",
    "zhplot": "a font for Chinese in plots",
    "opencc": "preparing the poems",
    "pooch": "downloads",
    "requests": "downloads",
    "datasets": "preparing WikiText-2",
    "ipywidgets": "progress bars in notebooks",
    "torch": "the Mini-GPT: chapter 7",
    "numba": "fast training and encoding: chapter 8",
    "tiktoken": "OpenAI's tokenizers, to compare: chapter 9",
    "splintr-rs": "the tokenizers of Llama 3 and Qwen, to compare: chapter 9",
    "tokenizers": "Hugging Face's tokenizers: chapters 9 and 10",
    "sentencepiece": "Google's tokenizers, to compare: chapter 10",
    "transformers": "opening our tokenizers in another library: chapter 9",
    "hypothesis": "searching for bugs: chapter 13",
}


class Row(NamedTuple):
    """One line of the report; `to_do` is empty if nothing is missing."""

    what: str
    found: str
    to_do: str = ""

    def __str__(self) -> str:
        return one_line(f"{self.what:<14} {self.found:<24} {self.to_do}".rstrip())


def report() -> list[Row]:
    """Return a row for everything the course uses: whether it is there, and what to do if it is not.

    What can't be found out is "unknown", with the reason.
    """
    return [python(), *packages(), Row("device", device()), *data(), chinese_font()]


def known(what: str, find: Callable[[], Row]) -> Row:
    """Return the row that `find` returns, or, if it raises, one that says why."""
    try:
        return find()
    except Exception as error:  # a broken package, a folder that can't be read, and the like
        return Row(what, "unknown", describe(error))


def python() -> Row:
    """Return the row of the Python that runs this code."""
    oldest, newest = (".".join(map(str, version)) for version in PYTHONS)
    fits = PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]
    return Row("Python", platform.python_version(), "" if fits else f"the course needs {oldest} to {newest}")


def packages() -> list[Row]:
    """Return a row for each package of the course. Looks the packages up without importing them."""
    return [
        known(name, partial(_package, name, oldest, purpose)) for name, (oldest, purpose) in _wanted().items()
    ]


def _wanted() -> dict[str, tuple[str, str]]:
    """Return name -> (oldest version tested, or "" if unknown; what the package is for)."""
    try:
        requirements = metadata.requires("bpe-course") or []
    except metadata.PackageNotFoundError:  # a checkout that was never installed
        requirements = []
    oldest = dict(re.findall(r"^([\w.-]+)>=([\w.]+)", "\n".join(requirements), flags=re.MULTILINE))
    return {name: (oldest.get(name, ""), purpose) for name, purpose in PURPOSES.items()}


def _package(name: str, oldest: str, purpose: str) -> Row:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        requirement = f'"{name}>={oldest}"' if oldest else name
        return Row(name, "missing", f"pip install {requirement}    ({purpose})")
    if not version:  # its metadata are damaged
        return Row(name, "unknown", f"pip install --force-reinstall {name}")
    is_older = _numbers(version) < _numbers(oldest)
    return Row(name, f"{version}, tested: {oldest}" if is_older else version)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def device() -> str:
    """Return where PyTorch computes on this machine: "cuda" if available, else "mps", else "cpu".

    If PyTorch is missing or fails, return a text that begins with "none" and gives the reason. A missing
    PyTorch is not imported.
    """
    try:
        if find_spec("torch") is None:
            return "none: torch is not installed"
        from bpe.minigpt.training import chosen_device

        return chosen_device().type
    except ValueError as error:  # a device that is there but fails
        return f"none: {error}"
    except Exception as error:  # for example, a system library is missing
        return f"none: torch does not start ({error})"


def data() -> list[Row]:
    """Return the rows of the texts and vocabularies that the chapters read."""
    return [
        known("Tang poems", poems),
        known("WikiText-2", wikitext2),
        known("vocabularies", vocabularies),
    ]


def poems() -> Row:
    """Return the row of the prepared Tang poems: whether they are the ones behind the course's figures."""
    from bpe.corpora.poems import TEXT_SHA256

    try:
        content = (data_folder() / corpora.TANG_POEMS).read_bytes()
    except FileNotFoundError:
        return Row("Tang poems", "missing", "python prepare_poems.py")
    number = content.count(b"\n")
    found = f"{number:,} poems"
    if hashlib.sha256(content).hexdigest() == TEXT_SHA256:
        return Row("Tang poems", found)
    return Row("Tang poems", found + ", different", "python prepare_poems.py --force")


def wikitext2() -> Row:
    """Return the row of the prepared WikiText-2: whether its train split has the expected length."""
    from bpe.corpora.wikitext import EXPECTED

    what, command = "WikiText-2", corpora.COMMANDS["wikitext2"]
    if corpora.missing_files("wikitext2"):
        return Row(what, "missing", command)
    try:
        characters = len(corpora.wikitext2("train"))
    except ValueError:  # not UTF-8
        return Row(what, "damaged", f"{command} --force")
    found = f"{characters:,} characters"
    if characters == EXPECTED["train"].characters:
        return Row(what, found)
    return Row(what, found + ", different", f"{command} --force")


def vocabularies() -> Row:
    """Return the row of the real vocabularies, for chapters 9 and 10: how many have all their files."""
    from bpe import pretrained

    wanted = pretrained.known()
    number = sum(not pretrained.missing(name) for name in wanted)
    to_do = "" if number == len(wanted) else pretrained.COMMAND
    return Row("vocabularies", f"{number} of {len(wanted)}", to_do)


def chinese_font() -> Row:
    """Return the row of a system font with Chinese characters. Pages need one; plots bring their own."""
    what = "Chinese font"
    if platform.system() in ("Windows", "Darwin"):
        return Row(what, "part of the system")
    try:
        fonts = subprocess.check_output(["fc-list", ":lang=zh", "family"], timeout=60)
    except (OSError, subprocess.SubprocessError):
        return Row(what, "unknown", "see chapter 0: does it show characters or boxes?")
    if fonts.strip():
        return Row(what, "found")
    return Row(what, "missing", "apt install fonts-noto-cjk, or a similar font")
