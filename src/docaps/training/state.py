"""All that is needed to go on after a crash: weights, optimiser, and where training stands, in one file.

Nothing random is stored: what dropout draws depends on seed, step and batch alone.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from docaps.batches.sampling import Place
from docaps.errors import CheckpointError
from docaps.model.checkpoint import fill, read_tensors, weights_of, write_tensors
from docaps.model.interface import TranslationModel
from docaps.training.distributed import spread_like

STANDING = "standing"
WEIGHTS, OPTIMIZER = "weights/", "optimizer/"


@dataclass(frozen=True, slots=True)
class Sums:
    """What the next row of the log will be the mean of, as far as it has come."""

    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Standing:
    """Where training stands after a step."""

    step: int = 0
    place: Place = field(default_factory=Place)
    seconds: float = 0.0
    tokens: int = 0
    skipped: int = 0
    """Steps left out because loss or gradient was no number: in all,"""
    skipped_in_a_row: int = 0
    """and just now."""
    validated: int = 0
    """The step of the last validation."""
    best: float | None = None
    best_step: int = 0
    waiting: int = 0
    """Validations since the best one."""
    snapshots: tuple[int, ...] = ()
    """Steps whose weights are kept, for the best model or the mean."""
    logged: int = 0
    """Bytes of the log up to here,"""
    unlogged: Sums = field(default_factory=Sums)
    """and what is not in it yet."""

    def as_json(self) -> str:
        """Write it down."""
        return json.dumps(asdict(self))


def read_standing(text: str) -> Standing:
    """Read what `as_json` wrote."""
    values: dict[str, Any] = json.loads(text)
    place, unlogged = Place(**values.pop("place")), Sums(**values.pop("unlogged"))
    return Standing(place=place, unlogged=unlogged, snapshots=tuple(values.pop("snapshots")), **values)


def tensors_of(model: TranslationModel, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return weights and what the optimiser knows, by name."""
    tensors = {f"{WEIGHTS}{name}": weight for name, weight in weights_of(model).items()}
    for name, weight in model.named_parameters():
        tensors |= {f"{OPTIMIZER}{name}/{key}": value for key, value in optimizer.state.get(weight, {}).items()}
    return tensors


def save_state(path: Path, tensors: Mapping[str, Tensor], standing: Standing) -> None:
    """Write everything, complete or not at all."""
    write_tensors(path, tensors, {STANDING: standing.as_json()})


@dataclass(frozen=True, slots=True)
class State:
    """What a file of state says."""

    path: Path
    standing: Standing
    tensors: Mapping[str, Tensor]

    def restore_weights(self, model: TranslationModel) -> None:
        """Put a model into this state, which must be of the same model."""
        weights = {
            name.removeprefix(WEIGHTS): value for name, value in self.tensors.items() if name.startswith(WEIGHTS)
        }
        report = fill(model, weights)
        if report.new or report.left or report.unfit:
            raise CheckpointError(f"is the state of another model: {report}", path=self.path)

    def restore_optimizer(self, model: TranslationModel, optimizer: torch.optim.Optimizer) -> None:
        """Put an optimiser into this state."""
        _fill_optimizer(model, optimizer, self.tensors)


def read_state(path: Path) -> State:
    """Read a file of state, or say why it cannot be read."""
    tensors, notes = read_tensors(path)
    try:
        standing = read_standing(notes[STANDING])
    except (KeyError, TypeError, ValueError) as fault:
        raise CheckpointError(f"is no state of a training: {fault!r}", path=path) from None
    return State(path, standing, tensors)


def _fill_optimizer(model: TranslationModel, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Put the stored tensors into the optimiser, in the order it knows its weights by."""
    names = {weight: name for name, weight in model.named_parameters()}
    order = [weight for group in optimizer.param_groups for weight in group["params"]]
    stored: dict[str, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        if key.startswith(OPTIMIZER):
            name, kind = key.removeprefix(OPTIMIZER).rsplit("/", 1)
            stored.setdefault(name, {})[kind] = value
    state = {
        number: {kind: spread_like(value, weight) for kind, value in stored[names[weight]].items()}
        for number, weight in enumerate(order)
        if names[weight] in stored
    }
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
