"""What training reports: rows of metrics for metrics.jsonl and TensorBoard, throughput, and the progress line."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from docaps.runs.directory import Run
from docaps.runs.training_log import MetricsLog, pair_correlations
from docaps.training.objective import Device, perplexity
from docaps.training.state import TrainerState


@dataclass
class TrainingJournal:
    """Writes rows of metrics to metrics.jsonl and, with a `SummaryWriter`, to TensorBoard."""

    log: MetricsLog
    board: Any = None

    def sync(self) -> int:
        """Wait until the log is on the disk, and return its size in bytes."""
        self.log.sync()
        return self.log.size

    def write(self, state: TrainerState, row: Mapping[str, float]) -> None:
        """Write a row, with its step and the training time so far."""
        self.log.append({"step": state.step, **row, "seconds": round(state.seconds, 3)})
        if self.board is not None:
            for name, value in row.items():
                self.board.add_scalar(name, value, state.step)


@contextlib.contextmanager
def open_journal(run: Run, state: TrainerState) -> Iterator[TrainingJournal]:
    """Open a run's log, dropping rows after a state, and TensorBoard's log if TensorBoard is installed."""
    log = MetricsLog(run.metrics, keep=state.logged)
    board = _tensorboard_writer(run.tensorboard, state)
    try:
        yield TrainingJournal(log, board)
    finally:
        log.close()
        if board is not None:
            board.close()


def _tensorboard_writer(directory: Path, state: TrainerState) -> Any:
    """Return TensorBoard's writer, or None if TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(directory), purge_step=state.step + 1 if state.step else None)


class StepTimer:
    """Times steps, and relates throughput to the machine's peak."""

    def __init__(
        self, operations_per_token: float = 0.0, peak: float = 0.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._peak_seconds_per_token = operations_per_token / peak if peak else 0.0
        self._clock, self._last = clock, clock()

    def lap(self) -> float:
        """Return the seconds since the last call."""
        before, self._last = self._last, self._clock()
        return self._last - before

    def share_of_peak(self, tokens_per_second: float) -> float | None:
        """Return a throughput as a share of the machine's peak, or None if the peak was not measured."""
        return tokens_per_second * self._peak_seconds_per_token or None


def measure_peak(device: Device, *, size: int | None = None, repeats: int = 6) -> float:
    """Return the operations per second of the fastest of several large matrix products."""
    size = size or (4096 if device.place.type == "cuda" else 1024)
    matrix = torch.ones(size, size, dtype=device.precision, device=device.place)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        matrix @ matrix
        if matrix.is_cuda:
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return 2 * size**3 / min(seconds)


def progress_line(row: Mapping[str, float], state: TrainerState, best_by: str) -> str:
    """Describe a row of metrics in one line: loss, perplexity, correlations, throughput, best validation.

    The row may include the retrieval figures of the last validation.
    """
    parts = [f"loss {row['loss']:.2f}"] if "loss" in row else []
    if "cross_entropy" in row:
        parts.append(f"ppl {_rounded(perplexity(row['cross_entropy']))}")
    if "pcc" in row:
        control = f" (mismatched {row['pcc_mismatched']:.2f})" if "pcc_mismatched" in row else ""
        parts.append(f"PCC {row['pcc']:.2f}{control}")
    if "retrieval" in row:
        parts.append(f"retrieval {row['retrieval']:.2f} (chance {row['retrieval_chance']:.2f})")
    peak = f" ({row['share_of_peak']:.0%} of peak)" if "share_of_peak" in row else ""
    parts.append(f"{row['tokens_per_second']:,.0f} tokens/s{peak}")
    if state.best is not None:
        parts.append(f"best {best_by.replace('_', ' ')} {state.best:.3f} at {state.best_step:,}")
    if state.skipped:
        parts.append(f"{state.skipped} steps skipped")
    return ", ".join(parts)


def describe_collapse(row: Mapping[str, float]) -> str:
    """Warn that the regulariser does not tell the pairs of a validation apart."""
    matched, mismatched = pair_correlations(row) or (math.nan, math.nan)
    return (
        f"warning: the regulariser does not tell pairs apart: PCC {matched:.3f} of matched and {mismatched:.3f} of "
        f"mismatched development pairs, retrieval {row['retrieval']:.3f} (chance {row['retrieval_chance']:.3f}). As "
        "printed, Eq. 11 is highest for constant capsules; regulariser.negatives and regulariser.centre change that"
    )


def _rounded(value: float) -> str:
    """Write a perplexity with about three digits."""
    if value < 1000:
        return f"{value:.2f}" if value < 10 else f"{value:.1f}"
    return f"{value:,.0f}" if value < 1e7 else f"{value:.0e}"
