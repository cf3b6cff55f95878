"""Grids on Ray: the same results as on one machine, errors returned, nothing left running."""

import json
import os
import re
import shutil
import threading
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from docaps.corpus.minidocs import generate_corpus
from docaps.errors import RunError
from docaps.experiments import minicorpus, ray_runs
from docaps.experiments.grid import Cell, write_request
from docaps.experiments.ray_runs import RayRuns
from docaps.experiments.run_processes import CellAddress, run_elsewhere
from docaps.experiments.scheduling import run_grid
from tests.cli.calling import docaps, succeed
from tests.cluster.conftest import STORE
from tests.unit.experiments.toy_grid import read, toy, work


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "toy")


def scores(folder: Path) -> dict[str, Any]:
    return {
        str(path.relative_to(folder)): {part: one["scores"] for part, one in read(path)["parts"].items()}
        for path in sorted(folder.rglob("results.json"))
    }


@pytest.mark.stress
def test_runs_on_ray_have_the_results_of_one_machine_and_errors_come_back(made: Path, copy: Path, cluster: Any) -> None:
    grid = toy(copy, seeds=(1,))
    again, foreign = (Cell(1, grid.layout.rows[name]) for name in ("san", "qcn+reg"))
    for cell in (again, foreign):
        shutil.rmtree(grid.run(cell).path)
    grid.run(foreign).path.mkdir()
    (grid.run(foreign).path / "precious.txt").write_text("mine", encoding="utf-8")
    ended: dict[str, str | None] = {}
    with RayRuns(cluster.address) as engine:
        for cell in (again, foreign):
            engine.begin(grid, cell)
        while len(ended) < 2:
            ended |= {cell.key: error for cell, error in engine.ended(1)}
    assert ended[again.key] is None
    log = copy / "logs" / "seed-1.qcn+reg.log"
    assert re.match(
        rf"on the machine \S+, output in {re.escape(str(log))}: .*: exists and is not", str(ended[foreign.key])
    )
    expected = scores(made)
    del expected["seed-1/qcn+reg/results.json"]
    assert scores(copy) == expected
    assert "seed-1.san: started" in (copy / "logs" / "seed-1.san.log").read_text(encoding="utf-8")


@pytest.mark.stress
def test_the_command_has_the_results_of_one_machine(made: Path, copy: Path, cluster: Any) -> None:
    rows = ("qcn+reg", "san")
    shutil.rmtree(copy / "seed-1" / "san")
    (copy / "seed-1" / "qcn+reg" / "results.json").unlink()
    words = ["experiment", "table2", "--dir", copy, *(word for row in rows for word in ("--only", row)), "--json"]
    result = succeed(*words, "--engine", "ray", "--address", cluster.address)
    assert scores(copy) == scores(made)
    assert [row["row"] for row in json.loads(result.out)["rows"]] == [*rows]
    assert all("started" in (copy / "logs" / f"seed-1.{row}.log").read_text(encoding="utf-8") for row in rows)


@pytest.mark.stress
def test_each_run_has_a_process_of_its_own(copy: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = toy(copy, seeds=(1,))
    cells = [Cell(1, grid.layout.rows[name]) for name in ("san", "qcn+reg")]
    monkeypatch.setattr(ray_runs, "run_elsewhere", note_process)
    with RayRuns(cluster.address) as engine:
        for cell in cells:
            engine.begin(grid, cell)
            while not engine.ended(1):
                pass
    assert len({grid.log(cell).read_text(encoding="utf-8") for cell in cells}) == 2


def note_process(_: CellAddress, log: Path, __: int) -> None:
    log.parent.mkdir(exist_ok=True)
    log.write_text(str(os.getpid()), encoding="utf-8")


@pytest.mark.stress
def test_leaving_the_engine_cancels_what_runs(copy: Path, cluster: Any) -> None:
    grid = toy(copy, seeds=(1,))
    cell = Cell(1, grid.layout.rows["san"])
    log = copy / "logs" / "seed-1.san.log"
    log.unlink(missing_ok=True)
    with grid.lock(cell.key):  # so that it waits
        with RayRuns(cluster.address) as engine:
            engine.begin(grid, cell)
            wait_until(lambda: waits(log))
            began = time.monotonic()
        assert time.monotonic() - began < 30
    assert not grid.is_running(cell)


def waits(log: Path) -> bool:
    """Return whether a run has started and waits for a lock."""
    return log.exists() and "waiting" in log.read_text(encoding="utf-8")


def wait_until(condition: Any) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_without_a_cluster_the_address_is_named(tmp_path: Path) -> None:
    words = ["experiment", "table2", "--dir", tmp_path / "grid", "--engine", "ray", "--address", "127.0.0.1:1"]
    result = docaps(*words)
    assert (result.code, result.out) == (1, "")
    assert "cannot connect to the cluster at 127.0.0.1:1" in result.err
    assert not (tmp_path / "grid" / "seed-1").exists()


def test_a_machine_that_does_not_see_the_folder_is_named(made: Path, tmp_path: Path) -> None:
    address = CellAddress(str(tmp_path / "grid"), "table2", 1, "san", None)
    with pytest.raises(RunError, match=r"grid: the machine \S+ does not see this folder: put it on storage"):
        run_elsewhere(address, tmp_path / "grid" / "logs" / "x.log", 1)
    assert not (tmp_path / "grid").exists()


@pytest.mark.stress
@pytest.mark.usefixtures("one_thread")
def test_a_grid_whose_machine_dies_is_finished_with_the_same_results(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A third machine is removed while each trains a run; Ray gives its run to another one, which resumes it."""
    monkeypatch.setattr(minicorpus, "generate_corpus", partial(generate_corpus, dev=3, test=4, items=6))
    rows = ("transformer", "qcn+reg", "san")
    recipe = toy(tmp_path).recipe.model_copy(update={"stage": longer(toy(tmp_path).recipe, 150)})
    alone, grid = (toy(tmp_path / name, seeds=(1,), only=rows, recipe=recipe) for name in ("alone", "together"))
    for one in (alone, grid):
        write_request(one)
    work(alone)
    lost = cluster.add_node(num_cpus=1, object_store_memory=STORE)
    cells = [Cell(1, row) for row in grid.rows]
    with RayRuns(cluster.address) as engine:
        driver = threading.Thread(target=run_grid, args=(grid, engine))
        with ExitStack() as held:  # so that all train at the same time
            for cell in cells:
                held.enter_context(grid.lock(cell.key))
            driver.start()
            wait_until(lambda: all(waits(grid.directory / "logs" / f"{cell.key}.log") for cell in cells))
        wait_until(lambda: all(grid.run(cell).state.exists() for cell in cells))
        cluster.remove_node(lost, allow_graceful=False)
        driver.join(400)
        assert not driver.is_alive()
    assert scores(grid.directory) == scores(alone.directory)
    assert not list((grid.directory / "attempts").glob("*"))
    histories = [[entry["event"] for entry in grid.run(cell).read()["history"]] for cell in cells]
    assert ["started", "ended without notice", "continued", "finished"] in histories


def longer(recipe: Any, steps: int) -> Any:
    """Return the stages of a recipe with so many steps, saved often."""
    return {
        name: stage.model_copy(update={"steps": steps, "save_every": 10, "validate_every": steps})
        for name, stage in recipe.stage.items()
    }
