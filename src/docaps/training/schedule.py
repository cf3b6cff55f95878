"""Learning-rate schedules, as factors of the peak rate."""

from typing import assert_never

from docaps.config import StageSettings


def rate_factor(step: int, settings: StageSettings) -> float:
    """Return the learning rate of a step, counted from 1, as a factor of the peak rate."""
    if step <= settings.warmup:
        return step / settings.warmup
    match settings.schedule:
        case "fixed":
            return 1.0
        case "inverse-sqrt":
            return float((max(settings.warmup, 1) / step) ** 0.5)
        case "linear":
            return max(0.0, (settings.steps - step + 1) / (settings.steps - settings.warmup))
        case unknown:
            assert_never(unknown)
