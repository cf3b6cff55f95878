"""Charts as SVG (lines, dots, bars, points with intervals) and their axes with round ticks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from docaps.report.drawing.svg import LETTER, WIDTH, Picture, group, marker, polyline, rule, run_class, shape, text
from docaps.runs.wording import percent_with_sign

_TOP, _BASELINE = 12.0, 206.0
_BAR_HEIGHT, _VALUE_WIDTH = 26.0, 52.0
_WIDE, _LINE_HEIGHT = 720.0, 10.0
_BOLD_LETTER = 7.8  # width of an average letter of a label
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


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a line chart; all lines of a run share its colour."""

    label: str
    points: Sequence[tuple[float, float]]
    run: int
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class DotRow:
    """One row of a dot chart: a value for each run (None: not measured) and the chance level."""

    label: str
    values: Sequence[float | None]
    chance: float | None


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: a change, its label and the change as text; below 0 is better."""

    label: str
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Point:
    """A mean at one value of a setting, with its interval."""

    value: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class IntervalMark:
    """A value with its interval: `place` picks marker and line, `text` stands at the edge if it is off the axis."""

    place: int
    value: float
    low: float
    high: float
    text: str
    title: str


def line_chart(series: Sequence[Series], *, title: str, may_be_log: bool = False, across: str = "step") -> Picture:
    """Draw values over training, each line labelled at its end; non-finite values are left out."""
    finite = [
        replace(line, points=[point for point in line.points if all(map(math.isfinite, point))]) for line in series
    ]
    shown = [line for line in finite if line.points]
    right = max((len(line.label) for line in shown if not line.dashed), default=0) * _BOLD_LETTER + 10
    xs, ys = ([point[axis] for line in shown for point in line.points] for axis in (0, 1))
    x_axis = Axis(0.0, max([*xs, 1.0]), 48, WIDTH - max(right, 20))
    y_axis = Axis.over(ys, start=_BASELINE, end=_TOP, may_be_log=may_be_log)
    lines = [_line(line, x_axis, y_axis) for line in shown]
    body = [*_value_grid(y_axis, x_axis), *_step_ticks(x_axis, across), *lines, *_end_labels(shown, x_axis, y_axis)]
    return Picture(WIDTH, 240, title, group(body))


def dot_chart(rows: Sequence[DotRow], runs: Sequence[str], *, title: str) -> Picture:
    """Draw one row of dots per label on an axis from 0 to 100 %, with a line at the chance level."""
    height = max(30.0, 9.0 * len(runs) + 14)
    left = max(len(row.label) for row in rows) * LETTER + 12
    axis = Axis(0.0, 1.0, left, WIDTH - 18)
    bottom = 8 + height * len(rows)
    body: list[Markup] = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = axis.place(share)
        body += [rule(x, 8, x, bottom, "grid"), text(f"{100 * share:.0f}", x, bottom + 17, class_="middle")]
    body += [_dot_row(row, runs, axis, top=8 + place * height, height=height) for place, row in enumerate(rows)]
    return Picture(WIDTH, bottom + 28, title, group(body))


def bar_chart(bars: Sequence[Bar], *, title: str) -> Picture:
    """Draw a bar for each change, to the left of the line where it is below 0, to the right where it is above."""
    left = max(len(bar.label) for bar in bars) * LETTER + 12
    low, high = min(0.0, *(bar.value for bar in bars)), max(0.0, *(bar.value for bar in bars))
    # The numbers stand outside of the bars, so both ends need room for one.
    axis = Axis(low, high if high > low else low + 1.0, left + _VALUE_WIDTH, WIDTH - _VALUE_WIDTH)
    height = _BAR_HEIGHT * len(bars)
    rows = [_bar(bar, axis, _BAR_HEIGHT * place) for place, bar in enumerate(bars)]
    zero = axis.place(0.0)
    return Picture(WIDTH, height, title, group([*rows, rule(zero, 0, zero, height, "axis")]))


def point_chart(points: Sequence[Point], *, across: str, title: str, colour: int = 0) -> Picture:
    """Draw means as dots joined by a line, with their intervals as strokes."""
    x_axis = Axis(min(p.value for p in points) - 0.4, max(p.value for p in points) + 0.4, 52, WIDTH - 12)
    ends = [end for point in points for end in (point.low, point.high, point.mean) if math.isfinite(end)]
    y_axis = Axis.over(ends, start=_BASELINE, end=_TOP)
    body = [*_value_grid(y_axis, x_axis), rule(x_axis.start, _BASELINE, x_axis.end, _BASELINE, "axis")]
    body += [text(f"{point.value:g}", x_axis.place(point.value), 223, class_="middle") for point in points]
    body.append(text(across, x_axis.end, 238, text_anchor="end", class_="quiet"))
    body.append(polyline([(x_axis.place(p.value), y_axis.place(p.mean)) for p in points], run_class(colour)))
    for point in points:
        x = x_axis.place(point.value)
        body.append(rule(x, y_axis.place(point.low), x, y_axis.place(point.high), f"whisker {run_class(colour)}"))
        words = f"{point.value:g}: {point.mean:.2f} [{point.low:.2f}, {point.high:.2f}]"
        body.append(marker(colour, x, y_axis.place(point.mean), words))
    return Picture(WIDTH, 244, title, group(body))


def interval_chart(
    rows: Mapping[str, Sequence[IntervalMark]], *, marks: int, span: tuple[float, float], title: str
) -> Picture:
    """Draw for each row up to `marks` values with intervals around a zero line; values off the axis as numbers."""
    left = max(map(len, rows)) * LETTER + 12
    axis = Axis.over(span, start=left, end=_WIDE - 24)
    height = _LINE_HEIGHT * marks + 8
    top, bottom = 8.0, 8.0 + height * len(rows)
    body: list[Markup] = []
    for value in axis.ticks():
        x = axis.place(value)
        body.append(rule(x, top, x, bottom, "grid" if value else "axis"))
        body.append(text(f"{value:+g}".replace("-", "−") if value else "0", x, bottom + 17, class_="middle"))
    body += [
        _interval_row(name, row, axis, top=top + place * height, height=height)
        for place, (name, row) in enumerate(rows.items())
    ]
    return Picture(_WIDE, bottom + 26, title, group(body))


def spread(wanted: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Move labels apart until no two are closer than `gap`, keeping their order and, if they fit, the bounds."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    places = list(wanted)
    for before, index in zip([None, *order], order, strict=False):
        places[index] = max(places[index], low if before is None else places[before] + gap)
    limit = max(high, low + gap * (len(wanted) - 1))
    for index in reversed(order):
        places[index] = min(places[index], limit)
        limit = places[index] - gap
    return places


def _value_grid(axis: Axis, across: Axis) -> list[Markup]:
    """Draw horizontal lines at round values, with the values beside them."""
    grid = []
    for value in axis.ticks():
        y = axis.place(value)
        grid.append(rule(across.start, y, across.end, y, "grid"))
        grid.append(text(f"{value:,.6g}", across.start - 7, y + 4, text_anchor="end"))
    return grid


def _step_ticks(axis: Axis, across: str) -> list[Markup]:
    ticks = [rule(axis.start, _BASELINE, axis.end, _BASELINE, "axis")]
    for value in axis.ticks()[:: 2 if axis.end - axis.start < 220 else 1]:
        x = axis.place(value)
        ticks.append(rule(x, _BASELINE, x, _BASELINE + 4, "axis"))
        ticks.append(text(f"{value:,.0f}" if value.is_integer() else f"{value:g}", x, _BASELINE + 17, class_="middle"))
    return [*ticks, text(across, axis.end, _BASELINE + 31, text_anchor="end", class_="quiet")]


def _line(line: Series, x_axis: Axis, y_axis: Axis) -> Markup:
    places = [(x_axis.place(x), y_axis.place(y)) for x, y in line.points]
    if len(places) == 1:
        return marker(line.run, *places[0], f"{line.label}: {line.points[0][1]:.4g}")
    return polyline(places, f"{run_class(line.run)}{' dashed' if line.dashed else ''}", line.label)


def _end_labels(lines: Sequence[Series], x_axis: Axis, y_axis: Axis) -> list[Markup]:
    labelled = [line for line in lines if not line.dashed]
    wanted = [y_axis.place(line.points[-1][1]) for line in labelled]
    places = spread(wanted, gap=14, low=y_axis.end, high=y_axis.start)
    return [
        text(line.label, x_axis.end + 8, y + 4, class_=f"label {run_class(line.run)}")
        for line, y in zip(labelled, places, strict=True)
    ]


def _dot_row(row: DotRow, runs: Sequence[str], axis: Axis, *, top: float, height: float) -> Markup:
    middle = top + height / 2
    parts = [text(row.label, 0, middle + 4), rule(axis.start, top + height, axis.end, top + height, "grid")]
    if row.chance is not None:
        x, words = axis.place(row.chance), f"{row.label}, chance: {percent_with_sign(row.chance)}"
        parts.append(rule(x, top + 3, x, top + height - 3, "chance", words))
    for run, value in enumerate(row.values):
        if value is not None and math.isfinite(value):
            words = f"{row.label}, {runs[run]}: {percent_with_sign(value)}"
            parts.append(marker(run, axis.place(value), middle + 9.0 * (run - (len(runs) - 1) / 2), words))
    return shape("g", *parts)


def _bar(bar: Bar, axis: Axis, top: float) -> Markup:
    zero, end = axis.place(0.0), axis.place(bar.value)
    middle = top + _BAR_HEIGHT / 2 + 4
    x, anchor = (end - 5, "end") if bar.value < 0 else (end + 5, "start")
    place = {"x": min(zero, end), "y": top + 4, "width": max(abs(end - zero), 0.5), "height": _BAR_HEIGHT - 8}
    style, title = f"bar {'better' if bar.value < 0 else 'worse'}", f"{bar.label}: {bar.text}"
    value = text(bar.text, x, middle, text_anchor=anchor, class_="value")
    return shape("g", text(bar.label, 0, middle), shape("rect", **place, class_=style, title=title), value)


def _interval_row(name: str, marks: Sequence[IntervalMark], axis: Axis, *, top: float, height: float) -> Markup:
    parts = [text(name, 0, top + height / 2 + 4), rule(axis.start, top + height, axis.end, top + height, "grid")]
    for mark in marks:
        y = top + 9 + _LINE_HEIGHT * mark.place
        start, end = (axis.place(min(max(value, axis.low), axis.high)) for value in (mark.low, mark.high))
        parts.append(rule(start, y, end, y, f"whisker {run_class(mark.place)}"))
        if axis.low <= mark.value <= axis.high:
            parts.append(marker(mark.place, axis.place(mark.value), y, mark.title))
            continue
        x, anchor = (axis.start, "start") if mark.value < axis.low else (axis.end, "end")
        looks = {"text_anchor": anchor, "class_": f"label {run_class(mark.place)}", "title": mark.title}
        parts.append(text(mark.text, x, y + 4, **looks))
    return shape("g", *parts)
