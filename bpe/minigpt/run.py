"""One run of the experiment: train, score along the way, sample, and keep everything in a folder.

The folder is data/runs/NAME/:

    run.json         what was asked for
    tokenizer.json   the tokenizer
    metrics.jsonl    one line per report: loss and speed, at some steps also scores and samples
    checkpoint.pt    the state of training; a stopped run continues from here
    samples.txt      the samples alone, the first from before training
    result.json      the outcome, written last: a run that has it is finished
    .lock            locked by the process that executes the run
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from bpe._files import data_folder, locked, read_json, read_text, remove_left_over, write_atomically
from bpe._progress import show_progress
from bpe._validate import check_finite, check_integer, check_seed
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
SAMPLE_CHARACTERS = 80  # more than the longest of the four forms of poems: 64 and a newline
SAMPLING = {"temperature": 0.8, "top_p": 0.95}
# What a result.json must hold for the table and the command; it holds more.
RESULT = {
    "corpus": str,
    "tokenizer": str,
    "seed": int,
    "parameters": {"embedding": int, "body": int},
    "held_out": {"bits_per_byte": float, "bits_per_character": float},
    "curve": list,
    "machine": dict,
    "characters_per_token": float,
    **dict.fromkeys(("tokens", "characters", "flops", "tokens_per_second"), int),
}
RUN = {"run": dict, "fingerprint": str, "config": dict, "settings": dict}
TOTALS = ("tokens", "characters", "bytes", "flops", "seconds")
# In the order in which --force deletes them: what is left of a run can be told from a whole one.
FILES = ("result.json", "checkpoint.pt", "metrics.jsonl", "samples.txt", "run.json", TOKENIZER)
LARGEST_FILE = 100_000_000  # bytes of a file of JSON
START_OVER = "To start over, delete the run's folder, or give --force to `minigpt train`."


@dataclass(frozen=True)
class Run:
    """What to run. characters_seen replaces the profile's number of training characters.

    Raises TypeError or ValueError, naming it, for what is impossible.
    """

    corpus: str
    tokenizer: str
    profile: str
    seed: int = 0
    characters_seen: int | None = None

    def __post_init__(self) -> None:
        experiment.check_name(self.profile, "profile", experiment.PROFILES)
        experiment.check_name(self.corpus, "corpus", experiment.COMPARED)
        check_seed(self.seed)
        if self.characters_seen is not None:
            check_integer(self.characters_seen, "characters_seen", least=1)
        elif self.corpus not in self.sizes.characters_seen:
            raise ValueError(
                f"profile {self.profile!r} has no length for {self.corpus!r}: give characters_seen"
            )

    @property
    def sizes(self) -> Profile:
        """The profile that `profile` names."""
        return experiment.PROFILES[self.profile]

    @property
    def characters(self) -> int:
        """Number of training characters."""
        return self.characters_seen or self.sizes.characters_seen[self.corpus]

    @property
    def name(self) -> str:
        """The name of the run's folder."""
        length = f"-{self.characters_seen}-characters" if self.characters_seen else ""
        tokenizer = experiment.short_name(self.tokenizer)
        return f"{self.corpus}-{tokenizer}-{self.profile}{length}-seed{self.seed}"

    @property
    def folder(self) -> Path:
        """The folder that keeps the run."""
        return runs_folder() / self.name


def runs_folder() -> Path:
    """The folder that keeps all runs."""
    return data_folder() / "runs"


def result(run: Run) -> Record | None:
    """The outcome of a finished run; None for any other. Raises ValueError if the file is damaged."""
    try:
        return read_result(run.folder / "result.json")
    except FileNotFoundError:
        return None


def read_result(path: Path) -> Record:
    """Read a result.json. Raises FileNotFoundError, and ValueError if the file is damaged."""
    return _read_json(path, RESULT)


