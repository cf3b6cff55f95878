"""Estimate how long a grid takes and how much disk it needs, from a few measured steps of each row."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from docaps import progress
from docaps.corpus.store import Store
from docaps.errors import ConfigError
from docaps.experiments.grid import Cell, Grid
from docaps.experiments.measure import count_held_out, seconds_per_step
from docaps.experiments.minicorpus import make_minidocs
from docaps.experiments.rows import SENTENCE
from docaps.model.builders import build_model, count_parameters

BYTES = 4
"""Bytes of a weight."""
STATE = 6
"""Copies of the weights on disk while a run is trained: weights and two moments of Adam, old and new."""
SENTENCE_IN_STEPS = 0.05
"""Training steps that take as long as translating and scoring a held-out sentence: 0.037 and 0.049 were measured for
two rows of Table 2 on mini-documents, contrastive items included."""
SCORED_IN_STEPS = 0.08
"""The same for scoring a sentence with the true history, another's and none: 0.077 was measured for the QCN on Europarl
(0.025 for the sentence model, which has only one)."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a cell: seconds of one worker, bytes that stay, bytes needed only while it is trained."""

    cell: Cell
    step: float
    seconds: float
    kept: int
    passing: int


@contextmanager
def corpus_to_measure(grid: Grid) -> Iterator[Store]:
    """Yield the corpus of the grid's first seed; if it does not exist yet, a temporary copy."""
    seed = grid.seeds[0]
    if grid.source.corpus is not None or (grid.corpus_home(seed) / "prepared" / "manifest.json").exists():
        yield grid.store(seed)
        return
    with tempfile.TemporaryDirectory(prefix="docaps-", ignore_cleanup_errors=True) as home:
        yield make_minidocs(grid, Path(home), seed)


def estimate(grid: Grid, store: Store, cells: Sequence[Cell], jobs: int = 1) -> list[Cost]:
    """Measure a few steps of each row, and estimate how long the rest of it takes; seeds cost the same."""
    held_out, paces, costs = count_held_out(store), dict[str, float](), []
    at_first = max(1, min(jobs, sum(cell.row is None for cell in cells)))
    with progress.start("a few steps of each row", len({cell.name for cell in cells})) as task:
        for cell in cells:
            recipe = grid.recipe_of(cell)
            if cell.name not in paces:
                with threads_of(jobs if cell.row else at_first):
                    paces[cell.name] = seconds_per_step(recipe, cell.name, store)
                task.advance(1, cell.name)
            step, steps = paces[cell.name], max(0, grid.steps_of(cell) - grid.steps_taken(cell))
            seconds = (steps + _steps_to_measure(grid, cell, held_out)) * step
            model = build_model(recipe.system(cell.name), vocabulary=len(store.codec.vocabulary), dropout=0.0)
            size, stage = BYTES * count_parameters(model), recipe.stage[cell.name]
            snapshots = 1 + (stage.averaged if stage.result == "average" else 1)  # one more while the next is written
            costs.append(Cost(cell, step, seconds, size, (STATE + snapshots) * size))
    return costs


def _steps_to_measure(grid: Grid, cell: Cell, held_out: Mapping[str, int]) -> float:
    """Return how many training steps take as long as the remaining measurements of a cell."""
    if cell.row is None:
        return 0.0
    run, dev = grid.run(cell), held_out.get("dev", 0)
    skipped = 0 if grid.layout.translates_dev else dev
    translated = dev if grid.layout.skips_test(cell.row) else sum(held_out.values()) - skipped
    scored = grid.layout.compares_histories and not run.likelihoods.exists()
    return SENTENCE_IN_STEPS * translated * (not run.results.exists()) + SCORED_IN_STEPS * dev * scored


@contextmanager
def threads_of(jobs: int) -> Iterator[None]:
    """Compute with the threads that each of some workers has."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, before // jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def seconds_in_all(costs: Sequence[Cost], jobs: int) -> float:
    """Return the time for some workers: first sentence models, of each seed or one, then rows, which share workers."""
    first = sum(cost.seconds for cost in costs if cost.cell.row is None)
    rows = [cost.seconds for cost in costs if cost.cell.row is not None]
    models = sum(cost.cell.row is None for cost in costs) or 1
    return first / min(jobs, models) + max([sum(rows) / jobs, *rows])


def disk_in_all(costs: Sequence[Cost], jobs: int) -> int:
    """Return the disk for what stays, and for the runs that are trained at the same time."""
    passing = sorted((cost.passing for cost in costs), reverse=True)
    return sum(cost.kept for cost in costs) + sum(passing[:jobs])


def steps_within(grid: Grid, store: Store, seconds: float, jobs: int) -> int:
    """Return the steps, the same for every stage, that fit the whole grid into some time."""
    costs, held_out = estimate(grid, store, list(grid.cells()), jobs), count_held_out(store)
    measured = [replace(cost, seconds=_steps_to_measure(grid, cost.cell, held_out) * cost.step) for cost in costs]
    # A row may scale the steps of its stage: a step of the stage takes as many times as long.
    usual = {cost.cell: grid.recipe.stage["document" if cost.cell.row else SENTENCE].steps for cost in costs}
    paces = [replace(c, seconds=c.step * (grid.steps_of(c.cell) / usual[c.cell])) for c in costs]
    steps = int((seconds - seconds_in_all(measured, jobs)) / seconds_in_all(paces, jobs))
    if steps < 1:
        raise ConfigError(
            f"--budget: {seconds:.0f} s are not enough for a single step of {len(costs)} runs: give more, or use --only"
        )
    return steps
