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
import hashlib
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

from bpe._files import data_folder, remove_left_over, write_atomically
from bpe._progress import show_progress
from bpe._validate import check_integer, check_seed
from bpe.corpora import poems
from bpe.minigpt import checkpoints, experiment
from bpe.minigpt.evaluation import Score, score
from bpe.minigpt.experiment import Profile
from bpe.minigpt.generation import sampled
from bpe.minigpt.model import MiniGPTConfig
from bpe.minigpt.training import Trainer, TrainingSettings, chosen_device
from bpe.saving import TOKENIZER, folder_owner
from bpe.tokenizer import Tokenizer

Record = dict[str, Any]
Report = Callable[[Record], object]

REPORTS = 50  # lines of metrics in a run
SAMPLED_CHARACTERS = 80  # more than the longest of the four forms of poems has, 64 and its line feed
SAMPLING = {"temperature": 0.8, "top_p": 0.95}
ANEW = "To begin anew, delete the run's folder, or give --force to `minigpt train`."


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
        object.__setattr__(self, "seed", check_seed(self.seed))  # JSON has no numbers of numpy's
        if self.characters_seen is not None:
            seen = check_integer(self.characters_seen, "characters_seen", least=1)
            object.__setattr__(self, "characters_seen", seen)
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
    return data_folder() / "runs"


def result(run: Run) -> Record | None:
    """The outcome of a run that is finished, otherwise None. Raises ValueError where it is damaged."""
    try:
        return read_result(run.folder / "result.json")
    except FileNotFoundError:
        return None


def read_result(path: Path) -> Record:
    """What a result.json holds. Raises FileNotFoundError, and ValueError for a damaged file."""
    return _read_json(path, "corpus", "tokenizer", "seed", "parameters", "held_out", "curve", "machine")


def _read_json(path: Path, *keys: str) -> Record:
    """The object in a file, which must have these keys."""
    try:
        content: Record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _damaged(path, error) from error
    if not isinstance(content, dict) or (missing := [key for key in keys if key not in content]):
        raise _damaged(path, f"it has no {missing[0]!r}" if isinstance(content, dict) else "it is no object")
    return content


def _damaged(path: Path, reason: object) -> ValueError:
    return ValueError(f"{path} is damaged: {reason}. {ANEW}")


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
    Raises ValueError where the folder holds a run that was asked for otherwise, or is damaged.
    """
    if force:
        chosen_device(device)  # a wrong name is told before anything is deleted
    texts = experiment.texts(run.corpus)
    encoded = experiment.encoded(run.corpus, run.tokenizer, texts.train)
    per_token = len(texts.train) / len(encoded.ids)
    config = MiniGPTConfig(encoded.tokenizer.vocab_size, **run.sizes.body)
    tokens_per_step = run.sizes.settings["batch_size"] * config.block_size
    steps = math.ceil(run.characters / (tokens_per_step * per_token))
    settings = TrainingSettings(steps, seed=run.seed, **run.sizes.settings)
    asked = {
        "run": dataclasses.asdict(run) | {"tokenizer": experiment.short_name(run.tokenizer)},
        "texts": _sha256(texts),
        "fingerprint": encoded.tokenizer.fingerprint,
        "config": dataclasses.asdict(config),
        "settings": dataclasses.asdict(settings) | {"betas": list(settings.betas)},
    }
    _claim(run.folder, encoded.tokenizer, asked, force)
    if finished := result(run):
        return finished
    trainer = Trainer(config, settings, encoded.ids, encoded.tokenizer.fingerprint, device)
    return _Execution(run, texts, encoded.tokenizer, trainer, report).finish(progress)


def _sha256(texts: experiment.Texts) -> str:
    """One for all three texts, since the same tokenizer and settings may have been used on others."""
    return hashlib.sha256(json.dumps(dataclasses.astuple(texts)).encode("ascii")).hexdigest()


def _claim(folder: Path, tokenizer: Tokenizer, asked: Record, force: bool) -> None:
    """Make the folder this run's; refuse one that holds another run."""
    path = folder / "run.json"
    if force and folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    remove_left_over(folder)
    if path.is_file():
        _refuse_another(path, asked)
    if folder_owner(folder) != tokenizer.fingerprint:
        tokenizer.save(folder / TOKENIZER)
    if not path.is_file():
        write_atomically(path, json.dumps(asked, indent=1).encode("utf-8"))


def _refuse_another(path: Path, asked: Record) -> None:
    # Early runs did not note their texts.
    kept = {"texts": asked["texts"]} | _read_json(path, "run", "fingerprint", "config", "settings")
    if different := [key for key, value in asked.items() if kept[key] != value]:
        raise ValueError(
            f"{path.parent} holds a run with another {' and another '.join(different)}. "
            f"It is deleted only by force (--force)."
        )


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
            self._resume(checkpoint)
        else:
            self._keep({"step": 0, "samples": self._samples(2)})
        score_at = _evenly(self.steps, self.run.sizes.scores)
        report_at = self._reported_at()
        losses: list[torch.Tensor] = []
        remaining = range(self.trainer.step, self.steps)
        clock = time.perf_counter()
        for _ in show_progress(remaining, len(remaining), progress, desc=self.run.name):
            losses.append(self.trainer.train_step())
            step = self.trainer.step
            if step not in report_at:
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

    def _reported_at(self) -> set[int]:
        """The steps after which a line of metrics is kept."""
        return _evenly(self.steps, REPORTS) | _evenly(self.steps, self.run.sizes.scores)

    def _resume(self, checkpoint: Path) -> None:
        try:
            checkpoints.resume(checkpoint, self.trainer)
        except ValueError as error:
            raise type(error)(f"{error}. {ANEW}") from error
        path = self.run.folder / "metrics.jsonl"
        try:
            self._take_up_records(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise _damaged(path, error) from error

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

    def _take_up_records(self, lines: str) -> None:
        """Those up to the checkpoint; what was reported after it is done again."""
        step = self.trainer.step
        # Not splitlines: a sample may hold what JSON lets stand, and what ends a line for it, such as U+0085.
        found = [json.loads(line) for line in lines.split("\n") if line]
        records = [record for record in found if record["step"] <= step]
        expected = {0} | {reported for reported in self._reported_at() if reported <= step}
        if [record["step"] for record in records] != sorted(expected):
            raise ValueError(f"it does not hold all lines up to the checkpoint, of step {step:,}")
        self.records, self.seconds = records, records[-1]["seconds"]

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
