"""The results of `docaps experiment`: Table 2, scores over a setting (Figs. 4 and 5), trials with context gain."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from docaps.report.drawing.charts import IntervalMark, Point, interval_chart, point_chart
from docaps.report.drawing.svg import Panel
from docaps.report.grid_tables import (
    METRIC_NAMES,
    OTHER_HISTORIES,
    caption,
    grid_cells,
    is_trial,
    metric_keys,
    state_sentence_models,
    state_unfinished,
)
from docaps.report.paper import FIGURES, is_table2, paper_columns, paper_scores, state_differences
from docaps.report.templating import Table, TableCell, render
from docaps.runs.grid_results import Grid
from docaps.runs.results import RunResults

_AXES = {"history.sentences": "history sentences", "qcn.capsules": "capsules", "qcn.rounds": "routing iterations"}
KINDS = {**OTHER_HISTORIES, "baseline": "the row it is compared with"}
"""What a row with its own history is compared with: the same model with another history, and another model."""
_BASELINE = len(OTHER_HISTORIES)  # place of the other model
_FARTHEST = 2.0
"""A baseline further off than this many times the largest gain of a history is not drawn to scale."""


def grid_section(grid: Grid, results: Sequence[RunResults], anchor: str) -> Markup:
    """Show a grid as Table 2, as a plain table, or as a figure over the setting in which its rows differ."""
    if grid.get("axis"):
        return _sweep_section(grid, anchor)
    return _table2_section(grid, results, anchor) if is_table2(grid) else _table_section(grid, anchor)


def _table2_section(grid: Grid, results: Sequence[RunResults], anchor: str) -> Markup:
    """Show the rows with the paper's scores beside them; `results` are the grid's own runs."""
    corpora = paper_columns(results)
    header, cells = grid_cells(grid)
    rows = [_table2_row(row, found, corpora) for row, found in zip(grid["rows"], cells, strict=True)]
    return _render(
        grid,
        anchor,
        heading="Table 2",
        id=f"{anchor}-section",
        differences=state_differences(grid, results),
        table=Table("Table 2", _table2_head(header[1:-1], corpora), rows, caption=_plain_caption(grid), id=anchor),
        started=state_sentence_models(grid),
    )


def _table_section(grid: Grid, anchor: str) -> Markup:
    """Show the scores of the rows: of trials, of options of the routing, or of the rivals."""
    heading = "Trials" if is_trial(grid) else str(grid["title"])
    header, rows = grid_cells(grid)
    table = Table(heading, [header], rows, caption=_plain_caption(grid).removeprefix(f"{heading}. "))
    started = [] if is_trial(grid) else state_sentence_models(grid)
    return _render(grid, anchor, heading=heading, gain=gain_panel(grid), table=table, started=started)


def _sweep_section(grid: Grid, anchor: str) -> Markup:
    """Draw BLEU and METEOR over the setting, with a table of all scores below."""
    title, name = str(grid["title"]), str(grid["experiment"])
    header, cells = grid_cells(grid)
    scores = slice(1, 1 + len(metric_keys(grid)))
    rows = [[TableCell(row["title"]), *found[scores]] for row, found in zip(grid["rows"], cells, strict=True)]
    return _render(
        grid,
        anchor,
        heading=title,
        texts=[_plain_caption(grid).removeprefix(f"{title}. "), *([FIGURES[name]] if name in FIGURES else [])],
        panels=sweep_panels(grid),
        table=Table(title, [["Row", *header[scores]]], rows, caption=f"{title}, as numbers", hide_caption=True),
    )


def sweep_panels(grid: Grid) -> list[Panel]:
    """Draw BLEU and METEOR over the setting in which the rows differ."""
    across = _AXES.get(str(grid["axis"]), str(grid["axis"]))
    rows = [row for row in grid["rows"] if row.get("value") is not None]
    panels: list[Panel] = []
    for key in ("bleu", "meteor"):
        if points := [_point(row, key) for row in rows if key in row["means"]]:
            values = "; ".join(f"{point.value:g}: {point.mean:.2f}" for point in points)
            title = f"{METRIC_NAMES[key]} by {across}: {values}"
            chart = point_chart(points, across=across, title=title, colour=len(panels))
            panels.append(Panel(METRIC_NAMES[key], f"by {across}", chart))
    return panels


def _point(row: Mapping[str, Any], key: str) -> Point:
    mean = row["means"][key]
    ends = mean if mean["low"] is not None else (row.get("documents") or {}).get(key) or {}
    return Point(row["value"], mean["mean"], ends.get("low", mean["mean"]), ends.get("high", mean["mean"]))


def _render(grid: Grid, anchor: str, **values: Any) -> Markup:
    """Fill in the template of a grid; what a section does not give is empty."""
    common = {"experiment": grid["experiment"], "anchor": anchor, "id": anchor, "unfinished": state_unfinished(grid)}
    return render("grid.html", gain_labels=list(KINDS.values()), **{**common, **values})


def _plain_caption(grid: Grid) -> str:
    return caption(grid).replace("`", "")


def _table2_head(ours: Sequence[str], corpora: Sequence[str]) -> list[list[TableCell]]:
    first = [TableCell("Row", rows=2), TableCell("Ours", columns=len(ours), style="group")]
    first += [TableCell(f"Paper, {name}", columns=2, style="group") for name in corpora]
    second = [TableCell(name, style="" if place else "group") for place, name in enumerate(ours)]
    second += [cell for _ in corpora for cell in (TableCell("BLEU", style="group"), TableCell("Meteor"))]
    return [first, second]


def _table2_row(row: Mapping[str, Any], cells: Sequence[TableCell], corpora: Sequence[str]) -> list[TableCell]:
    _, first, *ours, seeds = cells
    name = f"{row['row']} · seed{'s' if len(row['runs']) > 1 else ''} {seeds}"
    theirs = [
        TableCell(score, style="theirs" if place % 2 else "group theirs")
        for place, score in enumerate(paper_scores(row["row"], corpora))
    ]
    return [TableCell(row["title"], quiet=name), replace(first, style="group"), *ours, *theirs]


def gains_of(grid: Grid) -> dict[str, list[IntervalMark]]:
    """Return the context gains of each row that sees a history: the increase of perplexity over its own history."""
    found = {str(row["row"]): _gains(str(row["row"]), row.get("histories") or {}) for row in grid["rows"]}
    return {name: gains for name, gains in found.items() if any(gain.place != _BASELINE for gain in gains)}


def _gains(name: str, histories: Mapping[str, Mapping[str, Any]]) -> list[IntervalMark]:
    """Return the finite gains of a row, each with its text, whose arrow points to where it lies, and its title."""
    gains = []
    for place, (kind, words) in enumerate(KINDS.items()):
        against = histories.get("true" if place == _BASELINE else kind, {}).get("against") or {}
        value, low, high = (float(against.get(key, math.nan)) for key in ("difference", "low", "high"))
        if place == _BASELINE:  # the file has the difference of the row to its baseline; here the row is the reference
            value, low, high = -value, -high, -low
        if all(map(math.isfinite, (value, low, high))):
            shown, *ends = (f"{number:+.3f}".replace("-", "−") for number in (value, low, high))
            arrow = f"← {shown}" if value < 0 else f"{shown} →"
            gains.append(IntervalMark(place, value, low, high, arrow, f"{name}, {words}: {shown} [{', '.join(ends)}]"))
    return gains


def span_of(gains: Mapping[str, Sequence[IntervalMark]]) -> tuple[float, float]:
    """Return the range to draw: all gains of histories, and baselines that are not much further off."""
    found = [(gain.place, end) for row in gains.values() for gain in row for end in (gain.low, gain.value, gain.high)]
    reach = _FARTHEST * max(abs(end) for place, end in found if place != _BASELINE)
    ends = [min(max(end, -reach), reach) for _, end in found]
    return (min(0.0, *ends), max(0.0, *ends)) if any(ends) else (-0.001, 0.001)


def gain_panel(grid: Grid) -> Panel | None:
    """Draw the context gain of each row; None if nothing was tested."""
    gains = gains_of(grid)
    if not gains:
        return None
    title = "Context gain in perplexity, for each row of the table; the dots' titles give the values"
    chart = interval_chart(gains, marks=len(KINDS), span=span_of(gains), title=title)
    return Panel("Context gain", "perplexity above that with the own history", chart)
