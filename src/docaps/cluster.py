"""Ray, for work on several machines: connect to a cluster, or start one on this machine."""

import os
import pickle
import socket
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, cast

from docaps import __version__, interruption, progress
from docaps.errors import DocapsError, RunError

Task = TypeVar("Task")
Result = TypeVar("Result")
PATIENCE = 10.0
"""Seconds in which a cluster must answer."""
RESTARTS = 3
"""How often a task is repeated, and a worker started, whose machine or process died."""
HELD = 3
"""Tasks and results that are held at a time for each worker: results may wait for an earlier, slower one."""


@contextmanager
def connected(address: str | None = None) -> Iterator[Any]:
    """Yield ray, connected to a cluster: that of an address, of RAY_ADDRESS, or else one started on this machine.

    One that was started here ends with the block. A connection that exists already is used, and stays.
    """
    ray = _import_ray()
    if ray.is_initialized():
        yield ray
        return
    wanted = address or os.environ.get("RAY_ADDRESS")
    try:
        _check_reachable(wanted or "local")
        with interruption.kept():
            ray.init(address=wanted or "local", log_to_driver=False, logging_level="error")
    except (OSError, RuntimeError, ValueError) as fault:
        where = f"the cluster at {wanted}" if wanted else "Ray on this machine"
        raise DocapsError(f"cannot connect to {where}: {str(fault).splitlines()[0]}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


class RayWorker:
    """An actor: a process of the cluster, which keeps what functions load there, such as a model."""

    def introduce(self) -> tuple[str, str]:
        """Return the name of the machine and the version of docaps there."""
        return socket.gethostname(), __version__

    def call(self, work: bytes, task: Any) -> Any:
        """Do a task."""
        return call_pickled(work, task)


def call_pickled(work: bytes, task: Any) -> Any:
    """Call a pickled function; a process that is given it for many tasks unpickles it once, with what it carries."""
    return _unpickle(work)(task)


@lru_cache(maxsize=1)
def _unpickle(work: bytes) -> Callable[[Any], Any]:
    return cast("Callable[[Any], Any]", pickle.loads(work))


@dataclass(slots=True)
class _Attempt:
    """A task, its place among the results, the worker that does it, and how many workers were lost with it."""

    number: int
    task: Any
    worker: Any = None
    lost: int = 0


class _Flow:
    """The tasks of one call: those to do, those being done, and results that wait for earlier ones."""

    def __init__(self, tasks: Iterable[Any]) -> None:
        self._fresh = (_Attempt(number, task) for number, task in enumerate(tasks))
        self._due = 0
        self.waiting: deque[_Attempt] = deque()
        self.running: dict[Any, _Attempt] = {}
        self.results: dict[int, Any] = {}

    def draw(self, count: int) -> int:
        """Return how many of the next `count` tasks there are to do; they are drawn to see."""
        self.waiting.extend(islice(self._fresh, max(0, count - len(self.waiting))))
        return min(count, len(self.waiting))

    def pop_results(self) -> Iterator[Any]:
        """Yield the results that are next in order."""
        while self._due in self.results:
            self._due += 1
            yield self.results.pop(self._due - 1)


class RayPool(AbstractContextManager["RayPool"]):
    """Maps functions over workers on the machines of a cluster; results come in order, few tasks are held at a time.

    Where a worker is lost, with its machine or alone, another is started, and its task is repeated.
    """

    def __init__(self, ray: Any, workers: int | None = None, *, cpus: float = 1, gpus: float = 0) -> None:
        self._ray = ray
        found = ray.cluster_resources()
        places = found.get("GPU", 0) / gpus if gpus else found.get("CPU", 1) / (cpus or 1)
        self.count = workers or max(1, int(places))
        self._kind = ray.remote(num_cpus=cpus, num_gpus=gpus, max_restarts=0)(RayWorker)
        self._starting: dict[Any, Any] = {}
        self._free: deque[Any] = deque()
        self._failed_starts = 0
        self.machines: Counter[str] = Counter()
        """The machines that workers were started on."""

    def __exit__(self, *_: object) -> None:
        self.close([])

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the results of the tasks in order; messages name a task by its `name`, if it has one."""
        flow, shared = _Flow(tasks), None
        try:
            while flow.draw(1) or flow.running:
                shared = shared or self._ray.put(pickle.dumps(work))
                self._give_out(flow, shared)
                self._wait(flow)
                self._give_out(flow, shared)
                yield from flow.pop_results()
        finally:
            if flow.running:
                self.close(flow.running.values())

    def close(self, attempts: Iterable[_Attempt]) -> None:
        """End all workers, with what they do."""
        for worker in (*self._free, *self._starting.values(), *(attempt.worker for attempt in attempts)):
            self._ray.kill(worker)
        self._free.clear()
        self._starting.clear()

    def _give_out(self, flow: _Flow, work: Any) -> None:
        """Give a task to each free worker, unless too many results wait for earlier ones; start missing workers."""
        idle = len(self._free) + len(self._starting)
        places = self.count - len(flow.running)
        for _ in range(flow.draw(places) - idle if idle < places else 0):
            worker = self._kind.remote()
            self._starting[worker.introduce.remote()] = worker
        while self._free and len(flow.running) + len(flow.results) < HELD * self.count and flow.draw(1):
            attempt = flow.waiting.popleft()
            attempt.worker = self._free.popleft()
            flow.running[attempt.worker.call.remote(work, attempt.task)] = attempt

    def _wait(self, flow: _Flow) -> None:
        """Wait until a worker has ended a task, or is ready for the first one."""
        waiting = [*flow.running, *self._starting]
        done, _ = self._ray.wait(waiting, num_returns=1, timeout=None if flow.running else PATIENCE)
        if not done:
            progress.say("the cluster has no free place for a worker yet: waiting")
        for reference in done or self._ray.wait(waiting, num_returns=1)[0]:
            if reference in self._starting:
                self._welcome(reference)
            else:
                self._end(flow, reference)

    def _welcome(self, reference: Any) -> None:
        """Take in a worker that has started; one that is lost is replaced, unless several were lost in a row."""
        worker = self._starting.pop(reference)
        errors = self._ray.exceptions
        try:
            machine, version = self._ray.get(reference)
        except errors.RayError as fault:
            if "No module named" in str(fault):
                raise DocapsError("a machine of the cluster lacks docaps: install the same version on all") from None
            self._failed_starts += 1
            if self._failed_starts > RESTARTS:
                cause = "; ".join(line.strip() for line in str(fault).splitlines() if line.strip())
                raise DocapsError(f"{self._failed_starts} workers in a row ended as they started: {cause}") from None
            return
        self._failed_starts = 0
        if version != __version__:
            raise DocapsError(f"the machine {machine} has docaps {version}, this one {__version__}: install the same")
        self.machines[machine] += 1
        self._free.append(worker)

    def _end(self, flow: _Flow, reference: Any) -> None:
        """Keep the result of a task, or raise its error; repeat it if its worker was lost."""
        attempt, errors = flow.running.pop(reference), self._ray.exceptions
        try:
            flow.results[attempt.number] = self._ray.get(reference)
            self._free.append(attempt.worker)
        except errors.RayTaskError as fault:
            self._free.append(attempt.worker)
            raise fault.cause from (None if isinstance(fault.cause, DocapsError | OSError) else fault)
        except errors.RayError as fault:
            attempt.lost += 1
            if attempt.lost > RESTARTS:
                name = getattr(attempt.task, "name", "a task")
                message = f"{name}: {attempt.lost} workers were lost with it, perhaps because memory ran out"
                raise DocapsError(f"{message} ({type(fault).__name__})") from None
            flow.waiting.appendleft(attempt)


def check_shared(path: Path, what: str) -> None:
    """Refuse a path that this machine of a cluster does not see."""
    if not path.exists():
        machine = f"the machine {socket.gethostname()} does not see this {what}"
        raise RunError(f"{machine}: put it on storage that all machines share, under the same path", path=path)


def _check_reachable(address: str) -> None:
    """Raise OSError if nothing listens at HOST:PORT, for which Ray itself would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()


def _import_ray() -> Any:
    """Import ray; a Ray that is started here sends no usage statistics, whatever the environment says."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError:
        raise DocapsError("--engine ray needs Ray: pip install 'docaps[cluster]'") from None
    return ray
