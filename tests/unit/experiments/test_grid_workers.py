"""Worker processes: how many, when they are replaced, what is shown."""

import json
import shutil
from pathlib import Path

import pytest
from tests.unit.experiments.toy_grid import toy

from docaps.experiments import grid_workers
from docaps.experiments.grid import (
    Cell,
    Grid,
)
from docaps.experiments.grid_workers import GridWorkers, describe, run_grid, summarise
from docaps.experiments.runner import TRIES, CellState, read_attempts, state_of

pytestmark = pytest.mark.usefixtures("small")


def test_sentence_models_come_first_and_no_worker_waits_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    employed = []
    monkeypatch.setattr(
        grid_workers, "_run_workers", lambda grid, jobs, shown: employed.append((len(grid.rows), jobs, len(shown)))
    )
    run_grid(toy(tmp_path / "grid"), jobs=4)
    assert employed == [(0, 2, 8), (3, 4, 8)]


def test_a_sentence_model_that_is_there_takes_no_worker(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(copy / "seed-2")
    employed = []
    monkeypatch.setattr(grid_workers, "_run_workers", lambda grid, jobs, _: employed.append((len(grid.rows), jobs)))
    run_grid(toy(copy), jobs=4)
    assert employed == [(0, 1), (3, 4)]


class Mortal:
    """A worker that begins something, if there is anything, and dies."""

    def __init__(self, grid: Grid, *, begins: bool) -> None:
        free = [cell for cell in grid.cells() if state_of(grid, cell).waits]
        if begins:
            entries = [*read_attempts(grid, free[0]), {"at": "", "error": "ended without notice"}]
            grid.attempts(free[0]).parent.mkdir(exist_ok=True)
            grid.attempts(free[0]).write_text(json.dumps(entries), encoding="utf-8")

    def poll(self) -> int:
        return -9


@pytest.mark.parametrize("begins", [True, False])
def test_workers_that_die_are_replaced_while_they_get_something_done(
    copy: Path, monkeypatch: pytest.MonkeyPatch, begins: bool
) -> None:
    grid = toy(copy, seeds=(1,), only=("zhang", "qcn", "concat", "capsnet"))
    pool = GridWorkers(grid, 1)
    monkeypatch.setattr(pool, "_start", lambda _: Mortal(grid, begins=begins))
    pool.start_worker()
    while pool.check():
        assert pool.started < 50
    states = {state_of(grid, cell) for cell in grid.cells() if cell.row}
    assert states == {CellState.FAILED if begins else CellState.OPEN}
    assert pool.started == (4 * TRIES if begins else 1 + TRIES + 1)


def test_the_summary_counts_finished_runs_and_lists_the_others_with_their_steps(copy: Path) -> None:
    grid = toy(copy)
    cells = list(grid.cells())
    assert summarise(grid, cells) == "8 of 8 runs are finished"
    (copy / "seed-1" / "san" / "results.json").unlink()  # trained, not measured
    (copy / "seed-2" / "qcn+reg" / "run.json").unlink()
    (copy / "seed-2" / "qcn+reg" / "metrics.jsonl").write_text('{"step": 999, "loss": 3.0}\n{"step": 1200, "dev": 2}\n')
    shutil.rmtree(copy / "seed-2" / "san")
    left = "seed-1.san (at step 2), seed-2.qcn+reg (at step 1,200), seed-2.san"
    assert summarise(grid, cells) == f"5 of 8 runs are finished; left: {left}"
    assert summarise(grid, cells[-2:]) == "0 of 2 runs are finished; left: seed-2.qcn+reg (at step 1,200), seed-2.san"
    long = '{"step": 1300, "noise": "' + "x" * 5000 + '"}\n{"step": 1400, "loss": 1.0}\n'
    (copy / "seed-2" / "qcn+reg" / "metrics.jsonl").write_text(long)
    assert "seed-2.qcn+reg (at step 1,400)" in summarise(grid, cells)


def test_running_cells_are_shown_with_their_steps_and_failures_are_counted(copy: Path) -> None:
    grid = toy(copy)
    cells = list(grid.cells())
    assert describe(grid, cells) == ""
    (copy / "seed-1" / "san" / "metrics.jsonl").write_text('{"step": 1, "loss": 3.0}\n')
    (copy / "seed-1" / "san" / "results.json").unlink()
    shutil.rmtree(copy / "seed-1" / "qcn+reg")
    assert describe(grid, cells) == ""  # no process holds their locks
    with grid.locks.hold("seed-1.san"), grid.locks.hold("seed-1.qcn+reg"):
        assert describe(grid, cells) == "seed-1.qcn+reg 0/2, seed-1.san 1/2"
    give_up(grid, Cell(1, grid.layout.rows["qcn+reg"]))
    assert describe(grid, cells) == "1 failed"
    shutil.rmtree(copy / "seed-2")
    give_up(grid, Cell(2, None))
    with grid.locks.hold("seed-1.san"):
        assert describe(grid, cells) == "seed-1.san 1/2, 5 failed"  # three rows more wait for the sentence model


def give_up(grid: Grid, cell: Cell) -> None:
    """Write down that a cell was tried as often as it may be."""
    path = grid.attempts(cell)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps([{"at": "", "error": "no luck"}] * TRIES), encoding="utf-8")
