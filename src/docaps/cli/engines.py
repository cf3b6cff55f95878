"""Where commands do work that can be shared out: processes of this machine, or the workers of a Ray cluster."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from docaps import progress
from docaps.errors import ConfigError

if TYPE_CHECKING:
    from docaps.corpus.processes import TaskPool

Engine = Literal["local", "ray"]
WorkersOption = Annotated[
    int | None,
    typer.Option(min=1, help="Ray: processes on the cluster, each with one core.", show_default="one for each core"),
]
GpusPerWorkerOption = Annotated[float, typer.Option(min=0, help="Ray: GPUs that a worker takes.")]


def check_engine(engine: Engine, ray: Mapping[str, object], jobs: int | None, instead: str) -> None:
    """Refuse options of the engine that is not used: None where an option was not given."""
    given = [name for name, value in ray.items() if value is not None]
    if engine == "local" and given:
        raise ConfigError(f"{' and '.join(given)}: for a Ray cluster: give --engine ray too")
    if engine == "ray" and jobs is not None:
        raise ConfigError(f"--jobs is about processes of this machine: with --engine ray, give {instead}")


@dataclass(frozen=True, slots=True)
class Workers:
    """How many workers do the work, and where."""

    engine: Engine
    address: str | None = None
    jobs: int | None = None
    """Processes of this machine; None: this process alone."""
    workers: int | None = None
    gpus: float = 0

    def check(self) -> None:
        """Refuse options of the engine that is not used."""
        ray = {"--address": self.address, "--workers": self.workers, "--gpus-per-worker": self.gpus or None}
        check_engine(self.engine, ray, self.jobs, "--workers")

    @contextmanager
    def pool(self, purpose: str) -> "Iterator[TaskPool | None]":
        """Yield workers for a purpose; None: this process is to do the work. None of them is left after the block."""
        self.check()
        if self.engine == "ray":
            from docaps.cluster import RayPool, connected

            with connected(self.address) as ray, RayPool(ray, self.workers, gpus=self.gpus) as cluster:
                places = sum(node["Alive"] for node in ray.nodes())
                progress.say(f"Ray: up to {cluster.count} workers on {places} machine{'s' if places > 1 else ''}")
                yield cluster
        elif self.jobs is not None:
            from docaps.corpus.processes import WorkerPool

            with WorkerPool(self.jobs, inline=0, purpose=purpose) as processes:
                yield processes
        else:
            yield None
