"""Results on contrastive sets (`docaps contrast --keep`): accuracy with each history, and by group of items."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from docaps.report.drawing.charts import DotRow, dot_chart
from docaps.report.drawing.svg import Panel
from docaps.report.templating import Table, TableCell, render, run_heading
from docaps.runs.contrastive_results import HISTORIES, AccuracyShare, ContrastiveResult
from docaps.runs.results import RunResults
from docaps.runs.wording import MISSING, label_runs, name_seeds, percent, thousands

Columns = dict[str, list[AccuracyShare | None]]
"""For each heading, the share of each run; None if it was not tested."""


def choices_section(results: Sequence[RunResults], *, charted: int | None = None) -> Markup:
    """Show a table and a chart for each set, the chart with the first `charted` runs; nothing if there is no set."""
    sets = [_set(results, name, charted) for name in set_names(results)]
    return render("choices.html", sets=sets, labels=label_runs(results[:charted])) if sets else Markup()


def set_names(results: Sequence[RunResults]) -> list[str]:
    """Return the names of the sets that any run has results on."""
    return list(dict.fromkeys(found.name for run in results for found in run.contrastive_sets))


def results_on(run: RunResults, name: str) -> dict[str, ContrastiveResult]:
    """Return the results of a run on a set, by history."""
    return {found.history: found for found in run.contrastive_sets if found.name == name}


def history_columns(results: Sequence[RunResults], name: str) -> Columns:
    """Return a column for each history that any run was tested with on a set."""
    found = [results_on(run, name) for run in results]
    shares = {history: [one[history].whole if history in one else None for one in found] for history in HISTORIES}
    return {HISTORIES[history]: column for history, column in shares.items() if any(column)}


def group_columns(results: Sequence[RunResults], name: str) -> Columns:
    """Return a column for each group of a set's items, with their own history."""
    groups: list[Mapping[str, AccuracyShare]] = [
        own.groups if (own := results_on(run, name).get("own")) else {} for run in results
    ]
    return {
        group: [own.get(group) for own in groups] for group in dict.fromkeys(name for own in groups for name in own)
    }


def _set(results: Sequence[RunResults], name: str, charted: int | None) -> dict[str, Any]:
    """Collect what the page shows of one set."""
    found = [(run, one) for run in results for one in results_on(run, name).values()]
    stale = dict.fromkeys(run.name for run, one in found if one.created != str(run.description.get("created")))
    # A signature is `key:value|...`; items differ where two results with one history have another hash of the data.
    items = {
        (one.history, *(part for part in one.signature.split("|") if part.startswith("data:"))) for _, one in found
    }
    warnings = {
        f"Retrained since: {', '.join(stale)}; run `docaps contrast` again.": bool(stale),
        "The runs were tested on different items; their accuracies are not comparable.": len(items)
        > len({history for history, *_ in items}),
    }
    columns = {**history_columns(results, name), **group_columns(results, name)}
    return {
        "name": name,
        "warnings": [text for text, holds in warnings.items() if holds],
        "table": _table(results, name, columns),
        "panel": _panel(results[:charted], name, columns, name_seeds(results, results[:charted])),
        "signatures": list(dict.fromkeys(one.signature for _, one in found)),
    }


def _table(results: Sequence[RunResults], name: str, columns: Columns) -> Table:
    """Build the table; where models translate, each has a chance level of its own, and the first is shown."""
    tested = [index for index, run in enumerate(results) if results_on(run, name)]
    runs = [results[index] for index in tested]
    rows = [
        [run_heading(results[index], index, runs), *(_cell(column[index]) for column in columns.values())]
        for index in tested
    ]
    caption = f"Right choices in {name}, in percent, with 95\u202f% intervals; groups with their own history."
    found = [[share for share in column if share] for column in columns.values()]
    differ = any(share.chance != shares[0].chance for shares in found for share in shares)
    foot = [
        ["Chance (first row)" if differ else "Chance", *(percent(shares[0].chance) for shares in found)],
        ["Items", *(thousands(shares[0].items) for shares in found)],
    ]
    return Table(f"Choices of {name}", [["System", *columns]], rows, foot, caption)


def _cell(share: AccuracyShare | None) -> TableCell:
    if share is None:
        return TableCell(MISSING)
    return TableCell(percent(share.accuracy), interval=f"[{percent(share.low)}, {percent(share.high)}]")


def _panel(results: Sequence[RunResults], name: str, columns: Columns, seeds: str) -> Panel | None:
    """Draw a row of dots for each column."""
    rows = []
    for heading, column in columns.items():
        shares = column[: len(results)]
        if any(shares):
            chance = next(share.chance for share in shares if share)
            rows.append(DotRow(heading, [share.accuracy if share else None for share in shares], chance))
    if not rows:
        return None
    title = f"{name}: right choices in percent, for each run{seeds}; the dots' titles give the values"
    return Panel(name, f" right choices, %{seeds}", dot_chart(rows, label_runs(results), title=title))