def execute(
    run: Run,
    *,
    device: str = "auto",
    force: bool = False,
    report: Report | None = None,
    progress: bool | None = None,
) -> Record:
    """Execute a run, or continue it where it was stopped, and return its outcome, which result.json keeps.

    force: delete the files of an earlier run of the same name.
    report: called with each line of metrics.
    progress: whether to show a bar, as in `BPETokenizer.train`.
    Raises ValueError if the folder holds another run, or is damaged, or if the training diverges, and
    InUseError if another process executes the run.
    """
    if force:
        chosen_device(device)  # refuse a wrong name before deleting anything
    texts = experiment.texts(run.corpus)
    encoded = experiment.encoded(run.corpus, run.tokenizer, texts.train)
    tokenizer, characters_per_token = encoded.tokenizer, len(texts.train) / len(encoded.ids)
    config = MiniGPTConfig(tokenizer.vocab_size, **run.sizes.body)
    tokens_per_step = run.sizes.settings["batch_size"] * config.block_size
    steps = math.ceil(run.characters / (tokens_per_step * characters_per_token))
    settings = TrainingSettings(steps, seed=run.seed, **run.sizes.settings)
    asked = _describe(run, texts, tokenizer, config, settings)
    if not force and (finished := _finished(run, asked)):
        return finished
    with locked(run.folder):
        _claim(run.folder, tokenizer, asked, force)
        if finished := result(run):
            return finished
        trainer = Trainer(config, settings, encoded.ids, tokenizer.fingerprint, device)
        return _train(run, texts, tokenizer, trainer, report, progress)


def _train(
    run: Run,
    texts: experiment.Texts,
    tokenizer: Tokenizer,
    trainer: Trainer,
    report: Report | None,
    progress: bool | None,
) -> Record:
    """Train to the end, from the checkpoint if there is one, and write the result."""
    per_token = _rates(texts.train, trainer)
    sample_tokens = math.ceil(SAMPLE_CHARACTERS / per_token["characters"])

    def sample(number: int) -> list[str]:
        return sampled(trainer.model, tokenizer, "\n", sample_tokens, number, seed=run.seed, **SAMPLING)

    steps = trainer.settings.steps
    score_at = _spread(steps, run.sizes.scores)
    report_at = _spread(steps, REPORTS) | score_at
    checkpoint = run.folder / "checkpoint.pt"
    if checkpoint.is_file():
        records = _resume(checkpoint, trainer, report_at)
    else:
        records = [{"step": 0, "samples": sample(2)}]
        _write_records(run.folder, records)

    losses: list[torch.Tensor] = []  # since the last report, on the device
    seconds, clock = records[-1].get("seconds", 0.0), time.perf_counter()
    for _ in show_progress(range(trainer.step, steps), steps - trainer.step, progress, desc=run.name):
        losses.append(trainer.train_step())
        if trainer.step not in report_at:
            continue
        loss = float(torch.stack(losses).mean())  # waits for the device, so the clock is read after it
        if not math.isfinite(loss):
            raise ValueError(f"the loss is {loss} at step {trainer.step:,}: the training has diverged")
        interval = time.perf_counter() - clock
        seconds += interval
        record = {
            "step": trainer.step,
            "loss": loss,
            "learning_rate": trainer.settings.learning_rate_at(trainer.step - 1),
            **_totals(trainer, per_token),
            "seconds": round(seconds, 3),
            "tokens_per_second": round(len(losses) * trainer.tokens_per_step / interval),
        }
        if trainer.step in score_at:
            record |= _bits(score(trainer.model, tokenizer, texts.along_the_way)) | {"samples": sample(2)}
        records.append(record)
        _write_records(run.folder, records)
        if trainer.step in score_at:
            checkpoints.save(checkpoint, trainer)
        if report:
            report(record)
        losses, clock = [], time.perf_counter()

    held_out = score(trainer.model, tokenizer, texts.held_out[: run.sizes.held_out])
    samples = sample(run.sizes.samples)
    outcome = _summarise(run, trainer, records, held_out, samples, per_token["characters"])
    _write_text(run.folder / "result.json", _to_json(outcome, indent=1) + "\n")
    return outcome


def _rates(train: str, trainer: Trainer) -> dict[str, float]:
    """Characters, bytes and floating-point operations per training token."""
    tokens = len(trainer.batches.ids)
    return {
        "characters": len(train) / tokens,
        "bytes": len(train.encode("utf-8")) / tokens,
        "flops": trainer.config.training_flops_per_token,
    }


