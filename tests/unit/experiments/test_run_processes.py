"""Runs in processes of their own: their errors, their logs, and what happens to them when they or others end."""

import os
import shutil
import signal
import time
from multiprocessing import active_children
from pathlib import Path

import pytest
from tests.unit.experiments.toy_grid import toy

from docaps.experiments.grid import Cell, Grid
from docaps.experiments.run_processes import CellAddress, RunProcesses
from docaps.experiments.runner import note_attempt

pytestmark = pytest.mark.usefixtures("small")


def cell_of(grid: Grid, row: str) -> Cell:
    return Cell(1, grid.layout.rows[row])


def run_to_its_end(grid: Grid, *cells: Cell) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    with RunProcesses(2) as engine:
        for cell in cells:
            engine.begin(grid, cell)
        while len(found) < len(cells):
            found |= {cell.key: error for cell, error in engine.ended(1)}
    return found


def test_an_address_leads_to_the_same_cell(copy: Path, tmp_path: Path) -> None:
    grid = toy(copy)
    for cell in grid.cells():
        found, there = CellAddress.of(grid, cell).open()
        assert (there.key, found.run(there).path) == (cell.key, grid.run(cell).path.resolve())
        assert found.recipe_of(there) == grid.recipe_of(cell)
        assert found.source == grid.source


def test_a_run_is_made_by_another_process_and_the_error_of_one_is_returned(copy: Path) -> None:
    grid = toy(copy)
    missing, foreign = cell_of(grid, "san"), cell_of(grid, "qcn+reg")
    grid.run(missing).results.unlink()
    grid.run(missing).failure.write_text("of an earlier attempt", encoding="utf-8")
    shutil.rmtree(grid.run(foreign).path)
    grid.run(foreign).path.mkdir()
    (grid.run(foreign).path / "precious.txt").write_text("mine", encoding="utf-8")
    found = run_to_its_end(grid, missing, foreign)
    assert found[missing.key] is None
    assert "exists and is not a run directory" in str(found[foreign.key])
    assert grid.is_done(missing)
    assert not grid.run(missing).failure.exists()
    assert "seed-1.san: started" in (copy / "logs" / "seed-1.san.log").read_text(encoding="utf-8")


def test_a_killed_process_is_an_error_and_those_that_run_are_stopped_at_the_end(copy: Path) -> None:
    grid = toy(copy)
    killed, stopped = cell_of(grid, "san"), cell_of(grid, "qcn+reg")
    before = {*active_children()}
    with grid.lock(killed.key), grid.lock(stopped.key):  # so that both wait
        with RunProcesses(2) as engine:
            for cell in (killed, stopped):
                engine.begin(grid, cell)
            for cell in (killed, stopped):
                wait_for_text(grid.log(cell), "another process works on it: waiting")
            first, second = sorted({*active_children()} - before, key=lambda process: process.pid or 0)
            os.kill(first.pid or 0, signal.SIGKILL)
            ended = engine.ended(10)
            assert [cell.key for cell, _ in ended] == [killed.key]
            assert f"ended without notice, perhaps because memory ran out: see {grid.log(killed)}" == ended[0][1]
            note_attempt(grid, killed, str(ended[0][1]))
            assert "another process works on it" in grid.run(killed).failure.read_text(encoding="utf-8")
            assert second.is_alive()
        assert second.exitcode == 128 + signal.SIGTERM
    assert {*active_children()} == before


def wait_for_text(path: Path, text: str) -> None:
    end = time.monotonic() + 60
    while not path.exists() or text not in path.read_text(encoding="utf-8"):
        assert time.monotonic() < end
        time.sleep(0.05)
