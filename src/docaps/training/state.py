"""What training keeps on disk to resume from: the saved state, and snapshots of weights for the final model.

Random state is not stored: dropout depends on seed, step and batch alone.
"""

import contextlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter
from torch import Tensor

from docaps.batches.sampling import StreamPosition
from docaps.config import StageSettings
from docaps.errors import CheckpointError
from docaps.files import parse_json
from docaps.model.checkpoint import fill, read_tensors, read_weights, weights_of, write_tensors
from docaps.model.interface import TranslationModel
from docaps.runs.stored_forms import Natural, Seconds
from docaps.training.distributed import shard_like

TRAINER_STATE = "standing"
"""The key of the trainer's state in the file's metadata; the name is part of the file format."""
WEIGHTS, OPTIMIZER = "weights/", "optimizer/"


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of metrics since the last row of the log, for the means in the next one."""

    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, Natural] = field(default_factory=dict)
    tokens: Natural = 0
    seconds: Seconds = 0.0

    def plus(self, metrics: Mapping[str, float], tokens: int, seconds: float) -> "Sums":
        """Add the metrics of one step; non-finite ones are left out, and not every step has every metric."""
        finite = {name: value for name, value in metrics.items() if math.isfinite(value)}
        sums = self.sums | {name: self.sums.get(name, 0.0) + value for name, value in finite.items()}
        counts = self.counts | {name: self.counts.get(name, 0) + 1 for name in finite}
        return Sums(sums, counts, self.tokens + tokens, self.seconds + seconds)

    def means(self) -> dict[str, float]:
        """Return the means and the throughput."""
        means = {name: value / self.counts[name] for name, value in self.sums.items()}
        return {**means, "tokens_per_second": self.tokens / max(self.seconds, 1e-9)}


@dataclass(frozen=True, slots=True)
class TrainerState:
    """The trainer's counters after a step."""

    step: Natural = 0
    position: StreamPosition = field(default_factory=StreamPosition)
    seconds: Seconds = 0.0
    tokens: Natural = 0
    skipped: Natural = 0
    """Steps skipped because loss or gradient was non-finite: in total,"""
    skipped_in_a_row: Natural = 0
    """and since the last successful step."""
    validated: Natural = 0
    """The step of the last validation."""
    best: float | None = None
    best_step: Natural = 0
    waiting: Natural = 0
    """Validations since the best one."""
    snapshots: tuple[Natural, ...] = ()
    """Steps whose weights are kept for the final model."""
    collapsed: Natural = 0
    """The step at which a collapse of the regulariser was reported; 0: none was."""
    alike: Natural = 0
    """The step at which it was reported that the capsules of a sentence are one; 0: it was not."""
    logged: Natural = 0
    """Size of the log in bytes,"""
    unlogged: Sums = field(default_factory=Sums)
    """and the sums that are not logged yet."""


def parse_trainer_state(text: str) -> TrainerState:
    """Parse the JSON of a trainer's state; docaps 0.1 called the position `place`."""
    values: dict[str, Any] = dict(parse_json(text))
    position = StreamPosition(**values.pop("place" if "place" in values else "position"))
    unlogged = Sums(**values.pop("unlogged"))
    state = TrainerState(position=position, unlogged=unlogged, snapshots=tuple(values.pop("snapshots")), **values)
    # The keys are right, or there would be an error by now; the types are not checked yet.
    checked = TypeAdapter(TrainerState).validate_json(json.dumps(asdict(state)), strict=True)
    if checked.unlogged.sums.keys() != checked.unlogged.counts.keys() or 0 in checked.unlogged.counts.values():
        raise ValueError("the sums and counts of metrics do not belong together")
    return checked


