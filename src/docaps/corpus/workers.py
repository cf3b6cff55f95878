"""Several processes for one piece of work: results in order, few items held at a time, and no process left behind.

However this process ends, its workers end with it: by Ctrl-C or SIGTERM, by a fault, or killed without a word.
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
from typing import TypeVar

from docaps import interruption
from docaps.errors import CorpusError

Item = TypeVar("Item")
Result = TypeVar("Result")

INLINE_ITEMS = 4
"""Fewer items than this are worked on in this process: starting others would take longer."""


def available_workers() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """Processes that start when there is enough work for them; where the `with` block fails, they stop at once."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ProcessPoolExecutor | None = None
        self._others = {*active_children()}

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, _: TracebackType | None) -> None:
        if self._pool is None:
            return
        if kind is not None:
            for process in {*active_children()} - self._others:
                process.terminate()
        self._pool.shutdown(cancel_futures=True)
        if isinstance(fault, BrokenProcessPool):
            message = "a process that cut text into words was killed, perhaps for want of memory: make room for it"
            raise CorpusError(message) from None

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Apply work to items, in order; no more than a few are held at a time."""
        rest = iter(items)
        first = list(islice(rest, INLINE_ITEMS))
        if len(first) < INLINE_ITEMS or self._count < 2:
            yield from map(work, chain(first, rest))
            return
        waiting: deque[Future[Result]] = deque()
        for item in chain(first, rest):
            waiting.append(self._submit(work, item))
            if len(waiting) > 2 * self._count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _submit(self, work: Callable[[Item], Result], item: Item) -> Future[Result]:
        """Hand an item to a process, which this may be the time to start."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._count, mp_context=get_context("spawn"), initializer=_follow_parent)
        with interruption.shielded(), _deafened():
            return self._pool.submit(work, item)


@contextlib.contextmanager
def _deafened() -> Iterator[None]:
    """Start processes that never hear Ctrl-C, which a terminal sends to all: this one tells them when to stop."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow_parent() -> None:
    """Let this process end as soon as the one that started it is gone, even if that was killed."""
    threading.Thread(target=_leave_after_parent, daemon=True).start()


def _leave_after_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
