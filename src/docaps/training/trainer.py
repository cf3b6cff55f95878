"""The training loop of a stage; it can be stopped at any moment."""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace

import torch
from torch import Tensor

from docaps import progress
from docaps.batches.prefetch import StepData
from docaps.config import StageSettings
from docaps.errors import CheckpointError, TrainingError
from docaps.interruption import Interrupted, caught, shielded
from docaps.memory import return_pages
from docaps.runs.training_log import has_collapsed, has_one_capsule
from docaps.training.capsule_statistics import describe_one_capsule
from docaps.training.distributed import SINGLE_PROCESS, ProcessGroup
from docaps.training.journal import (
    StepTimer,
    TrainingJournal,
    describe_collapse,
    progress_line,
)
from docaps.training.learner import Learner
from docaps.training.state import Snapshots, Sums, TrainerState
from docaps.training.stopping import MAX_SKIPPED, check_success, record_validation, seconds_left, stop_reason


@dataclass(frozen=True, slots=True)
class TrainerOutput:
    """Where the main process writes metrics and state; other processes have none."""

    journal: TrainingJournal
    save: Callable[[Mapping[str, Tensor], TrainerState], None]
    keep: Callable[[Mapping[str, Tensor], int], None] = lambda _, __: None
    """Keeps the weights of a step for good."""


