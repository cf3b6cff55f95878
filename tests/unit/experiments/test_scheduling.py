"""Cells of a grid are run in order, retried once, and blocked by what they start from."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.unit.experiments import toy_grid
from tests.unit.experiments.toy_grid import toy, work

from docaps.errors import RunError
from docaps.experiments import runner
from docaps.experiments.grid import Cell, Grid
from docaps.experiments.rows import LAYOUTS
from docaps.experiments.runner import TRIES, CellState, clear_attempts, note_attempt, read_attempts, state_of
from docaps.experiments.scheduling import describe, failures, iterate_runs, summarise

pytestmark = pytest.mark.usefixtures("small")


def test_a_row_that_fails_is_tried_once_more_and_the_others_go_on(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for row in ("qcn+reg", "san"):
        shutil.rmtree(copy / "seed-1" / row)
    tried = []

    def train(recipe: Any, *arguments: Any, stages: list[str], **options: Any) -> Any:
        tried.append(stages[0])
        if stages[0] == "qcn+reg":
            raise RunError("no luck today")
        return plain_train(recipe, *arguments, stages=stages, **options)

    plain_train = runner.train_recipe
    monkeypatch.setattr(runner, "train_recipe", train)
    grid = toy(copy)
    work(grid)
    assert tried == ["qcn+reg", "san", "qcn+reg"]
    failed = Cell(1, grid.layout.rows["qcn+reg"])
    assert state_of(grid, failed) is CellState.FAILED
    assert [entry["error"] for entry in read_attempts(grid, failed)] == ["no luck today"] * 2
    assert grid.is_done(Cell(1, grid.layout.rows["san"]))
    monkeypatch.undo()
    clear_attempts(grid)
    work(grid)
    assert all(grid.is_done(cell) for cell in grid.cells())
    assert not any(read_attempts(grid, cell) for cell in grid.cells())


def test_sentence_models_and_then_the_rows_that_take_longest_are_begun_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("qcn", "exempt", "longer", "silent")
    grid = toy(tmp_path / "grid", layout=LAYOUTS["trials"], only=names, seeds=(1, 2))
    assert grid.steps_of(Cell(1, None)) < grid.steps_of(Cell(1, grid.layout.rows["longer"]))
    begun = list[str]()
    without_corpora(monkeypatch)
    monkeypatch.setattr(runner, "train_and_measure", lambda _, cell, __: begun.append(cell.key))
    monkeypatch.setattr(Grid, "is_done", lambda _, cell: cell.key in begun)
    work(grid)
    rest = [f"seed-{seed}.{row}" for seed in (1, 2) for row in ("qcn", "silent", "exempt")]
    assert begun == ["seed-1.sentence", "seed-2.sentence", "seed-1.longer", "seed-2.longer", *rest]


def test_rows_without_their_sentence_model_are_blocked(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(copy / "seed-1")

    def train(*arguments: Any, **options: Any) -> Any:
        raise ZeroDivisionError("a fault of the program")

    monkeypatch.setattr(runner, "train_recipe", train)
    grid = toy(copy)
    work(grid)
    states = [state_of(grid, cell) for cell in grid.cells()]
    assert states == [CellState.FAILED, *[CellState.BLOCKED] * 3, *[CellState.DONE] * 4]
    assert "Traceback" in read_attempts(grid, Cell(1, None))[0]["error"]


def test_an_interrupted_run_has_not_failed(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell(1, LAYOUTS["table2"].rows["san"])
    shutil.rmtree(copy / "seed-1" / "san")

    def train(*arguments: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "train_recipe", train)
    grid = toy(copy)
    with pytest.raises(KeyboardInterrupt):
        work(grid)
    assert state_of(grid, cell) is CellState.OPEN
    assert read_attempts(grid, cell) == []


def test_a_run_that_failed_too_often_does_not_hold_up_the_grid(copy: Path) -> None:
    shutil.rmtree(copy / "seed-1" / "san")
    grid = toy(copy)
    for _ in range(TRIES):
        note_attempt(grid, Cell(1, grid.layout.rows["san"]), "ended without notice")
    work(grid)
    assert not (copy / "seed-1" / "san").exists()


def test_a_row_waits_for_the_row_that_it_starts_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = toy(tmp_path / "grid", layout=LAYOUTS["rivals"], only=("han-joint", "concat-2-to-2"), seeds=(1,))
    begun = list[str]()

    def train(_: Grid, cell: Cell, __: Any) -> None:
        begun.append(cell.name)
        if cell.name == "han-joint-first":
            raise RunError("no luck today")

    without_corpora(monkeypatch)
    monkeypatch.setattr(runner, "train_and_measure", train)
    monkeypatch.setattr(Grid, "is_done", lambda _, cell: cell.name in begun and cell.name != "han-joint-first")
    work(grid)
    assert begun == ["sentence", "concat-2-to-2", "han-joint-first", "han-joint-first"]
    states = {cell.name: state_of(grid, cell) for cell in grid.cells()}
    assert (states["han-joint-first"], states["han-joint"]) == (CellState.FAILED, CellState.BLOCKED)


def without_corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (runner, toy_grid):
        monkeypatch.setattr(module, "provide_corpora", lambda grid: dict.fromkeys(grid.seeds))


class Recorder:
    """An engine with some slots whose runs end one at a time, when they are waited for."""

    shows = True

    def __init__(self, slots: int, error: str | None = None) -> None:
        self.slots, self.error = slots, error
        self.begun: list[str] = []
        self.running: list[Cell] = []

    def begin(self, _: Grid, cell: Cell) -> None:
        self.begun.append(cell.key)
        self.running.append(cell)

    def ended(self, _: float) -> list[tuple[Cell, str | None]]:
        return [(self.running.pop(0), self.error)]


def test_as_many_runs_as_there_are_slots_and_none_before_its_sentence_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid, engine, done = toy(tmp_path / "grid"), Recorder(3), set[str]()
    monkeypatch.setattr(Grid, "is_done", lambda _, cell: cell.key in done)
    shown = []
    for running in iterate_runs(grid, engine):  # type: ignore[arg-type]
        shown.append([cell.key for cell in running])
        done.update(shown[-1][:1])  # the one that ends next
    assert shown[0] == ["seed-1.sentence", "seed-2.sentence"]  # nothing else can begin
    assert [len(keys) for keys in shown] == [2, 3, 3, 3, 3, 3, 2, 1, 0]
    assert sorted(engine.begun) == sorted(cell.key for cell in grid.cells())


@pytest.mark.parametrize("error", ["no luck", None])
def test_a_run_that_ends_without_a_result_has_failed_whatever_its_engine_says(
    tmp_path: Path, error: str | None
) -> None:
    grid, engine = toy(tmp_path / "grid", seeds=(1,)), Recorder(2, error)
    for _ in iterate_runs(grid, engine):  # type: ignore[arg-type]
        assert len(engine.begun) <= TRIES
    why = error or "ended without a result"
    blocked = {f"seed-1.{row}": "the run it starts from failed" for row in ("transformer", "qcn+reg", "san")}
    assert failures(grid) == {"seed-1.sentence": why, **blocked}


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


def test_running_cells_are_shown_with_their_steps_and_failures_are_counted(copy: Path) -> None:
    grid = toy(copy)
    san, qcn = (Cell(1, grid.layout.rows[name]) for name in ("san", "qcn+reg"))
    (copy / "seed-1" / "san" / "metrics.jsonl").write_text('{"step": 1, "loss": 3.0}\n')
    shutil.rmtree(copy / "seed-1" / "qcn+reg")
    assert describe(grid, []) == describe(grid, [qcn, san]) == ""  # nobody works on them yet
    with grid.lock(san.key), grid.lock(qcn.key):
        assert describe(grid, [qcn, san]) == "seed-1.qcn+reg 0/2, seed-1.san 1/2"
    for cell in (qcn, Cell(2, None)):
        for _ in range(TRIES):
            note_attempt(grid, cell, "no luck")
    shutil.rmtree(copy / "seed-2")
    with grid.lock(san.key):
        assert describe(grid, [san]) == "seed-1.san 1/2, 5 failed"  # three rows more wait for the sentence model