def _spread(steps: int, number: int) -> set[int]:
    """`number` steps at equal distances, the last step among them."""
    return {math.ceil(steps * k / number) for k in range(1, number + 1)}


def _totals(trainer: Trainer, per_token: dict[str, float]) -> Record:
    """Tokens, characters, bytes and operations of all steps so far."""
    tokens = trainer.step * trainer.tokens_per_step
    return {"tokens": tokens, **{unit: round(tokens * rate) for unit, rate in per_token.items()}}


def _bits(cost: Score) -> Record:
    return {
        "bits_per_byte": round(cost.bits_per_byte, 5),
        "bits_per_character": round(cost.bits_per_character, 5),
    }


def _summarise(
    run: Run,
    trainer: Trainer,
    records: list[Record],
    held_out: Score,
    samples: list[str],
    characters_per_token: float,
) -> Record:
    """The outcome of a finished run, as result.json holds it."""
    first_lines = [sample.strip("\n").split("\n")[0] for sample in samples]
    curve = [record for record in records if "bits_per_byte" in record]
    last = records[-1]
    return {
        **dataclasses.asdict(run),
        "tokenizer": experiment.short_name(run.tokenizer),
        "fingerprint": trainer.fingerprint,
        "parameters": trainer.model.num_parameters()._asdict(),
        **{key: last[key] for key in TOTALS},
        "tokens_per_second": round(last["tokens"] / max(last["seconds"], 0.001)),  # rounded to 0.001
        "characters_per_token": round(characters_per_token, 4),
        "held_out": {
            **held_out._asdict(),
            **_bits(held_out),
            "nats_per_token": round(held_out.nats_per_token, 4),
        },
        "curve": [{key: record[key] for key in ("characters", "flops", "bits_per_byte")} for record in curve],
        "settings": dataclasses.asdict(trainer.settings),
        "config": dataclasses.asdict(trainer.config),
        "sampling": SAMPLING,
        "in_form": sum(poems.form_of(line) is not None for line in first_lines) / len(first_lines),
        "samples": first_lines[:5],
        "machine": machine(trainer.device),
    }


# --- the folder


def _describe(
    run: Run,
    texts: experiment.Texts,
    tokenizer: Tokenizer,
    config: MiniGPTConfig,
    settings: TrainingSettings,
) -> Record:
    """What run.json holds: everything that training depends on, except the machine."""
    return {
        "run": dataclasses.asdict(run) | {"tokenizer": experiment.short_name(run.tokenizer)},
        # Other texts may have the same tokenizer, sizes and settings.
        "texts": {name: experiment.sha256(text) for name, text in dataclasses.asdict(texts).items()},
        "fingerprint": tokenizer.fingerprint,
        "config": dataclasses.asdict(config),
        "settings": dataclasses.asdict(settings),
    }


def _finished(run: Run, asked: Record) -> Record | None:
    """The outcome, if the run is finished. Raises ValueError if the folder holds another run."""
    path = run.folder / "run.json"
    if path.is_file():
        _refuse_another(path, json.loads(_to_json(asked)))
    return result(run)


def _claim(folder: Path, tokenizer: Tokenizer, asked: Record, force: bool) -> None:
    """Make the folder, which is locked, this run's. Raises ValueError if it holds another run."""
    path = folder / "run.json"
    remove_left_over(folder)
    if force:
        _clear(folder)
    elif path.is_file():
        _refuse_another(path, json.loads(_to_json(asked)))
    if folder_owner(folder) != tokenizer.fingerprint:
        tokenizer.save(folder / TOKENIZER)
    if not path.is_file():
        _write_text(path, _to_json(asked, indent=1))


def _clear(folder: Path) -> None:
    """Delete the files of a run, and nothing else that is in its folder. Raises ValueError for a link."""
    if folder.is_symlink():
        raise ValueError(f"{folder} is a link, so --force deletes nothing there: delete it yourself")
    for name in FILES:
        (folder / name).unlink(missing_ok=True)


def _refuse_another(path: Path, asked: Record) -> None:
    kept = _read_json(path, RUN)
    if not isinstance(kept.get("texts"), dict):
        # Earlier runs noted a hash of another kind, or none: their other entries have to tell them apart.
        kept["texts"] = asked["texts"]
    if different := [key for key, value in asked.items() if kept[key] != value]:
        raise ValueError(
            f"{path.parent} holds a run with another {' and another '.join(different)}. "
            f"Only --force deletes it."
        )


