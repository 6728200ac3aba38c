"""One run of the experiment: train, score along the way, sample, and keep all of it in a folder.

The folder, data/runs/NAME/, holds
    run.json         what was asked for
    tokenizer.json   the tokenizer
    metrics.jsonl    a line for each report: loss and speed, and now and then scores and samples
    checkpoint.pt    where training stands; a run that was stopped goes on from here
    samples.txt      the samples alone, from before the first step on
    result.json      the outcome; it is written last, and a run that has it is finished
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import platform
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from bpe import checkpoints, corpora, experiment, poems
from bpe.characters import CharTokenizer
from bpe.evaluation import Score, score
from bpe.experiment import Profile
from bpe.files import write_atomically
from bpe.generation import generate
from bpe.idfiles import TOKENIZER
from bpe.inputs import integer
from bpe.loading import Tokenizer, load_tokenizer
from bpe.minigpt import MiniGPT, MiniGPTConfig
from bpe.progress import watched
from bpe.training import Trainer, TrainingSettings

Record = dict[str, Any]
Report = Callable[[Record], object]

REPORTS = 50  # lines of metrics in a run
SAMPLED_CHARACTERS = 80  # more than the longest of the four forms of poems has, 64 and its line feed
SAMPLING = {"temperature": 0.8, "top_p": 0.95}


@dataclass(frozen=True)
class Run:
    """What is to be run. characters_seen replaces the profile's number."""

    corpus: str
    tokenizer: str
    profile: str
    seed: int = 0
    characters_seen: int | None = None

    def __post_init__(self) -> None:
        if self.profile not in experiment.PROFILES:
            raise ValueError(
                f"unknown profile {self.profile!r}: choose from {', '.join(experiment.PROFILES)}"
            )
        integer(self.seed, "seed", least=0)
        if self.characters_seen is not None:
            integer(self.characters_seen, "characters_seen", least=1)
        elif self.corpus not in self.sizes.characters_seen:
            raise ValueError(
                f"profile {self.profile!r} has no length for {self.corpus!r}: say characters_seen"
            )

    @property
    def sizes(self) -> Profile:
        """The profile itself."""
        return experiment.PROFILES[self.profile]

    @property
    def characters(self) -> int:
        """How many characters the model is to see."""
        return self.characters_seen or self.sizes.characters_seen[self.corpus]

    @property
    def name(self) -> str:
        """The name of the run's folder."""
        length = f"-{self.characters_seen}-characters" if self.characters_seen else ""
        tokenizer = experiment.short_name(self.tokenizer)
        return f"{self.corpus}-{tokenizer}-{self.profile}{length}-seed{self.seed}"

    @property
    def folder(self) -> Path:
        """Where the run is kept."""
        return runs_folder() / self.name


def runs_folder() -> Path:
    """Where all runs are kept."""
    return corpora.data_folder() / "runs"


