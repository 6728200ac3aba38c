"""`minigpt`: train, compare and sample small models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bpe.commands.console import give, log_to_stderr, say
from bpe.minigpt import experiment

if TYPE_CHECKING:
    from bpe.minigpt.run import Run

corpus_option = click.option("--corpus", type=click.Choice(list(experiment.COMPARED)), required=True)
profile_option = click.option(
    "--profile",
    type=click.Choice(list(experiment.PROFILES)),
    default="tiny",
    show_default=True,
    help="Size of the model and length of training.",
)
device_option = click.option(
    "--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:1, mps, …"
)


@click.group()
def minigpt() -> None:
    """Train a small GPT on a tokenizer's ids, and compare tokenizers by their models.

    \b
    Examples:
      python -m bpe minigpt train --corpus tang --tokenizer characters
      python -m bpe minigpt train --corpus tang --tokenizer mine.json --profile small
      python -m bpe minigpt sample data/runs/tang-characters-tiny-seed0 --prompt 春
      python -m bpe minigpt experiment --profile small
    """


def _print_record(record: dict[str, Any]) -> None:
    bits = f"  {record['bits_per_byte']:.3f} bits per byte" if "bits_per_byte" in record else ""
    say(
        f"step {record['step']:>6,}  {record['characters']:>10,} characters  loss {record['loss']:.3f}  "
        f"{record['tokens_per_second']:>9,} tokens/s{bits}"
    )


def _execute(run: Run, device: str, force: bool) -> None:
    from bpe.minigpt import run as runs

    log_to_stderr(experiment.log)
    say(str(run.folder))
    if not force and runs.result(run):
        say("finished before: ", nl=False)
    outcome = runs.execute(run, device=device, force=force, report=_print_record, progress=False)
    held_out, parameters = outcome["held_out"], outcome["parameters"]
    say(
        f"{held_out['bits_per_byte']:.3f} bits per byte and {held_out['bits_per_character']:.3f} per "
        f"character of held-out text, after {outcome['characters']:,} characters "
        f"({outcome['tokens']:,} tokens, {outcome['flops']:.2e} operations); parameters: "
        f"{parameters['embedding']:,} in the embeddings, {parameters['body']:,} in the body"
    )


@minigpt.command()
@corpus_option
@click.option(
    "--tokenizer", required=True, help=f"{', '.join(experiment.TOKENIZERS)}, or a tokenizer's file."
)
@profile_option
@device_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--characters-seen",
    type=click.IntRange(min=1),
    help="Number of training characters.  [default: that of the profile]",
)
@click.option(
    "--force", is_flag=True, help="Delete the files of an earlier run of the same name, and start over."
)
def train(
    corpus: str,
    tokenizer: str,
    profile: str,
    device: str,
    seed: int,
    characters_seen: int | None,
    force: bool,
) -> None:
    """Train one model, score and sample it along the way, and keep everything in runs/ of the data folder.

    A run that was stopped continues from its last checkpoint.
    """
    from bpe.minigpt.run import Run

    _execute(Run(corpus, tokenizer, profile, seed, characters_seen), device, force)


@minigpt.command("experiment")
@click.option(
    "--corpus",
    "corpora",
    type=click.Choice(list(experiment.COMPARED)),
    multiple=True,
    help="May be repeated.  [default: all for which the profile has a length]",
)
@profile_option
@device_option
@click.option(
    "--seed",
    "seeds",
    type=click.IntRange(min=0),
    multiple=True,
    help="May be repeated.  [default: 0, 1, 2]",
)
@click.option(
    "--characters-seen",
    type=click.IntRange(min=1),
    help="Number of training characters of every run, as a trial that writes no table.",
)
@click.option("--prepare", is_flag=True, help="Only make the tokenizers and the ids.")
def experiment_(
    corpora: tuple[str, ...],
    profile: str,
    device: str,
    seeds: tuple[int, ...],
    characters_seen: int | None,
    prepare: bool,
) -> None:
    """Train a model for each tokenizer and seed, and write one table to data/results/.

    A finished run is not repeated and a stopped one continues, so repeat the command until all are finished.
    The table is written after each run. The same command with other seeds may run at the same time.
    """
    from bpe.minigpt import table
    from bpe.minigpt.run import Run

    sizes = experiment.PROFILES[profile]
    chosen = [name for name in experiment.COMPARED if name in (corpora or sizes.characters_seen)]
    pairs = [(corpus, tokenizer) for corpus in chosen for tokenizer in experiment.COMPARED[corpus]]
    log_to_stderr(experiment.log)
    for corpus, tokenizer in pairs:
        ids = experiment.encoded(corpus, tokenizer, experiment.texts(corpus).train).ids
        say(f"{corpus}, {tokenizer}: {len(ids):,} training ids")
    if prepare:
        return
    for seed in seeds or sizes.seeds:
        for corpus, tokenizer in pairs:
            _execute(Run(corpus, tokenizer, profile, seed, characters_seen), device, force=False)
            if characters_seen is None:
                path = table.write(profile)
    if characters_seen is None:
        say("\n".join(table.lines(profile)))
        say(str(path))


@minigpt.command()
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--prompt", default="\n", help="Beginning of each sample.  [default: a newline]")
@click.option(
    "--tokens", type=click.IntRange(min=1), default=100, show_default=True, help="Number of tokens to add."
)
@click.option("--number", type=click.IntRange(min=1), default=3, show_default=True, help="Number of samples.")
@click.option("--temperature", type=click.FloatRange(min=0), default=0.8, show_default=True)
@click.option("--top-k", type=click.IntRange(min=1))
@click.option("--top-p", type=click.FloatRange(min=0, max=1, min_open=True))
@click.option("--seed", type=click.IntRange(min=0))
@device_option
def sample(
    run: Path,
    prompt: str,
    tokens: int,
    number: int,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    seed: int | None,
    device: str,
) -> None:
    """Sample texts from a run's model. RUN is the run's folder."""
    from bpe.minigpt import checkpoints, generation

    model, tokenizer = checkpoints.load(run, device)
    samples = generation.sampled(
        model, tokenizer, prompt, tokens, number, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed
    )
    give("\n---\n".join(samples))
