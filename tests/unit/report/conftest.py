"""A grid of fake runs that tests of the report share; tests only read it."""

from pathlib import Path

import pytest
from tests.unit.report.fake_grids import write_grid

from docaps.report import read_results
from docaps.runs.grid_results import Grid, read_grids, runs_of
from docaps.runs.results import RunResults


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_grid(tmp_path_factory.mktemp("grid"))


@pytest.fixture(scope="session")
def grids(folder: Path) -> list[Grid]:
    return read_grids(folder)


@pytest.fixture(scope="session")
def results(folder: Path, grids: list[Grid]) -> list[RunResults]:
    return [read_results(run) for run in runs_of(folder, grids)]
