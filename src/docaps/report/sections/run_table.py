"""The table of all runs, accuracy by phenomenon and distance, and all scores of the test part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from docaps.report.drawing.charts import DotRow, dot_chart
from docaps.report.drawing.svg import Panel
from docaps.report.grid_tables import METRIC_NAMES
from docaps.report.headline import state_alike_capsules, state_collapses, state_doubts
from docaps.report.templating import Table, TableCell, render, run_heading
from docaps.runs.results import AccuracyBreakdown, RunResults, Scores, score_of
from docaps.runs.wording import MISSING, decimal, duration, label_runs, name_seeds, percent, thousands

_PLAIN = ("System", "Parameters", "Training", "Tokens/s", "Perplexity", "BLEU")
_CAPTION = (
    "All runs. Training: wall-clock time. Tokens/s: target tokens, median. Perplexity: lowest on the development part."
)
_ACCURACY = " Accuracy: percentage of contrastive items whose correct translation got the best score."


@dataclass(frozen=True, slots=True)
class Column:
    """A column of accuracies: all items, or one phenomenon or distance."""

    group: str
    heading: str

    def pick(self, found: AccuracyBreakdown) -> float | None:
        """Return the value of the column."""
        groups = {"by phenomenon": found.by_phenomenon, "by distance": found.by_distance, "": {"all": found.all}}
        return groups[self.group].get(self.heading)


def results_section(results: Sequence[RunResults], *, charted: int | None = None) -> Markup:
    """Show the size, training time and scores of every run; charts show the first `charted` runs."""
    shown = results[:charted]
    return render(
        "results.html",
        warnings=[*state_doubts(results), *state_collapses(results), *state_alike_capsules(results)],
        table=_table(results),
        signatures=list(dict.fromkeys(_signature(run.scores) for run in results if run.scores)),
        missing=[f"{run.name}/assessment/{file}" for run in results for file in _missing(run, results)],
        labels=label_runs(shown),
        panels=accuracy_panels(shown, name_seeds(results, shown)),
    )


def scores_section(results: Sequence[RunResults]) -> Markup:
    """Show every score of the test part; nothing if no run has more than BLEU."""
    keys = [key for key in METRIC_NAMES if any(score_of(run, "test", key) is not None for run in results)]
    if len(keys) < 2:
        return Markup()
    rows = [
        [label, *(decimal(score_of(run, "test", key), 2) for key in keys)]
        for run, label in zip(results, label_runs(results), strict=True)
    ]
    caption = "Scores on the test part; their signatures are at the end of the page."
    table = Table("Scores", [["Run", *(METRIC_NAMES[key] for key in keys)]], rows, caption=caption)
    return render("plain_table.html", anchor="scores", heading="Scores", table=table)


def accuracy_columns(results: Sequence[RunResults]) -> list[Column]:
    """Return the columns of accuracies: all items, each phenomenon, each distance that any run was tested on."""
    breakdowns = [run.contrastive.accuracy for run in results if run.contrastive]
    phenomena = _keys([breakdown.by_phenomenon for breakdown in breakdowns])
    distances = ordered(_keys([breakdown.by_distance for breakdown in breakdowns]))
    named = [("by phenomenon", name) for name in phenomena] + [("by distance", name) for name in distances]
    return [Column("", "all"), *(Column(*names) for names in named)] if breakdowns else []


def ordered(distances: Sequence[str]) -> list[str]:
    """Sort distances as numbers, "10" after "9"; other text follows in its order."""
    return sorted(distances, key=lambda distance: int(distance) if distance.isdigit() else len(distances) + 10**6)


def best_text(texts: Sequence[str]) -> str | None:
    """Return the highest number as it is shown, so that ties are bold alike; None if there is nothing to compare."""
    shown = [text for text in texts if text != MISSING]
    return max(shown, key=float) if len(set(shown)) > 1 else None


def accuracy_panels(results: Sequence[RunResults], seeds: str) -> list[Panel]:
    """Draw a chart of accuracy by distance for each phenomenon."""
    tested = [run.contrastive for run in results if run.contrastive]
    chances = tested[0].chance.by_phenomenon_and_distance if tested else {}
    tables = [run.contrastive.accuracy.by_phenomenon_and_distance if run.contrastive else {} for run in results]
    panels = []
    for name in _keys(tables):
        values, chance = [table.get(name, {}) for table in tables], chances.get(name, {})
        rows = [
            DotRow(f"{distance} back", [value.get(distance) for value in values], chance.get(distance))
            for distance in ordered(_keys(values))
        ]
        title = f"{name}: accuracy in percent by distance, for each run{seeds}; the dots' titles give the values"
        panels.append(Panel(name, f" accuracy, %{seeds}", dot_chart(rows, label_runs(results), title=title)))
    return panels


def _keys(mappings: Sequence[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(key for mapping in mappings for key in mapping))


def _table(results: Sequence[RunResults]) -> Table:
    columns = accuracy_columns(results)
    scores = [[decimal(run.scores.bleu if run.scores else None), *accuracies(run, columns)] for run in results]
    best = [best_text(column) for column in zip(*scores, strict=True)]
    rows: list[list[TableCell | str]] = [
        [
            run_heading(run, index, results),
            thousands(run.description.get("parameters")),
            duration(run.description.get("seconds")),
            thousands(run.speed),
            decimal(run.perplexity, 2),
            *(
                TableCell(text, title="not measured" if text == MISSING else "", strong=text == top)
                for text, top in zip(texts, best, strict=True)
            ),
        ]
        for index, (run, texts) in enumerate(zip(results, scores, strict=True))
    ]
    caption = _CAPTION + (_ACCURACY if columns else "")
    return Table("Table of results", _head(columns), rows, _foot(results, columns), caption, style="", id="results")


def accuracies(run: RunResults, columns: Sequence[Column]) -> list[str]:
    """Format the accuracies of a run."""
    return [percent(column.pick(run.contrastive.accuracy) if run.contrastive else None) for column in columns]


def _head(columns: Sequence[Column]) -> list[list[TableCell | str]]:
    """Return three header rows: what is measured, the groups of accuracies, and their columns."""
    if not columns:
        return [list(_PLAIN)]
    what = TableCell("Contrastive accuracy, %", columns=len(columns), style="group")
    groups: list[TableCell | str] = [TableCell("all", rows=2, style="group")]
    headings: list[TableCell | str] = []
    for group in dict.fromkeys(column.group for column in columns if column.group):
        names = [column.heading for column in columns if column.group == group]
        back = " back" if group == "by distance" else ""
        groups.append(TableCell(group, columns=len(names), style="group"))
        headings += [TableCell(f"{name}{back}", style="" if place else "group") for place, name in enumerate(names)]
    return [[*(TableCell(heading, rows=3) for heading in _PLAIN), what], groups, headings]


def _foot(results: Sequence[RunResults], columns: Sequence[Column]) -> list[list[TableCell | str]]:
    tested = next((run.contrastive for run in results if run.contrastive), None)
    if tested is None:
        return []
    lines = (("Chance", tested.chance, percent), ("Items", tested.counts, thousands))
    empty = TableCell("", columns=len(_PLAIN) - 1)
    return [[name, empty, *(write(column.pick(breakdown)) for column in columns)] for name, breakdown, write in lines]


def _missing(run: RunResults, results: Sequence[RunResults]) -> list[str]:
    """Name the files a run lacks; contrastive items only if other runs have some, as not every corpus does.

    A trial is measured on the development part only, so it lacks nothing.
    """
    if run.measured and "test" not in run.measured["parts"]:
        return []
    files = ["scores.json"] if run.scores is None else []
    expected = run.scores is None or any(other.contrastive for other in results)
    return [*files, "contrastive.json"] if expected and run.contrastive is None else files


def _signature(scores: Scores) -> tuple[str, str]:
    search = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in scores.search.items())
    return scores.signature, f" ({search})" if search else ""
