"""The numbers of a grid in one file: each row's scores, their means over seeds, and what chance has to say to them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from docaps.diagnosis.likelihoods import compare_likelihoods
from docaps.errors import RunError
from docaps.evaluation.seeds import mean_of
from docaps.evaluation.significance import compare, interval_of
from docaps.evaluation.statistics import Metric, Table
from docaps.evaluation.systems import Wishes, choose_metrics
from docaps.experiments.grid import Cell, Grid, read_request
from docaps.experiments.layouts import LAYOUTS
from docaps.experiments.readings import Reading
from docaps.experiments.work import State, command_for, state_of
from docaps.files import read_json, write_json, write_text_atomically
from docaps.report.grid_tables import as_markdown
from docaps.report.markdown import runs_table
from docaps.runs.directory import Run
from docaps.runs.results import read_results

DRAWS, SEED = 1000, 1
Counts = Mapping[str, Sequence[Table]]
"""For each metric, a table of counts by document for each seed."""


def gather(grid: Grid) -> dict[str, Any]:
    """Read the results of all finished runs of a layout, of whatever seeds, and write them down with their means."""
    with grid.claims.waited_for("numbers"):  # who reads first must not write last
        return _gather(grid)


def _gather(grid: Grid) -> dict[str, Any]:
    names = (path.name.removeprefix("seed-") for path in grid.directory.glob("seed-*"))
    seeds = sorted(int(name) for name in names if name.isdecimal())
    runs = {
        name: [cell for seed in seeds if grid.is_measured(cell := Cell(seed, row))]
        for name, row in grid.layout.rows.items()
    }
    rows = [_row(grid, grid.layout.rows[name], cells) for name, cells in runs.items() if cells]
    _compare_all(grid, rows, runs)
    if grid.layout.compares_histories:
        _compare_likelihoods(grid, rows, runs)
    found = {
        "experiment": grid.layout.name,
        "title": grid.layout.title,
        "axis": grid.layout.axis,
        "baseline": grid.layout.baseline,
        "recipe": grid.recipe.name,
        "steps": {name: grid.recipe.stage[name].steps for name in ("sentence", "document")},
        "taken": _steps_taken(grid, [cell for cells in runs.values() for cell in cells]),
        "sentence_models": _sentence_models(grid, seeds),
        **_circumstances(grid, [cell for cells in runs.values() for cell in cells]),
        "unfinished": _unfinished(grid, seeds),
        "corpus": grid.source.describe(),
        "seeds": [seed for seed in seeds if any(cell.seed == seed for cells in runs.values() for cell in cells)],
        "draws": DRAWS,
        "seed": SEED,
        "rows": rows,
    }
    write_json(grid.results, found)
    read = [read_results(grid.directory / run["path"]) for row in rows for run in row["runs"]]
    write_text_atomically(grid.table, f"{as_markdown(found)}\n{runs_table(read)}\n" if read else as_markdown(found))
    return found


def _steps_taken(grid: Grid, cells: Sequence[Cell]) -> dict[str, list[int]]:
    """Return the numbers of steps that the finished runs, and their sentence models, took."""
    first = {cell.seed: Cell(cell.seed, None) for cell in cells}
    stages = {"sentence": list(first.values()), "document": cells}
    described = {name: [grid.run(cell) for cell in some] for name, some in stages.items()}
    return {
        name: sorted({int(run.read()["steps"]) for run in some if run.description.exists()})
        for name, some in described.items()
    }


def _sentence_models(grid: Grid, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Describe the finished sentence models."""
    runs = {seed: grid.run(Cell(seed, None)) for seed in seeds}
    read = {seed: read_results(run.path) for seed, run in runs.items() if run.finished}
    kept = ("steps", "seconds", "settings")
    return [
        {
            "seed": seed,
            "path": str(run.path.relative_to(grid.directory)),
            **{key: run.description[key] for key in kept},
            "perplexity": run.perplexity,
        }
        for seed, run in read.items()
    ]


def _circumstances(grid: Grid, cells: Sequence[Cell]) -> dict[str, Any]:
    """Say which part of the corpus the scores are of (one without a test part has the other), and how they count."""
    if not cells:
        return {"part": grid.layout.part}
    first = _measured(grid, read_json(grid.run(cells[0]).results, error=RunError))
    return {"part": first["set"], "signatures": {key: score["signature"] for key, score in first["scores"].items()}}


def _measured(grid: Grid, found: Mapping[str, Any]) -> Any:
    """Return what was measured on the part that rows are compared on; a corpus without a test part has one alone."""
    parts = found["parts"]
    return parts.get(grid.layout.part, parts.get("test"))


def _unfinished(grid: Grid, seeds: Sequence[int]) -> list[str]:
    """Name the runs that were begun, or tried, and are not finished, and say how far they are."""
    cells = [Cell(seed, row) for seed in seeds for row in grid.layout.rows.values()]
    begun = [cell for cell in cells if grid.run(cell).description.exists() or grid.attempts(cell).exists()]
    states = {cell: state_of(grid, cell) for cell in begun}
    return [
        f"{cell.name} with seed {cell.seed} ({state.value})"
        for cell, state in states.items()
        if not grid.is_measured(cell) or state is State.FAILED
    ]


