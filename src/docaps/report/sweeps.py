"""Figures 4 and 5 and their like: a score over a setting, with intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from docaps.report.figures import WIDTH, marker, rule, svg, text, value_grid
from docaps.report.grids import NAMES, caption, interval_text, state_unfinished
from docaps.report.markup import Markup, element
from docaps.report.paper import FIGURES
from docaps.report.scales import Axis
from docaps.runs.grid_results import Grid
from docaps.runs.wording import MISSING

AXES = {"history.sentences": "history sentences", "qcn.capsules": "capsules", "qcn.rounds": "routing iterations"}
DRAWN = ("bleu", "meteor")


@dataclass(frozen=True, slots=True)
class Point:
    """A mean at one value of the setting, and its interval."""

    value: float
    mean: float
    low: float
    high: float


def points_of(grid: Grid, key: str) -> list[Point]:
    """Return the means of a metric over the setting that the rows differ in."""
    return [_point(row, key) for row in grid["rows"] if row.get("value") is not None and key in row["means"]]


def _point(row: Mapping[str, Any], key: str) -> Point:
    mean = row["means"][key]
    ends = mean if mean["low"] is not None else (row.get("documents") or {}).get(key) or {}
    return Point(row["value"], mean["mean"], ends.get("low", mean["mean"]), ends.get("high", mean["mean"]))


def sweep_section(grid: Grid, place: str) -> Markup:
    """Draw BLEU and METEOR over the setting, with the numbers beneath."""
    name = str(grid["experiment"])
    keys = [key for key in DRAWN if points_of(grid, key)]
    charts = [_figure(grid, key, place) for place, key in enumerate(keys)]
    return element(
        "section",
        element("h2", grid["title"], id=f"{place}-heading"),
        *[element("p", text, class_="doubt") for text in state_unfinished(grid)],
        element("p", caption(grid).removeprefix(f"{grid['title']}. ").replace("`", "")),
        element("p", FIGURES[name]) if name in FIGURES else Markup(),
        element("div", *charts, class_="panels"),
        element("div", _table(grid), class_="scroll", data_scroll=str(grid["title"])),
        id=place,
        aria_labelledby=f"{place}-heading",
    )


def _figure(grid: Grid, key: str, place: int) -> Markup:
    points, across = points_of(grid, key), AXES.get(str(grid["axis"]), str(grid["axis"]))
    words = "; ".join(f"{point.value:g}: {point.mean:.2f}" for point in points)
    chart = point_chart(points, across=across, title=f"{NAMES[key]} by {across}: {words}", colour=place)
    return element("figure", element("figcaption", NAMES[key], element("span", f"by {across}", class_="quiet")), chart)


def point_chart(points: Sequence[Point], *, across: str, title: str, colour: int = 0) -> Markup:
    """Draw means as dots joined by a line, with their intervals as strokes."""
    x_axis = Axis(min(p.value for p in points) - 0.4, max(p.value for p in points) + 0.4, 52, WIDTH - 12)
    ends = [end for point in points for end in (point.low, point.high, point.mean) if math.isfinite(end)]
    y_axis = Axis.over(ends, start=206, end=12)
    body = [*value_grid(y_axis, x_axis), rule(x_axis.start, 206, x_axis.end, 206, "axis")]
    body += [text(f"{point.value:g}", x_axis.place(point.value), 223, class_="middle") for point in points]
    body.append(text(across, x_axis.end, 238, text_anchor="end", class_="quiet"))
    places = [f"{x_axis.place(p.value):.2f},{y_axis.place(p.mean):.2f}" for p in points]
    group = [element("polyline", points=" ".join(places), class_=f"curve run-{colour}")]
    for point in points:
        x = x_axis.place(point.value)
        group.append(rule(x, y_axis.place(point.low), x, y_axis.place(point.high), f"whisker run-{colour}"))
        said = f"{point.value:g}: {point.mean:.2f} [{point.low:.2f}, {point.high:.2f}]"
        group.append(marker(colour, x, y_axis.place(point.mean), said))
    return svg("chart", WIDTH, 244, title, *body, *group)


def _table(grid: Grid) -> Markup:
    keys = [key for key in NAMES if any(key in row["means"] for row in grid["rows"])]
    head = [element("th", name, scope="col") for name in ("Row", *(NAMES[key] for key in keys))]
    rows = [
        element("tr", element("th", row["title"], scope="row"), *[element("td", *_cell(row, key)) for key in keys])
        for row in grid["rows"]
    ]
    hidden = element("caption", f"{grid['title']}, as numbers", class_="visually-hidden")
    return element("table", hidden, element("thead", element("tr", *head)), element("tbody", *rows), class_="numbers")


def _cell(row: Mapping[str, Any], key: str) -> list[str]:
    if key not in row["means"]:
        return [MISSING]
    return [f"{row['means'][key]['mean']:.2f}", element("span", interval_text(row, key), class_="interval")]
