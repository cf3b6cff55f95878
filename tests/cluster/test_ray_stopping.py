"""Ctrl-C at a command that works on Ray: it ends with code 130 and leaves no process and nothing half-written."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from docaps.experiments.grid import Cell
from tests.cluster.test_ray_pool import workers, write_corpus
from tests.cluster.test_ray_runs import waits
from tests.cluster.test_ray_translate import begin, wait_until
from tests.processes import wait_until_unmarked
from tests.unit.experiments.toy_grid import toy


def stop(process: "subprocess.Popen[str]", mark: str, running: Callable[[], object]) -> str:
    """Send Ctrl-C to a command once it has work under way; return what it printed."""
    try:
        wait_until(running, process)
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130
        wait_until_unmarked(mark)
    finally:
        process.kill()
        _, err = process.communicate()
    assert "Traceback" not in err
    return err


@pytest.mark.stress
def test_a_stopped_grid_leaves_nothing_running(made: Path, tmp_path: Path) -> None:
    mark, grid = f"{tmp_path.name}-{os.getpid()}", toy(tmp_path / "toy", seeds=(1,))
    shutil.copytree(made, grid.directory)
    cell = Cell(1, grid.layout.rows["san"])
    shutil.rmtree(grid.run(cell).path)
    grid.log(cell).unlink(missing_ok=True)
    with grid.lock(cell.key):  # so that it waits
        process = begin(mark, "experiment", "table2", "--dir", grid.directory, "--only", "san", "--engine", "ray")
        stop(process, mark, lambda: waits(grid.log(cell)))
    assert not grid.is_running(cell)
    assert not grid.attempts(cell).exists()


@pytest.mark.stress
def test_a_stopped_preparation_leaves_nothing_running_and_no_store(tmp_path: Path) -> None:
    mark = f"{tmp_path.name}-{os.getpid()}"
    pairs = write_corpus(tmp_path, 100_000)
    parts = [word for name, pair in pairs.items() for word in (f"--{name}", *pair)]
    before = {path.name for path in tmp_path.iterdir()}
    stop(begin(mark, "prepare", *parts, "--out", tmp_path / "out", "--engine", "ray"), mark, workers)
    assert {path.name for path in tmp_path.iterdir()} == before
