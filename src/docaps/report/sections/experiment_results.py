"""The results of `docaps experiment`: Table 2, scores over a setting (Figs. 4 and 5), and trials of settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from docaps.report.drawing.charts import Point, point_chart
from docaps.report.drawing.svg import Panel
from docaps.report.grid_tables import (
    METRIC_NAMES,
    as_rows,
    caption,
    has_choices,
    interval_text,
    is_trial,
    metric_keys,
    right_choices,
    significance_mark,
    state_sentence_models,
    state_unfinished,
)
from docaps.report.paper import FIGURES, corpus_of, paper_columns, paper_scores, state_differences
from docaps.report.rendering import Cell, Table, render
from docaps.report.sections.context_gain import KINDS, gain_panel
from docaps.runs.grid_results import Grid
from docaps.runs.results import RunResults
from docaps.runs.wording import MISSING

_AXES = {"history.sentences": "history sentences", "qcn.capsules": "capsules", "qcn.rounds": "routing iterations"}
_DRAWN = ("bleu", "meteor")
_TABLE2_NOTE = (
    "For each seed, all our rows start from one sentence model and have a second stage of the same steps, dropout and "
    "schedule, the sentence-level rows too (zhang trains its new weights only). The model of a run was chosen on the "
    "development part; the test part was translated once. A mark means that a row differs from the baseline, for "
    "better or worse. There is no correction for the number of rows and metrics: one in twenty null differences is "
    "marked."
)
_TRIALS_NOTE = (
    "Besides the sentence model, each row is the QCN with one setting changed, from the same sentence model and, unless "
    "that is the setting, with as many steps. Settings are chosen by these numbers, so those of the best row are "
    "biased upwards; the test part was not used. A row that is not better with its own history than with another's "
    "shows no use of it."
)


def grid_section(grid: Grid, results: Sequence[RunResults], anchor: str) -> Markup:
    """Show a grid as Table 2, as trials, or as a figure over the setting in which its rows differ."""
    if is_trial(grid):
        return trials_section(grid, anchor)
    return sweep_section(grid, anchor) if grid.get("axis") else table2_section(grid, results, anchor)


def table2_section(grid: Grid, results: Sequence[RunResults], anchor: str = "table2") -> Markup:
    """Show the rows with the paper's scores beside them; `results` are the grid's own runs."""
    corpora = paper_columns(corpus_of(results))
    rows = [_table2_row(row, metric_keys(grid), has_choices(grid), corpora) for row in grid["rows"]]
    return _render(
        grid,
        anchor,
        heading="Table 2",
        id=f"{anchor}-section",
        differences=state_differences(grid, results),
        table=Table("Table 2", _table2_head(grid, corpora), rows, caption=_plain_caption(grid), id=anchor),
        notes=[_TABLE2_NOTE, *state_sentence_models(grid)],
    )


def trials_section(grid: Grid, anchor: str) -> Markup:
    """Show what each change of a setting did to the scores."""
    header, rows = as_rows(grid)
    body = [[cells[0], *map(_split_interval, cells[1:])] for cells in rows]
    return _render(
        grid,
        anchor,
        heading="Trials",
        gain=gain_panel(grid),
        table=Table("Trials", [header], body, caption=_plain_caption(grid)),
        notes=[_TRIALS_NOTE],
    )


def sweep_section(grid: Grid, anchor: str) -> Markup:
    """Draw BLEU and METEOR over the setting, with a table of all scores below."""
    title, name = str(grid["title"]), str(grid["experiment"])
    keys = metric_keys(grid)
    rows = [[row["title"], *(_score(row, key, mark=False) for key in keys)] for row in grid["rows"]]
    head = ["Row", *(METRIC_NAMES[key] for key in keys)]
    return _render(
        grid,
        anchor,
        heading=title,
        texts=[_plain_caption(grid).removeprefix(f"{title}. "), *([FIGURES[name]] if name in FIGURES else [])],
        panels=sweep_panels(grid),
        table=Table(title, [head], rows, caption=f"{title}, as numbers", hide_caption=True),
    )


def sweep_panels(grid: Grid) -> list[Panel]:
    """Draw BLEU and METEOR over the setting in which the rows differ."""
    across = _AXES.get(str(grid["axis"]), str(grid["axis"]))
    drawn = [(key, points) for key in _DRAWN if (points := points_of(grid, key))]
    panels = []
    for place, (key, points) in enumerate(drawn):
        values = "; ".join(f"{point.value:g}: {point.mean:.2f}" for point in points)
        title = f"{METRIC_NAMES[key]} by {across}: {values}"
        chart = point_chart(points, across=across, title=title, colour=place)
        panels.append(Panel(METRIC_NAMES[key], f"by {across}", chart))
    return panels


def points_of(grid: Grid, key: str) -> list[Point]:
    """Return the means of a metric over the setting in which the rows differ."""
    return [_point(row, key) for row in grid["rows"] if row.get("value") is not None and key in row["means"]]


def _point(row: Mapping[str, Any], key: str) -> Point:
    mean = row["means"][key]
    ends = mean if mean["low"] is not None else (row.get("documents") or {}).get(key) or {}
    return Point(row["value"], mean["mean"], ends.get("low", mean["mean"]), ends.get("high", mean["mean"]))


def _render(grid: Grid, anchor: str, **values: Any) -> Markup:
    """Fill in the template of a grid; what a section does not give is empty."""
    empty: dict[str, Any] = {"differences": [], "texts": [], "gain": None, "panels": [], "notes": []}
    common = {"anchor": anchor, "id": anchor, "unfinished": state_unfinished(grid), "gain_labels": list(KINDS.values())}
    return render("grid.html", **{**empty, **common, **values})


def _plain_caption(grid: Grid) -> str:
    return caption(grid).replace("`", "")


def _split_interval(text: str) -> Cell:
    """Put the interval of a cell below its value."""
    value, _, interval = text.partition(" [")
    return Cell(f"{value} ", interval=f"[{interval}") if interval else Cell(value)


def _table2_head(grid: Grid, corpora: Sequence[str]) -> list[list[Cell]]:
    ours = [METRIC_NAMES[key] for key in metric_keys(grid)] + ["right choices, %"] * has_choices(grid)
    first = [Cell("Row", rows=2), Cell("Ours", columns=len(ours), style="group")]
    first += [Cell(f"Paper, {name}", columns=2, style="group") for name in corpora]
    second = [Cell(name, style="" if place else "group") for place, name in enumerate(ours)]
    second += [cell for _ in corpora for cell in (Cell("BLEU", style="group"), Cell("Meteor"))]
    return [first, second]


def _table2_row(row: Mapping[str, Any], keys: Sequence[str], chosen: bool, corpora: Sequence[str]) -> list[Cell]:
    seeds = [str(run["seed"]) for run in row["runs"]]
    name = f"{row['row']} · seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}"
    cells = [Cell(row["title"], quiet=name)]
    cells += [_score(row, key, style="" if place else "group") for place, key in enumerate(keys)]
    if chosen:
        share, ends = right_choices(row)
        cells.append(Cell(share, interval=ends))
    for place, score in enumerate(paper_scores(row["row"], corpora)):
        cells.append(Cell(score, style="theirs" if place % 2 else "group theirs"))
    return cells


def _score(row: Mapping[str, Any], key: str, *, mark: bool = True, style: str = "") -> Cell:
    if key not in row["means"]:
        return Cell(MISSING, style=style)
    shown = significance_mark(row, key) if mark else ""
    return Cell(
        f"{row['means'][key]['mean']:.2f}",
        interval=interval_text(row, key),
        mark=shown,
        title=_explain(row["against"][key]) if shown else "",
        style=style,
    )


def _explain(found: Mapping[str, float]) -> str:
    p = f"p = {found['p_bootstrap']:.4f} (bootstrap), {found['p_randomisation']:.4f} (randomisation)"
    return f"difference {found['difference']:+.2f}, {p}"
