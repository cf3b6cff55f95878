"""Batcher: forms batches of sentences of like length over all queued requests, fairly.

Batches are as full and even as those of `docaps translate`, although each request brings few sentences. A request that
has had a few sentences translated goes to the back of the queue, so none waits for a giant; and the first request of
the queue is passed over for a better batch only once.
"""

import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from docaps.web.request_queue import QueuedRequest

SHARE = 8
"""Sentences of a request that are taken before it goes to the back."""
POOL = 1000
"""Sentences among which those of like length are chosen."""
PATIENCE = 1
"""How often the first request may be passed over for a better batch."""
STEP = 12
"""The fixed cost of a decoding step, in sentences."""

RequestBatch = dict[QueuedRequest, list[int]]
"""The numbers of the sentences taken from each request."""


def choose(requests: Sequence[QueuedRequest], share: int = SHARE, workers: int = 1) -> RequestBatch:
    """Choose a batch of like lengths that makes good use of its steps, with the first request's next sentence in it.

    That sentence may be passed over PATIENCE times. Where little is queued, each worker leaves the others their part.
    """
    head = requests[0]
    compatible = [request for request in requests if request.settings == head.settings]
    if head.granularity == "document":
        return _take_documents(compatible)
    candidates = list(islice(_round_robin(compatible, share), POOL))
    lengths = [request.length(number) for request, number in candidates]
    room = min(head.settings.room, math.ceil(sum(lengths) / workers))
    order = sorted(range(len(candidates)), key=lengths.__getitem__)
    required = None if head.passed_over < PATIENCE else order.index(0)
    start, end = _best_range([lengths[i] for i in order], room, required)
    chosen = [candidates[i] for i in order[start:end]]
    head.passed_over = 0 if candidates[0] in chosen else head.passed_over + 1
    batch: RequestBatch = {}
    for request, number in chosen:
        batch.setdefault(request, []).append(number)
    return {request: sorted(numbers) for request, numbers in batch.items()}


def _best_range(lengths: Sequence[int], room: int, required: int | None) -> tuple[int, int]:
    """Return the range of sorted lengths with the most tokens per time; it includes the `required` index, if any.

    The time of a batch is its number of steps, set by the longest sentence, times the cost of a step.
    """
    best, found = -1.0, (0, 1)
    start = tokens = 0
    for end, longest in enumerate(lengths, start=1):
        tokens += longest
        while (end - start) * longest > room and end - start > 1:
            tokens -= lengths[start]
            start += 1
        value = tokens / (longest * (end - start + STEP))
        if value > best and (required is None or start <= required < end):
            best, found = value, (start, end)
    return found


def _round_robin(requests: Sequence[QueuedRequest], share: int) -> Iterator[tuple[QueuedRequest, int]]:
    """Yield the available sentences: `share` of each request, then `share` more."""
    available = {request: request.available() for request in requests}
    for start in range(0, max(map(len, available.values())), share):
        for request, numbers in available.items():
            yield from ((request, number) for number in numbers[start : start + share])


def _take_documents(requests: Sequence[QueuedRequest]) -> RequestBatch:
    """Choose whole documents until the batch is full."""
    batch: RequestBatch = {}
    tokens = 0
    for request in requests:
        if tokens < request.settings.room:
            batch[request] = list(request.available())
            tokens += sum(map(request.length, request.remaining))
    return batch


@dataclass
class Batcher:
    """A thread-safe queue of requests that hands out batches."""

    linger: float = 0.003
    """Seconds to wait for more requests after the first arrives."""
    workers: int = 1
    """How many threads take batches."""
    _requests: list[QueuedRequest] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _closed: bool = False

    @property
    def waiting(self) -> int:
        """The number of sentences to be translated, those being translated included."""
        with self._changed:
            return sum(request.waiting for request in self._requests)

    def put(self, request: QueuedRequest, most: int) -> bool:
        """Queue a request, unless there would be more than `most` sentences."""
        with self._changed:
            if self.waiting and self.waiting + len(request.sentences) > most:
                return False
            self._requests.append(request)
            self.wake()
            return True

    def close(self) -> None:
        """Close the queue and wake the workers."""
        self._closed = True
        self.wake()

    def wait(self) -> bool:
        """Wait for work; return False once the queue is closed."""
        with self._changed:
            if not self._has_work():
                self._changed.wait_for(lambda: self._closed or self._has_work())
                self._changed.wait_for(lambda: self._closed, self.linger)
            return not self._closed

    def _has_work(self) -> bool:
        """Return whether there is unfinished work that no worker is doing."""
        self._remove_finished()
        return any(bool(one.available()) if one.is_prepared else not one.claimed for one in self._requests)

    def wake(self) -> None:
        """Wake the workers that wait: there may be new work."""
        with self._changed:
            self._changed.notify_all()

    def claim(self) -> QueuedRequest | None:
        """Return the smallest unprepared request, if any, for the caller to prepare."""
        with self._changed:
            fresh = [one for one in self._requests if not one.is_prepared and not one.claimed and one.waiting]
            smallest = min(fresh, key=lambda one: one.characters, default=None)
            if smallest is not None:
                smallest.claimed = True
            return smallest

    def clear(self) -> list[QueuedRequest]:
        """Empty the queue; return the requests that were unfinished."""
        with self._changed:
            self._remove_finished()
            found, self._requests = self._requests, []
            return found

    def take(self) -> RequestBatch:
        """Take a batch from the prepared requests; those that got their share go to the back."""
        with self._changed:
            self._remove_finished()
            ready = [request for request in self._requests if request.is_prepared and request.available()]
            batch = choose(ready, workers=self.workers) if ready else {}
            for request, numbers in batch.items():
                request.take(numbers)
            # A request that was passed over stays in front until the next batch.
            due = [one for one in batch if one.served >= SHARE and not one.passed_over]
            for request in due:
                request.served = 0
            self._requests.sort(key=due.__contains__)
            return batch

    def _remove_finished(self) -> None:
        """Remove requests that are finished or cancelled."""
        self._requests = [request for request in self._requests if request.waiting]
