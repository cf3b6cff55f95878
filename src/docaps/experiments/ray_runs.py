"""Runs of a grid as tasks of Ray, on all machines of a cluster that share the grid's folder.

A run whose machine or process died is repeated elsewhere; it goes on from its last saved state.
"""

import socket
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docaps.cluster import RESTARTS, check_shared, connected
from docaps.errors import RunError
from docaps.experiments.grid import Cell, Grid
from docaps.experiments.run_processes import CellAddress, log_of, run_with_log
from docaps.experiments.runner import describe_fault

FAREWELL = 60.0
"""Seconds in which cancelled runs save their states."""


@dataclass(frozen=True, slots=True)
class RunResources:
    """What a run takes of a machine."""

    cpus: float = 1
    gpus: float = 0


class RayRuns(AbstractContextManager["RayRuns"]):
    """Gives every run that can begin to Ray, which finds a machine for it."""

    slots, shows = 10**6, False

    def __init__(self, address: str | None, resources: RunResources) -> None:
        self._resources = resources
        self._tasks: dict[Any, tuple[Cell, str]] = {}
        self._stack = ExitStack()
        self._ray = self._stack.enter_context(connected(address))

    def begin(self, grid: Grid, cell: Cell) -> None:
        """Submit a task for a cell."""
        cpus, gpus = self._resources.cpus, self._resources.gpus
        options = {"num_cpus": cpus, "num_gpus": gpus, "max_retries": RESTARTS, "name": cell.key}
        log = log_of(grid, cell)
        task = self._ray.remote(**options)(run_there)
        self._tasks[task.remote(CellAddress.of(grid, cell), log, max(1, int(cpus)))] = (cell, str(log))

    def ended(self, seconds: float) -> list[tuple[Cell, str | None]]:
        """Wait for at most some seconds; return the cells whose tasks ended, each with its error."""
        done, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=seconds)
        return [(self._tasks[task][0], self._error(task, self._tasks.pop(task)[1])) for task in done]

    def _error(self, task: Any, log: str) -> str | None:
        """Return why a task failed; None if it did not."""
        errors = self._ray.exceptions
        try:
            self._ray.get(task)
        except errors.RayTaskError as fault:
            return str(fault.cause) if isinstance(fault.cause, RunError) else str(fault)
        except errors.RayError as fault:  # its machine or process died too often
            return f"ended without notice ({type(fault).__name__}), see {log}"
        return None

    def __exit__(self, *_: object) -> None:
        """Cancel all tasks, which saves their states, and leave the cluster."""
        with self._stack:
            for task in self._tasks:
                self._ray.cancel(task)
            if self._tasks:
                self._ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=FAREWELL)
            self._tasks.clear()


def run_there(address: CellAddress, log: Path, threads: int) -> None:
    """Run a cell on a machine of the cluster; an error names the machine and what the run printed."""
    check_shared(Path(address.folder), "folder")
    try:
        run_with_log(address, log, threads)
    except Exception as fault:
        where = f"on the machine {socket.gethostname()}, output in {log}"
        raise RunError(f"{where}: {describe_fault(fault)}") from None
