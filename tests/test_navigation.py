"""The lines between notebooks, the map and the README's table say what the notebooks' metadata say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import navigation
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

CHECKOUT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((CHECKOUT / "notebooks").rglob("[0-9]*.ipynb"))
LINK = re.compile(r"\]\(([^)#:]+)(#[^)]+)?\)")


def test_the_stored_notebooks_and_the_readme_are_in_step() -> None:
    differing = [path.relative_to(CHECKOUT).as_posix() for path in navigation.rewritten()]
    assert differing == [], "run `python notebooks/navigation.py`"


def links(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the file and the anchor of each relative link of a notebook."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            yield from LINK.findall(re.sub(r"`[^`]*`", "", cell.source))


def anchors(path: Path) -> set[str]:
    """Return the anchors of the glossary, or those that JupyterLab and nbconvert give a notebook's cells."""
    if path.suffix == ".md":
        return {f"#{name}" for name in re.findall(r'<a id="([^"]+)">', path.read_text(encoding="utf-8"))}
    return {f"#cell-id={cell.id}" for cell in nbformat.read(path, as_version=4).cells}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_lead_to_files_and_headings(path: Path) -> None:
    for file, anchor in links(path):
        target = (path.parent / file).resolve()
        if target.parent == CHECKOUT / "work":  # the learner's copy, which has the headings of the chapter
            target = CHECKOUT / "notebooks" / target.name
        assert target.is_file(), file
        if anchor:
            assert anchor in anchors(target), f"{file}{anchor}"


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.parent.name == "solutions"])
def test_solutions_lead_to_the_working_copy_and_have_a_name_of_their_own(path: Path) -> None:
    chapter = path.name.replace("_solutions", "")
    assert f"../../work/{chapter}" in [file for file, _ in links(path)]
    assert chapter != path.name


def test_the_glossary_is_sorted_and_each_term_has_an_anchor() -> None:
    rows = (CHECKOUT / "docs" / "glossary.md").read_text(encoding="utf-8").split("| --- | --- | --- |\n")[1]
    found = [
        re.match(r'\| <a id="([a-z0-9-]+)"></a>([^|]+) \| .+ \| [\d, ]+ \|$', row)
        for row in rows.splitlines()
    ]
    terms = [match and match[2] for match in found]
    assert terms == sorted(filter(None, terms), key=str.casefold)
    assert len({match and match[1] for match in found}) == len(terms)


