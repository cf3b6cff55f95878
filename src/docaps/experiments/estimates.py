"""How long a grid will take and how much disk it needs, from a few measured steps of each row."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from docaps import progress
from docaps.config import StageSettings
from docaps.corpus.store import Store
from docaps.errors import ConfigError
from docaps.experiments.grid import SENTENCE, Cell, Grid
from docaps.experiments.measuring import count_held_out
from docaps.experiments.speed import seconds_per_step
from docaps.experiments.work import make_minidocs, workers_for
from docaps.model.builders import build_model, count_parameters

NUMBER = 4
"""Bytes of a weight."""
STATE = 6
"""Times the weights that are on the disk while a run is trained: weights and two moments of Adam, old and new."""
SENTENCE_IN_STEPS = 0.05
"""How many steps of training take as long as to translate and score a held-out sentence: 0.037 and 0.049 were measured
for two rows of Table 2 on mini-documents, contrastive items included."""
SCORED_IN_STEPS = 0.08
"""The same to score a sentence with the true history, another's and none: 0.077 was measured for the QCN on Europarl
(0.025 for the sentence model, which has but one)."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one cell takes: seconds of one worker, bytes that stay, bytes only while it is trained."""

    cell: Cell
    step: float
    seconds: float
    kept: int
    passing: int


@contextmanager
def corpus_to_measure(grid: Grid) -> Iterator[Store]:
    """Give the grid's corpus, or, where that is still to be made, one like it in a place that goes away."""
    if grid.source.corpus is not None or (grid.directory / "prepared" / "manifest.json").exists():
        yield grid.store()
        return
    place = tempfile.mkdtemp(prefix="docaps-")
    try:
        yield make_minidocs(grid, Path(place))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def estimate(grid: Grid, store: Store, cells: Sequence[Cell], jobs: int = 1) -> list[Cost]:
    """Measure a few steps of each row, and work out how long what is left of it takes; seeds cost the same."""
    held_out, paces, costs = count_held_out(store), dict[str, float](), []
    at_first = workers_for([cell for cell in cells if cell.row is None], jobs)
    with progress.start("a few steps of each row", len({cell.name for cell in cells})) as task:
        for cell in cells:
            recipe = grid.recipe_of(cell)
            if cell.name not in paces:
                with threads_of(jobs if cell.row else at_first):
                    paces[cell.name] = seconds_per_step(recipe, cell.name, store)
                task.advance(1, cell.name)
            step, steps = paces[cell.name], max(0, grid.steps_of(cell) - grid.steps_taken(cell))
            seconds = (steps + _steps_to_measure(grid, cell, held_out)) * step
            size = NUMBER * _parameters(grid, cell, store)
            passing = (STATE + _snapshots(recipe.stage[cell.name])) * size
            costs.append(Cost(cell, step, seconds, size, passing))
    return costs


def _steps_to_measure(grid: Grid, cell: Cell, held_out: Mapping[str, int]) -> float:
    """Return how many steps of training take as long as what is left to measure of a cell."""
    if cell.row is None:
        return 0.0
    run, steps = grid.run(cell), 0.0
    if not run.results.exists():
        steps += SENTENCE_IN_STEPS * (held_out.get("dev", 0) if cell.row.trial else sum(held_out.values()))
    if grid.layout.compares_histories and not run.likelihoods.exists():
        steps += SCORED_IN_STEPS * held_out.get("dev", 0)
    return steps


def _snapshots(stage: StageSettings) -> int:
    """Count the weights of earlier steps that may be kept, while the next ones are written."""
    return 1 + (stage.averaged if stage.result == "average" else 1)


@contextmanager
def threads_of(jobs: int) -> Iterator[None]:
    """Compute with as many threads as each of some workers has."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, before // jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _parameters(grid: Grid, cell: Cell, store: Store) -> int:
    system = grid.recipe_of(cell).system(cell.name)
    return count_parameters(build_model(system, vocabulary=len(store.codec.vocabulary), dropout=0.0))


def seconds_in_all(costs: Sequence[Cost], jobs: int) -> float:
    """Add up, for some workers: sentence models of one seed first, then their rows, which share the workers."""
    first = sum(cost.seconds for cost in costs if cost.cell.row is None)
    rows = [cost.seconds for cost in costs if cost.cell.row is not None]
    seeds = len({cost.cell.seed for cost in costs}) or 1
    return first / min(jobs, seeds) + max([sum(rows) / jobs, *rows])


def disk_in_all(costs: Sequence[Cost], jobs: int) -> int:
    """Add up what stays, and what the runs that are trained at the same time need beside it."""
    passing = sorted((cost.passing for cost in costs), reverse=True)
    return sum(cost.kept for cost in costs) + sum(passing[:jobs])


def _times_the_steps(grid: Grid, cell: Cell) -> float:
    """Return how many steps a cell takes for each step of its stage: a row may take several times as many."""
    usual = grid.recipe.stage["document" if cell.row else SENTENCE].steps
    return grid.steps_of(cell) / usual


def steps_within(grid: Grid, store: Store, seconds: float, jobs: int) -> int:
    """Return the steps, the same for every stage, with which the whole grid takes no longer than some time."""
    costs = estimate(grid, store, list(grid.cells()), jobs)
    held_out = count_held_out(store)
    measured = [Cost(c.cell, c.step, _steps_to_measure(grid, c.cell, held_out) * c.step, 0, 0) for c in costs]
    paces = [Cost(cost.cell, cost.step, cost.step * _times_the_steps(grid, cost.cell), 0, 0) for cost in costs]
    steps = int((seconds - seconds_in_all(measured, jobs)) / seconds_in_all(paces, jobs))
    if steps < 1:
        raise ConfigError(
            f"--budget: {seconds:.0f} s are not enough for a single step of {len(costs)} runs; give more, or --only"
        )
    return steps
