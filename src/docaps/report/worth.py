"""What its history is worth to a row: how much higher perplexity is with another's, with none, and of its baseline."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from docaps.report.figures import legend, marker, rule, svg, text
from docaps.report.grids import OTHER_HISTORIES
from docaps.report.markup import Markup, element
from docaps.report.scales import Axis
from docaps.runs.grid_results import Grid

BASELINE = "baseline"
KINDS = {**OTHER_HISTORIES, BASELINE: "the row it is compared with"}
"""What is held against a row with its own history: the same model with another, and another model."""
ACROSS = "perplexity above that with the own history"
_WIDTH, _LETTER, _LINE, _TOP = 720.0, 6.6, 10.0, 8.0
_FARTHEST = 2.0
"""How many times as far as histories a baseline may lie off and still be drawn in its place."""


@dataclass(frozen=True, slots=True)
class Rise:
    """By how much perplexity is higher than the row's with its own history, and the 95 % interval of that."""

    kind: str
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Write it as it stands on the page."""
        return f"{signed(self.value)} [{signed(self.low)}, {signed(self.high)}]"


def signed(value: float) -> str:
    """Write a difference of perplexities."""
    return f"{value:+.3f}".replace("-", "−")


def pointed(value: float) -> str:
    """Write one that lies beyond the axis, with an arrow to where it lies."""
    return f"← {signed(value)}" if value < 0 else f"{signed(value)} →"


def rises_of(grid: Grid) -> dict[str, list[Rise]]:
    """Return what was tested for each row that looks at a history."""
    found = {str(row["row"]): _rises(row.get("histories") or {}) for row in grid["rows"]}
    return {name: rises for name, rises in found.items() if any(rise.kind != BASELINE for rise in rises)}


def _rises(histories: Mapping[str, Mapping[str, Any]]) -> list[Rise]:
    rises = []
    for kind in KINDS:
        against = histories.get("true" if kind == BASELINE else kind, {}).get("against") or {}
        value, low, high = (float(against.get(key, math.nan)) for key in ("difference", "low", "high"))
        if all(map(math.isfinite, (value, low, high))):
            # Differences are to the baseline, which stands still there; here the row does.
            rises.append(Rise(kind, -value, -high, -low) if kind == BASELINE else Rise(kind, value, low, high))
    return rises


def span_of(rises: Mapping[str, Sequence[Rise]]) -> tuple[float, float]:
    """Return from where to where to draw: all that histories do, and of baselines what is not many times as far."""
    found = [rise for row in rises.values() for rise in row]
    farthest = max(abs(end) for rise in found if rise.kind != BASELINE for end in (rise.low, rise.value, rise.high))
    reach = _FARTHEST * farthest
    ends = [min(max(end, -reach), reach) for rise in found for end in (rise.low, rise.value, rise.high)]
    return (min(0.0, *ends), max(0.0, *ends)) if any(ends) else (-0.001, 0.001)


def worth_figure(grid: Grid) -> Markup:
    """Draw a row of dots with intervals for each row of trials; nothing where nothing was tested."""
    rises = rises_of(grid)
    if not rises:
        return Markup()
    caption = element("figcaption", "What the history is worth", element("span", f" {ACROSS}", class_="quiet"))
    return element(
        "figure",
        caption,
        legend(list(KINDS.values()), chance=False),
        element("div", _chart(rises), class_="scroll", data_scroll="What the history is worth"),
        element("p", _NOTE, class_="note"),
        class_="worth",
    )


def _chart(rises: Mapping[str, Sequence[Rise]]) -> Markup:
    left = max(map(len, rises)) * _LETTER + 12
    axis = Axis.over(span_of(rises), start=left, end=_WIDTH - 24)
    height = _LINE * len(KINDS) + 8
    bottom = _TOP + height * len(rises)
    body = []
    for value in axis.ticks():
        x = axis.place(value)
        body += [rule(x, _TOP, x, bottom, "grid" if value else "axis")]
        body += [text(f"{value:+g}".replace("-", "−") if value else "0", x, bottom + 17, class_="middle")]
    for place, (name, row) in enumerate(rises.items()):
        body.append(_row(name, row, axis, top=_TOP + place * height, height=height))
    title = "What the history is worth, in perplexity, for each row of the table; the values are in the dots' titles"
    return svg("chart", _WIDTH, bottom + 26, title, *body)


def _row(name: str, rises: Sequence[Rise], axis: Axis, *, top: float, height: float) -> Markup:
    parts = [text(name, 0, top + height / 2 + 4), rule(axis.start, top + height, axis.end, top + height, "grid")]
    for rise in rises:
        place = list(KINDS).index(rise.kind)
        y = top + 9 + _LINE * place
        start, end = (axis.place(min(max(value, axis.low), axis.high)) for value in (rise.low, rise.high))
        parts.append(rule(start, y, end, y, f"whisker run-{place}"))
        parts.append(_mark(f"{name}, {KINDS[rise.kind]}: {rise}", rise.value, place, axis, y))
    return element("g", *parts)


def _mark(said: str, value: float, place: int, axis: Axis, y: float) -> Markup:
    """Draw a dot; of what lies beyond the axis, an arrow and the number at its end."""
    if axis.low <= value <= axis.high:
        return marker(place, axis.place(value), y, said)
    x, anchor = (axis.start, "start") if value < axis.low else (axis.end, "end")
    words = [element("title", said), pointed(value)]
    return element("text", *words, x=x, y=y + 4, text_anchor=anchor, class_=f"label run-{place}")


_NOTE = (
    "To the right of the line: higher, so worse than the row with its own history. Where the first two marks lie on "
    "the line, it makes no difference what the row looks at; to the left of it, its own history is a burden. The third "
    "mark compares two models; its interval knows of documents, not of what another seed would change."
)
