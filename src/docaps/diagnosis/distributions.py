"""Distributions of numbers that come in portions: mean, spread, limits and a histogram, in constant memory."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 20


class Distribution:
    """What is known of the numbers that went by; what is not a number does not count."""

    def __init__(self, low: float, high: float, bins: int = BINS) -> None:
        self._limits = (low, high)
        self._bins = np.zeros(bins, dtype=np.int64)
        self._count, self._mean, self._squares = 0, 0.0, 0.0
        self._least, self._most = math.inf, -math.inf

    def add(self, values: NDArray[np.float64]) -> None:
        """Take more numbers; those beyond the limits are counted in the outermost bins."""
        real = values[np.isfinite(values)].astype(np.float64)
        if not len(real):
            return
        count, mean = len(real), float(real.mean())
        total, shift = self._count + count, mean - self._mean
        # Chan's way to join two means and spreads: sums of squares of many like numbers would lose their digits.
        self._squares += float(np.square(real - mean).sum()) + shift**2 * self._count * count / total
        self._mean, self._count = self._mean + shift * count / total, total
        self._least, self._most = min(self._least, float(real.min())), max(self._most, float(real.max()))
        self._bins += np.histogram(np.clip(real, *self._limits), len(self._bins), self._limits)[0]

    def as_dict(self) -> dict[str, Any] | None:
        """Return plain JSON values; None if no number came."""
        if not self._count:
            return None
        return {
            "count": self._count,
            "mean": self._mean,
            "deviation": math.sqrt(self._squares / self._count),
            "least": self._least,
            "most": self._most,
            "histogram": {"low": self._limits[0], "high": self._limits[1], "counts": self._bins.tolist()},
        }
