"""The journal of a training: means of what is measured, written to the log, to TensorBoard, and for the eye."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from docaps.runs.directory import MetricsLog, Run
from docaps.training.learner import describe_numbers
from docaps.training.state import Standing, Sums


class Averages:
    """Running means of what is logged, since the last line of the log."""

    def __init__(self, begun: Sums | None = None) -> None:
        begun = begun or Sums()
        self._sums, self._counts = dict(begun.sums), dict(begun.counts)
        self._tokens, self._seconds = begun.tokens, begun.seconds

    @property
    def begun(self) -> Sums:
        """Return what has been taken in since the last line."""
        return Sums(dict(self._sums), dict(self._counts), self._tokens, self._seconds)

    def add(self, values: Mapping[str, float], tokens: int, seconds: float) -> None:
        """Take in the numbers of one step; what is no number would spoil the mean."""
        for name, value in values.items():
            if math.isfinite(value):
                self._sums[name] = self._sums.get(name, 0.0) + value
                self._counts[name] = self._counts.get(name, 0) + 1  # not every step has every number
        self._tokens += tokens
        self._seconds += seconds

    def drain(self) -> dict[str, float]:
        """Return the means and the speed, and begin anew."""
        speed = self._tokens / max(self._seconds, 1e-9)
        means = {name: value / self._counts[name] for name, value in self._sums.items()}
        self.__init__()  # type: ignore[misc]
        return {**means, "tokens_per_second": speed}


@runtime_checkable
class Writer(Protocol):
    """What we need of TensorBoard's writer."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None:
        """Take in one number."""

    def close(self) -> None:
        """Write everything out."""


class Journal:
    """Where rows of numbers go."""

    def __init__(self, log: MetricsLog, board: Writer | None = None) -> None:
        self._log = log
        self._board = board

    @property
    def size(self) -> int:
        """Return how many bytes the log has."""
        return self._log.size

    def write(self, standing: Standing, row: Mapping[str, float]) -> None:
        """Write a row down, with its step and the time trained so far."""
        self._log.append({"step": standing.step, **row, "seconds": round(standing.seconds, 3)})
        if self._board is not None:
            for name, value in row.items():
                self._board.add_scalar(name, value, standing.step)


@contextlib.contextmanager
def open_journal(run: Run, standing: Standing) -> Iterator[Journal]:
    """Open a run's log behind what belongs to a standing, and a page for TensorBoard if that is installed."""
    log = MetricsLog(run.metrics, keep=standing.logged)
    board = _board(run.path / "tensorboard", standing)
    try:
        yield Journal(log, board)
    finally:
        log.close()
        if board is not None:
            board.close()


def _board(directory: Path, standing: Standing) -> Writer | None:
    """Return TensorBoard's writer, or None where TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    writer: Any = SummaryWriter(str(directory), purge_step=standing.step + 1 if standing.step else None)
    return writer  # type: ignore[no-any-return]


class Speedometer:
    """Times steps, and knows what the machine could do."""

    def __init__(
        self, operations_per_token: float = 0.0, peak: float = 0.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._share_per_speed = operations_per_token / peak if peak else 0.0
        self._clock = clock
        self._last = clock()

    def lap(self) -> float:
        """Return the seconds since the last call."""
        now = self._clock()
        seconds, self._last = now - self._last, now
        return seconds

    def share_of_peak(self, tokens_per_second: float) -> float | None:
        """Return which share of the fastest matrix products a speed amounts to; None if that was not measured."""
        return tokens_per_second * self._share_per_speed or None


def describe(row: Mapping[str, float], standing: Standing, best_by: str) -> str:
    """Say in a few words how training goes."""
    speed = f"{row['tokens_per_second']:,.0f} tokens/s"
    if "share_of_peak" in row:
        speed += f" ({row['share_of_peak']:.0%} of peak)"
    parts = [describe_numbers(row), speed] if "loss" in row else [speed]
    if standing.best is not None:
        parts.append(f"best {best_by.replace('_', ' ')} {standing.best:.3f} at {standing.best_step:,}")
    if standing.skipped:
        parts.append(f"{standing.skipped} steps skipped")
    return ", ".join(parts)