def _resume(checkpoint: Path, trainer: Trainer, report_at: set[int]) -> list[Record]:
    """Bring the trainer to the checkpoint; return the records up to it. What came later is done again."""
    try:
        checkpoints.resume(checkpoint, trainer)
    except ValueError as error:
        other = isinstance(error, checkpoints.OtherTokenizerError)
        raise (checkpoints.OtherTokenizerError if other else ValueError)(f"{error}. {START_OVER}") from error
    path = checkpoint.with_name("metrics.jsonl")
    expected = [0, *sorted(step for step in report_at if step <= trainer.step)]
    try:
        # Not splitlines: JSON allows characters in a sample that end a line there, such as U+0085.
        lines = read_text(path, LARGEST_FILE).split("\n")
        records: list[Record] = [json.loads(line) for line in lines if line]
        records = [record for record in records if record["step"] <= trainer.step]
        if [record["step"] for record in records] != expected:
            raise ValueError(f"it does not hold all lines up to the checkpoint, of step {trainer.step:,}")
        for record in records:
            _check_record(record)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise _damage(path, error) from error
    return records


def _check_record(record: Record) -> None:
    """Raise TypeError, ValueError or KeyError unless a line of metrics is as `_train` writes it."""
    check_integer(record["step"], "step")
    for key in (*TOTALS, "loss", "tokens_per_second") if record["step"] else ():
        if check_finite(record[key], key) < 0:
            raise ValueError(f"its {key} is {record[key]} at step {record['step']:,}")
    if "bits_per_byte" in record:
        check_finite(record["bits_per_byte"], "bits_per_byte")
    if not all(isinstance(sample, str) for sample in record.get("samples", [])):
        raise TypeError(f"its samples are not texts at step {record['step']:,}")


def _write_records(folder: Path, records: list[Record]) -> None:
    _write_text(folder / "metrics.jsonl", "".join(_to_json(record) + "\n" for record in records))
    samples = [
        "\n\n".join([f"--- step {record['step']:,}", *record["samples"]]) + "\n\n"
        for record in records
        if "samples" in record
    ]
    _write_text(folder / "samples.txt", "".join(samples))


def _to_json(content: Record, indent: int | None = None) -> str:
    return json.dumps(checkpoints.python_numbers(content), indent=indent, ensure_ascii=False, allow_nan=False)


def _write_text(path: Path, text: str) -> None:
    write_atomically(path, text.encode("utf-8"))


def _read_json(path: Path, form: Mapping[str, Any]) -> Record:
    """Read the object in a file. Raises OSError, and ValueError if it does not have the form."""
    try:
        content = read_json(path, LARGEST_FILE)
        _check_form(content, form)
        _to_json(content).encode("utf-8")  # half of a UTF-16 pair could not be written to the table
    except (TypeError, ValueError) as error:
        raise _damage(path, error) from error
    return dict(content)


def _check_form(content: object, form: Mapping[str, Any]) -> None:
    """Raise TypeError or ValueError unless `content` is a dict with these entries, of these types."""
    if not isinstance(content, dict):
        raise TypeError("it does not hold an object")
    for name, kind in form.items():
        if name not in content:
            raise ValueError(f"it has no {name!r}")
        if isinstance(kind, dict):
            _check_form(content[name], kind)
        elif kind in (int, float):
            if check_finite(content[name], name) < 0 or (kind is int and not isinstance(content[name], int)):
                raise ValueError(f"its {name!r} is {content[name]}")
        elif not isinstance(content[name], kind):
            raise TypeError(f"its {name!r} is not of type {kind.__name__}")


def _damage(path: Path, reason: object) -> ValueError:
    return ValueError(f"{path} is damaged: {reason}. {START_OVER}")


def machine(device: torch.device) -> dict[str, str | int]:
    """The machine and the versions of a run."""
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "system": f"{platform.system()}, {platform.machine()}",
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__.split("+")[0],
        "python": platform.python_version(),
    }
