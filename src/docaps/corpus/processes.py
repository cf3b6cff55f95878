"""A process pool with results in order, bounded memory, and no process left behind.

The workers end with this process, however it ends: by Ctrl-C or SIGTERM, by an exception, or by SIGKILL.
"""

import contextlib
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing import active_children, get_context, parent_process
from types import TracebackType
from typing import Protocol, TypeVar, runtime_checkable

from docaps import interruption
from docaps.errors import CorpusError

Task = TypeVar("Task")
Result = TypeVar("Result")

INLINE_TASKS = 4
"""Fewer tasks than this run in this process: starting workers would take longer."""


def available_workers() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@runtime_checkable
class TaskPool(Protocol):
    """Something that maps a function over tasks: processes of this machine, or a cluster."""

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the results of the tasks in order; only a few are held at a time."""


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

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, _: TracebackType | None) -> None:
        if self._pool is None:
            return
        if kind is not None:
            for process in {*active_children()} - self._others:
                process.terminate()
        self._pool.shutdown(cancel_futures=True)
        if isinstance(fault, BrokenProcessPool):
            message = f"a process that {self._purpose} was killed, perhaps because memory ran out: free some memory"
            raise CorpusError(message) from None

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the results of the tasks in order; only a few are held at a time."""
        rest = iter(tasks)
        first = list(islice(rest, self._inline))
        if self._inline and (len(first) < self._inline or self._count < 2):
            yield from map(work, chain(first, rest))
            return
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._count, mp_context=get_context("spawn"), initializer=_follow_parent)
        pending: deque[Future[Result]] = deque()
        for task in chain(first, rest):
            with interruption.shielded(), _sigint_blocked():
                pending.append(self._pool.submit(work, task))
            if len(pending) > 2 * self._count:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


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
