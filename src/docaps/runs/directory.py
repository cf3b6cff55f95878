"""A run directory: one training stage, self-describing, with everything needed to translate.

run.json            what was trained: run format, settings, seed, versions, corpus, parameters, status, events
metrics.jsonl       training log: losses of training and development, one object per line
model.safetensors   the weights
state.safetensors   during training: weights, optimiser and position in the corpus, to resume from
snapshots/          during training: weights of earlier steps that the final model may be made of
text/               how text becomes token ids: BPE codes, vocabulary, languages
precision.json      translation quality in lower precision, if measured
ranges.safetensors  activation ranges for int8
assessment/         translations, scores, contrastive accuracy, routing, for the report
contrast/           kept results of contrastive sets: NAME.own.json, NAME.none.json, NAME.shuffled.json
tensorboard/        the training log for TensorBoard, if it is installed
diagnosis.json      whether the model uses its context, with the evidence
results.json        every score with its signature, data and machine; counts.json has the counts for significance tests
held-out/dev/       translations, counts and, with each history, likelihoods of the documents of the development part
MODEL_CARD.md       a summary for readers
"""

import contextlib
import errno
import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from docaps.errors import CorpusError, RunError
from docaps.files import read_json, write_json

FORMAT = 3
"""Version of the run format, in run.json; runs of docaps 0.1 have none, which means 1."""
EARLIER_FORMS: Mapping[str, Mapping[str, Any]] = {
    "zhang": {"end_mark": False, "dropout": "all"},
    "han": {
        "queries": "linear",
        "query_gradient": True,
        "marks": True,
        "norm_summaries": False,
        "feed_forward_norm": "model",
        "gate_bias": False,
        "norm_output": False,
    },
    "san": {
        "projection_bias": True,
        "marks": True,
        "residual": True,
        "memory": "current",
        "keys": "last",
        "translations": "given",
    },
}
"""The form that systems had before format 3, in settings that did not exist then."""
FINISHED = "finished"
TRAINING = "training"
INTERRUPTED = "interrupted"
LOCK = ".lock"
PARTIAL = ".*.partial"
"""Files and directories that a process is writing, or was when it was killed."""


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

    tensorboard = PathInside("tensorboard")

    def counts(self, part: str = "test") -> Path:
        """Path of the counts per document from which scores are computed."""
        return (self.held_out_dev if part == "dev" else self.path) / "counts.json"

    def read(self) -> dict[str, Any]:
        """Return the run's description in the current format."""
        return migrate(read_json(self.description, error=RunError), self.description)

    def write(self, description: Mapping[str, Any]) -> None:
        """Write the run's description."""
        write_json(self.description, {**description, "format": FORMAT})

    def is_ours(self) -> bool:
        """Return whether docaps wrote the run.json that is here."""
        return self.description.exists() and self.read().keys() >= {"status", "settings", "seed"}

    def clear(self) -> None:
        """Remove the files of a run, by name; others stay."""
        inside = (value.name for value in vars(Run).values() if isinstance(value, PathInside))
        names = {Path(name).parts[0] for name in (*inside, self.counts().name)}
        for path in (*(self.path / name for name in sorted(names)), *self.path.glob(PARTIAL)):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    @property
    def finished(self) -> bool:
        """Return whether training is finished."""
        return self.description.exists() and self.read().get("status") == FINISHED


def migrate(description: Any, path: Path) -> dict[str, Any]:
    """Return the content of run.json in the current format, in which the form of every system is written out."""
    if not isinstance(description, dict):
        raise RunError("not in the expected form: expected a JSON object", path=path)
    found = description.get("format", 1)
    if not isinstance(found, int) or not 1 <= found <= FORMAT:
        raise RunError(
            f"run format {found!r} is not known to this version, which reads formats 1 to {FORMAT}: update docaps",
            path=path,
        )
    settings = description.get("settings")
    if found < 3 and isinstance(settings, dict) and isinstance(settings.get("system"), dict):
        description = {**description, "settings": {**settings, "system": _with_form(settings["system"])}}
    return {**description, "format": FORMAT}


def _with_form(system: Mapping[str, Any]) -> dict[str, Any]:
    """Add the settings that the system's own table lacks; tables of other systems do not matter."""
    name = str(system.get("name"))
    earlier = EARLIER_FORMS.get(name, {})
    return {**system, name: {**earlier, **system.get(name, {})}} if earlier else dict(system)


@contextlib.contextmanager
def locked(run: Run) -> Iterator[None]:
    """Keep other processes from training in the same directory; the lock ends with the process, however that ends."""
    run.path.mkdir(parents=True, exist_ok=True)
    path = run.path / LOCK
    lock = FileLock(path, blocking=False, fallback_to_soft=False)  # a soft lock would outlive a killed process
    try:
        lock.acquire()
    except Timeout:
        raise RunError("another process is training here: wait for it or choose another --out", path=run.path) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise RunError("the lock is a symbolic link: remove it", path=path) from None
        if error.filename is not None:  # the lock file cannot be opened; otherwise the file system has no locks
            raise
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is locked: a waiting process must not lock a removed file
        lock.release()


def open_run(path: Path) -> Run:
    """Return a finished run; raise `RunError` if the directory is not one."""
    run = Run(path)
    if not run.description.exists():
        raise RunError("not a run directory (it has no run.json)" if path.is_dir() else "no such run", path=path)
    status = run.read().get("status")
    if status != FINISHED:
        raise RunError(f"the run is not finished (status: {status}). Train it again with the same command", path=path)
    return run


def own_corpus(run: Run) -> Path:
    """Return the path of the prepared corpus that a run was trained on."""
    path = Path(run.read()["corpus"]["path"])
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
