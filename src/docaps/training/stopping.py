"""When a stage is over, and which validation was the best."""

import math
from dataclasses import replace

from docaps.config import StageSettings, parse_duration
from docaps.errors import TrainingError
from docaps.training.state import Standing


def reason_to_stop(standing: Standing, settings: StageSettings) -> str | None:
    """Say why the stage is over, or None if it is not."""
    if standing.step >= settings.steps:
        return f"all {settings.steps:,} steps are done"
    if settings.epochs is not None and standing.place.epoch >= settings.epochs:
        return f"all {settings.epochs:,} epochs are done"
    if settings.budget is not None and standing.seconds >= parse_duration(settings.budget):
        return f"the time of {settings.budget} is over"
    if settings.patience is not None and standing.waiting >= settings.patience:
        return f"no better {settings.best_by} in {standing.waiting} validations"
    return None


def seconds_left(standing: Standing, settings: StageSettings, begun: Standing) -> float:
    """Estimate how long the stage will last at most, at the pace since `begun`."""
    pace = (standing.seconds - begun.seconds) / max(standing.step - begun.step, 1)
    left = (settings.steps - standing.step) * pace
    if settings.budget is not None:
        left = min(left, parse_duration(settings.budget) - standing.seconds)
    return max(left, 0.0)


def _is_better(found: float, best: float | None, settings: StageSettings) -> bool:
    """Say whether a validation beats the best so far."""
    if best is None:
        return True
    return found < best if settings.best_by == "dev_loss" else found > best


def check_success(standing: Standing, settings: StageSettings) -> None:
    """Refuse to call a stage finished whose model never predicted anything."""
    if standing.best is None:
        raise TrainingError(f"{settings.best_by} was no number in any validation: try a lower learning rate")


def judge(standing: Standing, numbers: dict[str, float], settings: StageSettings) -> Standing:
    """Take in the numbers of a validation: is it the best so far?"""
    if settings.best_by not in numbers:
        raise TrainingError(f"the best validation is told by {settings.best_by}, which was not measured")
    found = numbers[settings.best_by]
    if math.isfinite(found) and _is_better(found, standing.best, settings):
        return replace(standing, validated=standing.step, best=found, best_step=standing.step, waiting=0)
    return replace(standing, validated=standing.step, waiting=standing.waiting + 1)
