"""Distributions of what a model reports about its use of the history, such as coupling entropies.

No system is known by its name here: whatever a model traces is collected.
"""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from docaps.model.interface import Trace

BINS = 20


class Distribution:
    """Mean, deviation, range and histogram of a stream of numbers, in constant memory; non-finite ones are ignored."""

    def __init__(self, low: float, high: float, bins: int = BINS) -> None:
        self._limits = (low, high)
        self._bins = np.zeros(bins, dtype=np.int64)
        self._count, self._mean, self._squares = 0, 0.0, 0.0
        self._least, self._most = math.inf, -math.inf

    def add(self, values: NDArray[np.float64]) -> None:
        """Add numbers; those beyond the limits go to the outermost bins."""
        finite = values[np.isfinite(values)].astype(np.float64)
        if not len(finite):
            return
        count, mean = len(finite), float(finite.mean())
        total, shift = self._count + count, mean - self._mean
        # Chan's update: plain sums of squares of many similar numbers would lose their digits.
        self._squares += float(np.square(finite - mean).sum()) + shift**2 * self._count * count / total
        self._mean, self._count = self._mean + shift * count / total, total
        self._least, self._most = min(self._least, float(finite.min())), max(self._most, float(finite.max()))
        self._bins += np.histogram(np.clip(finite, *self._limits), len(self._bins), self._limits)[0]

    def as_dict(self) -> dict[str, Any] | None:
        """Return plain JSON values; None if no number was added."""
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


class TraceDistributions:
    """A distribution for each trace of a model and each label of its axis (layer, iteration, distance)."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}
        self._by_label: dict[str, dict[str, Distribution]] = {}

    def add(self, traces: "Iterable[Trace]") -> None:
        """Add the traces of a batch."""
        for trace in traces:
            self._titles[trace.name] = trace.title
            by_label = self._by_label.setdefault(trace.name, {})
            for label, values in zip(trace.labels, trace.values.float().cpu().numpy(), strict=True):
                by_label.setdefault(label, Distribution(trace.low, trace.high)).add(values)

    def as_list(self) -> list[dict[str, Any]]:
        """Return plain JSON values; labels without observations are left out."""
        listed = []
        for name, by_label in self._by_label.items():
            known = {label: found.as_dict() for label, found in by_label.items()}
            places = [{"place": label, **values} for label, values in known.items() if values is not None]
            listed.append({"name": name, "title": self._titles[name], "places": places})
        return listed
