"""Keep what leads from one notebook to the next in step with the notebooks themselves.

    python notebooks/navigation.py            rewrite what differs
    python notebooks/navigation.py --check    name what differs, and change nothing

It writes the first and the last cell of each notebook, the paragraph on time and needs
of each chapter, the map and the lists of texts and packages in chapter 0, and the
README's table. A chapter's number is that of its file, its title that of its first
heading. The rest is in its metadata, as `course`:

    about           what it is about, in a few words
    part            one of PARTS
    minutes         how long it takes
    chapters        the numbers of those that it builds on
    corpora         names of bpe.corpora
    vocabularies    names of bpe.pretrained
    extras          modules that it imports
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import nbformat.v4
from bpe._files import write_atomically
from nbformat import NotebookNode

CHECKOUT = Path(__file__).resolve().parent.parent
PARTS = ("main line", "side trip")
MAP = "00_start_here.ipynb"
SOLUTIONS = "_solutions"  # ends the names, so that tabs of JupyterLab tell them apart

NAMES = {
    "tang_poems": "the Tang poems",
    "wikitext2": "WikiText-2",
    "gpt2": "GPT-2",
    "gpt4": "GPT-4",
    "gpt4o": "GPT-4o",
    "llama3": "Llama 3",
    "qwen": "Qwen",
    "deepseek": "DeepSeek",
    "jurassic2": "Jurassic-2",
    "numba": "Numba",
    "opencc": "OpenCC",
    "splintr": "splintr-rs",
    "torch": "PyTorch",
}

# Modules whose packages have other names.
PACKAGES = {"splintr": "splintr-rs"}


class Chapter(NamedTuple):
    """A chapter: its file, its two digits, its title, its metadata."""

    file: str
    number: str
    title: str
    course: dict[str, Any]


def chapter(path: Path, notebook: NotebookNode) -> Chapter:
    """Return a chapter. Raises ValueError if its heading or metadata lack something."""
    title = re.match(r"# \d\d · (.+)", title_cell(notebook).source)
    course = notebook.metadata.get("course", {})
    lacks = {"about", "part", "minutes", "chapters"} - set(course)
    if not title or lacks or course["part"] not in PARTS:
        raise ValueError(
            f"{path.name}: needs a heading `# {path.name[:2]} · Title`, and "
            "as metadata course.about, .minutes, .chapters, "
            f"and .part: {' or '.join(PARTS)}"
        )
    return Chapter(path.name, path.name[:2], title[1], course)


def title_cell(notebook: NotebookNode) -> NotebookNode:
    """Return the cell with the first heading, or an empty one."""
    headed = (cell for cell in notebook.cells if cell.source.startswith("# "))
    return next(headed, NotebookNode(source=""))


# --- the lines at the top and at the bottom


def chapter_line(near: tuple[Chapter | None, Chapter | None], the_map: str) -> str:
    """Return a chapter's line: the chapter before, the map, the chapter after."""
    before, after = near
    return joined(
        before and f"[← {before.number} {before.title}]({before.file})",
        f"[the map]({the_map})",
        after and f"[{after.number} {after.title} →]({after.file})",
    )


def solutions_line(
    of: Chapter,
    exercises: str,
    near: tuple[Chapter | None, Chapter | None],
    the_map: str,
) -> str:
    """Return the line of a chapter's solutions. Their folder is one deeper."""
    before, after = near
    return joined(
        before and f"[← Solutions {before.number}]({solutions_file(before)})",
        f"[your copy of chapter {of.number}](../../work/{exercises}) "
        "(`make lab` makes it)",
        f"[chapter {of.number} with its results](../{exercises})",
        f"[the map](../{the_map})",
        after and f"[Solutions {after.number} →]({solutions_file(after)})",
    )


def solutions_file(of: Chapter) -> str:
    return of.file.replace(".ipynb", f"{SOLUTIONS}.ipynb")


def joined(*parts: str | None) -> str:
    return " · ".join(filter(None, parts))


