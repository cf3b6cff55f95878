"""Figures as SVG text: curves, dots and heat maps. The page's style sheet gives the colours."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from docaps.report.markup import Markup, element, number
from docaps.report.scales import Axis, ColourScale
from docaps.runs.results import Matrix
from docaps.runs.wording import percent_with_sign

WIDTH = 360.0
COLOURS = 8  # runs beyond the eighth share colours; their labels tell them apart
_LETTER = 6.6  # width of an average letter at the charts' size of type
_BOLD_LETTER = 7.8
_NARROW_CELL, _WIDE_CELL, _CELL_HEIGHT = 27.0, 40.0, 24.0
_SMALLEST = 0.85  # a heat map shrinks this far on a small screen; then it scrolls, so that words stay readable
_HALF, _WHOLE = 500.0, 1000.0  # short sentences share the page's width, long ones have it to themselves
LONG = 16  # words
_LONGEST_WORD = 16
_SLANT = math.sqrt(0.5)  # word labels are turned by 45 degrees


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart; lines of a run share its colour."""

    label: str
    points: Sequence[tuple[float, float]]
    run: int
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class DotRow:
    """One row of a dot chart: a value per run (None: not measured) and what guessing would give."""

    label: str
    values: Sequence[float | None]
    chance: float | None


def line_chart(series: Sequence[Series], *, title: str, may_be_log: bool = False) -> Markup:
    """Draw lines over training steps, each with its label at its end."""
    shown = [line for line in map(_finite, series) if line.points]
    right = max((len(line.label) for line in shown if not line.dashed), default=0) * _BOLD_LETTER + 10
    xs, ys = ([point[axis] for line in shown for point in line.points] for axis in (0, 1))
    x_axis = Axis(0.0, max([*xs, 1.0]), 48, WIDTH - max(right, 20))
    y_axis = Axis.over(ys, start=206, end=12, may_be_log=may_be_log)
    body = [*value_grid(y_axis, x_axis), *_step_ticks(x_axis, baseline=206)]
    body += [_line(line, x_axis, y_axis) for line in shown]
    body += _end_labels(shown, x_axis, y_axis)
    return svg("chart", WIDTH, 240, title, *body)


def dot_chart(rows: Sequence[DotRow], runs: Sequence[str], *, title: str) -> Markup:
    """Draw one row of dots per distance on an axis from 0 to 100 %, with a mark where guessing would land."""
    height = max(30.0, 9.0 * len(runs) + 14)
    left = max(len(row.label) for row in rows) * _LETTER + 12
    axis = Axis(0.0, 1.0, left, WIDTH - 18)
    bottom = 8 + height * len(rows)
    body = [*_share_grid(axis, bottom)]
    for position, row in enumerate(rows):
        body.append(_dot_row(row, runs, axis, top=8 + position * height, height=height))
    return svg("chart", WIDTH, bottom + 28, title, *body)


def marker(run: int, x: float = 6, y: float = 6, title: str = "") -> Markup:
    """Draw a run's dot: colour and shape both tell runs apart."""
    shapes = ("M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z", "M-4,-4h8v8h-8z", "M0,-5.5L5.5,0L0,5.5L-5.5,0z")
    more = ("M0,-5L5,4H-5z", "M0,5L5,-4H-5z", "M-5,-1.7h3.3v-3.3h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3z")
    path = (*shapes, *more)[run % 6]
    place = f"translate({number(x)} {number(y)})"
    children = [element("title", title)] if title else []
    return element("path", *children, class_=f"dot {run_class(run)}", d=path, transform=place)


def run_class(run: int) -> str:
    """Name the style of a run: everything of a run has one colour on the whole page."""
    return f"run-{run % COLOURS}"


def heat_map(
    matrix: Matrix, words: Sequence[str], *, kind: str, iteration: int, scale: ColourScale, title: str
) -> Markup:
    """Draw capsules as rows, words as columns, blue high and red low (Figs. 6 and 7 of the paper)."""
    bottom = _CELL_HEIGHT * len(matrix)
    labels = [_shorten(word) for word in words]
    longest = max((len(label) for label in labels), default=0) * _LETTER * _SLANT
    left = max(66.0, longest - 10)
    cell = min(_WIDE_CELL, max(_NARROW_CELL, ((_WHOLE if len(words) >= LONG else _HALF) - left) / max(len(words), 1)))
    width, height = left + cell * len(words) + 2, bottom + longest + 18
    rows = [
        _heat_row(row, words, capsule=capsule, left=left, cell=cell, kind=kind, scale=scale)
        for capsule, row in enumerate(matrix)
    ]
    axis = [_word_label(label, left + cell * (column + 0.5), bottom) for column, label in enumerate(labels)]
    ground = element("rect", x=left, y=0, width=cell * len(words), height=bottom, class_="ground")
    return element(
        "svg",
        element("g", ground, aria_hidden="true"),
        *rows,
        element("g", *axis, aria_hidden="true"),
        class_="heatmap",
        data_kind=kind,
        data_iteration=iteration,
        role="table",
        aria_label=title,
        viewBox=f"0 0 {number(width)} {number(height)}",
        style=f"width:{number(width)}px;min-width:{number(_SMALLEST * width)}px",
    )


def svg(class_: str, width: float, height: float, title: str, *body: str) -> Markup:
    """Put a picture together; its title is what those hear who cannot see it."""
    view = f"0 0 {number(width)} {number(height)}"
    return element("svg", *body, class_=class_, viewBox=view, role="img", aria_label=title)


