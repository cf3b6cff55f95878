"""A run directory: one training stage, self-describing, with everything needed to translate.

run.json            what was trained: run format, settings, seed, versions, corpus, parameters, status, events
metrics.jsonl       training log: losses of training and development, one object per line
model.safetensors   the weights
state.safetensors   during training: weights, optimiser and position in the corpus, to resume from
snapshots/          during training: weights of earlier steps that the final model may be made of
checkpoints/        weights of the steps that `keep_at` names, kept after training
text/               how text becomes token ids: BPE codes, vocabulary, languages
precision.json      translation quality in lower precision, if measured
ranges.safetensors  activation ranges for int8
assessment/         translations, scores, contrastive accuracy, routing, for the report
contrast/           kept results of contrastive sets: NAME.own.json, NAME.none.json, NAME.shuffled.json
tensorboard/        the training log for TensorBoard, if it is installed
diagnosis.json      whether the model uses its context, with the evidence
results.json        every score with its signature, data and machine; counts.json has the counts for significance tests
endpoints/          `docaps endpoints`: PART/ with translations, scores and counts of a further test part;
                    SET.items.json, answers to contrastive items; STEP.checkpoint.json
held-out/dev/       translations, counts and, with each history, likelihoods of the documents of the development part
MODEL_CARD.md       a summary for readers
failed.log          what the run of a grid printed whose last attempt failed
"""

import contextlib
import errno
import os
import platform
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from filelock import lock_descriptor
from pydantic import Field

from docaps.errors import CorpusError, RunError
from docaps.files import LARGEST_DESCRIPTION, read_json, remove_files, remove_leftovers, write_json
from docaps.runs.stored_forms import Natural, Seconds, StoredForm, check_form

FORMAT = 2
"""Version of the run format, in run.json; runs of docaps 0.1 have none, which means 1."""
FINISHED = "finished"
TRAINING = "training"
INTERRUPTED = "interrupted"
LOCK = ".lock"
TAGS = ("formal", "informal")
"""Tags in front of a source that say how its translation addresses people; they are marks of the vocabulary."""
ASSESSMENT_FILES = (
    *("scores.json", "contrastive.json", "routing.json", "request.json", "speed.json"),
    "translations.jsonl",
)
HELD_OUT_FILES = ("translations.jsonl", "scores.json", "counts.json", "likelihoods.json")
ENDPOINT_FILES = ("translations.jsonl", "scores.json", "counts.json", "request.json")
_SNAPSHOT_FILES = ("snapshots/step-*.safetensors",)
TRAINING_FILES = ("state.safetensors", *_SNAPSHOT_FILES)
"""What only an unfinished training needs."""
_TEXT_FILES = (
    *("languages.json", "vocabulary.json", "bpe.codes", "sentencepiece.model"),
    *("truecase.source.txt", "truecase.target.txt", "words.source.txt", "source.spm", "target.spm"),
)
RUN_FILES = (
    *("run.json", "metrics.jsonl", "model.safetensors", "MODEL_CARD.md", "precision.json", "ranges.safetensors"),
    "failed.log",
    *("diagnosis.json", "results.json", "counts.json", *TRAINING_FILES, "tensorboard/events.out.tfevents.*"),
    *(f"contrast/*.{history}.json" for history in ("own", "none", "shuffled")),
    *("checkpoints/step-*.safetensors", *(f"text/{name}" for name in _TEXT_FILES)),
    *(f"assessment/{name}" for name in ASSESSMENT_FILES),
    *(f"held-out/dev/{name}" for name in HELD_OUT_FILES),
    *(f"endpoints/*/{name}" for name in ENDPOINT_FILES),
    *(f"endpoints/{name}" for name in ("*.items.json", "*.checkpoint.json")),
)
"""All files of a run, as patterns: only these are ever removed."""


class PathInside:
    """A class attribute that is a path inside the directory of the instance."""

    def __init__(self, name: str) -> None:
        """Take the path relative to the directory."""
        self.name = name

    def __get__(self, run: "Run", owner: type) -> Path:
        """Return the whole path."""
        return run.path / self.name


@dataclass(frozen=True, slots=True)
class Run:
    """The paths of a run directory (what they hold: see above), and its description in run.json."""

    path: Path

    description = PathInside("run.json")
    metrics = PathInside("metrics.jsonl")
    weights = PathInside("model.safetensors")
    state = PathInside("state.safetensors")
    snapshots = PathInside("snapshots")
    text = PathInside("text")
    precision = PathInside("precision.json")
    ranges = PathInside("ranges.safetensors")
    assessment = PathInside("assessment")
    choices = PathInside("contrast")
    diagnosis = PathInside("diagnosis.json")
    results = PathInside("results.json")
    held_out_dev = PathInside("held-out/dev")
    likelihoods = PathInside("held-out/dev/likelihoods.json")
    card = PathInside("MODEL_CARD.md")
    failure = PathInside("failed.log")

    tensorboard = PathInside("tensorboard")
    checkpoints = PathInside("checkpoints")
    endpoints = PathInside("endpoints")

    def checkpoint(self, step: int) -> Path:
        """Path of the weights of a step that `keep_at` names."""
        return self.checkpoints / f"step-{step:08d}.safetensors"

    def counts(self, part: str = "test") -> Path:
        """Path of the counts per document from which scores are computed."""
        return (self.held_out_dev if part == "dev" else self.path) / "counts.json"

    def read(self) -> dict[str, Any]:
        """Return the run's description in the current format."""
        found = read_json(self.description, error=RunError, limit=LARGEST_DESCRIPTION)
        return migrate(found, self.description)

    def write(self, description: Mapping[str, Any]) -> None:
        """Write the run's description."""
        write_json(self.description, {**description, "format": FORMAT})

    def is_ours(self) -> bool:
        """Return whether docaps wrote the run.json that is here."""
        return self.description.exists() and self.read().keys() >= {"status", "settings", "seed"}

    def clear(self) -> None:
        """Remove the files of a run, by name; others stay."""
        for folder in (self.assessment, self.held_out_dev):
            remove_leftovers(folder)
        remove_files(self.path, [name for name in RUN_FILES if name != self.description.name])
        remove_files(self.path, [self.description.name])  # last: without it the rest would not count as a run

    @property
    def finished(self) -> bool:
        """Return whether training is finished."""
        return self.description.exists() and self.read().get("status") == FINISHED


