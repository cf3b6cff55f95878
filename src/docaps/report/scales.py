"""Axes and colours: where a value lands on a chart, and how strongly it is coloured in a heat map."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

_STEPS = (1.0, 2.0, 5.0, 10.0)
# A log axis pays once the values span this factor; below it, round linear ticks read better.
_LOG_SPAN = 10.0


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Choose about `wanted` round numbers inside [low, high], 1, 2 or 5 times a power of ten apart."""
    if not low < high:
        return [low]
    step = nice_ceiling((high - low) / wanted)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # Multiplying and rounding, not adding up: ten times 0.1 is not 1.
    digits = max(0, -math.floor(math.log10(step)))
    return [round(position * step, digits) for position in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Choose 1, 2 and 5 times the powers of ten inside [low, high]; over wide spans, the powers alone."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    wanted = (1.0,) if len(powers) > 4 else (1.0, 2.0, 5.0)
    candidates = [factor * 10.0**power for power in powers for factor in wanted]
    return [value for value in candidates if low * 0.999 <= value <= high * 1.001]


def nice_ceiling(value: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten: the end of a scale somebody can read."""
    power = 10.0 ** math.floor(math.log10(value))
    factor = next(factor for factor in _STEPS if value <= factor * power * (1 + 1e-9))
    return float(f"{factor * power:.6g}")


@dataclass(frozen=True, slots=True)
class Axis:
    """A line from `start` to `end` on the page that stands for [low, high]."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def over(cls, values: Sequence[float], *, start: float, end: float, may_be_log: bool = False) -> "Axis":
        """Fit an axis to the values, with some air where they do not reach round numbers."""
        low, high = min(values), max(values)
        if may_be_log and low > 0 and high / low >= _LOG_SPAN:
            return cls(low, high, start, end, log=True)
        if low == high:
            low, high = low - 0.5, high + 0.5
        step = nice_ceiling((high - low) / 5)
        return cls(math.floor(low / step) * step, math.ceil(high / step) * step, start, end)

    def place(self, value: float) -> float:
        """Find the position of a value."""
        low, high, value = (math.log(x) if self.log else x for x in (self.low, self.high, value))
        return self.start + (value - low) / ((high - low) or 1.0) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Choose the values to write beside the axis."""
        return log_ticks(self.low, self.high) if self.log else ticks(self.low, self.high)


@dataclass(frozen=True, slots=True)
class Shade:
    """A colour of the diverging scale: blue when high, red when low, `strength` 0 (the paper's white) to 1."""

    hue: Literal["high", "low", "neutral", "undefined"]
    strength: float


@dataclass(frozen=True, slots=True)
class ColourScale:
    """Blue above `neutral`, red below, full strength at the ends; both sides are linear."""

    low: float
    neutral: float
    high: float

    def shade(self, value: float) -> Shade:
        """Colour one value; beyond the ends it stays at full strength."""
        if not math.isfinite(value):
            return Shade("undefined", 1.0)
        if value == self.neutral:
            return Shade("neutral", 0.0)
        end = self.high if value > self.neutral else self.low
        strength = min(1.0, (value - self.neutral) / (end - self.neutral)) if end != self.neutral else 1.0
        return Shade("high" if value > self.neutral else "low", strength)


def coupling_scale(values: Iterable[float], capsules: int) -> ColourScale:
    """Scale coupling coefficients: neutral at 1/M, where routing starts, and as far both ways as the values need."""
    uniform = 1 / capsules
    reach = _reach((abs(value - uniform) for value in values), most=1.0)
    return ColourScale(max(0.0, uniform - reach), uniform, min(1.0, uniform + reach))


def correlation_scale(values: Iterable[float]) -> ColourScale:
    """Scale correlations: neutral at 0, the same reach on both sides."""
    reach = _reach(map(abs, values), most=1.0)
    return ColourScale(-reach, 0.0, reach)


def _reach(deviations: Iterable[float], most: float) -> float:
    # Rounding noise around the neutral value must not be blown up into a picture.
    largest = max((deviation for deviation in deviations if math.isfinite(deviation)), default=0.0)
    return min(most, nice_ceiling(max(largest, 0.01)))
