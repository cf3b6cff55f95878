"""Estimates of time, disk and steps within a budget."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.unit.experiments.toy_grid import toy

from docaps.experiments import estimate
from docaps.experiments.grid import Cell, Grid
from docaps.experiments.rows import LAYOUTS

pytestmark = pytest.mark.usefixtures("small")


def test_a_budget_counts_the_steps_of_rows_that_take_more(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "seconds_per_step", lambda *_: 1.0)
    monkeypatch.setattr(estimate, "count_held_out", lambda _: {})
    usual = toy(copy, layout=LAYOUTS["trials"], seeds=(1,), only=("qcn",))
    assert estimate.steps_within(usual, usual.store(), 100.0, 1) == 50
    longer = replace(usual, only=("longer",))
    assert estimate.steps_within(longer, longer.store(), 100.0, 1) == 20


def test_time_and_disk_are_added_up_for_several_seeds_and_workers() -> None:
    row = LAYOUTS["table2"].rows["qcn"]
    costs = [
        *(estimate.Cost(Cell(seed, None), 1.0, 100.0, 1000, 8000) for seed in (1, 2)),
        *(estimate.Cost(Cell(seed, row), 1.0, seconds, 1000, 9000) for seed in (1, 2) for seconds in (10.0, 30.0)),
    ]
    assert estimate.seconds_in_all(costs, 1) == 2 * 100 + 2 * (10 + 30)
    assert estimate.seconds_in_all(costs, 2) == 100 + (10 + 30)
    assert estimate.seconds_in_all(costs, 9) == 100 + 30  # no worker is faster than the longest run
    assert estimate.disk_in_all(costs, 1) == 6 * 1000 + 9000
    assert estimate.disk_in_all(costs, 2) == 6 * 1000 + 2 * 9000


def test_several_workers_share_the_threads() -> None:
    torch.set_num_threads(4)
    try:
        with estimate.threads_of(2):
            assert torch.get_num_threads() == 2
        assert torch.get_num_threads() == 4
    finally:
        torch.set_num_threads(1)


def test_steps_already_taken_are_not_estimated(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = toy(copy)
    cell = Cell(1, grid.rows[0])
    monkeypatch.setattr(estimate, "seconds_per_step", lambda *_: 3.0)
    (done,) = estimate.estimate(grid, grid.store(), [cell])
    grid.run(cell).metrics.write_text('{"step": 1}\n')
    (begun,) = estimate.estimate(grid, grid.store(), [cell])
    grid.run(cell).metrics.unlink()
    (fresh,) = estimate.estimate(grid, grid.store(), [cell])
    assert [fresh.seconds - one.seconds for one in (fresh, begun, done)] == pytest.approx([0.0, 3.0, 6.0])


def test_only_scoring_is_estimated_for_a_measured_row(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "seconds_per_step", lambda *_: 1.0)
    monkeypatch.setattr(estimate, "count_held_out", lambda _: {"dev": 100, "test": 1000})
    monkeypatch.setattr(estimate, "SENTENCE_IN_STEPS", 0.5)
    monkeypatch.setattr(estimate, "SCORED_IN_STEPS", 0.25)
    table, trials = toy(copy), toy(copy, layout=LAYOUTS["trials"])

    def seconds(grid: Grid, row: str) -> float:
        (cost,) = estimate.estimate(grid, grid.store(), [Cell(1, grid.layout.rows[row])])
        return cost.seconds

    assert seconds(trials, "qcn+reg") == 25
    assert seconds(table, "qcn+reg") == 0
    assert seconds(trials, "mean") == 2 + 50 + 25  # never translated in the test part
    assert seconds(trials, "qcn") == 2 + 550 + 25
    assert seconds(table, "qcn") == 2 + 550
