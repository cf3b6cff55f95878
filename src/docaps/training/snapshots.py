"""Snapshots: weights of earlier steps that are kept for the stage's model, the best or a mean."""

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from torch import Tensor

from docaps.config import StageSettings
from docaps.model.checkpoint import read_weights, write_tensors
from docaps.training.state import Standing


class Snapshots:
    """The directory of a run's snapshots."""

    def __init__(self, directory: Path, settings: StageSettings) -> None:
        self._directory = directory
        self._settings = settings

    def wanted(self, standing: Standing) -> tuple[int, ...] | None:
        """Return which steps to keep now that one more is validated; None if that one is not among them."""
        match self._settings.result:
            case "best" if standing.best_step == standing.step:
                return (standing.step,)
            case "average":
                return (*standing.snapshots, standing.step)[-self._settings.averaged :]
            case _:
                return None

    def write(self, weights: Mapping[str, Tensor], step: int) -> None:
        """Keep the weights of a step."""
        write_tensors(self._path(step), weights)

    def tidy(self, standing: Standing) -> None:
        """Remove what is not needed (any more), once the state that does not need it is saved."""
        wanted = {self._path(step) for step in standing.snapshots}
        for path in set(self._directory.glob("*.safetensors")) - wanted:
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._directory.rmdir()  # if it is empty

    def read(self, standing: Standing) -> dict[str, Tensor]:
        """Return the weights that the stage ends with, if they are those of snapshots."""
        return mean_weights(self._path(step) for step in standing.snapshots)

    def describe(self, standing: Standing) -> str:
        """Say which weights the stage ends with."""
        if not standing.snapshots:
            return f"the last step, {standing.step:,}"
        if self._settings.result == "average":
            return f"the mean of steps {', '.join(f'{step:,}' for step in standing.snapshots)}"
        return f"step {standing.best_step:,}, the best by {self._settings.best_by}"

    def _path(self, step: int) -> Path:
        return self._directory / f"step-{step:08d}.safetensors"


def mean_weights(paths: Iterable[Path]) -> dict[str, Tensor]:
    """Average the weights of several files, one at a time in memory; a single one stays as it is."""
    sums: dict[str, Tensor] = {}
    count = 0
    for path in paths:
        count += 1
        for name, weight in read_weights(path).items():
            sums[name] = weight.to(torch.float64) if name not in sums else sums[name].add_(weight)
    return {name: (total / count).to(torch.float32) for name, total in sums.items()}
