"""The results of all runs of the experiment, in one table."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bpe._files import locked
from bpe.minigpt import experiment, results
from bpe.minigpt.run import read_result, runs_folder

Record = dict[str, Any]

KEYS = ("corpus", "tokenizer", "seed")


def name(profile: str) -> str:
    """Name of the table in data/results/."""
    return f"minigpt_{profile}"


def outcomes(profile: str) -> list[Record]:
    """Results of the finished runs of a profile, in the order of `experiment.COMPARED`, then of the seeds.

    Raises ValueError for an unknown profile, and for a result that is damaged or that of another run.
    """
    experiment.check_name(profile, "profile", experiment.PROFILES)
    found = []
    for corpus, tokenizers in experiment.COMPARED.items():
        for tokenizer in tokenizers:
            start = f"{corpus}-{tokenizer}-{profile}-seed"
            for path in runs_folder().glob(f"{start}*/result.json"):
                seed = path.parent.name.removeprefix(start)
                if seed.isdecimal():  # else a copy, or some other folder
                    outcome = read_result(path)
                    if (corpus, tokenizer, seed) != tuple(str(outcome[key]) for key in KEYS):
                        raise ValueError(f"{path} is the result of another run than its folder names")
                    found.append(outcome)
    return sorted(found, key=_place)


def _place(outcome: Record) -> tuple[int, int, int]:
    tokenizers = experiment.COMPARED[outcome["corpus"]]
    corpus = list(experiment.COMPARED).index(outcome["corpus"])
    return corpus, tokenizers.index(outcome["tokenizer"]), outcome["seed"]


def write(profile: str) -> Path:
    """Write the table of all finished runs of a profile, and return its path.

    Processes that finish runs at the same time write one after the other, so that no run is left out.
    """
    with locked(runs_folder(), wait=lambda message: None):  # it takes no time worth a message
        runs = outcomes(profile)
        return results.write(
            name(profile),
            {
                "command": results.COMMANDS.get(name(profile), f"a run of profile {profile}"),
                "profile": profile,
                "unit": "bits per byte and per character of held-out text; spread: largest less smallest",
                "summary": summary(runs),
                "runs": runs,
            },
        )


def summary(runs: list[Record]) -> list[Record]:
    """One row per corpus and tokenizer: means over the seeds, and for bits the largest less the smallest."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for run in runs:
        groups.setdefault((run["corpus"], run["tokenizer"]), []).append(run)
    return [
        {
            "corpus": corpus,
            "tokenizer": tokenizer,
            "seeds": [run["seed"] for run in group],
            "parameters": group[0]["parameters"],
            "characters_per_token": group[0]["characters_per_token"],
            "characters": group[0]["characters"],
            "flops": group[0]["flops"],
            "tokens_per_second": round(statistics.mean(run["tokens_per_second"] for run in group)),
            **_mean_and_spread(group, "bits_per_byte"),
            **_mean_and_spread(group, "bits_per_character"),
        }
        for (corpus, tokenizer), group in groups.items()
    ]


def _mean_and_spread(group: list[Record], key: str) -> Record:
    values = [run["held_out"][key] for run in group]
    return {key: round(statistics.mean(values), 4), f"{key}_spread": round(max(values) - min(values), 4)}


def lines(profile: str) -> Iterator[str]:
    """The summary as lines of text, the header first."""
    yield "corpus     tokenizer        seeds  embedding       body  operations  bits/byte (spread)  bits/char"
    for row in summary(outcomes(profile)):
        yield (
            f"{row['corpus']:<10} {row['tokenizer']:<16} {len(row['seeds']):>5} "
            f"{row['parameters']['embedding']:>10,} {row['parameters']['body']:>10,}    {row['flops']:.2e}  "
            f"  {row['bits_per_byte']:.4f} ({row['bits_per_byte_spread']:.4f})"
            f"     {row['bits_per_character']:.4f}"
        )