def tensors_of(model: TranslationModel, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the weights and the optimiser's tensors by name."""
    tensors = {f"{WEIGHTS}{name}": weight for name, weight in weights_of(model).items()}
    for name, weight in model.named_parameters():
        tensors |= {f"{OPTIMIZER}{name}/{key}": value for key, value in optimizer.state.get(weight, {}).items()}
    return tensors


def save_state(path: Path, tensors: Mapping[str, Tensor], state: TrainerState) -> None:
    """Write the state file atomically."""
    write_tensors(path, tensors, {TRAINER_STATE: json.dumps(asdict(state))})


@dataclass(frozen=True, slots=True)
class SavedState:
    """The content of a state file."""

    path: Path
    trainer: TrainerState
    tensors: Mapping[str, Tensor]

    def restore_weights(self, model: TranslationModel) -> None:
        """Load the weights into a model, which must be the same one."""
        report = fill(model, self._tensors_under(WEIGHTS))
        if report.new or report.left or report.unfit:
            raise CheckpointError(f"is the state of another model: {report}", path=self.path)

    def restore_optimizer(self, model: TranslationModel, optimizer: torch.optim.Optimizer) -> None:
        """Load the optimiser's tensors, in the order in which it holds its weights."""
        names = {weight: name for name, weight in model.named_parameters()}
        order = [weight for group in optimizer.param_groups for weight in group["params"]]
        stored = self._optimizer_tensors(names.values())
        state = {
            number: {kind: shard_like(value, weight) for kind, value in stored[names[weight]].items()}
            for number, weight in enumerate(order)
            if names[weight] in stored
        }
        for number, values in state.items():
            self._check_optimizer(names[order[number]], order[number], values)
        optimizer.load_state_dict({**optimizer.state_dict(), "state": state})

    def _optimizer_tensors(self, names: Iterable[str]) -> dict[str, dict[str, Tensor]]:
        """Return the optimiser's tensors by weight and kind; refuse those of other weights."""
        stored: dict[str, dict[str, Tensor]] = {}
        for key, value in self._tensors_under(OPTIMIZER).items():
            name, _, kind = key.rpartition("/")
            stored.setdefault(name, {})[kind] = value
        if others := stored.keys() - set(names):
            raise CheckpointError(f"is the state of another model: {min(others)!r} is not in it", path=self.path)
        return stored

    def _check_optimizer(self, name: str, weight: Tensor, values: Mapping[str, Tensor]) -> None:
        """Refuse tensors that do not fit a weight: Adam has two moments of its shape, and counts steps."""
        shapes = {kind: tuple(value.shape) for kind, value in values.items()}
        expected = {"exp_avg": tuple(weight.shape), "exp_avg_sq": tuple(weight.shape), "step": ()}
        if shapes != expected or not all(value.is_floating_point() for value in values.values()):
            found = ", ".join(f"{kind} {shape}" for kind, shape in sorted(shapes.items()))
            raise CheckpointError(f"the optimiser's tensors of {name!r} do not fit: found {found}", path=self.path)

    def _tensors_under(self, prefix: str) -> dict[str, Tensor]:
        return {name.removeprefix(prefix): value for name, value in self.tensors.items() if name.startswith(prefix)}


def read_state(path: Path) -> SavedState:
    """Read a state file; raise `CheckpointError` if it is damaged or not one."""
    tensors, metadata = read_tensors(path)
    try:
        trainer = parse_trainer_state(metadata[TRAINER_STATE])
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"not a saved training state: {error!r}", path=path) from None
    return SavedState(path, trainer, tensors)


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Weights of earlier steps, kept because the stage's model is the best one or an average."""

    directory: Path
    settings: StageSettings

    def select(self, state: TrainerState) -> tuple[int, ...] | None:
        """Return the steps to keep after a validation, or None if the current step is not among them."""
        if self.settings.result == "average":
            return (*state.snapshots, state.step)[-self.settings.averaged :]
        return (state.step,) if self.settings.result == "best" and state.best_step == state.step else None

    def write(self, weights: Mapping[str, Tensor], step: int) -> None:
        """Write the weights of a step."""
        write_tensors(self._path(step), weights)

    def prune(self, state: TrainerState) -> None:
        """Remove snapshots that a state does not need; call it after that state is saved."""
        needed = {self._path(step) for step in state.snapshots}
        for path in set(self.directory.glob("step-*.safetensors")) - needed:
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.directory.rmdir()  # if it is empty

    def read(self, state: TrainerState) -> dict[str, Tensor]:
        """Return the final weights made of snapshots; empty if there are none."""
        return mean_weights(self._path(step) for step in state.snapshots)

    def describe(self, state: TrainerState) -> str:
        """Describe which weights are the final ones."""
        if not state.snapshots:
            return f"the last step, {state.step:,}"
        if self.settings.result == "average":
            return f"the mean of steps {', '.join(f'{step:,}' for step in state.snapshots)}"
        return f"step {state.best_step:,}, the best by {self.settings.best_by}"

    def _path(self, step: int) -> Path:
        return self.directory / f"step-{step:08d}.safetensors"


def mean_weights(paths: Iterable[Path]) -> dict[str, Tensor]:
    """Average the weights of several files, with one file in memory at a time; a single one stays as it is."""
    sums: dict[str, Tensor] = {}
    count = 0
    for path in paths:
        count += 1
        for name, weight in read_weights(path).items():
            sums[name] = weight.to(torch.float64) if name not in sums else sums[name].add_(weight)
    return {name: (total / count).to(torch.float32) for name, total in sums.items()}
