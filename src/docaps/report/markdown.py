"""The report as Markdown: all tables, no charts."""

from collections.abc import Callable, Mapping, Sequence

from docaps.report.endpoint_tables import endpoints_as_markdown
from docaps.report.grid_tables import as_rows, caption, state_unfinished
from docaps.report.headline import state_alike_capsules, state_bleu, state_collapses, state_doubts, state_result
from docaps.report.paper import FIGURES, is_table2, paper_columns, paper_scores, state_differences
from docaps.report.sections.contrastive_choices import group_columns, history_columns, set_names
from docaps.report.sections.provenance import corpora, data_rows, machines, signatures
from docaps.report.sections.run_table import accuracies, accuracy_columns
from docaps.runs.card import markdown_table
from docaps.runs.grid_results import Grid, own_runs
from docaps.runs.results import RunResults, score_of
from docaps.runs.wording import MISSING, decimal, describe_system, duration, label_runs, percent, thousands


def build_markdown(
    results: Sequence[RunResults], *, title: str, grids: Sequence[Grid] = (), commands: Sequence[tuple[str, str]] = ()
) -> str:
    """Return all tables of the page as Markdown."""
    parts = [f"# {title}", *[text for text in (state_result(results), state_bleu(results)) if text]]
    for grid in grids:
        parts += _grid(grid, results)
    warnings = [*state_doubts(results), *state_collapses(results), *state_alike_capsules(results)]
    parts += ["## Runs", *warnings, runs_table(results)]
    for name in set_names(results):
        parts += _groups(results, name)
    if corpora(results):
        parts += ["## Data", markdown_table(*data_rows(corpora(results)))]
    parts += ["## How it was made", *_made(results)]
    parts += [f"{purpose}:\n\n```bash\n{command}\n```" for purpose, command in commands]
    return "\n\n".join(parts) + "\n"


def _grid(grid: Grid, results: Sequence[RunResults]) -> list[str]:
    """Format the table of a grid, with the paper's scores beside those of Table 2."""
    header, rows = as_rows(grid)
    name = str(grid["experiment"])
    notes = [FIGURES[name]] if name in FIGURES else []
    if is_table2(grid):
        own = own_runs(grid, results)
        corpora, notes = paper_columns(own), state_differences(grid, own)
        header = [*header, *(f"paper, {corpus}: {what}" for corpus in corpora for what in ("BLEU", "Meteor"))]
        rows = [[*cells, *paper_scores(row["row"], corpora)] for cells, row in zip(rows, grid["rows"], strict=True)]
    more = [endpoints_as_markdown(grid["endpoints"])] if "endpoints" in grid else []
    return [f"## {grid['title']}", caption(grid), *state_unfinished(grid), *notes, markdown_table(header, rows), *more]


def runs_table(results: Sequence[RunResults]) -> str:
    """Format the cost of each run, its development scores, and its accuracy on contrastive items."""
    columns = {name: [write(run) for run in results] for name, write in _PLAIN_COLUMNS.items()}
    columns = {name: cells for name, cells in columns.items() if any(cell != MISSING for cell in cells)}
    own_items = accuracy_columns(results)
    shares = [accuracies(run, own_items) for run in results]
    for place, column in enumerate(own_items):
        columns[f"right choices, %: {column.heading}"] = [cells[place] for cells in shares]
    for name in set_names(results):
        for title, found in history_columns(results, name).items():
            columns[f"{name}, %: {title}"] = [percent(share.accuracy if share else None) for share in found]
    return markdown_table(["run", *columns], list(zip(label_runs(results), *columns.values(), strict=True)))


_PLAIN_COLUMNS: Mapping[str, Callable[[RunResults], str]] = {
    "system": lambda run: describe_system(run.system),
    "parameters": lambda run: thousands(run.description.get("parameters")),
    "training": lambda run: duration(run.description.get("seconds")),
    "target tokens/s": lambda run: thousands(run.speed),
    "perplexity, dev": lambda run: decimal(run.perplexity, 2),
    "retrieval, dev": lambda run: decimal((run.regularisation or {}).get("retrieval"), 2),
    "BLEU, dev": lambda run: decimal(score_of(run, "dev", "bleu"), 2),
    "BLEU": lambda run: decimal(run.scores.bleu if run.scores else None, 2),
}


def _groups(results: Sequence[RunResults], name: str) -> list[str]:
    """Format the accuracy in each group of a set's items."""
    columns = group_columns(results, name)
    by_run = zip(label_runs(results), *columns.values(), strict=True)
    rows = [
        [label, *(percent(share.accuracy if share else None) for share in shares)]
        for label, *shares in by_run
        if any(shares)
    ]
    return [f"Right choices in {name} by group, %:", markdown_table(["run", *columns], rows)] if columns else []


def _made(results: Sequence[RunResults]) -> list[str]:
    lines = [f"- {name}: `{', '.join(known)}`" for name, known in signatures(results).items()]
    for machine in machines(results):
        lines.append("- measured on: " + ", ".join(f"{key} {value}" for key, value in machine.items() if value))
    versions = {f"{name} {version}" for run in results for name, version in run.versions.items()}
    return ["\n".join([*lines, f"- versions: {', '.join(sorted(versions))}"])]