def result(run: Run) -> Record | None:
    """The outcome of a run that is finished, otherwise None."""
    try:
        content: Record = json.loads((run.folder / "result.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return content


def execute(
    run: Run,
    *,
    device: str = "auto",
    force: bool = False,
    report: Report | None = None,
    progress: bool | None = None,
) -> Record:
    """Do a run, or go on with it, and return its outcome, which is also kept.

    force: delete what an earlier run of that name left.
    report: is called with each line of metrics.
    progress: a bar, as in `BPETokenizer.train`.
    Raises ValueError where the folder holds a run that was asked for otherwise.
    """
    texts = experiment.texts(run.corpus)
    encoded = experiment.encoded(run.corpus, run.tokenizer, texts.train)
    per_token = len(texts.train) / len(encoded.ids)
    config = MiniGPTConfig(encoded.tokenizer.vocab_size, **run.sizes.body)
    tokens_per_step = run.sizes.settings["batch_size"] * config.block_size
    steps = math.ceil(run.characters / (tokens_per_step * per_token))
    settings = TrainingSettings(steps, seed=run.seed, **run.sizes.settings)
    _claim(run, encoded.tokenizer, config, settings, force)
    if finished := result(run):
        return finished
    trainer = Trainer(config, settings, encoded.ids, encoded.tokenizer.fingerprint, device)
    return _Execution(run, texts, encoded.tokenizer, trainer, report).finish(progress)


def _claim(
    run: Run, tokenizer: Tokenizer, config: MiniGPTConfig, settings: TrainingSettings, force: bool
) -> None:
    """Make the folder this run's; refuse one that holds another run."""
    asked = {
        "run": dataclasses.asdict(run) | {"tokenizer": experiment.short_name(run.tokenizer)},
        "fingerprint": tokenizer.fingerprint,
        "config": dataclasses.asdict(config),
        "settings": dataclasses.asdict(settings) | {"betas": list(settings.betas)},
    }
    path = run.folder / "run.json"
    if force and run.folder.exists():
        shutil.rmtree(run.folder)
    run.folder.mkdir(parents=True, exist_ok=True)
    if path.is_file():
        if (kept := json.loads(path.read_text(encoding="utf-8"))) != asked:
            different = [key for key, value in asked.items() if kept.get(key) != value]
            raise ValueError(
                f"{run.folder} holds a run with another {' and another '.join(different)}. "
                f"It is deleted only by force (--force)."
            )
        return
    tokenizer.save(run.folder / TOKENIZER)
    write_atomically(path, json.dumps(asked, indent=1).encode("utf-8"))


class _Execution:
    """A run while it is done."""

    def __init__(
        self,
        run: Run,
        texts: experiment.Texts,
        tokenizer: Tokenizer,
        trainer: Trainer,
        report: Report | None,
    ) -> None:
        self.run, self.texts, self.tokenizer, self.trainer = run, texts, tokenizer, trainer
        self.report = report or (lambda record: None)
        self.records: list[Record] = []
        self.seconds = 0.0
        tokens = len(trainer.batches.ids)
        self.characters_per_token = len(texts.train) / tokens
        self.bytes_per_token = len(texts.train.encode("utf-8")) / tokens

    @property
    def steps(self) -> int:
        return self.trainer.settings.steps

    def finish(self, progress: bool | None) -> Record:
        """Train to the end, from the checkpoint where there is one."""
        checkpoint = self.run.folder / "checkpoint.pt"
        if checkpoint.is_file():
            checkpoints.resume(checkpoint, self.trainer)
            self._take_up_records()
        else:
            self._keep({"step": 0, "samples": self._samples(2)})
        report_at = _evenly(self.steps, REPORTS)
        score_at = _evenly(self.steps, self.run.sizes.scores)
        losses: list[torch.Tensor] = []
        remaining = range(self.trainer.step, self.steps)
        clock = time.perf_counter()
        for _ in watched(remaining, len(remaining), progress, desc=self.run.name):
            losses.append(self.trainer.train_step())
            step = self.trainer.step
            if step not in report_at | score_at:
                continue
            record = self._record(losses, clock)
            if step in score_at:
                along_the_way = score(self.trainer.model, self.tokenizer, self.texts.along_the_way)
                record |= _bits(along_the_way) | {"samples": self._samples(2)}
            self._keep(record)
            if step in score_at:
                checkpoints.save(checkpoint, self.trainer)
            self.report(record)
            losses, clock = [], time.perf_counter()
        return self._write_result()

    def _record(self, losses: list[torch.Tensor], clock: float) -> Record:
        loss = float(torch.stack(losses).mean())  # waits for the device, so it comes before the clock is read
        seconds = time.perf_counter() - clock
        self.seconds += seconds
        tokens = self.trainer.step * self.trainer.tokens_per_step
        return {
            "step": self.trainer.step,
            "loss": loss,
            "learning_rate": self.trainer.settings.learning_rate_at(self.trainer.step - 1),
            "tokens": tokens,
            "characters": round(tokens * self.characters_per_token),
            "bytes": round(tokens * self.bytes_per_token),
            "flops": tokens * self.trainer.config.training_flops_per_token,
            "seconds": round(self.seconds, 3),
            "tokens_per_second": round(len(losses) * self.trainer.tokens_per_step / seconds),
        }

    # -- files

    def _keep(self, record: Record) -> None:
        self.records.append(record)
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in self.records)
        write_atomically(self.run.folder / "metrics.jsonl", lines.encode("utf-8"))
        samples = "".join(
            "\n\n".join([f"--- step {record['step']:,}", *record["samples"]]) + "\n\n"
            for record in self.records
            if "samples" in record
        )
        write_atomically(self.run.folder / "samples.txt", samples.encode("utf-8"))

    def _take_up_records(self) -> None:
        """Those up to the checkpoint; what was reported after it is done again."""
        lines = (self.run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        self.records = [record for line in lines if (record := json.loads(line))["step"] <= self.trainer.step]
        self.seconds = self.records[-1]["seconds"]

    def _samples(self, number: int) -> list[str]:
        tokens = math.ceil(SAMPLED_CHARACTERS / self.characters_per_token)
        return sampled(
            self.trainer.model, self.tokenizer, "\n", tokens, number, seed=self.run.seed, **SAMPLING
        )

    def _write_result(self) -> Record:
        held_out = self.texts.held_out[: self.run.sizes.held_out]
        final = score(self.trainer.model, self.tokenizer, held_out)
        samples = self._samples(self.run.sizes.samples)
        first_lines = [sample.strip("\n").split("\n")[0] for sample in samples]
        curve = [record for record in self.records if "bits_per_byte" in record]
        last = self.records[-1]
        content = {
            **dataclasses.asdict(self.run),
            "tokenizer": experiment.short_name(self.run.tokenizer),
            "fingerprint": self.tokenizer.fingerprint,
            "parameters": self.trainer.model.num_parameters()._asdict(),
            **{key: last[key] for key in ("tokens", "characters", "bytes", "flops", "seconds")},
            "tokens_per_second": round(last["tokens"] / last["seconds"]),
            "characters_per_token": round(self.characters_per_token, 4),
            "held_out": final._asdict() | _bits(final) | {"nats_per_token": round(final.nats_per_token, 4)},
            "curve": [
                {key: record[key] for key in ("characters", "flops", "bits_per_byte")} for record in curve
            ],
            "settings": dataclasses.asdict(self.trainer.settings),
            "config": dataclasses.asdict(self.trainer.config),
            "sampling": SAMPLING,
            "in_form": sum(poems.form_of(line) is not None for line in first_lines) / len(first_lines),
            "samples": first_lines[:5],
            "machine": machine(self.trainer.device),
        }
        path = self.run.folder / "result.json"
        write_atomically(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8"))
        return content


def _evenly(steps: int, number: int) -> set[int]:
    """`number` steps at equal distances, the last one among them."""
    return {math.ceil(steps * k / number) for k in range(1, number + 1)}


def _bits(scored: Score) -> Record:
    return {
        "bits_per_byte": round(scored.bits_per_byte, 5),
        "bits_per_character": round(scored.bits_per_character, 5),
    }


def machine(device: torch.device) -> dict[str, str | int]:
    """Where a run was done, and with what."""
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "system": f"{platform.system()}, {platform.machine()}",
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__.split("+")[0],
        "python": platform.python_version(),
    }


# --- using what was trained


def load(folder: str | Path, device: str = "auto") -> tuple[MiniGPT, Tokenizer]:
    """The model and the tokenizer of a run. Raises as `checkpoints.load_model` does."""
    tokenizer = load_tokenizer(Path(folder) / TOKENIZER)
    return checkpoints.load_model(Path(folder) / "checkpoint.pt", tokenizer, device), tokenizer


def sampled(
    model: MiniGPT, tokenizer: Tokenizer, prompt: str, num_tokens: int, num_samples: int, **options: Any
) -> list[str]:
    """Texts that begin with the prompt; options are those of `bpe.generation.generate`.

    An unknown token is never taken, since it has no text.
    """
    ids = tokenizer.encode(prompt)
    unknown = [tokenizer.vocab_size - 1] if isinstance(tokenizer, CharTokenizer) and tokenizer.unknown else []
    samples = generate(model, ids, num_tokens, num_samples=num_samples, banned=unknown, **options)
    return [tokenizer.decode(sample) for sample in samples]
