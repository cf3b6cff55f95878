"""A crew of workers on one grid: processes that share its folder, watched by one that shows how far all are."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from docaps import progress
from docaps.errors import RunError
from docaps.experiments.grid_locks import PARENT, beating
from docaps.experiments.grid import SENTENCE, Cell, Grid
from docaps.experiments.runner import (
    TRIES,
    State,
    forget_attempts,
    provide_corpus,
    read_attempts,
    state_of,
    work,
    workers_for,
)
from docaps.runs.directory import Run

LOOK = 1.0
"""Seconds between two looks at the runs."""


@dataclass
class Crew:
    """Workers, and the logs that they write."""

    grid: Grid
    jobs: int
    started: int = 0
    fruitless: int = 0
    """How many workers died, one after the other, without having begun or finished anything."""
    progress: int = 0
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def hire(self) -> None:
        """Start one worker more."""
        self.started += 1
        log = self._log(self.started)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            self.workers.append(self._start(file))

    def _log(self, number: int) -> Path:
        return self.grid.directory / "logs" / f"{os.uname().nodename}-{os.getpid()}-{number}.log"

    def _start(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a process that works on the grid; with several, each has its share of the cores."""
        grid = self.grid
        words = ["experiment", grid.layout.name, "--dir", str(grid.directory)]
        words += ["--seeds", ",".join(map(str, grid.seeds))]
        words += ["--corpus", str(grid.source.corpus)] if grid.source.corpus else []
        words += [word for name in grid.only or () for word in ("--only", name)]
        threads = str(max(1, (os.cpu_count() or 1) // self.jobs))
        environment = {"OMP_NUM_THREADS": threads, **os.environ} if self.jobs > 1 else dict(os.environ)
        command = [sys.executable, "-m", "docaps", *words]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        environment[PARENT] = str(os.getpid())
        return subprocess.Popen(command, env=environment, start_new_session=True, **quiet)  # type: ignore[call-overload,no-any-return]

    def check(self) -> bool:
        """Replace a worker that died while there is something to do; say whether anybody works."""
        codes = [worker.poll() for worker in self.workers]
        self.workers = [worker for worker, code in zip(self.workers, codes, strict=True) if code is None]
        for _ in filter(None, codes):
            self._count_death()
            if self.fruitless < self.jobs * (1 + TRIES) and self._has_work():
                self.hire()
        return bool(self.workers)

    def _count_death(self) -> None:
        """Tell deaths over a run, which its tries bound, from those of workers that cannot even begin."""
        cells = list(self.grid.cells())
        now = sum(len(read_attempts(self.grid, cell)) + TRIES * self.grid.is_done(cell) for cell in cells)
        self.fruitless = self.fruitless + 1 if now == self.progress else 0
        self.progress = now

    def _has_work(self) -> bool:
        return any(state_of(self.grid, cell).waits for cell in self.grid.cells())

    def dismiss(self) -> None:
        """Ask all to stop, which saves what they have, and wait."""
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            worker.wait()

    def last_words(self) -> str:
        """Return the last line of the last log."""
        log = self._log(self.started)
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.exists() else []
        return f"{log}: {lines[-1]}" if lines else str(log)


def run_grid(grid: Grid, *, jobs: int) -> None:
    """Let workers do all that is to do, and show how far they are.

    Rows wait for their sentence models, so these come first, by as few workers as there are models: one that waited
    for another would keep its share of the cores from it.
    """
    forget_attempts(grid)
    provide_corpus(grid)
    shown = list(grid.cells())
    progress.say(f"{grid.layout.name}: {take_stock(grid, shown)}")
    first = replace(grid, only=(SENTENCE,))
    _employ(first, workers_for([cell for cell in first.cells() if not grid.is_done(cell)], jobs), shown)
    _employ(grid, jobs, shown)


def take_stock(grid: Grid, cells: Sequence[Cell]) -> str:
    """Say what is done and what is left."""
    left = [cell for cell in cells if not grid.is_done(cell)]
    names = ", ".join(cell.key + _begun(grid, cell) for cell in left)
    return f"{len(cells) - len(left)} of {len(cells)} runs are finished" + (f"; left: {names}" if left else "")


def _begun(grid: Grid, cell: Cell) -> str:
    step = _step(grid.run(cell))
    return f" (at step {step:,})" if step else ""


def _employ(grid: Grid, jobs: int, shown: Sequence[Cell]) -> None:
    """Let some workers do what is to do, each with its share of the cores."""
    cells = list(grid.cells())
    if all(grid.is_done(cell) for cell in cells):
        return
    crew = Crew(grid, jobs)
    try:
        for _ in range(jobs):
            crew.hire()
        _watch(crew, shown)
    finally:
        crew.dismiss()
    if any(state_of(grid, cell).waits for cell in cells):
        raise RunError(f"the workers ended before the grid was done: see {crew.last_words()}", path=grid.directory)


def _watch(crew: Crew, cells: Sequence[Cell]) -> None:
    """Show how many runs are finished, and where the others are, as long as anybody works."""
    grid, done = crew.grid, sum(crew.grid.is_done(cell) for cell in cells)
    with progress.start(grid.layout.name, len(cells), done=done, clock=False) as task:
        while crew.check():
            now = sum(grid.is_done(cell) for cell in cells)
            task.advance(now - done, describe(grid, cells))
            done = now
            time.sleep(LOOK)
        task.advance(sum(grid.is_done(cell) for cell in cells) - done, "")


def describe(grid: Grid, cells: Sequence[Cell]) -> str:
    """Say which cells are worked on and how far they are, and how many failed."""
    states = {cell: state_of(grid, cell) for cell in cells}
    parts = [
        f"{cell.key} {_step(grid.run(cell)):,}/{grid.steps_of(cell):,}"
        for cell, state in states.items()
        if state is State.RUNNING
    ]
    failed = sum(state in (State.FAILED, State.BLOCKED) for state in states.values())
    return ", ".join([*parts, *([f"{failed} failed"] if failed else [])])


def _step(run: Run) -> int:
    """Return the last step that a run has logged."""
    if not run.metrics.exists():
        return 0
    with run.metrics.open("rb") as file:
        file.seek(max(0, run.metrics.stat().st_size - 4000))
        lines = file.read().decode("utf-8", "replace").splitlines()
    steps = [line.partition('"step": ')[2].split(",")[0] for line in lines if '"step": ' in line]
    return int(steps[-1]) if steps and steps[-1].isdecimal() else 0


def serve(grid: Grid) -> None:
    """Work on a grid as one of a crew; end when the process that started us does."""
    parent = int(os.environ.get(PARENT, os.getppid()))
    with beating(lambda: os.getppid() == parent, every=LOOK):
        work(grid)


def failures(grid: Grid) -> dict[str, str]:
    """Return what failed for good, and why."""
    found = {}
    for cell in grid.cells():
        if state_of(grid, cell) is State.FAILED:
            found[cell.key] = str(read_attempts(grid, cell)[-1]["error"])
        elif state_of(grid, cell) is State.BLOCKED:
            found[cell.key] = "its sentence model failed"
    return found
