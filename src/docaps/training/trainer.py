"""The training loop: one stage of a recipe, from a standing to its end, safe to stop at any moment."""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from docaps import progress
from docaps.batches.loading import StepData
from docaps.config import StageSettings
from docaps.errors import CheckpointError, TrainingError
from docaps.interruption import Interrupted, caught, shielded
from docaps.memory import return_pages
from docaps.training.distributed import ALONE, Team
from docaps.training.journal import Averages, Journal, Speedometer, describe
from docaps.training.learner import Learner
from docaps.training.snapshots import Snapshots
from docaps.training.state import Standing
from docaps.training.stopping import check_success, judge, reason_to_stop, seconds_left

MOST_SKIPPED = 10
"""So many steps in a row whose loss or gradient is no number end the training."""
Validate = Callable[[], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Desk:
    """What the first process of a team writes with; the others have none."""

    journal: Journal
    save: Callable[[Mapping[str, Tensor], Standing], None]


class Trainer:
    """Train from a standing on until the stage is over; `validate` is called now and then and once at the end."""

    def __init__(
        self,
        learner: Learner,
        *,
        settings: StageSettings,
        validate: Validate,
        snapshots: Snapshots,
        desk: Desk | None = None,
        speedometer: Speedometer | None = None,
        name_sentences: Callable[[StepData], str] = lambda _: "",
        team: Team = ALONE,
    ) -> None:
        self._learner = learner
        self._settings = settings
        self._validate = validate
        self._snapshots = snapshots
        self._desk = desk
        self._speedometer = speedometer or Speedometer()
        self._name_sentences = name_sentences
        self._team = team
        self._averages = Averages()
        self.standing = self._begun = Standing()
        self._saved: int | None = None
        self._kept: Standing | None = None
        self._whole = True  # False while weights and standing do not fit each other

    def train(self, data: Iterator[StepData], description: str, standing: Standing | None = None) -> Standing:
        """Go on until the stage is over; whatever ends it earlier leaves a saved state behind."""
        self.standing = self._begun = standing or Standing()
        self._saved = self.standing.step or None
        self._averages = Averages(self.standing.unlogged)
        with caught(), progress.start(description, self._settings.steps, done=self.standing.step, clock=False) as task:
            try:
                self._loop(data, task)
            except Interrupted as stop:
                self._save_at_last()
                if loss := self._team.loss_behind(stop):
                    raise TrainingError(f"{loss}. {self._parting('Training ended')}") from None
                raise Interrupted(stop.number, self._parting("stopped")) from None
            except (TrainingError, CheckpointError, OSError) as fault:
                self._save_at_last()
                raise TrainingError(f"{fault}. {self._parting('Training ended')}") from None
            except Exception:
                self._save_at_last()
                raise
        return self.standing

    def _loop(self, data: Iterator[StepData], task: progress.Task) -> None:
        """Validate and save when it is time, stop when the stage is over, else take a step."""
        self._speedometer.lap()
        while True:
            reason = reason_to_stop(self.standing, self._settings)
            self._validate_when_due(bool(reason))
            reason = reason or reason_to_stop(self.standing, self._settings)
            if reason or (self.standing.step and self.standing.step % self._settings.save_every == 0):
                self._save()
                return_pages()  # batches of all shapes leave memory in pieces
            if reason:
                check_success(self.standing, self._settings)
                progress.say(f"the stage is over: {reason}")
                return
            self._step(next(data), task)

    def _step(self, data: StepData, task: progress.Task) -> None:
        """Take one step; until the weights change, a signal may end it."""
        number = self.standing.step + 1
        numbers = self._learner.compute(number, data)
        seconds = self._lap()
        with shielded():  # nothing in here waits for other processes, one of which may be gone
            self._whole = False
            norm = self._learner.apply(number) if math.isfinite(numbers["loss"]) else math.nan
            self.standing = self._moved(data, seconds, learnt=math.isfinite(norm))
            self._whole = True
            self._averages.add({**numbers, "gradient_norm": norm}, data.tokens, seconds)
            task.advance(status=self._log_when_due())
        if self.standing.skipped_in_a_row >= MOST_SKIPPED:
            raise TrainingError(
                f"loss or gradient was no number in {MOST_SKIPPED} steps in a row, the last of them {number}"
                f"{self._name_sentences(data)}: try a lower learning rate or a longer warm-up"
            )

    def _moved(self, data: StepData, seconds: float, *, learnt: bool) -> Standing:
        """Return where training stands after a step."""
        now = self.standing
        return replace(
            now,
            step=now.step + 1,
            place=data.after,
            seconds=now.seconds + seconds,
            tokens=now.tokens + data.tokens,
            skipped=now.skipped + (not learnt),
            skipped_in_a_row=0 if learnt else now.skipped_in_a_row + 1,
        )

    def _lap(self) -> float:
        """Return the seconds of this step, by the clock of the first process: all must agree when time is over."""
        seconds = self._speedometer.lap()
        return self._team.total(torch.tensor(seconds if self._team.leads else 0.0, dtype=torch.float64)).item()

    def _log_when_due(self) -> str | None:
        """Write a row of means now and then, and return it in words."""
        standing = self.standing
        if standing.step % self._settings.log_every and standing.step != self._settings.steps:
            return None
        row = {**self._averages.drain(), "learning_rate": self._learner.rate(standing.step)}
        share = self._speedometer.share_of_peak(row["tokens_per_second"])
        row |= {"skipped": standing.skipped} if standing.skipped else {}
        row |= {} if share is None else {"share_of_peak": share / self._team.size}
        if self._desk is not None:
            self._desk.journal.write(standing, row)
        left = progress.in_words(seconds_left(standing, self._settings, self._begun))
        return f"{describe(row, standing, self._settings.best_by)}, {left} left"

    def _validate_when_due(self, over: bool) -> None:
        """Validate now and then and at the end, and remember the best."""
        step = self.standing.step
        if step == self.standing.validated or not (over or step % self._settings.validate_every == 0):
            return
        numbers = dict(self._validate())
        seconds = self._lap()
        standing = judge(replace(self.standing, seconds=self.standing.seconds + seconds), numbers, self._settings)
        kept = self._snapshots.wanted(standing)
        weights = None if kept is None else self._learner.weights()
        with shielded():
            if self._desk is not None:
                if weights is not None:
                    self._snapshots.write(weights, standing.step)
                self._desk.journal.write(standing, numbers)
            self.standing = standing if kept is None else replace(standing, snapshots=kept)

    def _save(self) -> None:
        """Write the state; what only an older state needed goes."""
        tensors = self._learner.tensors()
        if self._desk is None:
            return
        with shielded():
            self.standing = replace(self.standing, logged=self._desk.journal.size, unlogged=self._averages.begun)
            self._desk.save(tensors, self.standing)
            self._saved, self._kept = self.standing.step, self.standing
            self._snapshots.tidy(self.standing)

    def _save_at_last(self) -> None:
        """Save when training ends early, unless it is saved as it stands.

        Another signal must wait, and another fault does not hide the first.
        """
        if self.standing is self._kept:
            return
        with contextlib.suppress(CheckpointError, OSError, Interrupted):
            if self._whole and not self._team.sharded:  # parts of weights cannot be had from processes that are gone
                self._save()

    def _parting(self, what: str) -> str:
        """Say where training stands and how it goes on."""
        if self._desk is None:
            return f"{what} at step {self.standing.step:,}; the first process keeps the state"
        if self._saved is None:
            return f"{what} at step {self.standing.step:,}; no state was saved"
        state = f"the state of step {self._saved:,} is saved, the same command goes on from there"
        return f"{what} at step {self.standing.step:,}; {state}"
