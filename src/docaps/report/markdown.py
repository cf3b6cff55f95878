"""The report as Markdown: its numbers without its pictures."""

from collections.abc import Callable, Sequence
from functools import partial

from docaps.report.choices import Pick, group_columns, history_columns, kept_names, kept_of
from docaps.report.data import corpora, data_rows, machines, signatures
from docaps.report.grids import as_rows, caption, is_trial, state_unfinished
from docaps.report.headline import state_bleu, state_doubts, state_result
from docaps.report.paper import CORPORA, FIGURES, TABLE2
from docaps.report.table import Column, accuracy_columns
from docaps.report.table2 import corpus_of, paper_columns, state_differences
from docaps.runs.card import markdown_table
from docaps.runs.grid_results import Grid, own_runs
from docaps.runs.results import RunResults, score_of
from docaps.runs.wording import MISSING, decimal, describe_system, duration, label_runs, percent, thousands

Write = Callable[[RunResults], str]


def build_markdown(
    results: Sequence[RunResults],
    *,
    title: str,
    grids: Sequence[Grid] = (),
    commands: Sequence[tuple[str, str]] = (),
) -> str:
    """Write all tables of the page."""
    parts = [f"# {title}", *[text for text in (state_result(results), state_bleu(results)) if text]]
    for grid in grids:
        parts += _grid(grid, results)
    parts += ["## Runs", *state_doubts(results), runs_table(results)]
    for name in kept_names(results):
        parts += _groups(results, name)
    if corpora(results):
        parts += ["## Data", markdown_table(*data_rows(corpora(results)))]
    parts += ["## How it was made", *_made(results)]
    parts += [f"{purpose}:\n\n```bash\n{command}\n```" for purpose, command in commands]
    return "\n\n".join(parts) + "\n"


def _grid(grid: Grid, results: Sequence[RunResults]) -> list[str]:
    header, rows = as_rows(grid)
    if grid.get("axis"):
        name = str(grid["experiment"])
        notes = [FIGURES[name]] if name in FIGURES else []
        return [f"## {grid['title']}", caption(grid), *state_unfinished(grid), *notes, markdown_table(header, rows)]
    if is_trial(grid):
        return [f"## {grid['title']}", caption(grid), *state_unfinished(grid), markdown_table(header, rows)]
    results = own_runs(grid, results)
    papers = paper_columns(corpus_of(results))
    header = [*header, *(f"paper, {name}: {what}" for name in papers for what in ("BLEU", "Meteor"))]
    beside = [[*cells, *_paper(row["row"], papers)] for cells, row in zip(rows, grid["rows"], strict=True)]
    return [
        f"## {grid['title']}",
        caption(grid),
        *state_unfinished(grid),
        *state_differences(grid, results),
        markdown_table(header, beside),
    ]


def _paper(row: str, papers: Sequence[str]) -> list[str]:
    found = TABLE2.get(row)
    if found is None:
        return [MISSING] * 2 * len(papers)
    return [f"{value:.2f}" for name in papers for value in found[CORPORA.index(name)]]


def runs_table(results: Sequence[RunResults]) -> str:
    """Write what each run cost, what it is worth on the development part, and what it chose in contrastive sets."""
    columns = {**_plain_columns(results), **_choice_columns(results)}
    labels = label_runs(results)
    rows = [[label, *(write(run) for write in columns.values())] for run, label in zip(results, labels, strict=True)]
    return markdown_table(["run", *columns], rows)


def _plain_columns(results: Sequence[RunResults]) -> dict[str, Write]:
    columns: dict[str, Write] = {
        "system": lambda run: describe_system(run.system),
        "parameters": lambda run: thousands(run.description.get("parameters")),
        "training": lambda run: duration(run.description.get("seconds")),
        "target tokens/s": lambda run: thousands(run.speed),
        "perplexity, dev": lambda run: decimal(run.perplexity, 2),
        "BLEU, dev": lambda run: decimal(score_of(run, "dev", "bleu"), 2),
        "BLEU": lambda run: decimal(run.scores.bleu if run.scores else None, 2),
    }
    return {name: write for name, write in columns.items() if any(write(run) != MISSING for run in results)}


def _choice_columns(results: Sequence[RunResults]) -> dict[str, Write]:
    """Choose the columns of accuracies: on the corpus' own items, and on the sets that runs kept, with each history."""
    columns: dict[str, Write] = {
        f"right choices, %: {column.heading}": partial(_accuracy, column) for column in accuracy_columns(results)
    }
    for name in kept_names(results):
        for title, pick in history_columns(results, name).items():
            columns[f"{name}, %: {title}"] = partial(_share, pick)
    return columns


def _groups(results: Sequence[RunResults], name: str) -> list[str]:
    """Write what runs chose in each group of a set: a table of its own, as there may be many."""
    columns = group_columns(results, name)
    took = [(run, label) for run, label in zip(results, label_runs(results), strict=True) if kept_of(run, name)]
    rows = [[label, *(_share(pick, run) for pick in columns.values())] for run, label in took]
    return [f"Right choices in {name} by group, %:", markdown_table(["run", *columns], rows)] if columns else []


def _accuracy(column: Column, run: RunResults) -> str:
    return percent(column.pick(run.contrastive.accuracy) if run.contrastive else None)


def _share(pick: Pick, run: RunResults) -> str:
    share = pick(run)
    return percent(share.accuracy if share else None)


def _made(results: Sequence[RunResults]) -> list[str]:
    lines = [f"- {name}: `{', '.join(known)}`" for name, known in signatures(results).items()]
    for machine in machines(results):
        lines.append("- measured on: " + ", ".join(f"{key} {value}" for key, value in machine.items() if value))
    versions = {f"{name} {version}" for run in results for name, version in run.versions.items()}
    return ["\n".join([*lines, f"- versions: {', '.join(sorted(versions))}"])]
