"""Stop criteria of a stage, and which validation is the best."""

import math
from dataclasses import replace

from docaps.config import StageSettings, parse_duration
from docaps.errors import TrainingError
from docaps.training.state import TrainerState

MAX_SKIPPED = 10
"""Training ends after this many steps in a row with a non-finite loss or gradient."""


def stop_reason(state: TrainerState, settings: StageSettings) -> str | None:
    """Return why the stage is over, or None if it is not."""
    if state.step >= settings.steps:
        return f"all {settings.steps:,} steps are done"
    if settings.epochs is not None and state.position.epoch >= settings.epochs:
        return f"all {settings.epochs:,} epochs are done"
    if settings.budget is not None and state.seconds >= parse_duration(settings.budget):
        return f"the time budget of {settings.budget} is used up"
    if settings.patience is not None and state.waiting >= settings.patience:
        return f"no better {settings.best_by} in {state.waiting} validations"
    return None


def seconds_left(state: TrainerState, settings: StageSettings, begun: TrainerState) -> float:
    """Estimate the longest time the stage will still take, at the pace since `begun`."""
    pace = (state.seconds - begun.seconds) / max(state.step - begun.step, 1)
    left = (settings.steps - state.step) * pace
    if settings.budget is not None:
        left = min(left, parse_duration(settings.budget) - state.seconds)
    return max(left, 0.0)


def record_validation(state: TrainerState, numbers: dict[str, float], settings: StageSettings) -> TrainerState:
    """Return the state after a validation: its step, and whether it is the best so far."""
    if settings.best_by not in numbers:
        raise TrainingError(f"best_by is {settings.best_by}, but the validation did not measure it")
    found = numbers[settings.best_by]
    better = state.best is None or (found < state.best if settings.best_by == "dev_loss" else found > state.best)
    if math.isfinite(found) and better:
        return replace(state, validated=state.step, best=found, best_step=state.step, waiting=0)
    return replace(state, validated=state.step, waiting=state.waiting + 1)


def check_success(state: TrainerState, settings: StageSettings) -> None:
    """Raise an error if no validation of the stage was finite."""
    if state.best is None:
        raise TrainingError(f"{settings.best_by} was non-finite in every validation: try a lower learning rate")
