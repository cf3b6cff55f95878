"""Run the cells of a grid: lock a free one, train it, measure it. A failed run is reported and retried once."""

import shlex
import time
import traceback
from collections.abc import Iterator
from enum import StrEnum

from pydantic import TypeAdapter, ValidationError

from docaps import progress
from docaps.config import Recipe
from docaps.corpus.store import Store
from docaps.diagnosis.ablation import measure_likelihoods
from docaps.errors import DocapsError, RunError
from docaps.experiments.grid import Cell, Grid
from docaps.experiments.grid_locks import POLL
from docaps.experiments.measure import measure, relative_speed, watch_bleu, watch_choices
from docaps.experiments.minicorpus import provide_corpora, read_labels
from docaps.files import read_json, write_json
from docaps.runs.card import write_card
from docaps.runs.directory import now
from docaps.training.objective import Probe
from docaps.training.stages import train_recipe

TRIES = 2


class CellState(StrEnum):
    """The state of a cell."""

    DONE = "finished"
    RUNNING = "running"
    FAILED = "failed"
    BLOCKED = "blocked"
    OPEN = "to train"
    UNSCORED = "to score"

    @property
    def waits(self) -> bool:
        """Whether the cell is unfinished and no process works on it."""
        return self in (CellState.OPEN, CellState.UNSCORED)


def state_of(grid: Grid, cell: Cell) -> CellState:
    """Return the state of a cell."""
    if grid.is_done(cell):
        return CellState.DONE
    if grid.locks.owner(cell.key) is not None:
        return CellState.RUNNING
    if len(read_attempts(grid, cell)) >= TRIES:
        return CellState.FAILED
    first = grid.predecessor(cell)
    if first is not None and state_of(grid, first) in (CellState.FAILED, CellState.BLOCKED):
        return CellState.BLOCKED
    return CellState.UNSCORED if grid.is_measured(cell) else CellState.OPEN


def read_attempts(grid: Grid, cell: Cell) -> list[dict[str, str]]:
    """Return the attempts at a cell that did not finish, each with its time and error."""
    path = grid.attempts(cell)
    if not path.exists():
        return []
    try:
        return TypeAdapter(list[dict[str, str]]).validate_python(read_json(path, error=RunError), strict=True)
    except ValidationError as fault:
        raise RunError(f"not a list of attempts: {fault.errors()[0]['msg']}: remove it", path=path) from None


def clear_attempts(grid: Grid) -> None:
    """Allow every cell that is not being worked on its tries again: the user has started the grid anew."""
    for cell in grid.cells():
        if grid.locks.owner(cell.key) is None:
            grid.attempts(cell).unlink(missing_ok=True)


def work(grid: Grid) -> None:
    """Run free cells until none is left, and wait for those that other processes run."""
    stores = provide_corpora(grid)
    while True:
        worked = [attempt(grid, cell, stores[cell.seed]) for cell in _candidates(grid)]
        if any(worked):
            continue
        if not any(state_of(grid, cell) is CellState.RUNNING for cell in grid.cells()):
            return
        time.sleep(POLL)


def _candidates(grid: Grid) -> Iterator[Cell]:
    """Iterate over the cells that can be run now: fresh ones first, those that failed once at the end."""
    cells = grid.in_order()
    for tried in range(TRIES):
        for cell in cells:
            first = grid.predecessor(cell)
            ready = first is None or grid.is_done(first)
            if ready and len(read_attempts(grid, cell)) == tried and not grid.is_done(cell):
                yield cell


def attempt(grid: Grid, cell: Cell, store: Store) -> bool:
    """Run a cell unless another process does; return whether it was tried. An error is recorded, not raised."""
    with grid.locks.hold(cell.key) as ours:
        if not ours or grid.is_done(cell):
            return False
        earlier = read_attempts(grid, cell)
        entry = {"at": now(), "error": "ended without notice"}
        write_json(grid.attempts(cell), [*earlier, entry])
        progress.say(f"{cell.key}: started" + (", second try" if earlier else ""))
        try:
            train_and_measure(grid, cell, store)
        except KeyboardInterrupt:  # stopped, not failed
            write_json(grid.attempts(cell), earlier)
            raise
        except Exception as fault:  # whatever it is, the other runs go on
            expected = isinstance(fault, DocapsError | OSError)
            entry["error"] = str(fault) if expected else "".join(traceback.format_exception(fault)).strip()
            write_json(grid.attempts(cell), [*earlier, entry])
            progress.say(f"{cell.key}: failed: {entry['error']}")
        else:
            grid.attempts(cell).unlink(missing_ok=True)
    return True


def train_and_measure(grid: Grid, cell: Cell, store: Store) -> None:
    """Train and measure a cell, from wherever it stands."""
    run, recipe, command = grid.run(cell), grid.recipe_of(cell), command_for(grid, cell)
    probe = _probe(grid, cell, recipe, store)
    train_recipe(recipe, store, run.path.parent, stages=[cell.name], probe=probe)
    if cell.row is not None:
        trial = grid.layout.skips_test(cell.row)
        if not run.results.exists():
            parts = "development part" if trial else "development and test parts"
            progress.say(f"{cell.key}: measured on the {parts}")
        measure(run, store, labels=read_labels(grid, cell.seed), command=command, trial=trial)
        if grid.layout.compares_histories:
            measure_likelihoods(run, store)
        if grid.layout.timed and not grid.speed(cell).exists():
            write_json(grid.speed(cell), {"share": relative_speed(recipe, cell.name, store)})
    write_card(run, command=command)


def _probe(grid: Grid, cell: Cell, recipe: Recipe, store: Store) -> Probe | None:
    """Return what is measured in training: BLEU if the recipe asks for it, choices if the layout compares them."""
    bleu = watch_bleu(recipe, store)
    if grid.layout.check_every is None or cell.row is None:
        return bleu
    choices = watch_choices(store, recipe.decoding)
    return choices if bleu is None else lambda model, device: {**bleu(model, device), **choices(model, device)}


def command_for(grid: Grid, cell: Cell, docaps: str = "docaps") -> str:
    """Return the command that repeats a cell and what it starts from, in any folder."""
    words = ["experiment", grid.layout.name, "--dir", str(grid.directory), "--seeds", str(cell.seed)]
    return f"{docaps} {shlex.join([*words, '--only', cell.name, *grid.extra.get('options', ())])}"
