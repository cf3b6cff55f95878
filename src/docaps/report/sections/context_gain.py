"""Context gain: how much higher perplexity is without a row's own history, and for its baseline."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from docaps.report.drawing.charts import IntervalMark, interval_chart
from docaps.report.drawing.svg import Panel
from docaps.report.grid_tables import OTHER_HISTORIES
from docaps.runs.grid_results import Grid

BASELINE = "baseline"
KINDS = {**OTHER_HISTORIES, BASELINE: "the row it is compared with"}
"""What a row with its own history is compared with: the same model with another history, and another model."""
_FARTHEST = 2.0
"""A baseline further off than this many times the largest gain of a history is not drawn to scale."""


@dataclass(frozen=True, slots=True)
class ContextGain:
    """The increase of perplexity over the row with its own history, with its 95 % interval."""

    kind: str
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Format value and interval."""
        return f"{_signed(self.value)} [{_signed(self.low)}, {_signed(self.high)}]"


def gains_of(grid: Grid) -> dict[str, list[ContextGain]]:
    """Return the context gains of each row that sees a history."""
    found = {str(row["row"]): _gains(row.get("histories") or {}) for row in grid["rows"]}
    return {name: gains for name, gains in found.items() if any(gain.kind != BASELINE for gain in gains)}


def span_of(gains: Mapping[str, Sequence[ContextGain]]) -> tuple[float, float]:
    """Return the range to draw: all gains of histories, and baselines that are not much further off."""
    found = [gain for row in gains.values() for gain in row]
    farthest = max(abs(end) for gain in found if gain.kind != BASELINE for end in (gain.low, gain.value, gain.high))
    reach = _FARTHEST * farthest
    ends = [min(max(end, -reach), reach) for gain in found for end in (gain.low, gain.value, gain.high)]
    return (min(0.0, *ends), max(0.0, *ends)) if any(ends) else (-0.001, 0.001)


def gain_panel(grid: Grid) -> Panel | None:
    """Draw the context gain of each row; None if nothing was tested."""
    gains = gains_of(grid)
    if not gains:
        return None
    rows = {name: [_mark(name, gain) for gain in row] for name, row in gains.items()}
    title = "Context gain in perplexity, for each row of the table; the dots' titles give the values"
    chart = interval_chart(rows, marks=len(KINDS), span=span_of(gains), title=title)
    return Panel("Context gain", "perplexity above that with the own history", chart)


def _gains(histories: Mapping[str, Mapping[str, Any]]) -> list[ContextGain]:
    gains = []
    for kind in KINDS:
        against = histories.get("true" if kind == BASELINE else kind, {}).get("against") or {}
        value, low, high = (float(against.get(key, math.nan)) for key in ("difference", "low", "high"))
        if all(map(math.isfinite, (value, low, high))):
            # The file has the difference of the row to its baseline; here the row is the reference, so it is negated.
            negate = kind == BASELINE
            gains.append(ContextGain(kind, -value, -high, -low) if negate else ContextGain(kind, value, low, high))
    return gains


def _mark(name: str, gain: ContextGain) -> IntervalMark:
    """Describe the mark of a gain; the arrow of its text points to where it lies."""
    arrow = f"← {_signed(gain.value)}" if gain.value < 0 else f"{_signed(gain.value)} →"
    place, title = list(KINDS).index(gain.kind), f"{name}, {KINDS[gain.kind]}: {gain}"
    return IntervalMark(place, gain.value, gain.low, gain.high, arrow, title)


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
