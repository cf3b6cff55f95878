"""The journal writes rows to the log and to TensorBoard, and drops rows of steps that are repeated."""

import json
import os
from pathlib import Path

import pytest

from docaps.runs.directory import Run
from docaps.runs.training_log import read_metrics
from docaps.training import journal
from docaps.training.journal import StepTimer, describe_collapse, open_journal, progress_line
from docaps.training.state import TrainerState


def test_rows_after_the_saved_state_are_dropped(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with open_journal(run, TrainerState()) as first:
        first.write(TrainerState(step=1, seconds=1.5), {"loss": 3.0})
        kept = first.sync()
        first.write(TrainerState(step=2, seconds=2.5), {"loss": 2.0})
    with open_journal(run, TrainerState(step=1, logged=kept)) as second:
        second.write(TrainerState(step=2, seconds=2.0), {"loss": 1.0})
    assert list(read_metrics(run.metrics)) == [
        {"step": 1, "loss": 3.0, "seconds": 1.5},
        {"step": 2, "loss": 1.0, "seconds": 2.0},
    ]
    assert all(json.loads(line) for line in run.metrics.read_text().splitlines())


def test_tensorboard_gets_the_same_numbers(tmp_path: Path) -> None:
    loading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with open_journal(Run(tmp_path), TrainerState()) as opened:
        for step in (1, 2):
            opened.write(TrainerState(step=step), {"loss": 3.0 - step, "pcc": 0.5})
        opened.write(TrainerState(step=2), {"dev_loss": 2.5, "retrieval": 0.25, "retrieval_chance": 0.125})
    found = loading.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in found.Scalars("loss")] == [(1, 2.0), (2, 1.0)]
    assert [(event.step, event.value) for event in found.Scalars("retrieval")] == [(2, 0.25)]
    assert sorted(found.Tags()["scalars"]) == ["dev_loss", "loss", "pcc", "retrieval", "retrieval_chance"]


def test_without_tensorboard_nothing_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_tensorboard_writer", lambda *_: None)
    with open_journal(Run(tmp_path), TrainerState()) as opened:
        opened.write(TrainerState(step=1), {"loss": 3.0})
    assert not (tmp_path / "tensorboard").exists()


def test_a_row_in_words() -> None:
    correlations = {"pcc": 0.994, "pcc_mismatched": 0.987}
    row = {"loss": 1.73, "cross_entropy": 2.72, **correlations, "tokens_per_second": 1234.5, "share_of_peak": 0.456}
    state = TrainerState(step=300, best=2.5, best_step=200, skipped=3)
    assert progress_line(row, state, "dev_loss") == (
        "loss 1.73, ppl 15.2, PCC 0.99 (mismatched 0.99), 1,234 tokens/s (46% of peak), best dev loss 2.500 at 200, "
        "3 steps skipped"
    )
    told = progress_line(row | {"retrieval": 0.406, "retrieval_chance": 1 / 64}, state, "dev_loss")
    assert "PCC 0.99 (mismatched 0.99), retrieval 0.41 (chance 0.02), 1,234 tokens/s" in told
    del row["pcc_mismatched"]  # batches of a single pair
    assert ", PCC 0.99, " in progress_line(row, state, "dev_loss")
    assert progress_line({"tokens_per_second": 10.0}, TrainerState(step=1), "dev_loss") == "10 tokens/s"


def test_a_collapse_in_words() -> None:
    correlations = {"dev_pcc": 0.9936, "dev_pcc_mismatched": 0.9921}
    told = describe_collapse({**correlations, "retrieval": 0.03125, "retrieval_chance": 1 / 64})
    assert "PCC 0.994 of matched and 0.992 of mismatched development pairs" in told
    assert "retrieval 0.031 (chance 0.016)" in told
    assert "regulariser.negatives and regulariser.centre" in told


@pytest.mark.parametrize(
    ("cross_entropy", "shown"), [(0.0, "1.00"), (2.0, "7.39"), (6.5, "665.1"), (9.0, "8,103"), (1000.0, "1e+304")]
)
def test_perplexity_has_about_three_digits(cross_entropy: float, shown: str) -> None:
    row = {"loss": cross_entropy, "cross_entropy": cross_entropy, "tokens_per_second": 1.0}
    assert f", ppl {shown}, " in progress_line(row, TrainerState(), "dev_loss")


def test_the_share_of_the_peak_is_operations_over_operations() -> None:
    assert StepTimer(operations_per_token=1e6, peak=1e10).share_of_peak(2000.0) == pytest.approx(0.2)
    assert StepTimer().share_of_peak(2000.0) is None


def test_the_log_is_on_the_disk_before_a_state_counts_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, synced = Run(tmp_path), []
    monkeypatch.setattr("os.fsync", lambda handle: synced.append(os.fstat(handle).st_size))
    with open_journal(run, TrainerState()) as opened:
        opened.write(TrainerState(step=1), {"loss": 1.0})
        assert opened.sync() == run.metrics.stat().st_size > 0
    assert synced == [run.metrics.stat().st_size]
