"""The training loop logs, validates, saves and stops as its settings say; steps with a non-finite loss are skipped."""

import itertools
import math
import signal
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import torch
from tests.invariants import tiny
from tests.unit.training.tiny_training import Row, Rows, batches, corpus, fresh, losses, step_data, train

from docaps import progress
from docaps.batches.batch import collate
from docaps.batches.prefetch import StepData
from docaps.batches.windows import Window
from docaps.errors import CheckpointError, TrainingError
from docaps.interruption import Interrupted
from docaps.training.capsule_statistics import describe_one_capsule
from docaps.training.journal import StepTimer
from docaps.training.state import TrainerState


def poisoned(model: Any, steps: set[int]) -> Iterator[StepData]:
    """Batches; at some steps the model is not a number."""
    sound = model.embeddings.source.weight.detach().clone()
    for step, data in enumerate(corpus(), start=1):
        with torch.no_grad():
            now = model.embeddings.source.weight
            if step in steps:
                sound = now.detach().clone() if now.isfinite().all() else sound
                now.fill_(math.nan)
            elif not now.isfinite().all():
                now.copy_(sound)
        yield data


def test_a_step_with_a_non_finite_loss_is_skipped_and_counted() -> None:
    model, other = fresh(dropout=0.0), fresh(dropout=0.0)
    rows = train(model, poisoned(model, {3, 4}), steps=6)
    assert [row.get("skipped", 0) for row in rows if "learning_rate" in row] == [0, 0, 1, 2, 2, 2]
    assert len(losses(rows)) == 4  # non-finite losses are not in the means
    steps = [data for number, data in enumerate(itertools.islice(corpus(), 6), 1) if number not in {3, 4}]
    assert losses(rows) == pytest.approx(losses(train(other, iter(steps), steps=4)), abs=1e-4)


def test_an_infinite_gradient_is_skipped_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.nn.utils.get_total_norm", lambda *_: torch.tensor(math.inf))
    model, start = fresh(), fresh()
    rows = train(model, steps=2)
    assert [row["skipped"] for row in rows if "learning_rate" in row] == [1, 2]
    assert all(torch.equal(one, other) for one, other in zip(model.parameters(), start.parameters(), strict=True))


def test_ten_skipped_steps_in_a_row_end_training_and_the_state_is_saved() -> None:
    model, saved = fresh(), list[TrainerState]()
    bad = {2, *range(4, 14)}
    with pytest.raises(
        TrainingError,
        match=r"non-finite loss or gradient in 10 steps in a row, the last of them 13.*lower learning rate",
    ):
        train(model, poisoned(model, bad), save=saved.append)
    assert (saved[-1].step, saved[-1].skipped, saved[-1].skipped_in_a_row) == (13, 11, 10)


def test_what_was_just_saved_is_not_saved_again_when_a_signal_comes() -> None:
    saved = list[TrainerState]()

    def stopped() -> Iterator[StepData]:
        yield from itertools.islice(corpus(), 4)
        raise Interrupted(signal.SIGTERM)

    with pytest.raises(Interrupted, match="stopped at step 4; the state of step 4 is saved"):
        train(fresh(), stopped(), save=saved.append, save_every=2)
    assert [state.step for state in saved] == [2, 4]


def test_the_log_has_means_rates_and_validations() -> None:
    rows = train(fresh(dropout=0.0), steps=5, log_every=2, validate_every=3, schedule="linear", warmup=2)
    assert [row["step"] for row in rows if "loss" in row] == [2, 4, 5]
    assert [row["step"] for row in rows if "dev_loss" in row] == [3, 5]
    assert losses(rows, "learning_rate") == pytest.approx([1e-2, 1e-2 * 2 / 3, 1e-2 / 3])
    every = train(fresh(dropout=0.0), steps=5, schedule="linear", warmup=2)
    for name in ("loss", "cross_entropy", "pcc", "pcc_mismatched", "gradient_norm"):
        one = losses(every, name)
        expected = [(one[0] + one[1]) / 2, (one[2] + one[3]) / 2, one[4]]
        assert losses(rows, name) == pytest.approx(expected)
    assert losses(every)[0] == pytest.approx(losses(every, "cross_entropy")[0] - losses(every, "pcc")[0])


def test_training_continues_after_a_validation_in_inference_mode() -> None:
    """Validation may lengthen the table of positions and leaves the model in its translating mode."""
    model = fresh("qcn")
    long = collate([Window([5] * 300, (), [6] * 300)], tiny.K)

    def validate() -> Mapping[str, float]:
        with torch.inference_mode():
            model.eval()(long)
        return {"dev_loss": 1.0}

    rows = train(model, itertools.repeat(step_data(batches()[0])), validate=validate, steps=3, validate_every=1)
    assert model.training is False
    assert [row["step"] for row in rows if "loss" in row] == [1, 2, 3]


