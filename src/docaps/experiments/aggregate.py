"""Aggregate a grid: the scores of each row, their means over seeds, intervals and significance, in one JSON file."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from docaps import progress
from docaps.diagnosis.evidence import compare_likelihoods
from docaps.errors import RunError
from docaps.evaluation import DRAWS, SEED
from docaps.evaluation.intervals import Table, mean_over_seeds, score_interval
from docaps.evaluation.significance import compare
from docaps.evaluation.translation_metrics import Metric
from docaps.experiments.grid import ONE_MODEL, Cell, Grid, read_request
from docaps.experiments.measure import LEARNT, PROBED_ITEMS, metrics_of, steps_to_learn
from docaps.experiments.rows import LAYOUTS, SENTENCE, GridRow
from docaps.experiments.runner import CellState, command_for, state_of
from docaps.files import write_json
from docaps.runs.measured_results import read_measured, read_speed, read_tables
from docaps.runs.results import read_contrastive, read_results
from docaps.runs.training_log import read_metrics

CellsByRow = Mapping[str, Sequence[Cell]]


def aggregate_folder(directory: Path) -> list[dict[str, Any]]:
    """Aggregate every experiment in a grid's folder that has a finished run."""
    recipe, source, extra = read_request(directory)
    found, seen = [], set[str]()
    for layout in LAYOUTS.values():
        if layout.per_seed != source.per_seed or (layout.shared_seed is not None) != bool(extra.get(ONE_MODEL)):
            continue
        own = layout.rows.keys() - seen  # rows shared with an earlier layout do not show that this one was started
        if any(any(directory.glob(f"seed-*/{name}/results.json")) for name in own):
            found.append(aggregate_grid(Grid(directory, layout, recipe, source, extra=extra)))
        seen |= own
    return found


def aggregate_grid(grid: Grid) -> dict[str, Any]:
    """Aggregate all finished runs of a layout, of any seed, and write the result."""
    with grid.lock("numbers"):  # the first reader must not be the last writer
        found = _aggregate(grid)
        write_json(grid.results, found)
    return found


def _aggregate(grid: Grid) -> dict[str, Any]:
    layout = grid.layout
    names = (path.name.removeprefix("seed-") for path in grid.directory.glob("seed-*"))
    seeds = sorted(int(name) for name in names if name.isdecimal())
    measured = {
        name: [cell for seed in seeds if grid.is_measured(cell := Cell(seed, row))] for name, row in layout.rows.items()
    }
    finished = {name: [cell for cell in some if _has_stages_of_its_row(grid, cell)] for name, some in measured.items()}
    cells = [cell for some in finished.values() for cell in some]
    rows = [_row(grid, layout.rows[name], some) for name, some in finished.items() if some]
    _compare_scores(grid, rows, finished)
    if layout.compares_histories:
        _compare_likelihoods(grid, rows, finished)
    return {
        "experiment": layout.name,
        "title": layout.title,
        "axis": layout.axis,
        "baseline": layout.baseline,
        "recipe": grid.recipe.name,
        "steps": {name: grid.recipe.stage[name].steps for name in (SENTENCE, "document")},
        "taken": {
            SENTENCE: _steps_taken(grid, [Cell(cell.seed, None) for cell in cells]),
            "document": _steps_taken(grid, cells),
        },
        "sentence_models": _sentence_models(grid, seeds),
        **_describe_scores(grid, cells),
        "unfinished": _unfinished(grid, seeds),
        "corpus": grid.describe_corpus(),
        "seeds": sorted({cell.seed for cell in cells}),
        "draws": DRAWS,
        "seed": SEED,
        "rows": rows,
    }


def _steps_taken(grid: Grid, cells: Sequence[Cell]) -> list[int]:
    """Return the different numbers of steps that some runs took."""
    return sorted({int(run.read()["steps"]) for run in map(grid.run, cells) if run.description.exists()})