Table = dict[str, Any]


class _RunSettings(StoredForm):
    recipe: str | None = None
    system: Table = Field(default_factory=dict)
    stage: Table = Field(default_factory=dict)
    decoding: Table = Field(default_factory=dict)


class _RunCorpus(StoredForm):
    path: Annotated[str, Field(pattern=r"^[^\x00]*$")] | None = None
    hash: str | None = None


class _RunDescription(StoredForm):
    """The form of run.json; the settings themselves are checked where they are used."""

    name: str | None = None
    system: str | None = None
    status: str | None = None
    created: str | None = None
    command: str | None = None
    precision: str | None = None
    device: str | None = None
    weights: str | None = None
    init_from: str | None = None
    seed: Natural | None = None
    steps: Natural | None = None
    parameters: Natural | None = None
    processes: Natural | None = None
    tokens: Natural | None = None
    skipped_steps: Natural | None = None
    seconds: Seconds | None = None
    begun_from: dict[str, str] | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    settings: _RunSettings | None = None
    corpus: _RunCorpus | None = None
    annotations: dict[str, str] = Field(default_factory=dict)
    tags: list[str] | None = None
    history: list[Table] = Field(default_factory=list)


def learnt_tags(description: Mapping[str, Any]) -> list[str]:
    """List the tags of sources that a run, or one that it started from, was trained with."""
    stage = (description.get("settings") or {}).get("stage") or {}
    return list(description.get("tags") or (TAGS if stage.get("formality") else ()))


def migrate(description: Any, path: Path) -> dict[str, Any]:
    """Return the content of run.json in the current format; nothing but the number has changed since format 1."""
    if not isinstance(description, dict):
        raise RunError("not in the expected form: expected a JSON object", path=path)
    found = description.get("format", 1)
    if not isinstance(found, int) or not 1 <= found <= FORMAT:
        raise RunError(
            f"run format {found!r} is not known to this version, which reads formats 1 to {FORMAT}: update docaps",
            path=path,
        )
    return {**check_form(description, _RunDescription, path, error=RunError), "format": FORMAT}


@contextlib.contextmanager
def locked(run: Run) -> Iterator[None]:
    """Keep other processes from training in the same directory; the lock ends with the process, however that ends."""
    run.path.mkdir(parents=True, exist_ok=True)
    path = run.path / LOCK
    handle = _open_lock(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is locked: a waiting process must not lock a removed file
        os.close(handle)


def _open_lock(path: Path) -> int:
    """Create or open a lock file, and lock it; refuse a file that is something else."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    while True:
        try:
            handle = os.open(path, flags, 0o666)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise RunError("the lock is a symbolic link: remove it", path=path) from None
            raise
        try:
            _check_lock(handle, path)
            if os.fstat(handle).st_nlink:  # else the process that held it has removed it
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _check_lock(handle: int, path: Path) -> None:
    """Lock an open file; refuse one that is locked, or that docaps did not make."""
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_size or found.st_nlink > 1:
        raise RunError("the lock is not one of docaps, which is an empty file: move it away", path=path)
    acquired = True
    with contextlib.suppress(OSError):  # the file system has no locks
        acquired = lock_descriptor(handle, blocking=False)
    if not acquired:
        message = "another process is training here: wait for it or choose another --out"
        raise RunError(message, path=path.parent)


NAMED = 4
"""Runs that an error names."""


def _name_runs_near(path: Path) -> str:
    """Name the runs below a directory that is none, or those beside a path that does not exist."""
    folder, depth = (path, 3) if path.is_dir() else (path.parent, 1)
    patterns = [f"{'*/' * levels}run.json" for levels in range(1, depth + 1)]
    found = (file.parent for pattern in patterns for file in sorted(folder.glob(pattern)))
    names = ", ".join(str(run) for run in islice(found, NAMED))
    return f"; runs near it: {names}" if names else ""


def open_run(path: Path) -> Run:
    """Return a finished run; raise `RunError` if the directory is not one."""
    run = Run(path)
    if not run.description.exists():
        what = "not a run directory (it has no run.json)" if path.is_dir() else "no such run"
        raise RunError(f"{what}{_name_runs_near(path)}", path=path)
    status = run.read().get("status")
    if status != FINISHED:
        raise RunError(f"the run is not finished (status: {status}). Train it again with the same command", path=path)
    return run


def own_corpus(run: Run) -> Path:
    """Return the path of the prepared corpus that a run was trained on."""
    found = (run.read().get("corpus") or {}).get("path")
    if found is None:
        raise CorpusError(f"{run.path} does not say what it was trained on: give the corpus with --corpus")
    path = Path(found)
    if not path.exists():
        raise CorpusError(f"the corpus of {run.path} has moved: say where it is with --corpus", path=path)
    return path


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for package in ("docaps", "torch", "numpy", "sacrebleu", "sacremoses", "subword-nmt"):
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def now() -> str:
    """Return the current UTC time, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
