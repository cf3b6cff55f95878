"""Runs of a grid as processes of this machine: several at a time, each with its share of the cores and a log."""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from docaps import interruption, progress
from docaps.experiments.grid import Cell, CorpusSource, Grid, read_request
from docaps.experiments.rows import LAYOUTS, SENTENCE
from docaps.experiments.runner import describe_fault, run_cell
from docaps.memory import keep_pages

PAUSE = 5.0
"""Seconds in which a run saves its state after the main process has gone, before it is asked once more."""


@dataclass(frozen=True, slots=True)
class CellAddress:
    """What another process needs to find a cell: the folder of its grid, and its names."""

    folder: str
    layout: str
    seed: int
    name: str
    corpus: str | None
    """A prepared corpus that is elsewhere than when the grid was begun."""

    @classmethod
    def of(cls, grid: Grid, cell: Cell) -> "CellAddress":
        """Return the address of a cell."""
        corpus = None if grid.source.corpus is None else str(grid.source.corpus.resolve())
        return cls(str(grid.directory.resolve()), grid.layout.name, cell.seed, cell.name, corpus)

    def open(self) -> tuple[Grid, Cell]:
        """Return the grid and the cell, from the stored request."""
        folder, layout = Path(self.folder), LAYOUTS[self.layout]
        recipe, source, extra = read_request(folder)
        source = source if self.corpus is None else CorpusSource(Path(self.corpus), hash=source.hash)
        grid = Grid(folder, layout, recipe, source, (self.seed,), None, extra)
        return grid, Cell(self.seed, None if self.name == SENTENCE else layout.rows[self.name])


def log_of(grid: Grid, cell: Cell) -> Path:
    """Return the path of what a cell's process prints."""
    return grid.directory.resolve() / "logs" / f"{cell.key}.log"


@dataclass(frozen=True, slots=True)
class RunProcess:
    """A process that runs a cell."""

    cell: Cell
    process: BaseProcess
    errors: Connection
    log: Path

    def error(self) -> str | None:
        """Return why the run failed, once its process has ended; None if it did not."""
        self.process.join()
        with contextlib.suppress(EOFError):
            if self.errors.poll():
                return str(self.errors.recv())
        code = self.process.exitcode
        return None if code == 0 else f"ended without notice (exit code {code}), see {self.log}"


class RunProcesses(AbstractContextManager["RunProcesses"]):
    """Runs several cells at a time, each in a process of its own: one that is killed takes no other with it."""

    shows = False

    def __init__(self, jobs: int) -> None:
        self.slots = jobs
        self._running: list[RunProcess] = []
        # Where they can, processes are forked from one that has imported torch and started no threads.
        known = multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("forkserver" if "forkserver" in known else "spawn")
        self._context.set_forkserver_preload([__name__])

    def begin(self, grid: Grid, cell: Cell) -> None:
        """Start a process for a cell."""
        # Rows wait for sentence models: while there are fewer of these than slots, they share all cores.
        first = len({grid.layout.model_seed(seed) for seed in grid.seeds})
        models = min(self.slots, first) if cell.row is None else self.slots
        log = log_of(grid, cell)
        receiver, sender = self._context.Pipe(duplex=False)
        arguments = (CellAddress.of(grid, cell), str(log), max(1, (os.cpu_count() or 1) // models), sender)
        process = self._context.Process(target=run_in_process, args=arguments, name=cell.key)
        process.start()
        sender.close()
        self._running.append(RunProcess(cell, process, receiver, log))

    def ended(self, seconds: float) -> list[tuple[Cell, str | None]]:
        """Wait for at most some seconds; return the cells whose processes ended, each with its error."""
        over = wait([run.process.sentinel for run in self._running], timeout=seconds)
        done = [run for run in self._running if run.process.sentinel in over]
        self._running = [run for run in self._running if run not in done]
        return [(run.cell, run.error()) for run in done]

    def __exit__(self, *_: object) -> None:
        """Ask all processes to stop, which saves their state, and wait for them."""
        for run in self._running:
            run.process.terminate()
        for run in self._running:
            run.process.join()


def run_in_process(address: CellAddress, log: str, threads: int, errors: Any) -> None:
    """Run a cell in a process of its own, which ends when the one that started it does."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # Ctrl-C on the terminal is for the main process, which stops this one
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        run_with_log(address, Path(log), threads)
    except interruption.Interrupted as stop:
        sys.exit(stop.exit_code)
    except Exception as fault:
        errors.send(describe_fault(fault))
        sys.exit(1)


def run_with_log(address: CellAddress, log: Path, threads: int) -> None:
    """Run a cell with some threads; what it prints goes to a log."""
    import torch

    keep_pages()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", threads)))
    with progress.printing_to(log), interruption.caught():
        run_cell(*address.open())


def _end_with_parent() -> None:
    """Wait until the process that started this one has ended, then end as if asked to."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    while True:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(PAUSE)
