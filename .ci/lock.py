"""`make lock`: pin what pyproject.toml asks for, and all that this needs.

    python .ci/lock.py                              keep the pinned versions where pyproject.toml allows them
    python .ci/lock.py --upgrade                    take the newest version of every package
    python .ci/lock.py --upgrade-package NAME       take the newest version of one package

It needs uv in the environment that runs it, and writes four files. The same pins serve Python 3.11 to 3.14
on Linux, macOS and Windows:

    .ci/requirements.txt   the base, the extras course, fast and test, and the build back end, with hashes
    .ci/torch.txt          PyTorch, without hashes: which build pip installs depends on the machine
    .ci/bench.txt          what the extra bench adds, with hashes
    environment.yml        the pins of the first two files, for conda and Binder
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent
EXTRAS = ("course", "fast", "test")
# PyTorch pins these packages itself: other builds of PyTorch bring others or none.
WITH_TORCH = re.compile(r"(torch|triton)==|(cuda|nvidia)-")
UV = """uv pip compile --quiet --universal --python-version 3.11 --generate-hashes
    --no-emit-index-url --no-header --annotation-style line"""
WRITTEN = "# Written by `make lock`; do not edit.\n"


def pins(text: str) -> list[str]:
    """Split a file of pins into one string for each package: its pin, its hashes, its comment."""
    return re.findall(r"^\w.*\n(?:[ #].*\n)*", text, flags=re.MULTILINE)


def without_hashes(pin: str) -> str:
    """Return the first line of a pin: the version, and for which machines it is."""
    return pin.splitlines()[0].removesuffix(" \\")


def resolve(requirements: list[str], previous: str, arguments: list[str]) -> list[str]:
    """Return the pins that uv finds, with hashes. It keeps the versions of `previous` if it can."""
    output = HERE / "resolved.tmp"
    output.write_bytes(previous.encode())
    try:
        uv = [sys.executable, "-m", *UV.split(), "--output-file", str(output), *arguments, "-"]
        subprocess.run(uv, input="\n".join(requirements), text=True, cwd=CHECKOUT, check=True)
        return pins(output.read_text(encoding="utf-8"))
    finally:
        output.unlink()


def environment(requirements: str, torch: str) -> str:
    """Return environment.yml. Its pip section lists pins, because micromamba takes no `-r` or `-c` lines."""
    lines = map(without_hashes, [*pins(requirements), *pins(torch)])
    return "\n".join(
        [
            "# For conda and Binder: conda env create -f environment.yml",
            f"{WRITTEN}name: bpe-course",
            "channels:",
            "  - conda-forge",
            "  - nodefaults",
            "dependencies:",
            "  - python=3.11",
            "  - pip",
            "  - pip:",
            *(f"      - {line}" for line in lines),
            f"      - -e .[{','.join(EXTRAS)}]\n",
        ]
    )


def read(name: str) -> str:
    """Return the text of a file of pins."""
    return (HERE / f"{name}.txt").read_text(encoding="utf-8")


def write(name: str, found: list[str]) -> None:
    """Write a file of pins."""
    (HERE / f"{name}.txt").write_bytes((WRITTEN + "".join(found)).encode())


def main(arguments: list[str]) -> None:
    """Write the four files."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = [argument for extra in EXTRAS for argument in ("--extra", extra)]
    found = resolve(
        project["build-system"]["requires"],
        read("requirements") + read("torch"),
        ["pyproject.toml", *extras, *arguments],
    )
    write("requirements", [pin for pin in found if not WITH_TORCH.match(pin)])
    write("torch", [without_hashes(pin) + "\n" for pin in found if pin.startswith("torch==")])
    text = environment(read("requirements"), read("torch"))
    (CHECKOUT / "environment.yml").write_bytes(text.encode())

    shared = {pin.split("==")[0] for pin in found}
    found = resolve(
        project["project"]["optional-dependencies"]["bench"],
        read("bench"),
        ["--constraint", ".ci/requirements.txt", *arguments],
    )
    write("bench", [pin for pin in found if pin.split("==")[0] not in shared])


if __name__ == "__main__":
    main(sys.argv[1:])