def gather_all(directory: Path) -> None:
    """Write down the numbers of every experiment in a grid's folder that has a finished run."""
    recipe, source, extra = read_request(directory)
    seen: set[str] = set()
    for layout in LAYOUTS.values():
        grid = Grid(directory, layout, recipe, source, extra=extra)
        own = layout.rows.keys() - seen  # rows that it shares with an earlier one do not tell that it was begun
        if any(True for name in own for _ in directory.glob(f"seed-*/{name}/results.json")):
            gather(grid)
        seen |= own


def _row(grid: Grid, row: Reading, cells: Sequence[Cell]) -> dict[str, Any]:
    """Put together what the runs of a row found."""
    measured = [read_json(grid.run(cell).results, error=RunError) for cell in cells]
    scores = [_measured(grid, found)["scores"] for found in measured]
    choices = [accuracy for cell in cells if (accuracy := _choices(grid.run(cell))) is not None]
    return {
        "row": row.name,
        "title": row.title,
        "system": row.system,
        "value": row.changes.get(grid.layout.axis) if grid.layout.axis else None,
        "runs": [_run(grid, cell, found) for cell, found in zip(cells, measured, strict=True)],
        "means": {key: asdict(mean_of([found[key]["score"] for found in scores])) for key in scores[0]},
        "baseline": _baseline(grid, row),
        "choices": asdict(mean_of(choices)) if choices else None,
    }


def _run(grid: Grid, cell: Cell, found: Mapping[str, Any]) -> dict[str, Any]:
    """Name a run, its numbers on both parts, and the command that makes it."""
    numbers = {
        part: {key: score["score"] for key, score in values["scores"].items()}
        for part, values in found["parts"].items()
    }
    path = grid.run(cell).path.relative_to(grid.directory)
    return {"seed": cell.seed, "path": str(path), "command": command_for(grid, cell), **numbers}


def _baseline(grid: Grid, row: Reading) -> str | None:
    """Name the row that a row is compared with."""
    baseline = row.baseline or grid.layout.baseline
    return None if baseline == row.name else baseline


def _choices(run: Run) -> float | None:
    """Return the share of right choices on contrastive items, where there are any."""
    path = run.assessment / "contrastive.json"
    return float(read_json(path, error=RunError)["accuracy"]["all"]) if path.exists() else None


def _compare_all(grid: Grid, rows: Sequence[dict[str, Any]], runs: Mapping[str, Sequence[Cell]]) -> None:
    """Add to each row the interval over documents, and its differences to the row it is compared with."""
    counts = {
        row["row"]: {cell.seed: _read_counts(grid.run(cell), grid.layout.part) for cell in runs[row["row"]]}
        for row in rows
    }
    for row in rows:
        own, base = counts[row["row"]], counts.get(row["baseline"] or "", {})
        metrics = {metric.key: metric for metric in _metrics(row)}
        row["documents"] = {key: _interval(metric, own) for key, metric in metrics.items()}
        shared = sorted(own.keys() & base.keys())
        if shared:
            row["against"] = {key: _difference(metric, base, own, shared) for key, metric in metrics.items()}


def _compare_likelihoods(grid: Grid, rows: Sequence[dict[str, Any]], runs: Mapping[str, Sequence[Cell]]) -> None:
    """Add to each row of trials its perplexities with each history, and what chance has to say to them."""
    found = {
        name: {cell.seed: _read_tables(path) for cell in cells if (path := grid.run(cell).likelihoods).exists()}
        for name, cells in runs.items()
    }
    for row in rows:
        own, base = found[row["row"]], found.get(row["baseline"] or "", {})
        if own:  # the seeds that were scored: another grid in the folder may have more
            row["histories"] = compare_likelihoods(own, base, draws=DRAWS, seed=SEED)


def _metrics(row: Mapping[str, Any]) -> list[Metric]:
    return choose_metrics(Wishes(tuple(row["means"])))


def _read_counts(run: Run, part: str) -> dict[str, Table]:
    path = run.counts(part)
    return _read_tables(path if path.exists() else run.counts())


def _read_tables(path: Path) -> dict[str, Table]:
    found = read_json(path, error=RunError)
    return {key: np.array(table, dtype=np.float64) for key, table in found.items()}


def _interval(metric: Metric, counts: Mapping[int, Mapping[str, Table]]) -> dict[str, float] | None:
    """Return where the score lies if other documents are drawn, the seeds taken together; None of one document."""
    table = _pooled(metric, counts, sorted(counts))
    return asdict(interval_of(table, metric.score, draws=DRAWS, seed=SEED)) if len(table) > 1 else None


def _difference(
    metric: Metric,
    base: Mapping[int, Mapping[str, Table]],
    own: Mapping[int, Mapping[str, Table]],
    seeds: Sequence[int],
) -> dict[str, float]:
    """Compare a row with another, document by document, the seeds that both have taken together."""
    tables = _pooled(metric, base, seeds), _pooled(metric, own, seeds)
    return compare(*tables, metric.score, draws=DRAWS, seed=SEED).as_dict()


def _pooled(metric: Metric, counts: Mapping[int, Mapping[str, Table]], seeds: Sequence[int]) -> Table:
    """Add up the counts of each document over seeds: its sentences count once for each."""
    table: Table = np.sum([counts[seed][metric.key] for seed in seeds], axis=0)
    return table