@dataclass
class Trainer:
    """Trains from a state until the stage is over; calls `validate` at intervals and once at the end."""

    learner: Learner
    _: KW_ONLY
    settings: StageSettings
    validate: Callable[[], Mapping[str, float]]
    snapshots: Snapshots
    output: TrainerOutput | None = None
    timer: StepTimer = field(default_factory=StepTimer)
    describe_data: Callable[[StepData], str] = lambda _: ""
    group: ProcessGroup = SINGLE_PROCESS
    state: TrainerState = field(init=False, default_factory=TrainerState)

    def train(self, data: Iterator[StepData], description: str, state: TrainerState | None = None) -> TrainerState:
        """Train until the stage is over; if an error or a signal ends it earlier, save the state first."""
        self.state = self._begun = state or TrainerState()
        self._saved: TrainerState | None = None
        self._saved_step = self.state.step or None
        self._consistent = True  # False while weights and state do not match
        self._unlogged = self.state.unlogged
        self._retrieval: Mapping[str, float] = {}  # of the last validation
        with caught(), progress.start(description, self.settings.steps, done=self.state.step, clock=False) as task:
            try:
                self._loop(data, task)
            except (Exception, Interrupted) as error:
                self._save_on_failure()
                reason: object = error
                if isinstance(error, Interrupted) and not (reason := self.group.find_lost_process(error)):
                    raise Interrupted(error.number, self._closing_words("stopped")) from None
                if isinstance(error, TrainingError | CheckpointError | OSError | Interrupted):
                    raise TrainingError(f"{reason}. {self._closing_words('Training ended')}") from None
                raise
        return self.state

    def _loop(self, data: Iterator[StepData], task: progress.Task) -> None:
        """Validate and save when due, stop when the stage is over, else take a step."""
        self.timer.lap()
        while True:
            reason = stop_reason(self.state, self.settings)
            self._validate_when_due(bool(reason))
            reason = reason or stop_reason(self.state, self.settings)
            self._keep_when_due()
            if reason or (self.state.step and self.state.step % self.settings.save_every == 0):
                self._save()
                return_pages()  # batches of many shapes fragment memory
            if reason:
                check_success(self.state, self.settings)
                progress.say(f"the stage is over: {reason}")
                return
            self._step(next(data), task)

    def _step(self, data: StepData, task: progress.Task) -> None:
        """Take one step; a signal may end it until the weights change."""
        number = self.state.step + 1
        metrics = self.learner.compute(number, data)
        seconds = self._lap()
        with shielded():  # nothing in this block waits for other processes, one of which may be gone
            self._consistent = False
            norm = self.learner.apply(number) if math.isfinite(metrics["loss"]) else math.nan
            self.state = self._advanced(data, seconds, skipped=not math.isfinite(norm))
            self._consistent = True
            self._unlogged = self._unlogged.plus({**metrics, "gradient_norm": norm}, data.tokens, seconds)
            task.advance(status=self._log_when_due())
        if self.state.skipped_in_a_row >= MAX_SKIPPED:
            raise TrainingError(
                f"non-finite loss or gradient in {MAX_SKIPPED} steps in a row, the last of them {number}"
                f"{self.describe_data(data)}: try a lower learning rate or a longer warm-up"
            )

    def _advanced(self, data: StepData, seconds: float, *, skipped: bool) -> TrainerState:
        """Return the state after a step."""
        state = self.state
        return replace(
            state,
            step=state.step + 1,
            position=data.after,
            seconds=state.seconds + seconds,
            tokens=state.tokens + data.tokens,
            skipped=state.skipped + skipped,
            skipped_in_a_row=state.skipped_in_a_row + 1 if skipped else 0,
        )

    def _lap(self) -> float:
        """Return the seconds since the last lap by the main process's clock: all must agree on a time budget."""
        seconds = self.timer.lap()
        return self.group.sum(torch.tensor(seconds if self.group.is_main else 0.0, dtype=torch.float64)).item()

    def _log_when_due(self) -> str | None:
        """Write a row of means at intervals, and return the progress line."""
        state = self.state
        if state.step % self.settings.log_every and state.step != self.settings.steps:
            return None
        row = {**self._unlogged.means(), "learning_rate": self.learner.rate(state.step)}
        self._unlogged = Sums()
        share = self.timer.share_of_peak(row["tokens_per_second"])
        row |= {"skipped": state.skipped} if state.skipped else {}
        row |= {} if share is None else {"share_of_peak": share / self.group.size}
        if self.output is not None:
            self.output.journal.write(state, row)
        left = progress.in_words(seconds_left(state, self.settings, self._begun))
        return f"{progress_line({**row, **self._retrieval}, state, self.settings.best_by)}, {left} left"

    def _validate_when_due(self, over: bool) -> None:
        """Validate at intervals and at the end, and keep a snapshot if needed."""
        step = self.state.step
        if step == self.state.validated or not (over or step % self.settings.validate_every == 0):
            return
        numbers = dict(self.validate())
        seconds = self._lap()
        state = record_validation(replace(self.state, seconds=self.state.seconds + seconds), numbers, self.settings)
        if not state.collapsed and step >= self.settings.warmup and has_collapsed(numbers):
            progress.say(describe_collapse(numbers))
            state = replace(state, collapsed=step)
        if not state.alike and step >= self.settings.warmup and has_one_capsule(numbers):
            progress.say(describe_one_capsule(numbers))
            state = replace(state, alike=step)
        self._retrieval = {name: value for name, value in numbers.items() if name.startswith("retrieval")}
        kept = self.snapshots.select(state)
        weights = None if kept is None else self.learner.weights()
        with shielded():
            if self.output is not None:
                if weights is not None:
                    self.snapshots.write(weights, state.step)
                self.output.journal.write(state, numbers)
            self.state = state if kept is None else replace(state, snapshots=kept)

    def _keep_when_due(self) -> None:
        """Keep the weights of this step if the settings name it; a resumed training may write them again."""
        if self.state.step in self.settings.kept_steps:
            weights = self.learner.weights()
            if self.output is not None:
                self.output.keep(weights, self.state.step)

    def _save(self) -> None:
        """Write the state, then remove snapshots that only an older state needed."""
        tensors = self.learner.tensors()
        if self.output is None:
            return
        with shielded():
            logged = self.output.journal.sync()  # first: the state must not count on rows that a power cut takes away
            self.state = replace(self.state, logged=logged, unlogged=self._unlogged)
            self.output.save(tensors, self.state)
            self._saved_step, self._saved = self.state.step, self.state
            self.snapshots.prune(self.state)

    def _save_on_failure(self) -> None:
        """Save the state when training ends early, unless that is done; a second error must not hide the first."""
        if self.state is self._saved:
            return
        with contextlib.suppress(CheckpointError, OSError, Interrupted):
            if self._consistent and not self.group.sharded:  # shards of lost processes cannot be gathered
                self._save()

    def _closing_words(self, what: str) -> str:
        """Say at which step training ended and how to resume it."""
        saved = "the main process saves the state" if self.output is None else "no state was saved"
        if self.output is not None and self._saved_step is not None:
            saved = f"the state of step {self._saved_step:,} is saved; the same command resumes from it"
        return f"{what} at step {self.state.step:,}; {saved}"
