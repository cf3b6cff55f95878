"""A process pool with results in order, bounded memory, and no process left behind.

The workers end with this process, however it ends: by Ctrl-C or SIGTERM, by an exception, or by SIGKILL. If one of them
is killed, all are replaced, and what was under way is repeated.
"""

import contextlib
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing import active_children, get_context, parent_process
from typing import Any, Protocol, TypeVar, runtime_checkable

from docaps import interruption
from docaps.cluster import RESTARTS, call_pickled
from docaps.errors import DocapsError

Task = TypeVar("Task")
Result = TypeVar("Result")
_Submitted = tuple[Any, Future[Any]]
"""A task and its future result."""

INLINE_TASKS = 4
"""Fewer tasks than this run in this process: starting workers would take longer."""


def available_workers() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@runtime_checkable
class TaskPool(Protocol):
    """Something that maps a function over tasks: processes of this machine, or a cluster."""

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the results of the tasks in order; only a few are held at a time.

        A worker unpickles the function once, so it may carry large tables.
        """


class WorkerPool:
    """Worker processes, started once there is enough work; if the `with` block fails, they are terminated.

    Fewer tasks than `inline` run in this process, and so do all if there is to be one worker only.
    """

    def __init__(self, count: int, *, inline: int = INLINE_TASKS, purpose: str = "tokenised text") -> None:
        self._count, self._inline, self._purpose = count, inline, purpose
        self._pool: ProcessPoolExecutor | None = None
        self._others = {*active_children()}

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._pool is None:
            return
        if kind is not None:
            self._terminate()
        self._pool.shutdown(cancel_futures=True)

    def _terminate(self) -> None:
        """Terminate all workers."""
        for process in {*active_children()} - self._others:
            process.terminate()

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the results of the tasks in order; only a few are held at a time."""
        rest = iter(tasks)
        first = list(islice(rest, self._inline))
        if self._inline and (len(first) < self._inline or self._count < 2):
            yield from map(work, chain(first, rest))
            return
        pending: deque[_Submitted] = deque()
        pickled = pickle.dumps(work)
        for task in chain(first, rest):
            pending.append((task, self._submit(pickled, task)))
            if len(pending) > 2 * self._count:
                yield self._next_result(pickled, pending)
        while pending:
            yield self._next_result(pickled, pending)

    def _submit(self, work: bytes, task: Any) -> Future[Any]:
        """Give a task to the processes, which are started for the first one."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._count, mp_context=get_context("spawn"), initializer=_follow_parent)
        try:
            with interruption.shielded(), _sigint_blocked():
                return self._pool.submit(call_pickled, work, task)
        except (BrokenProcessPool, BrokenPipeError) as fault:  # the latter: a process was killed while it started
            lost: Future[Any] = Future()
            lost.set_exception(BrokenProcessPool(str(fault)))
            return lost

    def _next_result(self, work: bytes, pending: deque[_Submitted]) -> Any:
        """Return the result of the first task; where a process was lost, repeat what was lost with it."""
        for _ in range(RESTARTS + 1):
            try:
                result = pending[0][1].result()
            except BrokenProcessPool:
                if self._pool is not None:
                    self._terminate()  # else one that was being started when another died would be waited for, for ever
                    self._pool.shutdown()
                self._pool = None
                for number, (task, future) in enumerate(pending):
                    if isinstance(future.exception(), BrokenProcessPool):
                        pending[number] = task, self._submit(work, task)
            else:
                pending.popleft()
                return result
        reason = "perhaps because memory ran out: free some memory"
        raise DocapsError(f"processes that {self._purpose} were killed {RESTARTS + 1} times, {reason}")


@contextlib.contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Block SIGINT in processes started here: a terminal sends it to all, but the parent stops its workers itself."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow_parent() -> None:
    """Make this worker exit as soon as its parent is gone, even if that was killed."""

    def wait_and_exit() -> None:
        if (parent := parent_process()) is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait_and_exit, daemon=True).start()