def put_line(notebook: NotebookNode, line: str) -> None:
    """Make the line the first and the last cell, or replace those of an earlier run."""
    ids = ("navigation-top", "navigation-bottom")
    top, bottom = (nbformat.v4.new_markdown_cell(line, id=name) for name in ids)
    top.metadata["tags"] = bottom.metadata["tags"] = ["navigation"]
    others = [cell for cell in notebook.cells if cell.id not in ids]
    notebook.cells = [top, *others, bottom]


# --- what a chapter needs


def put_needs(notebook: NotebookNode, of: Chapter, chapters: list[Chapter]) -> None:
    """Rewrite the paragraph "Time: … Needs: …" below the title."""
    cell = title_cell(notebook)
    paragraph = re.compile(r"^\*\*Time:\*\*.*?(?=\n\n|\Z)", re.M | re.S)
    if not paragraph.search(cell.source):
        raise ValueError(f"{of.file}: no paragraph **Time:** below its title")
    text = textwrap.fill(
        time_and_needs(of, chapters), 88, break_long_words=False, break_on_hyphens=False
    )
    cell.source = paragraph.sub(lambda _: text, cell.source, count=1)


def time_and_needs(of: Chapter, chapters: list[Chapter]) -> str:
    files = {int(each.number): each.file for each in chapters}
    known = [f"[{n}]({files[n]})" for n in of.course["chapters"]]
    had = ["the vocabulary", "the vocabularies"][len(vocabularies(of)) > 1]
    installed = [
        listed(named(of.course.get("corpora", []))),
        f"{had} of {listed(vocabularies(of))}" if vocabularies(of) else "",
        listed(named(of.course.get("extras", []))),
    ]
    built_on = f"chapter{'s' * (len(known) > 1)} {listed(known)}" if known else ""
    needs = "; ".join(filter(None, [built_on, *installed]))
    where = f" [Chapter 0]({MAP}) shows what is missing." if any(installed) else ""
    needs = needs or "nothing but the course's own module"
    return f"**Time:** about {of.course['minutes']} minutes. **Needs:** {needs}.{where}"


def vocabularies(of: Chapter) -> list[str]:
    return named(of.course.get("vocabularies", []))


def named(names: Iterable[str]) -> list[str]:
    return [NAMES.get(name, name) for name in names]


