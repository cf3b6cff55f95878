"""The training loop: one stage of a recipe, from batches to weights."""

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from docaps import progress
from docaps.batches.batch import Batch
from docaps.config import StageSettings
from docaps.corpus.vocabulary import PAD
from docaps.errors import TrainingError
from docaps.model.interface import TranslationModel
from docaps.model.precision import autocast
from docaps.training.objective import Loss, compute_loss
from docaps.training.schedule import rate_share

Log = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Device:
    """Where and in which number format a model runs."""

    place: torch.device
    precision: torch.dtype


class Averages:
    """Running means of what is logged, since the last line of the log."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._tokens = 0
        self._start = time.monotonic()

    def add(self, values: Mapping[str, float], tokens: int) -> None:
        """Take in the numbers of one step."""
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + value
            self._counts[name] = self._counts.get(name, 0) + 1  # not every step has every number
        self._tokens += tokens

    def drain(self) -> dict[str, float]:
        """Return the means and the speed, and begin anew."""
        speed = self._tokens / max(time.monotonic() - self._start, 1e-9)
        means = {name: value / self._counts[name] for name, value in self._sums.items()}
        self.__init__()  # type: ignore[misc]
        return {**means, "tokens_per_second": speed}


class Trainer:
    """Train a model for a number of steps; `validate` is called now and then and once at the end."""

    def __init__(
        self,
        model: TranslationModel,
        *,
        settings: StageSettings,
        regulariser_weight: float,
        device: Device,
        validate: Callable[[], Mapping[str, float]],
        log: Log,
        inherited: Collection[str] = (),
    ) -> None:
        self._model = model.to(device.place)
        self._settings = settings
        self._regulariser_weight = regulariser_weight
        self._device = device
        self._validate = validate
        self._log = log
        groups = _groups(model, _held_back(inherited, settings), settings.inherited_rate)
        self._optimizer = torch.optim.Adam(groups, lr=0.0, betas=(0.9, settings.beta2), fused=True)

    def train(self, batches: Iterator[Batch], description: str) -> None:
        """Go through all steps, showing progress and logging means."""
        start, averages = time.monotonic(), Averages()
        with progress.start(description, self._settings.steps) as task:
            for step in range(1, self._settings.steps + 1):
                batch = next(batches)
                values = self.step(step, batch)
                averages.add(values, _count_tokens(batch))
                status = None
                if step % self._settings.log_every == 0 or step == self._settings.steps:
                    row = {"step": step, **averages.drain(), "learning_rate": self._rate(step)}
                    self._log({**row, "seconds": time.monotonic() - start})
                    status = _describe(row)
                task.advance(status=status)
                if step % self._settings.validate_every == 0 or step == self._settings.steps:
                    self._log({"step": step, **self._validate(), "seconds": time.monotonic() - start})

    def step(self, step: int, batch: Batch) -> dict[str, float]:
        """Make the model a little better on one batch."""
        self._model.train()
        for group in self._optimizer.param_groups:
            group["lr"] = self._rate(step) * group["share"]
        loss = self._loss(batch.to(self._device.place))
        total = loss.total.item()
        if not math.isfinite(total):
            raise TrainingError(f"the loss is {total} at step {step}: try a lower learning rate")
        self._optimizer.zero_grad(set_to_none=True)
        loss.total.backward()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), self._settings.clip)
        self._optimizer.step()
        return _numbers(loss)

    def _loss(self, batch: Batch) -> Loss:
        """Predict the batch's translations and compare."""
        with autocast(self._device.place, self._device.precision):
            prediction = self._model(batch)
        return compute_loss(
            prediction,
            batch.translations,
            label_smoothing=self._settings.label_smoothing,
            regulariser_weight=self._regulariser_weight,
        )

    def _rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        return self._settings.learning_rate * rate_share(step, self._settings)


def _held_back(inherited: Collection[str], settings: StageSettings) -> set[str]:
    """Name the weights taken over from another model that learn at a rate of their own."""
    return {name for name in inherited if not name.startswith(settings.inherited_exempt)}


def _groups(model: TranslationModel, inherited: Collection[str], share: float) -> list[dict[str, Any]]:
    """Sort weights into new ones and those taken over from another model, which may learn at a lower rate."""
    weights = list(model.named_parameters())
    return [
        {"params": [weight for name, weight in weights if name not in inherited], "share": 1.0},
        {"params": [weight for name, weight in weights if name in inherited], "share": share},
    ]


def _count_tokens(batch: Batch) -> int:
    """Count the real target tokens of a batch."""
    return int((batch.translations != PAD).sum())


def _numbers(loss: Loss) -> dict[str, float]:
    """Return what is logged of a loss."""
    numbers = {"loss": loss.total.item(), "cross_entropy": loss.cross_entropy.item()}
    correlations = {"pcc": loss.matched, "pcc_mismatched": loss.mismatched}
    return numbers | {name: value.item() for name, value in correlations.items() if value is not None}


def _describe(row: Mapping[str, int | float]) -> str:
    """Say in a few words how training goes."""
    parts = [f"loss {row['loss']:.3f}"]
    if "pcc" in row:
        parts.append(f"PCC {row['pcc']:.2f}")
    return ", ".join([*parts, f"{row['tokens_per_second']:,.0f} tokens/s"])