def text(content: str, x: float, y: float, **attributes: str) -> Markup:
    """Write at a place."""
    return element("text", content, x=x, y=y, **attributes)


def rule(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Draw a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def value_grid(axis: Axis, across: Axis) -> list[Markup]:
    """Draw lines across at round values, with the values beside them."""
    grid = []
    for value in axis.ticks():
        y = axis.place(value)
        grid.append(rule(across.start, y, across.end, y, "grid"))
        grid.append(text(f"{value:,.6g}", across.start - 7, y + 4, text_anchor="end"))
    return grid


def _step_ticks(axis: Axis, *, baseline: float) -> list[Markup]:
    marks = [rule(axis.start, baseline, axis.end, baseline, "axis")]
    for value in axis.ticks()[:: 2 if axis.end - axis.start < 220 else 1]:
        x = axis.place(value)
        marks += [
            rule(x, baseline, x, baseline + 4, "axis"),
            text(f"{value:,.0f}", x, baseline + 17, class_="middle"),
        ]
    return [*marks, text("step", axis.end, baseline + 31, text_anchor="end", class_="quiet")]


def _line(line: Series, x_axis: Axis, y_axis: Axis) -> Markup:
    places = [f"{number(x_axis.place(x))},{number(y_axis.place(y))}" for x, y in line.points]
    if len(places) == 1:
        x, y = line.points[0]
        return marker(line.run, x_axis.place(x), y_axis.place(y), f"{line.label}: {y:.4g}")
    style = f"curve {run_class(line.run)}{' dashed' if line.dashed else ''}"
    return element("polyline", element("title", line.label), points=" ".join(places), class_=style)


def _end_labels(lines: Sequence[Series], x_axis: Axis, y_axis: Axis) -> list[Markup]:
    labelled = [line for line in lines if not line.dashed]
    wanted = [y_axis.place(line.points[-1][1]) for line in labelled]
    places = spread(wanted, gap=14, low=y_axis.end, high=y_axis.start)
    return [
        text(line.label, x_axis.end + 8, y + 4, class_=f"label {run_class(line.run)}")
        for line, y in zip(labelled, places, strict=True)
    ]


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


def _share_grid(axis: Axis, bottom: float) -> list[Markup]:
    grid = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = axis.place(share)
        grid += [rule(x, 8, x, bottom, "grid"), text(f"{100 * share:.0f}", x, bottom + 17, class_="middle")]
    return grid


def _dot_row(row: DotRow, runs: Sequence[str], axis: Axis, *, top: float, height: float) -> Markup:
    middle = top + height / 2
    parts = [text(row.label, 0, middle + 4), rule(axis.start, top + height, axis.end, top + height, "grid")]
    if row.chance is not None:
        x = axis.place(row.chance)
        mark = element("title", f"{row.label}, chance: {percent_with_sign(row.chance)}")
        parts.append(element("line", mark, x1=x, y1=top + 3, x2=x, y2=top + height - 3, class_="chance"))
    for run, value in enumerate(row.values):
        if value is not None and math.isfinite(value):
            title = f"{row.label}, {runs[run]}: {percent_with_sign(value)}"
            parts.append(marker(run, axis.place(value), middle + 9.0 * (run - (len(runs) - 1) / 2), title))
    return element("g", *parts)


def _heat_row(
    row: Sequence[float], words: Sequence[str], *, capsule: int, left: float, cell: float, kind: str, scale: ColourScale
) -> Markup:
    y = capsule * _CELL_HEIGHT
    header = text(f"capsule {capsule + 1}", left - 8, y + 16, text_anchor="end", role="rowheader")
    cells = []
    for column, (word, value) in enumerate(zip(words, row, strict=True)):
        shade = scale.shade(value)
        name = f"{word}, capsule {capsule + 1}: {symbol(kind)} = {value:.3f}"
        x = left + column * cell
        colour = element(
            "rect",
            element("title", name),
            x=x,
            y=y,
            width=cell,
            height=_CELL_HEIGHT,
            class_=f"cell {shade.hue}",
            fill_opacity=number(shade.strength),
            role="cell",
            aria_label=name,
        )
        cells.append(colour)
    return element("g", header, *cells, role="row")


def symbol(kind: str) -> str:
    """Name the quantity of a heat map as the paper does."""
    return "c" if kind == "coupling" else "p"


def _word_label(label: str, x: float, bottom: float) -> Markup:
    turn = f"rotate(-45 {number(x + 3)} {number(bottom + 12)})"
    return text(label, x + 3, bottom + 12, text_anchor="end", transform=turn, class_="word")


def _shorten(word: str) -> str:
    return word if len(word) <= _LONGEST_WORD else f"{word[: _LONGEST_WORD - 1]}…"


def _finite(line: Series) -> Series:
    points = [point for point in line.points if all(map(math.isfinite, point))]
    return Series(line.label, points, line.run, line.dashed)


def run_key(run: int) -> Markup:
    """Draw a run's dot in running text: in headings, tables and legends alike."""
    return element("svg", marker(run), viewBox="0 0 12 12", class_="key", aria_hidden="true")


def legend(runs: Sequence[str], *, chance: bool = True) -> Markup:
    """Name the dots of a chart, and the mark for chance where there is one."""
    keys = [element("li", run_key(run), label) for run, label in enumerate(runs)]
    return element("ul", *keys, *([_key_of_chance()] if chance else []), class_="legend")


def _key_of_chance() -> Markup:
    mark = element("line", x1=6, y1=-1, x2=6, y2=13, class_="chance")
    return element("li", element("svg", mark, viewBox="0 0 12 12", class_="key", aria_hidden="true"), "chance")