APART = {"dev_pcc": 0.42, "dev_pcc_mismatched": 0.11, "retrieval": 0.5, "retrieval_chance": 0.125}
TOGETHER = {**APART, "dev_pcc": 0.993, "dev_pcc_mismatched": 0.992, "retrieval": 0.125}


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(progress, "say", lines.append)
    return lines


def collapses(said: list[str]) -> list[str]:
    return [line for line in said if "does not tell pairs apart" in line]


@pytest.mark.parametrize(
    ("validations", "warmup", "reported"),
    [
        ([TOGETHER, TOGETHER, TOGETHER], 0, 2),  # once, not at each validation
        ([TOGETHER, TOGETHER, TOGETHER], 3, 4),  # not during warm-up
        ([APART, APART, TOGETHER], 0, 6),
        ([APART, APART, APART], 0, 0),
        ([{}, {}, {}], 0, 0),  # without a regulariser
    ],
)
def test_a_collapse_of_the_regulariser_is_reported_once(
    said: list[str], validations: list[dict[str, float]], warmup: int, reported: int
) -> None:
    saved, found = list[TrainerState](), iter(validations)
    train(
        fresh(),
        validate=lambda: {"dev_loss": 1.0, **next(found)},
        save=saved.append,
        steps=6,
        validate_every=2,
        schedule="linear",
        warmup=warmup,
    )
    assert len(collapses(said)) == bool(reported)
    assert saved[-1].collapsed == reported


SAME = {"capsule_cosine": 0.01, "capsule_overlap": 0.999, "coupling_entropy": 0.9999}


def test_capsules_that_are_one_are_reported_once_after_warm_up_and_not_again_when_resumed(said: list[str]) -> None:
    saved = list[TrainerState]()
    settings = {"validate": lambda: {"dev_loss": 1.0, **SAME}, "save": saved.append, "validate_every": 2, "warmup": 3}
    train(fresh(), steps=6, schedule="linear", **settings)
    assert saved[-1].alike == 4
    train(fresh(), steps=8, state=saved[-1], schedule="linear", **settings)
    assert [line for line in said if "capsules of a sentence" in line] == [describe_one_capsule(SAME)]
    train(fresh(), steps=2, validate=lambda: {"dev_loss": 1.0, **SAME, "capsule_overlap": 0.2}, save=saved.append)
    assert saved[-1].alike == 0


def test_a_resumed_training_does_not_repeat_the_report(said: list[str]) -> None:
    saved = list[TrainerState]()
    settings = {"validate": lambda: {"dev_loss": 1.0, **TOGETHER}, "save": saved.append, "validate_every": 2}
    train(fresh(), steps=4, **settings)
    assert saved[-1].collapsed == 2
    train(fresh(), steps=6, state=saved[-1], **settings)
    assert saved[-1].step == 6
    assert len(collapses(said)) == 1


def test_progress_shows_the_retrieval_of_the_last_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, found = list[str](), iter((TOGETHER, APART))
    advance = progress.Task.advance

    def keep(task: progress.Task, count: int = 1, status: str | None = None) -> None:
        shown.append(status or "")
        advance(task, count, status)

    monkeypatch.setattr(progress.Task, "advance", keep)
    rows = train(fresh(), validate=lambda: {"dev_loss": 1.0, **next(found)}, steps=6, validate_every=3)
    assert ["retrieval 0.12 (chance 0.12)" in status for status in shown] == [False] * 3 + [True] * 3
    assert all("PCC" in status and "(mismatched" in status for status in shown)
    assert [row["retrieval"] for row in rows if "retrieval" in row] == [0.125, 0.5]
    assert all("retrieval" not in row for row in rows if "loss" in row)


def test_the_state_is_saved_now_and_then_and_at_the_end() -> None:
    saved: list[TrainerState] = []
    train(fresh(), steps=7, save_every=3, save=saved.append)
    assert [state.step for state in saved] == [3, 6, 7]
    assert [state.logged for state in saved] == [3, 6, 8]  # rows until then; the last one is a validation
    assert saved[0].tokens == sum(data.tokens for data in itertools.islice(corpus(), 3))
    assert (saved[2].position.epoch, saved[2].position.batch) == (3, 1)


