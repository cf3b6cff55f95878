"""Axes: round ticks, and the position of a value on a chart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_STEPS = (1.0, 2.0, 5.0, 10.0)
# Logarithmic from this ratio of largest to smallest value; below it, round linear ticks read better.
_LOG_SPAN = 10.0


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Choose about `wanted` round numbers inside [low, high], 1, 2 or 5 times a power of ten apart."""
    if not low < high:
        return [low]
    step = nice_ceiling((high - low) / wanted)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # Multiply and round instead of adding up: ten times 0.1 is not 1 in floating point.
    digits = max(0, -math.floor(math.log10(step)))
    return [round(position * step, digits) for position in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Choose 1, 2 and 5 times the powers of ten inside [low, high]; only the powers if there are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    wanted = (1.0,) if len(powers) > 4 else (1.0, 2.0, 5.0)
    candidates = [factor * 10.0**power for power in powers for factor in wanted]
    return [value for value in candidates if low * 0.999 <= value <= high * 1.001]


def nice_ceiling(value: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    factor = next(factor for factor in _STEPS if value <= factor * power * (1 + 1e-9))
    return float(f"{factor * power:.6g}")


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale that maps [low, high] to the coordinates [start, end]."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def over(cls, values: Sequence[float], *, start: float, end: float, may_be_log: bool = False) -> "Axis":
        """Fit an axis to the values, rounding its ends outwards."""
        low, high = min(values), max(values)
        if may_be_log and low > 0 and high / low >= _LOG_SPAN:
            return cls(low, high, start, end, log=True)
        if low == high:
            low, high = low - 0.5, high + 0.5
        step = nice_ceiling((high - low) / 5)
        return cls(math.floor(low / step) * step, math.ceil(high / step) * step, start, end)

    def place(self, value: float) -> float:
        """Return the coordinate of a value."""
        low, high, value = (math.log(x) if self.log else x for x in (self.low, self.high, value))
        return self.start + (value - low) / ((high - low) or 1.0) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Choose the values to label."""
        return log_ticks(self.low, self.high) if self.log else ticks(self.low, self.high)
