"""A run directory: one training stage, self-describing, and all that is needed to translate with it.

run.json            what was trained: settings, seed, versions, corpus, parameters, status, interruptions
metrics.jsonl       one object a line: losses of training and development
model.safetensors   the weights
state.safetensors   while training: weights, optimiser and place in the corpus, to go on from
snapshots/          while training: weights of earlier steps that the final model may be made of
text/               how text becomes token ids: BPE codes, vocabulary, languages
precision.json      how well the model translates in lower precision, if that was measured
ranges.safetensors  the ranges by which int8 then rounds numbers
assessment/         translations, scores, contrastive accuracy, routing (files that the report reads)
contrast/           choices in contrastive sets that were to be kept: NAME.own.json, NAME.none.json, NAME.shuffled.json
diagnosis.json      whether context is used, and what tells it; there once the run was diagnosed
results.json        every score with its signature, data and machine; counts.json what significance is computed from
MODEL_CARD.md       all of this in words
"""

import contextlib
import fcntl
import json
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from docaps.errors import CorpusError, RunError
from docaps.files import read_json, write_json

FINISHED = "finished"
TRAINING = "training"
INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Run:
    """The paths of a run directory and what its `run.json` says."""

    path: Path

    @property
    def description(self) -> Path:
        """Path of the file that describes the run."""
        return self.path / "run.json"

    @property
    def metrics(self) -> Path:
        """Path of the training log."""
        return self.path / "metrics.jsonl"

    @property
    def weights(self) -> Path:
        """Path of the model's weights."""
        return self.path / "model.safetensors"

    @property
    def state(self) -> Path:
        """Path of all that is needed to go on with an unfinished training."""
        return self.path / "state.safetensors"

    @property
    def snapshots(self) -> Path:
        """Directory of weights of earlier steps, while training."""
        return self.path / "snapshots"

    @property
    def text(self) -> Path:
        """Directory of what turns text into token ids."""
        return self.path / "text"

    @property
    def assessment(self) -> Path:
        """Directory of what was measured with the finished model."""
        return self.path / "assessment"

    @property
    def choices(self) -> Path:
        """Directory of what `docaps contrast --keep` found, a file for each set and history."""
        return self.path / "contrast"

    @property
    def results(self) -> Path:
        """Path of all scores of a run of a grid, with what they were measured on and where."""
        return self.path / "results.json"

    @property
    def held_out_dev(self) -> Path:
        """Path of the translations of the development part."""
        return self.path / "held-out" / "dev"

    @property
    def likelihoods(self) -> Path:
        """Path of how likely each document of the development part is found, with each history."""
        return self.held_out_dev / "likelihoods.json"

    def counts(self, part: str = "test") -> Path:
        """Path of the counts of each document of a part that its scores follow from."""
        return (self.held_out_dev if part == "dev" else self.path) / "counts.json"

    @property
    def card(self) -> Path:
        """Path of the model card."""
        return self.path / "MODEL_CARD.md"

    @property
    def precision(self) -> Path:
        """Path of what `docaps precision` found: how well lower precisions translate."""
        return self.path / "precision.json"

    @property
    def ranges(self) -> Path:
        """Path of the ranges of numbers that `docaps precision` met; int8 rounds by them."""
        return self.path / "ranges.safetensors"

    def read(self) -> dict[str, Any]:
        """Return the run's description."""
        description = read_json(self.description, error=RunError)
        if not isinstance(description, dict):
            raise RunError("expected a JSON object", path=self.description)
        return description

    def write(self, description: Mapping[str, Any]) -> None:
        """Store the run's description."""
        write_json(self.description, dict(description))

    @property
    def finished(self) -> bool:
        """Say whether training came to its end."""
        return self.description.exists() and self.read().get("status") == FINISHED


LOCK = ".lock"


@contextlib.contextmanager
def locked(run: Run) -> Iterator[None]:
    """Keep others from training in the same directory; the lock ends with the process, however that ends."""
    run.path.mkdir(parents=True, exist_ok=True)
    path = run.path / LOCK
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken = os.fstat(file.fileno()).st_nlink == 0  # who had the lock has just gone, and the file with it
        except BlockingIOError:
            taken = True
        except OSError:  # a file system without locks
            taken = False
        if taken:
            raise RunError("another process is training here: wait for it or choose another --out", path=run.path)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def open_run(path: Path) -> Run:
    """Return a finished run, or say why the directory is none."""
    run = Run(path)
    if not run.description.exists():
        raise RunError("not a run directory (it has no run.json)" if path.is_dir() else "no such run", path=path)
    status = run.read().get("status")
    if status != FINISHED:
        raise RunError(f"the run is not finished (status: {status}). Train it again with the same command", path=path)
    return run


def own_corpus(run: Run) -> Path:
    """Return the prepared corpus a run was trained on."""
    path = Path(run.read()["corpus"]["path"])
    if not path.exists():
        raise CorpusError(f"the corpus of {run.path} has moved: say where it is with --corpus", path=path)
    return path


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    found = {"python": platform.python_version()}
    for package in ("docaps", "torch", "numpy", "sacrebleu", "sacremoses", "subword-nmt"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def now() -> str:
    """Return the present time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class MetricsLog:
    """Append objects to `metrics.jsonl`, each one line, written out at once."""

    def __init__(self, path: Path, keep: int = 0) -> None:
        """Begin behind the first `keep` bytes; what stands after them belongs to steps that will be done again."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("r+b" if path.exists() else "w+b", buffering=0)  # what a full disk refuses is not kept
        self._file.truncate(keep)
        self._file.seek(0, os.SEEK_END)

    @property
    def size(self) -> int:
        """Return how many bytes are written."""
        return self._file.tell()

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row, all of it or nothing."""
        begin, rest = self.size, (json.dumps(row) + "\n").encode()
        try:
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
        except OSError:
            with contextlib.suppress(OSError):
                self._file.seek(begin)
                self._file.truncate()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_metrics(path: Path) -> Iterator[dict[str, Any]]:
    """Read the rows of a training log; a last line torn by a crash is left out."""
    # A crash can tear a line inside a character: its bytes are replaced, and the line then fails to parse.
    lines = path.read_bytes().decode("utf-8", errors="replace").splitlines() if path.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            if number < len(lines):
                raise RunError("not valid JSON", path=path, line=number) from None
