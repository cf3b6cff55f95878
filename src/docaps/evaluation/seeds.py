"""Means over seeds, with the interval in which the mean of endlessly many seeds would lie."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Student's t, two-sided 95 %, for 1, 2, ... degrees of freedom; beyond the table the normal distribution is close.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
_NORMAL = 1.960


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean, and its 95 % interval (None of a single value)."""

    mean: float
    low: float | None
    high: float | None


def mean_of(values: Sequence[float]) -> Mean:
    """Average the values of some seeds; two of them give a wide interval, and should."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Mean(mean, None, None)
    quantile = _STUDENT[len(values) - 2] if len(values) - 2 < len(_STUDENT) else _NORMAL
    reach = quantile * statistics.stdev(values) / math.sqrt(len(values))
    return Mean(mean, mean - reach, mean + reach)
