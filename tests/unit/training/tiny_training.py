"""Tiny batches, learners and trainers for the tests of training."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tests.invariants import tiny

from docaps.batches.batch import Batch, collate
from docaps.batches.prefetch import StepBatch, StepData
from docaps.batches.sampling import StreamPosition
from docaps.config import StageSettings
from docaps.model.builders import build_model
from docaps.model.interface import TranslationModel
from docaps.training.journal import StepTimer, TrainingJournal
from docaps.training.learner import Learner
from docaps.training.objective import Device, count_tokens
from docaps.training.state import Snapshots, TrainerState
from docaps.training.trainer import Trainer, TrainerOutput

CPU = Device(torch.device("cpu"), torch.float32)
Row = Mapping[str, Any]


def batches() -> list[Batch]:
    windows = tiny.sample_windows()
    return [collate(windows[:3], tiny.K), collate(windows[2:], tiny.K)]


def step_data(*chosen: Batch, after: StreamPosition | None = None) -> StepData:
    """A step of some batches."""
    tokens = [count_tokens(batch) for batch in chosen]
    added = [
        0.0 if batch.weights is None else float(batch.weights.sum()) - count
        for batch, count in zip(chosen, tokens, strict=True)
    ]
    portions = (
        StepBatch(number, batch, np.arange(len(batch.source)), tokens[number], added[number])
        for number, batch in enumerate(chosen)
    )
    return StepData(tuple(portions), sum(tokens), after or StreamPosition(), sum(added))


def corpus() -> Iterator[StepData]:
    """Two batches, again and again."""
    places = (StreamPosition(*place) for epoch in itertools.count() for place in ((epoch, 1), (epoch + 1, 0)))
    for batch, place in zip(itertools.cycle(batches()), places, strict=False):
        yield step_data(batch, after=place)


def stage(**settings: Any) -> StageSettings:
    return StageSettings.model_validate(
        {"steps": 30, "learning_rate": 1e-2, "log_every": 1, "validate_every": 100, "result": "last", **settings}
    )


def fresh(name: str = "qcn+reg", dropout: float = 0.1, **options: Any) -> TranslationModel:
    return build_model(tiny.settings(name, **options), vocabulary=tiny.VOCABULARY, dropout=dropout, seed=5)


def learner(model: TranslationModel, device: Device = CPU, **settings: Any) -> Learner:
    inherited = settings.pop("inherited", ())
    return Learner(
        model, settings=stage(**settings), regulariser_weight=1.0, device=device, inherited=inherited, seed=1
    )


class Rows(TrainingJournal):
    """A journal that keeps its rows."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def sync(self) -> int:
        return len(self.rows)

    def write(self, state: TrainerState, row: Mapping[str, float]) -> None:
        self.rows.append({"step": state.step, **row, "seconds": state.seconds})


def train(
    model: TranslationModel,
    data: Iterator[StepData] | None = None,
    *,
    device: Device = CPU,
    validate: Callable[[], Mapping[str, float]] = lambda: {"dev_loss": 1.5},
    save: Callable[[TrainerState], None] = lambda _: None,
    rows: Rows | None = None,
    timer: StepTimer | None = None,
    state: TrainerState | None = None,
    **settings: Any,
) -> list[Row]:
    """Train a model, from a state if there is one, and return the rows of its journal."""
    rows = rows or Rows()
    chosen = stage(**{key: value for key, value in settings.items() if key != "inherited"})
    trainer = Trainer(
        learner(model, device, **settings),
        settings=chosen,
        validate=validate,
        snapshots=Snapshots(Path("never written"), chosen),
        output=TrainerOutput(rows, lambda _, state: save(state)),
        timer=timer or StepTimer(),
    )
    with torch.random.fork_rng():
        trainer.train(data or corpus(), "train", state)
    return rows.rows


def losses(rows: list[Row], name: str = "loss") -> list[float]:
    return [row[name] for row in rows if name in row]
