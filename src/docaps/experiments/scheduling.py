"""Run the cells of a grid on an engine: each after the one that it starts from, a failed one once more."""

from collections.abc import Container, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from docaps import progress
from docaps.experiments.grid import Cell, Grid
from docaps.experiments.minicorpus import provide_corpora
from docaps.experiments.runner import (
    TRIES,
    CellState,
    clear_attempts,
    describe_fault,
    note_attempt,
    read_attempts,
    run_cell,
    state_of,
)

REFRESH = 1.0
"""Seconds between two looks at the runs."""


class RunEngine(AbstractContextManager["RunEngine"], Protocol):
    """Where cells are run; leaving its context stops those that still run."""

    slots: int
    """How many cells may run at a time."""
    shows: bool
    """Whether runs print their own progress here."""

    def begin(self, grid: Grid, cell: Cell) -> None:
        """Begin to run a cell."""

    def ended(self, seconds: float) -> list[tuple[Cell, str | None]]:
        """Wait for at most some seconds; return the cells that ended, each with its error, if it failed."""


class ThisProcess(AbstractContextManager["ThisProcess"]):
    """Runs one cell at a time in this process."""

    slots, shows = 1, True

    def __init__(self) -> None:
        self._ended: list[tuple[Cell, str | None]] = []

    def begin(self, grid: Grid, cell: Cell) -> None:
        """Run a cell to its end. An error is noted, not raised: the other runs go on."""
        try:
            run_cell(grid, cell)
        except Exception as fault:
            self._ended.append((cell, describe_fault(fault)))
        else:
            self._ended.append((cell, None))

    def ended(self, seconds: float) -> list[tuple[Cell, str | None]]:  # noqa: ARG002
        """Return the cell that was run."""
        ended, self._ended = self._ended, []
        return ended

    def __exit__(self, *_: object) -> None:
        """Leave nothing behind."""


def run_grid(grid: Grid, engine: RunEngine) -> None:
    """Run all cells that are not finished, and show their progress."""
    clear_attempts(grid)
    provide_corpora(grid)
    cells = list(grid.cells())
    progress.say(f"{grid.layout.name}: {summarise(grid, cells)}")
    with engine:
        if engine.shows:
            run_cells(grid, engine)
            return
        done = sum(grid.is_done(cell) for cell in cells)
        with progress.start(grid.layout.name, len(cells), done=done, clock=False) as task:
            for running in iterate_runs(grid, engine):
                now = sum(grid.is_done(cell) for cell in cells)
                task.advance(now - done, describe(grid, running))
                done = now


def run_cells(grid: Grid, engine: RunEngine) -> None:
    """Run all cells that are not finished."""
    for _ in iterate_runs(grid, engine):
        pass


def iterate_runs(grid: Grid, engine: RunEngine) -> Iterator[Sequence[Cell]]:
    """Run all cells that are not finished; yield those that run, from time to time and at the end."""
    running: dict[str, Cell] = {}
    while True:
        for cell in candidates(grid, running):
            if len(running) >= engine.slots:
                break
            running[cell.key] = cell
            engine.begin(grid, cell)
        yield list(running.values())
        if not running:
            return
        for cell, error in engine.ended(REFRESH):
            del running[cell.key]
            if error is not None or not grid.is_done(cell):
                note_attempt(grid, cell, error or "ended without a result")


def candidates(grid: Grid, running: Container[str]) -> Iterator[Cell]:
    """Iterate over the cells that can be begun now: fresh ones first, those that failed once at the end."""
    cells = grid.in_order()
    for tried in range(TRIES):
        for cell in cells:
            first = grid.predecessor(cell)
            ready = first is None or grid.is_done(first)
            if ready and cell.key not in running and not grid.is_done(cell) and len(read_attempts(grid, cell)) == tried:
                yield cell


def summarise(grid: Grid, cells: Sequence[Cell]) -> str:
    """Return how many runs are finished, and which are left."""
    left = [cell for cell in cells if not grid.is_done(cell)]
    names = ", ".join(cell.key + (f" (at step {step:,})" if (step := grid.steps_taken(cell)) else "") for cell in left)
    return f"{len(cells) - len(left)} of {len(cells)} runs are finished" + (f"; left: {names}" if left else "")


def describe(grid: Grid, running: Sequence[Cell]) -> str:
    """Return the running cells with their steps, and how many failed."""
    shown = [cell for cell in running if grid.is_running(cell)]  # others wait for a place
    parts = [f"{cell.key} {grid.steps_taken(cell):,}/{grid.steps_of(cell):,}" for cell in shown]
    failed = len(failures(grid))
    return ", ".join([*parts, *([f"{failed} failed"] if failed else [])])


def failures(grid: Grid) -> dict[str, str]:
    """Return the cells that failed for good, and why."""
    states = {cell: state_of(grid, cell) for cell in grid.cells()}
    found = {cell.key: "the run it starts from failed" for cell, state in states.items() if state is CellState.BLOCKED}
    failed = [cell for cell, state in states.items() if state is CellState.FAILED]
    return {cell.key: read_attempts(grid, cell)[-1].get("error", "?") for cell in failed} | found
