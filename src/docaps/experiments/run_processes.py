"""Runs of a grid as processes of this machine: several at a time, each with its share of the cores and a log.

Each run has an executor of one process: in a pool that runs share, one that is killed would end all others.
"""

import multiprocessing
import os
import signal
import socket
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docaps import interruption, progress
from docaps.cluster import check_shared
from docaps.corpus.processes import available_workers
from docaps.errors import RunError
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


class RunProcesses(AbstractContextManager["RunProcesses"]):
    """Runs several cells at a time, each in a process of its own."""

    shows = False

    def __init__(self, jobs: int) -> None:
        self.slots = jobs
        self._running: dict[Future[None], tuple[Cell, Path, ProcessPoolExecutor]] = {}
        self._others = {*multiprocessing.active_children()}
        # Where they can, processes are forked from one that has imported torch and started no threads.
        known = multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("forkserver" if "forkserver" in known else "spawn")
        self._context.set_forkserver_preload([__name__])

    def begin(self, grid: Grid, cell: Cell) -> None:
        """Start a process for a cell."""
        # Rows wait for sentence models: while there are fewer of these than slots, they share all cores.
        first = len({grid.layout.model_seed(seed) for seed in grid.seeds})
        models = min(self.slots, first) if cell.row is None else self.slots
        log, threads = grid.log(cell), max(1, available_workers() // models)
        executor = ProcessPoolExecutor(1, mp_context=self._context, initializer=_follow_parent)
        future = executor.submit(run_in_process, CellAddress.of(grid, cell), log, threads)
        self._running[future] = cell, log, executor

    def ended(self, seconds: float) -> list[tuple[Cell, str | None]]:
        """Wait for at most some seconds; return the cells whose processes ended, each with its error."""
        done, _ = wait(self._running, timeout=seconds, return_when=FIRST_COMPLETED)
        return [self._end(future) for future in done]

    def _end(self, future: Future[None]) -> tuple[Cell, str | None]:
        cell, log, executor = self._running.pop(future)
        executor.shutdown()
        fault = future.exception()
        if isinstance(fault, BrokenProcessPool):
            return cell, f"ended without notice, perhaps because memory ran out: see {log}"
        return cell, None if fault is None else str(fault)

    def __exit__(self, *_: object) -> None:
        """Ask all processes to stop, which saves their state, and wait for them."""
        for process in {*multiprocessing.active_children()} - self._others:
            process.terminate()
        for running in self._running.values():
            running[2].shutdown()


def run_in_process(address: CellAddress, log: Path, threads: int) -> None:
    """Run a cell in a process that ends with it, if it is asked to."""
    try:
        run_elsewhere(address, log, threads)
    except interruption.Interrupted as stop:
        os._exit(stop.exit_code)


def run_elsewhere(address: CellAddress, log: Path, threads: int) -> None:
    """Run a cell with some threads; what it prints goes to a log, which an error names, with the machine."""
    import torch

    check_shared(Path(address.folder), "folder")
    keep_pages()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", threads)))
    try:
        with progress.printing_to(log), interruption.caught():
            run_cell(*address.open())
    except Exception as fault:
        where = f"on the machine {socket.gethostname()}, output in {log}"
        raise RunError(f"{where}: {describe_fault(fault)}") from None


def _follow_parent() -> None:
    """Let a process end when the one that started it does, and leave Ctrl-C on the terminal to that one."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Wait until the process that started this one has ended, then end as if asked to."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    while True:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(PAUSE)
