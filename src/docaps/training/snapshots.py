"""Snapshots: weights of earlier steps that are kept for the stage's model, the best or a mean."""

import contextlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from docaps.config import StageSettings
from docaps.errors import CheckpointError
from docaps.model.checkpoint import fill, read_weights, save_weights
from docaps.model.interface import TranslationModel
from docaps.training.state import Standing


class Snapshots:
    """The directory of a run's snapshots."""

    def __init__(self, directory: Path, settings: StageSettings) -> None:
        self._directory = directory
        self._settings = settings

    def take(self, model: TranslationModel, standing: Standing) -> Standing:
        """Keep the weights of a validated step if the stage's model may be made of them."""
        match self._settings.result:
            case "best" if standing.best_step == standing.step:
                kept: tuple[int, ...] = (standing.step,)
            case "average":
                kept = (*standing.snapshots, standing.step)[-self._settings.averaged :]
            case _:
                return standing
        save_weights(model, self._path(standing.step))
        return replace(standing, snapshots=kept)

    def tidy(self, standing: Standing) -> None:
        """Remove what is not needed (any more), once the state that does not need it is saved."""
        wanted = {self._path(step) for step in standing.snapshots}
        for path in set(self._directory.glob("*.safetensors")) - wanted:
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._directory.rmdir()  # if it is empty

    def settle(self, model: TranslationModel, standing: Standing) -> str:
        """Give the model the weights that the stage ends with, and say which those are."""
        if not standing.snapshots:
            return f"the last step, {standing.step:,}"
        report = fill(model, mean_weights(self._path(step) for step in standing.snapshots))
        if report.new or report.left or report.unfit:
            raise CheckpointError(f"the weights belong to another model: {report}", path=self._directory)
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
