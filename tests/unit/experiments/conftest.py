"""One finished toy grid for all tests of experiments."""

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch
from tests.unit.experiments.toy_grid import toy, work

from docaps.corpus.minidocs import generate_corpus
from docaps.experiments import minicorpus
from docaps.experiments.aggregate import aggregate_grid
from docaps.experiments.grid import write_request


@pytest.fixture(scope="package")
def small() -> Iterator[None]:
    """Generate few documents to measure on."""
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minicorpus, "generate_corpus", partial(generate_corpus, dev=3, test=4, items=6))
        yield


@pytest.fixture(scope="package")
def made(small: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished grid; tests only read it."""
    folder = tmp_path_factory.mktemp("grid") / "toy"
    grid = toy(folder)
    write_request(grid)
    work(grid)
    aggregate_grid(grid)
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the finished grid."""
    return shutil.copytree(made, tmp_path / "toy")
