"""Results on contrastive sets (`docaps contrast --keep`): accuracy with each history, and by group of items."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

from docaps.report.drawing.charts import DotRow, dot_chart
from docaps.report.drawing.svg import Panel
from docaps.report.templating import Table, TableCell, render, run_heading
from docaps.runs.contrastive_results import HISTORIES, AccuracyShare, ContrastiveResult
from docaps.runs.results import RunResults
from docaps.runs.wording import MISSING, label_runs, name_seeds, percent, thousands

Pick = Callable[[RunResults], AccuracyShare | None]


def choices_section(results: Sequence[RunResults], *, charted: int | None = None) -> Markup:
    """Show a table and a chart for each set, the chart with the first `charted` runs; nothing if there is no set."""
    sets = [_set(results, name, charted) for name in set_names(results)]
    return render("choices.html", sets=sets, labels=label_runs(results[:charted])) if sets else Markup()


def set_names(results: Sequence[RunResults]) -> list[str]:
    """Return the names of the sets that any run has results on."""
    return list(dict.fromkeys(found.name for run in results for found in run.contrastive_sets))


def result_on(run: RunResults, name: str, history: str = "own") -> ContrastiveResult | None:
    """Return the result of a run on a set with one history, if there is one."""
    found = (one for one in run.contrastive_sets if (one.name, one.history) == (name, history))
    return next(found, None)


def history_columns(results: Sequence[RunResults], name: str) -> dict[str, Pick]:
    """Return a column for each history that any run was tested with on a set."""
    tested = {found.history for run in results for found in run.contrastive_sets if found.name == name}
    return {title: partial(_whole, name, history) for history, title in HISTORIES.items() if history in tested}


def group_columns(results: Sequence[RunResults], name: str) -> dict[str, Pick]:
    """Return a column for each group of a set's items, with their own history."""
    own = [found for run in results if (found := result_on(run, name)) is not None]
    return {group: partial(_group, name, group) for found in own for group in found.groups}


def _whole(name: str, history: str, run: RunResults) -> AccuracyShare | None:
    found = result_on(run, name, history)
    return found.whole if found else None


def _group(name: str, group: str, run: RunResults) -> AccuracyShare | None:
    found = result_on(run, name)
    return found.groups.get(group) if found else None


def _set(results: Sequence[RunResults], name: str, charted: int | None) -> dict[str, Any]:
    """Collect what the page shows of one set."""
    found = [(run, one) for run in results for one in run.contrastive_sets if one.name == name]
    stale = dict.fromkeys(run.name for run, one in found if one.created != str(run.description.get("created")))
    items = {(one.history, _data_hash(one.signature)) for _, one in found}
    warnings = {
        f"Retrained since: {', '.join(stale)}; run `docaps contrast` again.": bool(stale),
        "The runs were tested on different items; their accuracies are not comparable.": len(items)
        > len({history for history, _ in items}),
    }
    columns = {**history_columns(results, name), **group_columns(results, name)}
    return {
        "name": name,
        "warnings": [text for text, holds in warnings.items() if holds],
        "table": _table(results, name, columns),
        "panel": _panel(results[:charted], name, columns, name_seeds(results, results[:charted])),
        "signatures": list(dict.fromkeys(one.signature for _, one in found)),
    }


def _data_hash(signature: str) -> str:
    """Return the data part of a signature, `key:value|...`."""
    parts = dict(part.partition(":")[::2] for part in signature.split("|"))
    return parts.get("data", "")


def _table(results: Sequence[RunResults], name: str, columns: dict[str, Pick]) -> Table:
    tested = [
        (index, run) for index, run in enumerate(results) if any(one.name == name for one in run.contrastive_sets)
    ]
    runs = [run for _, run in tested]
    rows = [[run_heading(run, index, runs), *(_cell(pick(run)) for pick in columns.values())] for index, run in tested]
    caption = f"Right choices in {name}, in percent, with 95\u202f% intervals; groups with their own history."
    foot = _foot(runs, columns)
    return Table(f"Choices of {name}", [["System", *columns]], rows, foot, caption)


def _cell(share: AccuracyShare | None) -> TableCell:
    if share is None:
        return TableCell(MISSING)
    return TableCell(percent(share.accuracy), interval=f"[{percent(share.low)}, {percent(share.high)}]")


def _foot(runs: Sequence[RunResults], columns: dict[str, Pick]) -> list[list[str]]:
    """Return chance and number of items; where models translate, each has a chance level of its own."""
    found = [[share for run in runs if (share := pick(run))] for pick in columns.values()]
    differ = any(share.chance != shares[0].chance for shares in found for share in shares)
    chance = [percent(shares[0].chance) for shares in found]
    items = [thousands(shares[0].items) for shares in found]
    return [["Chance (first row)" if differ else "Chance", *chance], ["Items", *items]]


def _panel(results: Sequence[RunResults], name: str, columns: dict[str, Pick], seeds: str) -> Panel | None:
    """Draw a row of dots for each column."""
    shares = {column: [pick(run) for run in results] for column, pick in columns.items()}
    rows = [
        DotRow(
            column,
            [share.accuracy if share else None for share in found],
            next((share.chance for share in found if share), None),
        )
        for column, found in shares.items()
        if any(found)
    ]
    if not rows:
        return None
    title = f"{name}: right choices in percent, for each run{seeds}; the dots' titles give the values"
    return Panel(name, f" right choices, %{seeds}", dot_chart(rows, label_runs(results), title=title))
