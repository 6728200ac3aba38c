"""What of the course is there on this machine, and how to get the rest. Needs nothing but Python itself."""

from __future__ import annotations

import hashlib
import platform
import re
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from typing import NamedTuple

from bpe import corpora
from bpe._files import data_folder

PYTHONS = ((3, 11), (3, 14))

# What each package of the course is for. Their versions stand in the course's own metadata.
PURPOSES = {
    "regex": "cutting text before merges: chapter 3 on",
    "tqdm": "progress bars",
    "click": "commands in a terminal",
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
    "numba": "training and encoding at speed: chapter 8",
    "tiktoken": "OpenAI's tokenizers, to compare: chapter 9",
    "splintr-rs": "tokenizers of Llama 3 and Qwen, to compare: chapter 9",
    "tokenizers": "Hugging Face's tokenizers: chapters 9 and 10",
    "sentencepiece": "Google's tokenizers, to compare: chapter 10",
    "transformers": "opening our tokenizers elsewhere: chapter 9",
    "hypothesis": "hunting for faults: chapter 13",
}


class Row(NamedTuple):
    """One line of the report; `to_do` is empty where nothing is missing."""

    what: str
    found: str
    to_do: str = ""

    def __str__(self) -> str:
        return f"{self.what:<14} {self.found:<24} {self.to_do}".rstrip()


def report() -> list[Row]:
    """What the course uses, whether it is there, and what to do where it is not."""
    return [python(), *packages(), Row("device", device()), *data(), chinese_font()]


def python() -> Row:
    """The Python that runs this code."""
    oldest, newest = (".".join(map(str, version)) for version in PYTHONS)
    fits = PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]
    return Row("Python", platform.python_version(), "" if fits else f"the course needs {oldest} to {newest}")


def packages() -> list[Row]:
    """The packages of the course, looked up and not imported."""
    return [_package(name, oldest, purpose) for name, (oldest, purpose) in _wanted().items()]


def _wanted() -> dict[str, tuple[str, str]]:
    """Return name -> (the oldest version that the course is tested with, or "", and what it is for)."""
    try:
        requirements = metadata.requires("bpe-course") or []
    except metadata.PackageNotFoundError:  # the module is used without having been installed
        requirements = []
    oldest = dict(re.findall(r"^([\w.-]+)>=([\w.]+)", "\n".join(requirements), flags=re.MULTILINE))
    return {name: (oldest.get(name, ""), purpose) for name, purpose in PURPOSES.items()}


def _package(name: str, oldest: str, purpose: str) -> Row:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        requirement = f'"{name}>={oldest}"' if oldest else name
        return Row(name, "missing", f"pip install {requirement}    ({purpose})")
    is_older = _numbers(version) < _numbers(oldest)
    return Row(name, f"{version}, tested: {oldest}" if is_older else version)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def device() -> str:
    """Where PyTorch computes on this machine: "cuda" before "mps" before "cpu".

    Where there is no PyTorch, or it does not start, a text that begins with "none" and says so.
    """
    if find_spec("torch") is None:
        return "none: torch is not installed"
    try:
        from bpe.minigpt.training import chosen_device
    except (ImportError, OSError) as error:  # such as a system library that it lacks
        return f"none: torch does not start ({error})"
    return chosen_device().type


def data() -> list[Row]:
    """The texts and vocabularies that the chapters read."""
    return [poems(), wikitext2(), vocabularies()]


def poems() -> Row:
    """The prepared Tang poems, and whether they are those from which the course's figures come."""
    from bpe.corpora.poems import TEXT_SHA256

    try:
        content = (data_folder() / corpora.TANG_POEMS).read_bytes()
    except OSError:
        return Row("Tang poems", "missing", "python prepare_poems.py")
    number = content.count(b"\n")
    found = f"{number:,} poems"
    if hashlib.sha256(content).hexdigest() == TEXT_SHA256:
        return Row("Tang poems", found)
    return Row("Tang poems", found + ", other ones", "python prepare_poems.py --force")


def wikitext2() -> Row:
    """The prepared WikiText-2, and whether its train split has the length on which the figures rest."""
    from bpe.corpora.wikitext import EXPECTED

    what, command = "WikiText-2", corpora.COMMANDS["wikitext2"]
    if corpora.missing_files("wikitext2"):
        return Row(what, "missing", command)
    characters = len(corpora.wikitext2("train"))
    found = f"{characters:,} characters"
    if characters == EXPECTED["train"].characters:
        return Row(what, found)
    return Row(what, found + ", other ones", f"{command} --force")


def vocabularies() -> Row:
    """The vocabularies of real models, for chapters 9 and 10: whether their files are there."""
    from bpe import pretrained

    wanted = pretrained.known()
    there = [name for name in wanted if not pretrained.missing(name)]
    found = f"{len(there)} of {len(wanted)}"
    return Row("vocabularies", found, "" if len(there) == len(wanted) else pretrained.COMMAND)


def chinese_font() -> Row:
    """Whether this system has a font with Chinese characters. Plots do not need it; the page does."""
    what = "Chinese font"
    if platform.system() in ("Windows", "Darwin"):
        return Row(what, "part of the system")
    try:
        fonts = subprocess.check_output(["fc-list", ":lang=zh", "family"], timeout=60)
    except (OSError, subprocess.SubprocessError):
        return Row(what, "unknown", "look at chapter 0: does it show characters, or boxes?")
    if fonts.strip():
        return Row(what, "found")
    return Row(what, "missing", "apt install fonts-noto-cjk, or the like")