def listed(words: list[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


# --- the map, the texts, the README's table


def table(chapters: Iterable[Chapter], folder: str = "") -> list[str]:
    """Return the lines of a table of chapters."""
    rows = (
        f"| [{each.number} {each.title}]({folder}{each.file}) "
        f"| {each.course['about']} | {each.course['minutes']} |"
        for each in chapters
    )
    return ["| chapter | what it is about | minutes |", "| --- | --- | ---: |", *rows]


def of_part(chapters: Iterable[Chapter], part: str) -> list[Chapter]:
    return [each for each in chapters if each.course["part"] == part]


def hours(chapters: Iterable[Chapter]) -> int:
    return round(sum(each.course["minutes"] for each in chapters) / 60)


def map_blocks(chapters: list[Chapter]) -> dict[str, list[str]]:
    """Return the blocks of chapter 0 by name."""
    main = of_part(chapters, PARTS[0])
    return {
        "main line": table(main),
        "side trips": table(of_part(chapters, PARTS[1])),
        "hours": [
            f"All of them together take about {hours(chapters)} hours, "
            f"the main line alone about {hours(main)}."
        ],
        "texts": texts(chapters),
        "packages": packages(chapters),
    }


def texts(chapters: list[Chapter]) -> list[str]:
    """Return a table: which chapters read which texts and vocabularies."""
    reads = {
        each.number: [
            *named(each.course.get("corpora", [])),
            *["the vocabularies of real models"] * bool(vocabularies(each)),
        ]
        for each in chapters
    }
    return numbers_table("text", reads)


def packages(chapters: list[Chapter]) -> list[str]:
    """Return a table: which chapters need which packages, by the names pip knows."""
    needs = {
        each.number: [
            f"`{PACKAGES.get(name, name)}`" for name in each.course.get("extras", [])
        ]
        for each in chapters
    }
    return numbers_table("package", needs)


def numbers_table(what: str, of: dict[str, list[str]]) -> list[str]:
    """Return the lines of a table: each thing, and the numbers of its chapters."""
    numbers: dict[str, list[str]] = {}
    for number, things in of.items():
        for thing in things:
            numbers.setdefault(thing, []).append(number)
    rows = (f"| {thing} | {', '.join(numbers[thing])} |" for thing in numbers)
    return [f"| {what} | chapters |", "| --- | --- |", *rows]


def readme_block(chapters: list[Chapter]) -> list[str]:
    main = of_part(chapters, PARTS[0])
    return [
        *table(chapters, "notebooks/"),
        "",
        f"Chapters {main[0].number} to {main[-1].number} are the main line; the others "
        "are side trips that follow it, in any order.",
    ]


def put_block(text: str, name: str, lines: list[str]) -> str:
    """Replace what is between the marks of a block. Raises ValueError without marks."""
    begin, end = (f"<!-- {name}: {mark} -->" for mark in ("begin", "end"))
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"no {begin} … {end}")
    return "\n".join([before + begin, "", *lines, "", end + after])


def put_map(notebook: NotebookNode, chapters: list[Chapter]) -> None:
    for name, lines in map_blocks(chapters).items():
        mark = f"<!-- {name}: begin -->"
        cells = [cell for cell in notebook.cells if mark in cell.source]
        if len(cells) != 1:
            raise ValueError(f"{MAP}: {len(cells)} cells hold {mark}, not one")
        cells[0].source = put_block(cells[0].source, name, lines)


def link(file: str, notebook: NotebookNode, heading: str) -> str:
    """Return a link to the cell with a heading, such as `a.ipynb#cell-id=a-7`.

    JupyterLab and exported pages know the ids of cells. Where there is no such heading,
    the link leads to the notebook.
    """
    pattern = re.compile(rf"^#+ (.*\b)?{heading}$", re.M)
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and pattern.search(cell.source):
            return f"{file}#cell-id={cell.id}"
    return file


# --- all of it


def neighbours(
    chapters: list[Chapter],
) -> Iterator[tuple[Chapter, tuple[Chapter | None, Chapter | None]]]:
    """Yield each chapter with those before and after it."""
    around = [None, *chapters, None]
    return (
        (around[k], (around[k - 1], around[k + 1])) for k in range(1, len(around) - 1)
    )


def rewritten(checkout: Path = CHECKOUT) -> dict[Path, bytes]:
    """Return the files that differ from what they should be, with their right content.

    Raises ValueError, naming the file, if a notebook lacks what is needed.
    """
    folder, readme = checkout / "notebooks", checkout / "README.md"
    notebooks = {path: read(path) for path in sorted(folder.glob("[0-9]*.ipynb"))}
    chapters = list(itertools.starmap(chapter, notebooks.items()))
    the_map = link(MAP, notebooks[folder / MAP], "The map")
    for each, near in neighbours(chapters):
        notebook = notebooks[folder / each.file]
        put_line(notebook, chapter_line(near, the_map))
        put_needs(notebook, each, chapters)
        solutions = folder / "solutions" / solutions_file(each)
        if solutions.exists():  # a teacher may have removed them
            notebooks[solutions] = read(solutions)
            exercises = link(each.file, notebook, "Exercises")
            line = solutions_line(each, exercises, near, the_map)
            put_line(notebooks[solutions], line)
    put_map(notebooks[folder / MAP], chapters)
    found = {path: written(notebook) for path, notebook in notebooks.items()}
    text = readme.read_text(encoding="utf-8")
    found[readme] = put_block(text, "chapters", readme_block(chapters)).encode()
    return {path: new for path, new in found.items() if path.read_bytes() != new}


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def written(notebook: NotebookNode) -> bytes:
    """Return the bytes of a notebook, as notebooks/store.py writes them."""
    return f"{nbformat.writes(notebook)}\n".encode()


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Rewrite the links between notebooks, the map, the README's table."
    )
    parser.add_argument(
        "--check", action="store_true", help="name what differs, and change nothing"
    )
    check = parser.parse_args().check
    try:
        files = rewritten()
    except ValueError as error:
        sys.exit(str(error))
    for path, content in files.items():
        if not check:
            write_atomically(path, content)
        print(f"{path.relative_to(CHECKOUT)}: {'differs' if check else 'rewritten'}")
    return int(check and bool(files))


if __name__ == "__main__":
    sys.exit(main())
