"""How a pool gives work to a cluster: how many workers it starts, and when it gives up.

The cluster here is this process: it stands in for the few functions of Ray that the pool calls. tests/cluster has Ray.
"""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from docaps.cluster import RESTARTS, RayPool, RayWorker
from docaps.errors import DocapsError


class LostError(Exception):
    """What a cluster raises whose worker is lost."""


class ThisMachine:
    """Workers in this process, of which the first few cannot start."""

    exceptions = SimpleNamespace(RayError=LostError, RayTaskError=ZeroDivisionError)

    def __init__(self, crashes: int = 0) -> None:
        self.started, self._crashes = 0, crashes

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 8}

    def remote(self, **_: Any) -> Callable[[type[RayWorker]], Any]:
        return lambda kind: SimpleNamespace(remote=lambda: self._start(kind()))

    def _start(self, worker: RayWorker) -> Any:
        self.started += 1
        introduction: Any = LostError("x.so:\n  cannot open") if self.started <= self._crashes else worker.introduce()
        call = SimpleNamespace(remote=lambda work, task: Outcome(worker.call(work, task)))
        return SimpleNamespace(introduce=SimpleNamespace(remote=lambda: Outcome(introduction)), call=call)

    def put(self, value: Any) -> Any:
        return value

    def wait(self, waiting: Sequence[Any], **_: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        return waiting[:1], waiting[1:]

    def get(self, outcome: "Outcome") -> Any:
        if isinstance(outcome.value, Exception):
            raise outcome.value
        return outcome.value

    def kill(self, _: Any) -> None:
        """Workers of this process end by themselves."""


class Outcome:
    """What a call will have returned."""

    def __init__(self, value: Any) -> None:
        self.value = value


def double(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize(("tasks", "workers"), [(0, 0), (1, 1), (3, 3), (50, 8)])
def test_no_more_workers_are_started_than_there_are_tasks(tasks: int, workers: int) -> None:
    machine = ThisMachine()
    with RayPool(machine) as pool:
        assert list(pool.map(double, range(tasks))) == [2 * number for number in range(tasks)]
    assert machine.started == workers


def test_workers_that_cannot_start_are_replaced_a_few_times_and_then_the_cause_is_said() -> None:
    late = ThisMachine(crashes=RESTARTS)
    with RayPool(late, 2) as pool:
        assert list(pool.map(double, range(5))) == [0, 2, 4, 6, 8]
    never = ThisMachine(crashes=1000)
    refused = pytest.raises(DocapsError, match=r"4 workers in a row ended as they started: x\.so:; cannot open")
    with refused, RayPool(never, 2) as pool:
        list(pool.map(double, range(5)))
    assert never.started < 10
