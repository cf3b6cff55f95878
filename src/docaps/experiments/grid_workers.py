"""Worker processes of a grid: started, watched and replaced by one process that shows their progress."""

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
from docaps.experiments.grid import Cell, Grid
from docaps.experiments.grid_locks import PARENT, heartbeat
from docaps.experiments.minicorpus import provide_corpora
from docaps.experiments.rows import SENTENCE
from docaps.experiments.runner import TRIES, CellState, clear_attempts, read_attempts, state_of, work

REFRESH = 1.0
"""Seconds between two looks at the runs."""


@dataclass
class GridWorkers:
    """Worker processes and their logs."""

    grid: Grid
    jobs: int
    started: int = 0
    fruitless: int = 0
    """How many workers died, one after the other, without having started or finished a run."""
    progress: int = 0
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start_worker(self) -> None:
        """Start one more worker."""
        self.started += 1
        log = self._log(self.started)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            self.workers.append(self._start(file))

    def _log(self, number: int) -> Path:
        return self.grid.directory / "logs" / f"{os.uname().nodename}-{os.getpid()}-{number}.log"

    def _start(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a process that works on the grid; several workers share the cores."""
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
        """Replace workers that died with work left; return whether any worker is alive."""
        codes = [worker.poll() for worker in self.workers]
        self.workers = [worker for worker, code in zip(self.workers, codes, strict=True) if code is None]
        for _ in filter(None, codes):
            self._count_death()
            if self.fruitless < self.jobs * (1 + TRIES) and self._has_work():
                self.start_worker()
        return bool(self.workers)

    def _count_death(self) -> None:
        """Distinguish deaths in a run, which its tries bound, from those of workers that cannot even start one."""
        cells = list(self.grid.cells())
        now = sum(len(read_attempts(self.grid, cell)) + TRIES * self.grid.is_done(cell) for cell in cells)
        self.fruitless = self.fruitless + 1 if now == self.progress else 0
        self.progress = now

    def _has_work(self) -> bool:
        return any(state_of(self.grid, cell).waits for cell in self.grid.cells())

    def stop(self) -> None:
        """Ask all workers to stop, which saves their state, and wait for them."""
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            worker.wait()

    def last_line(self) -> str:
        """Return the last line of the last log."""
        log = self._log(self.started)
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.exists() else []
        return f"{log}: {lines[-1]}" if lines else str(log)


def run_grid(grid: Grid, *, jobs: int) -> None:
    """Run a grid with worker processes and show their progress.

    Rows wait for their sentence models, so these come first, with at most as many workers as there are models: a
    worker that waited for another would hold cores that the other could use.
    """
    clear_attempts(grid)
    provide_corpora(grid)
    shown = list(grid.cells())
    progress.say(f"{grid.layout.name}: {summarise(grid, shown)}")
    first = replace(grid, only=(SENTENCE,))
    missing = [cell for cell in first.cells() if not grid.is_done(cell)]
    _run_workers(first, max(1, min(jobs, len(missing))), shown)
    _run_workers(grid, jobs, shown)


def summarise(grid: Grid, cells: Sequence[Cell]) -> str:
    """Return how many runs are finished, and which are left."""
    left = [cell for cell in cells if not grid.is_done(cell)]
    names = ", ".join(cell.key + (f" (at step {step:,})" if (step := grid.steps_taken(cell)) else "") for cell in left)
    return f"{len(cells) - len(left)} of {len(cells)} runs are finished" + (f"; left: {names}" if left else "")


def _run_workers(grid: Grid, jobs: int, shown: Sequence[Cell]) -> None:
    """Run the unfinished cells of a grid with some workers, which share the cores."""
    cells = list(grid.cells())
    if all(grid.is_done(cell) for cell in cells):
        return
    pool = GridWorkers(grid, jobs)
    try:
        for _ in range(jobs):
            pool.start_worker()
        _watch(pool, shown)
    finally:
        pool.stop()
    if any(state_of(grid, cell).waits for cell in cells):
        raise RunError(f"the workers ended before the grid was done: see {pool.last_line()}", path=grid.directory)


def _watch(pool: GridWorkers, cells: Sequence[Cell]) -> None:
    """Show how many runs are finished, and the steps of the others, while any worker is alive."""
    grid, done = pool.grid, sum(pool.grid.is_done(cell) for cell in cells)
    with progress.start(grid.layout.name, len(cells), done=done, clock=False) as task:
        while pool.check():
            now = sum(grid.is_done(cell) for cell in cells)
            task.advance(now - done, describe(grid, cells))
            done = now
            time.sleep(REFRESH)
        task.advance(sum(grid.is_done(cell) for cell in cells) - done, "")


def describe(grid: Grid, cells: Sequence[Cell]) -> str:
    """Return the running cells with their steps, and how many failed."""
    states = {cell: state_of(grid, cell) for cell in cells}
    parts = [
        f"{cell.key} {grid.steps_taken(cell):,}/{grid.steps_of(cell):,}"
        for cell, state in states.items()
        if state is CellState.RUNNING
    ]
    failed = sum(state in (CellState.FAILED, CellState.BLOCKED) for state in states.values())
    return ", ".join([*parts, *([f"{failed} failed"] if failed else [])])


def work_for_parent(grid: Grid) -> None:
    """Work on a grid as a worker process; end when the process that started it does."""
    parent = int(os.environ.get(PARENT, os.getppid()))
    with heartbeat(lambda: os.getppid() == parent, every=REFRESH):
        work(grid)


def failures(grid: Grid) -> dict[str, str]:
    """Return the cells that failed for good, and why."""
    found = {}
    for cell in grid.cells():
        if state_of(grid, cell) is CellState.FAILED:
            found[cell.key] = read_attempts(grid, cell)[-1].get("error", "?")
        elif state_of(grid, cell) is CellState.BLOCKED:
            found[cell.key] = "the run it starts from failed"
    return found
