"""Workers: batches are translated side by side, each by one thread.

All threads on one batch wait for each other after every operation, some hundred times for each word, and all but one
wait while Python says what comes next. Torch lets go of Python's lock while it computes, so threads that have a batch
each hardly meet.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def work_side_by_side(
    work: Callable[[Item], Result], items: Sequence[Item], workers: int | None = None
) -> Iterator[Result]:
    """Do the same to all items and return what comes of it, in order; by default all threads of torch take part."""
    threads = torch.get_num_threads()
    workers = min(threads if workers is None else workers, len(items))
    if workers <= 1:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(max(1, threads // workers),))
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # threads that begin later would take over the workers' number