def _sentence_models(grid: Grid, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Describe the finished sentence models."""
    read = {seed: read_results(run.path) for seed in seeds if (run := grid.run(Cell(seed, None))).finished}
    return [
        {
            "seed": seed,
            "path": str(run.path.relative_to(grid.directory)),
            **{key: run.description[key] for key in ("steps", "seconds", "settings")},
            "perplexity": run.perplexity,
        }
        for seed, run in read.items()
    ]


def _describe_scores(grid: Grid, cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the part of the corpus that scores are of, their signatures, and how choices were measured."""
    found: dict[str, Any] = {"part": grid.layout.part}
    if cells:
        first = _compared_part(grid, _measured(grid, cells[0]))
        signatures = {key: score["signature"] for key, score in first["scores"].items()}
        found = {"part": first["set"], "signatures": signatures}
    if grid.layout.per_seed:
        choices = read_contrastive(grid.run(cells[0])) if cells else {}
        found |= {"check_every": grid.layout.check_every, "probed_items": PROBED_ITEMS, "learnt": LEARNT}
        found |= {"items": choices.get("items", 0), "chance": choices.get("chance")}
    return found


def _compared_part(grid: Grid, found: Mapping[str, Any]) -> Any:
    """Return the results on the part that rows are compared on; a corpus without a test part has only one."""
    parts = found["parts"]
    return parts.get(grid.layout.part, parts.get("test"))


def _measured(grid: Grid, cell: Cell) -> Mapping[str, Any]:
    """Read the scores of a run; refuse scores of other parts, or of other metrics than the first run's."""
    run = grid.run(cell)
    found = read_measured(run)
    if found is None or not _compared_part(grid, found):
        raise RunError(f"no scores of the {grid.layout.part} part: remove it, and run the grid again", path=run.results)
    return found


def _unfinished(grid: Grid, seeds: Sequence[int]) -> list[str]:
    """List the runs that were started or tried, but are not finished, with their states."""
    cells = [Cell(seed, row) for seed in seeds for row in grid.layout.rows.values()]
    begun = [cell for cell in cells if grid.run(cell).description.exists() or grid.attempts(cell).exists()]
    states = {cell: state_of(grid, cell) for cell in begun}
    return [
        f"{cell.name} with seed {cell.seed} ({state.value})"
        for cell, state in states.items()
        if not grid.is_measured(cell) or state is CellState.FAILED
    ]


def _has_stages_of_its_row(grid: Grid, cell: Cell) -> bool:
    """Return whether a run started where its row starts; some rows of earlier versions had other stages."""
    first, run = grid.predecessor(cell), grid.run(cell)
    expected = first.name if first is not None else None
    found = (run.read().get("begun_from") or {}).get("run", expected)
    if found != expected:
        progress.say(f"{run.path}: left out, because it started from {found}; today's row starts from {expected}")
    return bool(found == expected)


def _row(grid: Grid, row: GridRow, cells: Sequence[Cell]) -> dict[str, Any]:
    """Aggregate the runs of a row."""
    measured = [_measured(grid, cell) for cell in cells]
    scores = [_compared_part(grid, found)["scores"] for found in measured]
    contrastive = [found for cell in cells if (found := read_contrastive(grid.run(cell)))]
    choices = [float(found["accuracy"]["all"]) for found in contrastive]
    baseline = row.baseline or grid.layout.baseline
    return {
        "row": row.name,
        "title": row.title,
        "system": row.system,
        "value": row.changes.get(grid.layout.axis) if grid.layout.axis else None,
        "runs": [_run(grid, cell, found) for cell, found in zip(cells, measured, strict=True)],
        "means": {key: asdict(mean_over_seeds([found[key]["score"] for found in scores])) for key in scores[0]},
        "baseline": None if baseline == row.name else baseline,
        "choices": asdict(mean_over_seeds(choices)) if choices else None,
    }


def _run(grid: Grid, cell: Cell, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's path, command and numbers on both parts."""
    numbers = {
        part: {key: score["score"] for key, score in values["scores"].items()}
        for part, values in found["parts"].items()
    }
    path = grid.run(cell).path.relative_to(grid.directory)
    learning = _learning(grid, cell) if grid.layout.per_seed else {}
    return {"seed": cell.seed, "path": str(path), "command": command_for(grid, cell), **numbers, **learning}


def _learning(grid: Grid, cell: Cell) -> dict[str, Any]:
    """Return what a run chose, how fast it learnt that, and what it cost."""
    run, speed = grid.run(cell), grid.speed(cell)
    curve = [(row["step"], row["choices"]) for row in read_metrics(run.metrics) if "choices" in row]
    return {
        **{key: run.read()[key] for key in ("parameters", "seconds")},
        "speed": read_speed(speed),
        "accuracy": read_contrastive(run).get("accuracy"),
        "steps_to_learn": steps_to_learn(curve),
        "curve": curve,
    }


def _compare_scores(grid: Grid, rows: Sequence[dict[str, Any]], cells: CellsByRow) -> None:
    """Add to each row its interval over documents (None for one document), and its differences to its baseline."""
    counts = {row["row"]: {cell.seed: _read_counts(grid, cell) for cell in cells[row["row"]]} for row in rows}
    for row in rows:
        own, base = counts[row["row"]], counts.get(row["baseline"] or "", {})
        metrics = [one for one in metrics_of(_language(grid, cells[row["row"]])) if one.key in row["means"]]
        found = compare_counts(own, base, metrics, side_by_side=grid.layout.per_seed)
        row["documents"] = {key: one["documents"] for key, one in found.items()}
        if against := {key: one["against"] for key, one in found.items() if one["against"]}:
            row["against"] = against


def compare_counts(
    own: Mapping[int, Mapping[str, Table]],
    base: Mapping[int, Mapping[str, Table]],
    metrics: Sequence[Metric],
    *,
    side_by_side: bool = False,
) -> dict[str, dict[str, Any]]:
    """Return the interval over documents of each metric, and its difference to the baseline on the seeds of both.

    Runs are given by seed. Their counts are added up for each document or, if each seed has documents of its own,
    `side_by_side`. Without a second document there is no interval, without a common seed no difference.
    """
    shared, found = sorted(own.keys() & base.keys()), {}
    join = np.concatenate if side_by_side else partial(np.sum, axis=0)
    for metric in metrics:
        table = join([own[seed][metric.key] for seed in sorted(own)])
        before, after = (join([runs[seed][metric.key] for seed in shared]) if shared else None for runs in (base, own))
        interval = score_interval(table, metric.score, draws=DRAWS, seed=SEED) if len(table) > 1 else None
        difference = None
        if before is not None and after is not None:
            difference = asdict(compare(before, after, metric.score, draws=DRAWS, seed=SEED))
        found[metric.key] = {"documents": interval, "against": difference}
    return found


def _language(grid: Grid, cells: Sequence[Cell]) -> str:
    """Return the language that the runs of a row translate into."""
    return str(_measured(grid, cells[0])["data"]["target_language"])


def _compare_likelihoods(grid: Grid, rows: Sequence[dict[str, Any]], cells: CellsByRow) -> None:
    """Add to each row its perplexities with each history, and their significance."""
    found = {
        name: {cell.seed: read_counts(path) for cell in some if (path := grid.run(cell).likelihoods).exists()}
        for name, some in cells.items()
    }
    for row in rows:
        own, base = found[row["row"]], found.get(row["baseline"] or "", {})
        if own:  # the seeds that were scored: another grid in the folder may have more
            row["histories"] = compare_likelihoods(own, base, draws=DRAWS, seed=SEED)


def _read_counts(grid: Grid, cell: Cell) -> dict[str, Table]:
    """Read the counts of the part that rows are compared on, or else of the only part."""
    run = grid.run(cell)
    return read_counts(path if (path := run.counts(grid.layout.part)).exists() else run.counts())


def read_counts(path: Path) -> dict[str, Table]:
    """Read counts by metric."""
    return {key: np.array(table, dtype=np.float64) for key, table in read_tables(path).items()}
