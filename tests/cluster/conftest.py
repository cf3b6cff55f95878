"""A cluster of Ray with two simulated machines of one core each, on loopback, and a toy grid."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from docaps.corpus.minidocs import generate_corpus
from docaps.experiments import minicorpus
from docaps.experiments.grid import write_request
from tests.unit.experiments.toy_grid import toy, work

# Without the latter, workers starve beside whatever else runs on this machine.
os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
STORE = 100 * 2**20
"""Bytes of each machine's object store."""


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Start a cluster; it is a failure, not a skip, if Ray is not there."""
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": STORE}
    found = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    found.add_node(**node)
    yield found
    found.shutdown()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy grid with few documents, made in this process."""
    folder = tmp_path_factory.mktemp("grid") / "toy"
    grid = toy(folder, seeds=(1,), only=("qcn+reg", "san"))
    write_request(grid)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minicorpus, "generate_corpus", partial(generate_corpus, dev=3, test=4, items=6))
        work(grid)
    return folder


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Let this process compute with one thread, as the workers do: sums of several are rounded in another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
