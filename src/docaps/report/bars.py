"""Bars: changes for the better and for the worse on either side of a line, as SVG text."""

from collections.abc import Sequence
from dataclasses import dataclass

from docaps.report.markup import Markup, element, number
from docaps.report.scales import Axis

_LETTER, _HEIGHT, _WIDTH, _VALUE = 6.6, 26.0, 360.0, 52.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A change, what it is a change of, and how it is written; below 0 is better."""

    label: str
    value: float
    text: str


def bar_chart(bars: Sequence[Bar], *, title: str) -> Markup:
    """Draw a bar for each change, to the left of the line where it is below 0, to the right where it is above."""
    left = max(len(bar.label) for bar in bars) * _LETTER + 12
    low, high = min(0.0, *(bar.value for bar in bars)), max(0.0, *(bar.value for bar in bars))
    # The numbers stand outside of the bars, so both ends need room for one.
    axis = Axis(low, high if high > low else low + 1.0, left + _VALUE, _WIDTH - _VALUE)
    height = _HEIGHT * len(bars)
    rows = [_row(bar, axis, _HEIGHT * place) for place, bar in enumerate(bars)]
    zero = axis.place(0.0)
    line = element("line", x1=zero, y1=0, x2=zero, y2=height, class_="axis")
    view = f"0 0 {number(_WIDTH)} {number(height)}"
    return element("svg", *rows, line, class_="chart", viewBox=view, role="img", aria_label=title)


def _row(bar: Bar, axis: Axis, top: float) -> Markup:
    zero, end = axis.place(0.0), axis.place(bar.value)
    start, width = min(zero, end), max(abs(end - zero), 0.5)
    middle = top + _HEIGHT / 2 + 4
    beside = (end - 5, "end") if bar.value < 0 else (end + 5, "start")
    return element(
        "g",
        element("text", bar.label, x=0, y=middle),
        element(
            "rect",
            element("title", f"{bar.label}: {bar.text}"),
            x=start,
            y=top + 4,
            width=width,
            height=_HEIGHT - 8,
            class_=f"bar {'better' if bar.value < 0 else 'worse'}",
        ),
        element("text", bar.text, x=beside[0], y=middle, text_anchor=beside[1], class_="value"),
    )
