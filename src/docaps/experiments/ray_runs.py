"""Runs of a grid as tasks of Ray, on all machines of a cluster that share the grid's folder.

A run whose machine or process died is repeated elsewhere; it goes on from its last saved state.
"""

from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from docaps.cluster import RESTARTS, connected
from docaps.errors import RunError
from docaps.experiments.grid import Cell, Grid
from docaps.experiments.run_processes import CellAddress, run_elsewhere

FAREWELL = 60.0
"""Seconds in which cancelled runs save their states."""


class RayRuns(AbstractContextManager["RayRuns"]):
    """Gives every run that can begin to Ray, which finds a machine for it with so many cores and GPUs."""

    slots, shows = 10**6, False

    def __init__(self, address: str | None, *, cpus: float | None = None, gpus: float | None = None) -> None:
        self._cpus, self._gpus = 1 if cpus is None else cpus, gpus or 0
        self._tasks: dict[Any, tuple[Cell, Path]] = {}
        self._stack = ExitStack()
        self._ray = self._stack.enter_context(connected(address))

    def begin(self, grid: Grid, cell: Cell) -> None:
        """Submit a task for a cell; `max_calls`: in a process that no other run was in, or will be."""
        log, options = grid.log(cell), {"max_retries": RESTARTS, "max_calls": 1, "name": cell.key}
        remote = self._ray.remote(num_cpus=self._cpus, num_gpus=self._gpus, **options)
        task = remote(run_elsewhere).remote(CellAddress.of(grid, cell), log, max(1, int(self._cpus)))
        self._tasks[task] = cell, log

    def ended(self, seconds: float) -> list[tuple[Cell, str | None]]:
        """Wait for at most some seconds; return the cells whose tasks ended, each with its error."""
        done, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=seconds)
        return [(self._tasks[task][0], self._error(task, self._tasks.pop(task)[1])) for task in done]

    def _error(self, task: Any, log: Path) -> str | None:
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