def write(path: Path, *cells: nbformat.NotebookNode, **course: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    notebook = new_notebook(cells=cells, metadata={"course": course} if course else {})
    path.write_bytes(navigation.written(notebook))


def output_cell() -> nbformat.NotebookNode:
    return new_code_cell("print(1)", execution_count=1, outputs=[new_output("stream", text="1\n")])


PROSE = "# {} · {}\n\nWords.\n\n**Time:** long ago. **Needs:** old\nthings.\n\nA remark."


@pytest.fixture
def small_course(tmp_path: Path) -> Path:
    """Three chapters, the second with solutions."""
    folder = tmp_path / "notebooks"
    names = ("main line", "side trips", "hours", "texts", "packages")
    marks = "".join(f"<!-- {name}: begin --><!-- {name}: end -->\n" for name in names)
    the_map = new_markdown_cell(f"## 2. The map\n\n{marks}", id="map")
    start = {"about": "the start", "part": "main line", "minutes": 15, "chapters": []}
    write(folder / "00_start_here.ipynb", new_markdown_cell(PROSE.format("00", "Start")), the_map, **start)
    middle = {"about": "more", "part": "main line", "minutes": 45, "chapters": [0], "corpora": ["tang_poems"]}
    middle |= {"extras": ["numpy", "torch"], "vocabularies": ["gpt2", "qwen"]}
    exercises = new_markdown_cell("## Exercises", id="exercises")
    prose = new_markdown_cell(PROSE.format("01", "More"))
    write(folder / "01_more.ipynb", prose, output_cell(), exercises, **middle)
    write(folder / "solutions" / "01_more_solutions.ipynb", output_cell())
    last = {"about": "the end", "part": "side trip", "minutes": 60, "chapters": [0, 1]}
    write(folder / "02_end.ipynb", new_markdown_cell(PROSE.format("02", "End")), **last)
    (tmp_path / "README.md").write_text("Top\n<!-- chapters: begin --><!-- chapters: end -->\nEnd\n")
    return tmp_path


def rewrite(checkout: Path) -> None:
    for path, content in navigation.rewritten(checkout).items():
        path.write_bytes(content)


def sources(path: Path) -> list[str]:
    return [cell.source for cell in nbformat.read(path, as_version=4).cells]


def test_each_notebook_leads_to_its_neighbours(small_course: Path) -> None:
    rewrite(small_course)
    folder = small_course / "notebooks"
    the_map = "[the map](00_start_here.ipynb#cell-id=map)"
    for name, line in {
        "00_start_here.ipynb": f"{the_map} · [01 More →](01_more.ipynb)",
        "01_more.ipynb": f"[← 00 Start](00_start_here.ipynb) · {the_map} · [02 End →](02_end.ipynb)",
        "02_end.ipynb": f"[← 01 More](01_more.ipynb) · {the_map}",
    }.items():
        cells = sources(folder / name)
        assert (cells[0], cells[-1]) == (line, line)
    top = sources(folder / "solutions" / "01_more_solutions.ipynb")[0]
    assert "[your copy of chapter 01](../../work/01_more.ipynb#cell-id=exercises)" in top
    assert top.startswith("[← Solutions 00](00_start_here_solutions.ipynb)")


def test_needs_the_map_and_the_readme_come_from_the_metadata(small_course: Path) -> None:
    rewrite(small_course)
    assert sources(small_course / "notebooks" / "01_more.ipynb")[1] == (
        "# 01 · More\n\nWords.\n\n"
        "**Time:** about 45 minutes. **Needs:** chapter [0](00_start_here.ipynb); the Tang poems;\n"
        "the vocabularies of GPT-2 and Qwen; numpy and PyTorch. [Chapter 0](00_start_here.ipynb)\n"
        "shows what is missing.\n\nA remark."
    )
    the_map = sources(small_course / "notebooks" / "00_start_here.ipynb")[2]
    main, side = the_map.split("<!-- side trips: begin -->")
    assert "| [01 More](01_more.ipynb) | more | 45 |" in main and "02 End" not in main
    assert "| [02 End](02_end.ipynb) | the end | 60 |" in side
    assert "about 2 hours, the main line alone about 1." in side
    assert "| the Tang poems | 01 |" in side and "| `torch` | 01 |" in side
    readme = (small_course / "README.md").read_text()
    assert "| [02 End](notebooks/02_end.ipynb) | the end | 60 |" in readme
    assert readme.startswith("Top\n") and readme.endswith("\nEnd\n")


def test_a_second_run_changes_nothing_and_cells_stay(small_course: Path) -> None:
    path = small_course / "notebooks" / "01_more.ipynb"
    before = nbformat.read(path, as_version=4).cells
    rewrite(small_course)
    assert navigation.rewritten(small_course) == {}
    after = nbformat.read(path, as_version=4).cells[1:-1]
    assert [cell.id for cell in after] == [cell.id for cell in before]
    assert after[1] == before[1]


@pytest.mark.parametrize("lacking", ["about", "part", "minutes", "chapters"])
def test_missing_metadata_are_named_with_the_file(small_course: Path, lacking: str) -> None:
    path = small_course / "notebooks" / "02_end.ipynb"
    notebook = nbformat.read(path, as_version=4)
    del notebook.metadata.course[lacking]
    path.write_bytes(navigation.written(notebook))
    with pytest.raises(ValueError, match=rf"02_end\.ipynb: .*course.*\.{lacking}"):
        navigation.rewritten(small_course)


def test_a_missing_mark_is_named(small_course: Path) -> None:
    (small_course / "README.md").write_text("no table")
    with pytest.raises(ValueError, match="no <!-- chapters: begin"):
        navigation.rewritten(small_course)
