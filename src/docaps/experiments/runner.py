"""Working on a grid: take what is free, train it, measure it; what fails is told, set aside and tried once more."""

import shlex
import time
import traceback
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from docaps import progress
from docaps.corpus.minidocs import generate_corpus
from docaps.corpus.minidocs.phenomena import choose_phenomena
from docaps.corpus.store import Store
from docaps.diagnosis.likelihoods import measure_likelihoods
from docaps.errors import DocapsError, RunError
from docaps.experiments.assess import Labels
from docaps.experiments.grid_locks import PAUSE
from docaps.experiments.grid import Cell, Grid
from docaps.experiments.measure import measure
from docaps.experiments.minicorpus import labels_of_test, prepare_once, write_once
from docaps.experiments.probes import watch_bleu
from docaps.files import read_json, write_json
from docaps.runs.card import write_card
from docaps.runs.directory import now
from docaps.training.stages import train_recipe

TRIES = 2
CORPUS = "corpus"
LABELS = "labels.json"


class State(StrEnum):
    """How far a cell is."""

    DONE = "finished"
    RUNNING = "running"
    FAILED = "failed"
    BLOCKED = "blocked"
    OPEN = "to train"
    UNSCORED = "to score"

    @property
    def waits(self) -> bool:
        """Whether there is something to do that nobody does."""
        return self in (State.OPEN, State.UNSCORED)


def state_of(grid: Grid, cell: Cell) -> State:
    """Say how far a cell is."""
    if grid.is_done(cell):
        return State.DONE
    if grid.claims.owner(cell.key) is not None:
        return State.RUNNING
    if len(read_attempts(grid, cell)) >= TRIES:
        return State.FAILED
    first = Cell(cell.seed, None)
    if cell.row is not None and not grid.is_done(first) and state_of(grid, first) is State.FAILED:
        return State.BLOCKED
    return State.UNSCORED if grid.is_measured(cell) else State.OPEN


def read_attempts(grid: Grid, cell: Cell) -> list[dict[str, Any]]:
    """Return what was begun for a cell and did not come to its end."""
    path = grid.attempts(cell)
    return list(read_json(path, error=RunError)) if path.exists() else []


def forget_attempts(grid: Grid) -> None:
    """Give every cell that nobody works on its tries again: the user has started the grid anew."""
    for cell in grid.cells():
        if grid.claims.owner(cell.key) is None:
            grid.attempts(cell).unlink(missing_ok=True)


def provide_corpus(grid: Grid) -> Store:
    """Generate and prepare the mini-documents unless they are there, or a corpus was given."""
    if grid.source.corpus is None:
        with grid.claims.waited_for(CORPUS):
            make_minidocs(grid, grid.directory)
    return grid.store()


def make_minidocs(grid: Grid, home: Path) -> Store:
    """Generate and prepare mini-documents; all seeds learn from the same, those of seed 1."""
    text = home / "corpus"
    if not (home / LABELS).exists():
        phenomena = choose_phenomena(grid.source.phenomena)
        corpus = generate_corpus(documents=grid.source.documents, seed=1, phenomena=phenomena)
        write_once(text, corpus)
        write_json(home / LABELS, labels_of_test(corpus))
    return prepare_once(text, grid.recipe.preparation, home / "prepared")


def read_labels(grid: Grid) -> Labels:
    """Return which test sentences need what, where that is known."""
    path = grid.directory / LABELS
    found = read_json(path, error=RunError) if path.exists() else {}
    return {int(d): {int(s): label for s, label in labels.items()} for d, labels in found.items()}


def work(grid: Grid) -> None:
    """Do all that is free until nothing is left that others do not do already; then wait for them."""
    store = provide_corpus(grid)
    while True:
        worked = [attempt(grid, cell, store) for cell in _candidates(grid)]
        if any(worked):
            continue
        if not any(state_of(grid, cell) is State.RUNNING for cell in grid.cells()):
            return
        time.sleep(PAUSE)


def workers_for(cells: Sequence[Cell], jobs: int) -> int:
    """Return how many workers can do something at the same time."""
    return max(1, min(jobs, len(cells)))


def _candidates(grid: Grid) -> Iterator[Cell]:
    """Go through the cells that can be worked on now: fresh ones first, those that failed once at the end."""
    cells = grid.in_order()
    for tried in range(TRIES):
        for cell in cells:
            ready = cell.row is None or grid.is_done(Cell(cell.seed, None))
            if ready and len(read_attempts(grid, cell)) == tried and not grid.is_done(cell):
                yield cell


def attempt(grid: Grid, cell: Cell, store: Store) -> bool:
    """Work on a cell, unless somebody else does; say whether it was tried. A fault is written down, not raised."""
    with grid.claims.held(cell.key) as ours:
        if not ours or grid.is_done(cell):
            return False
        earlier = read_attempts(grid, cell)
        entry: dict[str, Any] = {"at": now(), "error": "ended without notice"}
        write_json(grid.attempts(cell), [*earlier, entry])
        progress.say(f"{cell.key}: begins" + (", once more" if earlier else ""))
        try:
            carry_out(grid, cell, store)
        except KeyboardInterrupt:  # stopped, not failed
            write_json(grid.attempts(cell), earlier)
            raise
        except Exception as fault:  # whatever it is, the other runs go on
            entry["error"] = _told(fault)
            write_json(grid.attempts(cell), [*earlier, entry])
            progress.say(f"{cell.key}: failed: {entry['error']}")
        else:
            grid.attempts(cell).unlink(missing_ok=True)
    return True


def _told(fault: Exception) -> str:
    """Put a fault into words; one that is no user's fault with its place."""
    if isinstance(fault, DocapsError | OSError):
        return str(fault)
    return "".join(traceback.format_exception(fault)).strip()


def carry_out(grid: Grid, cell: Cell, store: Store) -> None:
    """Train and measure one cell, from wherever it stands."""
    run, recipe = grid.run(cell), grid.recipe_of(cell)
    probe = watch_bleu(recipe, store)
    train_recipe(recipe, store, run.path.parent, stages=[cell.name], probe=probe)
    command = command_for(grid, cell)
    if cell.row is not None:
        if not run.results.exists():
            parts = "development part" if cell.row.trial else "development and test parts"
            progress.say(f"{cell.key}: measured on the {parts}")
        measure(run, store, labels=read_labels(grid), command=command, trial=cell.row.trial)
        if grid.layout.compares_histories:
            measure_likelihoods(run, store)
    write_card(run, command=command)


def command_for(grid: Grid, cell: Cell, docaps: str = "docaps") -> str:
    """Return the command that makes a cell, and the sentence model before it, in whatever folder."""
    words = ["experiment", grid.layout.name, "--dir", str(grid.directory), "--seeds", str(cell.seed)]
    return f"{docaps} {shlex.join([*words, '--only', cell.name, *grid.extra.get('options', ())])}"
