"""One cell of a grid: its state, its failed attempts, and how it is trained and measured."""

import contextlib
import shlex
import shutil
import traceback
from dataclasses import replace
from enum import StrEnum

from pydantic import TypeAdapter, ValidationError

from docaps import progress
from docaps.config import Recipe
from docaps.corpus.store import Store
from docaps.diagnosis.ablation import measure_likelihoods
from docaps.errors import DocapsError, RunError
from docaps.experiments.grid import Cell, Grid
from docaps.experiments.measure import measure, relative_speed, watch_bleu, watch_choices
from docaps.experiments.minicorpus import provide_corpora, read_labels
from docaps.files import read_json, replacing, write_json
from docaps.runs.card import write_card
from docaps.runs.directory import Run, now
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


def state_of(grid: Grid, cell: Cell) -> CellState:
    """Return the state of a cell."""
    if grid.is_done(cell):
        return CellState.DONE
    if grid.is_running(cell):
        return CellState.RUNNING
    if len(read_attempts(grid, cell)) >= TRIES:
        return CellState.FAILED
    first = grid.predecessor(cell)
    if first is not None and state_of(grid, first) in (CellState.FAILED, CellState.BLOCKED):
        return CellState.BLOCKED
    return CellState.UNSCORED if grid.is_measured(cell) else CellState.OPEN


def read_attempts(grid: Grid, cell: Cell) -> list[dict[str, str]]:
    """Return the failed attempts at a cell, each with its time and error."""
    path = grid.attempts(cell)
    if not path.exists():
        return []
    try:
        return TypeAdapter(list[dict[str, str]]).validate_python(read_json(path, error=RunError), strict=True)
    except ValidationError as fault:
        raise RunError(f"not a list of attempts: {fault.errors()[0]['msg']}: remove it", path=path) from None


def note_attempt(grid: Grid, cell: Cell, error: str) -> None:
    """Record an attempt that failed, and copy its log to the run."""
    write_json(grid.attempts(cell), [*read_attempts(grid, cell), {"at": now(), "error": error}])
    log, run = grid.log(cell), grid.run(cell)
    if log.exists() and _is_run(run):
        with replacing(run.failure) as copy:
            shutil.copyfile(log, copy)
    progress.say(f"{cell.key}: failed: {error}")


def _is_run(run: Run) -> bool:
    """Return whether a directory is a run that can be read: nothing is written beside files of others."""
    with contextlib.suppress(RunError):
        return run.is_ours()
    return False


def clear_attempts(grid: Grid) -> None:
    """Allow every cell its tries again: the user has started the grid anew."""
    for cell in grid.cells():
        grid.attempts(cell).unlink(missing_ok=True)


def run_cell(grid: Grid, cell: Cell) -> None:
    """Train and measure a cell, unless it is finished; wait while another process works on it."""
    if grid.is_running(cell):
        progress.say(f"{cell.key}: another process works on it: waiting")
    with grid.lock(cell.key):
        if not grid.is_done(cell):
            progress.say(f"{cell.key}: started")
            train_and_measure(grid, cell, provide_corpora(replace(grid, seeds=(cell.seed,)))[cell.seed])
            grid.run(cell).failure.unlink(missing_ok=True)


def describe_fault(fault: BaseException) -> str:
    """Return the message of a user error, and the traceback of any other."""
    if isinstance(fault, DocapsError | OSError):
        return str(fault)
    return "".join(traceback.format_exception(fault)).strip()


def train_and_measure(grid: Grid, cell: Cell, store: Store) -> None:
    """Train and measure a cell, from wherever it stands."""
    run, recipe, command = grid.run(cell), grid.recipe_of(cell), command_for(grid, cell)
    probe, first = _probe(grid, cell, recipe, store), grid.predecessor(cell)
    # The run that a stage starts from is beside its own, unless it is that of another seed.
    elsewhere = grid.run(first).path if first is not None and first.seed != cell.seed else None
    train_recipe(recipe, store, run.path.parent, stages=[cell.name], init_from=elsewhere, probe=probe)
    if cell.row is not None:
        trial = grid.layout.skips_test(cell.row)
        if not run.results.exists():
            parts = "development part" if trial else "development and test parts"
            progress.say(f"{cell.key}: measured on the {parts}")
        labels = read_labels(grid, cell.seed)
        measure(run, store, labels=labels, command=command, trial=trial, dev=grid.layout.translates_dev)
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
