"""The training loop learns, twice alike, freezes what it shall freeze, and stops at numbers that are none."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import torch
from tests.invariants import tiny

from docaps.batches.batch import Batch, collate
from docaps.batches.windows import Window
from docaps.config import StageSettings
from docaps.errors import TrainingError
from docaps.model.interface import TranslationModel
from docaps.model.variants import build_model
from docaps.training.trainer import Averages, Device, Trainer

CPU = Device(torch.device("cpu"), torch.float32)


def corpus() -> Iterator[Batch]:
    """Two batches, again and again."""
    windows = tiny.sample_windows()
    return itertools.cycle([collate(windows[:3], tiny.K), collate(windows[2:], tiny.K)])


def stage(**settings: Any) -> StageSettings:
    return StageSettings.model_validate(
        {"steps": 30, "learning_rate": 1e-2, "log_every": 1, "validate_every": 100, **settings}
    )


def fresh(name: str = "qcn+reg", dropout: float = 0.1) -> TranslationModel:
    return build_model(tiny.settings(name), vocabulary=tiny.VOCABULARY, dropout=dropout, seed=5)


def train(
    model: TranslationModel, batches: Iterator[Batch] | None = None, device: Device = CPU, **settings: Any
) -> list[Mapping[str, Any]]:
    inherited = settings.pop("inherited", ())
    rows: list[Mapping[str, Any]] = []
    trainer = Trainer(
        model,
        settings=stage(**settings),
        regulariser_weight=1.0,
        device=device,
        validate=lambda: {"dev_loss": 1.5},
        log=rows.append,
        inherited=inherited,
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        trainer.train(batches or corpus(), "train")
    return rows


def losses(rows: list[Mapping[str, Any]], name: str = "loss") -> list[float]:
    return [row[name] for row in rows if name in row]


@pytest.mark.parametrize("name", ["transformer", "qcn+reg"])
def test_the_loss_falls(name: str) -> None:
    found = losses(train(fresh(name, dropout=0.0)), "cross_entropy")
    assert len(found) == 30
    assert found[-1] < 0.8 * found[0]


def test_training_twice_gives_the_same_weights_bit_for_bit() -> None:
    first, second, start = fresh(), fresh(), fresh()
    rows = [losses(train(model, steps=6)) for model in (first, second)]
    assert rows[0] == rows[1]
    for one, other, before in zip(first.parameters(), second.parameters(), start.parameters(), strict=True):
        assert torch.equal(one, other)
        assert not torch.equal(one, before)


def test_inherited_weights_learn_at_their_own_rate() -> None:
    new = tiny.parameter_names(fresh(), containing=["context", "regulariser"])
    start = dict(fresh().named_parameters())
    inherited = start.keys() - new
    frozen, slow = fresh(), fresh()
    train(frozen, steps=3, inherited_rate=0.0, inherited=inherited)
    train(slow, steps=3, inherited_rate=0.5, inherited=inherited)
    moved = {name for name, weight in frozen.named_parameters() if not torch.equal(weight, start[name])}
    assert moved == new
    assert all(not torch.equal(weight, start[name]) for name, weight in slow.named_parameters())


def test_the_first_step_of_adam_is_as_long_as_the_rate_of_its_weights() -> None:
    model, start = fresh(dropout=0.0), dict(fresh().named_parameters())
    inherited = tiny.parameter_names(model, containing=["embeddings"])
    train(model, steps=1, inherited_rate=0.5, inherited=inherited)
    longest = {name: (weight - start[name]).abs().max().item() for name, weight in model.named_parameters()}
    assert longest["embeddings.source.weight"] == pytest.approx(0.005, rel=1e-2)
    assert longest["context.routing.weight"] == pytest.approx(0.01, rel=1e-2)


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_ends_training_with_its_step(poison: float) -> None:
    model = fresh()

    def poisoned() -> Iterator[Batch]:
        for step, batch in enumerate(corpus(), start=1):
            if step == 3:
                with torch.no_grad():
                    model.embeddings.source.weight.fill_(poison)
            yield batch

    with pytest.raises(TrainingError, match="the loss is nan at step 3"):
        train(model, poisoned())


def test_the_log_has_means_rates_and_validations() -> None:
    rows = train(fresh(dropout=0.0), steps=5, log_every=2, validate_every=3, schedule="linear", warmup=2)
    assert [row["step"] for row in rows if "loss" in row] == [2, 4, 5]
    assert [row["step"] for row in rows if "dev_loss" in row] == [3, 5]
    assert losses(rows, "learning_rate") == pytest.approx([1e-2, 1e-2 * 2 / 3, 1e-2 / 3])
    every = train(fresh(dropout=0.0), steps=5, schedule="linear", warmup=2)
    for name in ("loss", "cross_entropy", "pcc", "pcc_mismatched"):
        one = losses(every, name)
        expected = [(one[0] + one[1]) / 2, (one[2] + one[3]) / 2, one[4]]
        assert losses(rows, name) == pytest.approx(expected)
    assert losses(every)[0] == pytest.approx(losses(every, "cross_entropy")[0] - losses(every, "pcc")[0])


def test_training_goes_on_after_a_validation_in_inference_mode() -> None:
    """Validation may lengthen the table of positions and leaves the model in its translating mode."""
    model = fresh("qcn")
    batch = next(corpus())
    long = collate([Window([5] * 300, (), [6] * 300)], tiny.K)
    rows: list[Mapping[str, Any]] = []

    def validate() -> Mapping[str, float]:
        with torch.inference_mode():
            model.eval()(long)
        return {}

    trainer = Trainer(
        model,
        settings=stage(steps=3, validate_every=1),
        regulariser_weight=1.0,
        device=CPU,
        validate=validate,
        log=rows.append,
    )
    trainer.train(itertools.repeat(batch), "train")
    assert model.training is False
    assert [row["step"] for row in rows if "loss" in row] == [1, 2, 3]


@pytest.mark.parametrize("name", ["transformer+reg", "qcn+reg"])
def test_training_in_bfloat16_stays_finite(name: str) -> None:
    model = fresh(name)
    rows = train(model, device=Device(torch.device("cpu"), torch.bfloat16), steps=3)
    assert all(torch.isfinite(torch.tensor(losses(rows))))
    for weight in model.parameters():
        assert weight.dtype == torch.float32
        assert weight.isfinite().all()


def test_numbers_that_not_every_step_has_are_averaged_over_those_that_do() -> None:
    averages = Averages()
    averages.add({"loss": 1.0, "pcc": 0.5}, tokens=3)
    averages.add({"loss": 3.0}, tokens=3)
    found = averages.drain()
    assert (found["loss"], found["pcc"]) == (2.0, 0.5)
    averages.add({"loss": 7.0}, tokens=3)
    assert set(averages.drain()) == {"loss", "tokens_per_second"}