@pytest.mark.parametrize(
    ("settings", "steps"),
    [({"steps": 4}, 4), ({"epochs": 2}, 4), ({"patience": 2, "validate_every": 3}, 9), ({"epochs": 3, "steps": 5}, 5)],
)
def test_a_stage_ends_at_the_first_of_its_limits(settings: dict[str, Any], steps: int) -> None:
    """One epoch has two steps; every validation is as good as the first."""
    rows = train(fresh(), **settings)
    assert [row["step"] for row in rows if "learning_rate" in row][-1] == steps
    assert rows[-1]["step"] == steps
    assert "dev_loss" in rows[-1]


def test_a_budget_of_time_ends_a_stage() -> None:
    rows = train(fresh(), budget="1m", timer=StepTimer(clock=itertools.count(0.0, 10.0).__next__))
    assert [row["seconds"] for row in rows if "learning_rate" in row] == [10, 20, 30, 40, 50, 60]


def test_better_validations_renew_the_patience() -> None:
    values = iter([3.0, 3.1, 2.9, 2.95, 2.91, 2.9, 1.0])
    rows = train(fresh(), patience=3, validate_every=1, validate=lambda: {"dev_loss": next(values)})
    assert losses(rows, "dev_loss") == [3.0, 3.1, 2.9, 2.95, 2.91, 2.9]


def test_bleu_is_better_when_higher() -> None:
    values = iter([3.0, 4.0, 3.9, 2.0, 9.0])
    rows = train(fresh(), patience=2, validate_every=1, best_by="dev_bleu", validate=lambda: {"dev_bleu": next(values)})
    assert losses(rows, "dev_bleu") == [3.0, 4.0, 3.9, 2.0]


def test_a_non_finite_validation_is_never_the_best() -> None:
    values, saved = iter([math.nan, 3.0, math.nan, 2.0, math.inf]), list[TrainerState]()
    train(fresh(), steps=5, validate_every=1, validate=lambda: {"dev_loss": next(values)}, save=saved.append)
    assert (saved[-1].best, saved[-1].best_step, saved[-1].waiting) == (2.0, 4, 1)


def test_a_stage_without_any_sound_validation_fails() -> None:
    with pytest.raises(TrainingError, match="dev_loss was non-finite in every validation: try a lower learning rate"):
        train(fresh(), steps=2, validate_every=1, validate=lambda: {"dev_loss": math.nan})


def test_the_criterion_of_the_best_must_be_measured() -> None:
    with pytest.raises(TrainingError, match="best_by is dev_bleu, but the validation did not measure it"):
        train(fresh(), steps=1, best_by="dev_bleu")


def test_an_interruption_saves_the_last_whole_step() -> None:
    saved: list[TrainerState] = []

    def stopping() -> Iterator[StepData]:
        yield from itertools.islice(corpus(), 5)
        raise Interrupted(15)

    with pytest.raises(Interrupted, match="stopped at step 5; the state of step 5 is saved") as caught:
        train(fresh(), stopping(), save=saved.append)
    assert caught.value.exit_code == 143
    assert [state.step for state in saved] == [5]


def test_a_full_disk_ends_training_and_the_message_names_the_saved_state() -> None:
    saved: list[int] = []

    def save(state: TrainerState) -> None:
        if state.step > 4:
            raise CheckpointError("cannot be written, what was there before is intact: No space left on device")
        saved.append(state.step)

    with pytest.raises(TrainingError, match=r"No space left.*ended at step 6; the state of step 3 is saved"):
        train(fresh(), save_every=3, save=save)
    assert saved == [3]


def test_a_log_that_cannot_be_written_ends_training_with_a_saved_state() -> None:
    class Full(Rows):
        def write(self, state: TrainerState, row: Row) -> None:  # noqa: ARG002
            if state.step == 4:
                raise OSError(28, "No space left on device")

    saved: list[TrainerState] = []
    with pytest.raises(TrainingError, match="No space left on device"):
        train(fresh(), rows=Full(), save=saved.append)
    assert [state.step for state in saved] == [4]


def test_any_other_error_saves_the_last_complete_step_too() -> None:
    saved: list[TrainerState] = []

    def broken() -> Iterator[StepData]:
        yield from itertools.islice(corpus(), 2)
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        train(fresh(), broken(), save=saved.append)
    assert [state.step for state in saved] == [2]


def test_an_error_during_the_update_saves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[TrainerState] = []
    monkeypatch.setattr("torch.optim.Adam.step", lambda _: (_ for _ in ()).throw(RuntimeError("half an update")))
    with pytest.raises(RuntimeError, match="half an update"):
        train(fresh(), save=saved.append)
    assert saved == []
