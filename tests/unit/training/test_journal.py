"""The journal writes rows to the log and to TensorBoard, and forgets what belongs to steps that are done again."""

import json
from pathlib import Path

import pytest

from docaps.runs.directory import Run, read_metrics
from docaps.training import journal
from docaps.training.journal import Speedometer, describe, open_journal
from docaps.training.state import Standing


def test_rows_behind_the_standing_are_forgotten(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with open_journal(run, Standing()) as first:
        first.write(Standing(step=1, seconds=1.5), {"loss": 3.0})
        kept = first.size
        first.write(Standing(step=2, seconds=2.5), {"loss": 2.0})
    with open_journal(run, Standing(step=1, logged=kept)) as second:
        second.write(Standing(step=2, seconds=2.0), {"loss": 1.0})
    assert list(read_metrics(run.metrics)) == [
        {"step": 1, "loss": 3.0, "seconds": 1.5},
        {"step": 2, "loss": 1.0, "seconds": 2.0},
    ]
    assert all(json.loads(line) for line in run.metrics.read_text().splitlines())


def test_tensorboard_gets_the_same_numbers(tmp_path: Path) -> None:
    loading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with open_journal(Run(tmp_path), Standing()) as opened:
        for step in (1, 2):
            opened.write(Standing(step=step), {"loss": 3.0 - step, "pcc": 0.5})
    found = loading.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in found.Scalars("loss")] == [(1, 2.0), (2, 1.0)]
    assert sorted(found.Tags()["scalars"]) == ["loss", "pcc"]


def test_without_tensorboard_nothing_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_board", lambda *_: None)
    with open_journal(Run(tmp_path), Standing()) as opened:
        opened.write(Standing(step=1), {"loss": 3.0})
    assert not (tmp_path / "tensorboard").exists()


def test_a_row_in_words() -> None:
    row = {"loss": 2.34567, "pcc": 0.5, "tokens_per_second": 1234.5, "share_of_peak": 0.456}
    standing = Standing(step=300, best=2.5, best_step=200, skipped=3)
    assert describe(row, standing, "dev_loss") == (
        "loss 2.346, PCC 0.50, 1,234 tokens/s (46% of peak), best dev loss 2.500 at 200, 3 steps skipped"
    )
    assert describe({"tokens_per_second": 10.0}, Standing(step=1), "dev_loss") == "10 tokens/s"


def test_the_share_of_the_peak_is_operations_over_operations() -> None:
    assert Speedometer(operations_per_token=1e6, peak=1e10).share_of_peak(2000.0) == pytest.approx(0.2)
    assert Speedometer().share_of_peak(2000.0) is None
