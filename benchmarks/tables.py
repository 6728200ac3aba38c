"""The table of the README, made from data/results/benchmarks.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Record = dict[str, Any]

BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
README = Path(__file__).resolve().parent.parent / "README.md"
OTHER_TASK, DISTURBED = "not the same task", "disturbed"  # in notes
GROWTH = {
    "train": "training, 1,500 merges, no split",
    "train-gpt4": "training, GPT-4 split, 8,192 tokens",
    "encode": "encoding with GPT-4's vocabulary, one core",
}


def markdown(content: Record) -> str:
    """The measurements as Markdown."""
    machine = content["machine"]
    parts = [
        f"Measured by `{content['command']}` on {content['date']}: {machine['processor']}, "
        f"{machine['cores']} cores, {machine['system']}, Python {machine['python']}. Seconds are "
        f"{describe_average(content['tasks'])}. In brackets: the multiple of our time; bold is faster than "
        "ours. MB is the memory that the task added to the process.",
        "\n".join(task_table(content["tasks"])),
        "\n".join(growth_table(content["growth"])),
        "\n".join(small_print(content)),
    ]
    return "\n\n".join(part for part in parts if part)


def describe_average(tasks: list[Record]) -> str:
    most = max((len(row["runs"]) for task in tasks for row in task["rows"]), default=1)
    return "of one run each" if most == 1 else f"medians of up to {most} runs"


def task_table(tasks: list[Record]) -> list[str]:
    if not tasks:
        return []
    lines = ["| task | ours, compiled | others |", "| --- | --- | --- |"]
    for task in tasks:
        first, *others = task["rows"]
        speed = f", {megabytes_per_second(task, first)}" if task["name"].startswith("encode") else ""
        memory = "" if first["grown_mb"] is None else f", {first['grown_mb']:,.0f} MB"
        name = "" if first["who"] == "compiled" else f"{first['who']}: "
        cells = [other_cell(row) for row in sorted(others, key=lambda row: float(row["seconds"]))]
        lines.append(
            f"| {task['what']} | {name}{seconds(first['seconds'])}{speed}{memory} | {', '.join(cells)} |"
        )
    return lines


def other_cell(row: Record) -> str:
    ratio = f"{row['ratio']:.2g}" if row["ratio"] < 10 else f"{row['ratio']:,.0f}"
    mark = "\\*" if OTHER_TASK in row["note"] else ""
    cell = f"{row['who']}{mark} {seconds(row['seconds'])} ({ratio})"
    return f"**{cell}**" if row["ratio"] < 1 and not row["who"].startswith("compiled") else cell


def growth_table(growth: list[Record]) -> list[str]:
    if not growth:
        return []
    sizes = sorted({row["megabytes"] for row in growth})
    lines = [
        "| text, MB | " + " | ".join(map(str, sizes)) + " |",
        "| --- |" + " ---: |" * len(sizes),
    ]
    for task, what in GROWTH.items():
        rows = {row["megabytes"]: row for row in growth if row["task"] == task}
        cells = [growth_cell(rows[size]) if size in rows else "" for size in sizes]
        lines.append(f"| {what} | {' | '.join(cells)} |")
    return lines


def growth_cell(row: Record) -> str:
    if row["seconds"] is None:
        return "failed"
    memory = "" if row["grown_mb"] is None else f", {row['grown_mb'] * 1e6 / row['bytes']:.0f} B/B"
    return f"{seconds(row['seconds'])}{memory}"


def small_print(content: Record) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    lines = [f"Versions: {versions}."]
    if content["growth"]:
        lines.append(f"B/B: bytes of memory per byte of text. The text: {content['growth_corpus']}.")
    reasons = [
        f"{who} in {task['name']} ({reason})"
        for task in content["tasks"]
        for who, reason in task["left_out"].items()
    ]
    if reasons:
        lines.append(f"Left out: {'; '.join(reasons)}.")
    rows = [(task["name"], row) for task in content["tasks"] for row in task["rows"]]
    if any(OTHER_TASK in row["note"] for _, row in rows):
        lines.append("\\* Not the same task: it starts from characters and splits in its own way.")
    if disturbed := [f"{row['who']} in {name}" for name, row in rows if DISTURBED in row["note"]]:
        lines.append(f"The machine was busy; these had to wait for a core: {', '.join(disturbed)}.")
    lines.append("All times, notes, and how the outcomes compare: `data/results/benchmarks.json`.")
    return lines


def megabytes_per_second(task: Record, row: Record) -> str:
    return f"{task['bytes'] / 1e6 / row['seconds']:.0f} MB/s"


def seconds(value: float) -> str:
    """Write two digits, or all before the point: two runs agree in no more."""
    return f"{value:.2g} s" if value < 10 else f"{value:,.0f} s"


def replace_table(readme: str, table: str) -> str:
    """Return the README with a new table. Raises ValueError if it has no place for one."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the README has no lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"
