"""Loading: what a training step needs, built ahead while the step before it runs.

A step takes one or more batches of the stream (accumulation); several processes share them out.
"""

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from docaps.batches.batch import Batch, collate
from docaps.batches.sampling import Indices, Place, Sampler, stream
from docaps.batches.windows import View, window_of
from docaps.corpus.store import Split

Item = TypeVar("Item")
AHEAD = 4


@dataclass(frozen=True, slots=True)
class Portion:
    """One batch of a step: which of the step's batches it is, its tensors, its sentences, its target tokens."""

    number: int
    batch: Batch
    sentences: Indices
    tokens: int


@dataclass(frozen=True, slots=True)
class StepData:
    """What one step of one process learns from."""

    portions: tuple[Portion, ...]
    tokens: int
    """Target tokens of the whole step, those of other processes included."""
    after: Place
    """Where the stream goes on."""


@dataclass(frozen=True, slots=True)
class Share:
    """How a step's batches are shared out: of `batches` in all, every `processes`-th from `process` on is ours."""

    batches: int = 1
    process: int = 0
    processes: int = 1


WHOLE = Share()
BEGINNING = Place()


def load_steps(
    split: Split, sampler: Sampler, *, history: View | int, start: Place = BEGINNING, share: Share = WHOLE
) -> Iterator[StepData]:
    """Go through the data of all steps from a place in the stream on, without end."""
    batches = stream(sampler, start)
    while True:
        chosen = [next(batches) for _ in range(share.batches)]
        counts = [int(split.target.lengths[indices].sum()) for indices, _ in chosen]
        own = range(share.process, share.batches, share.processes)
        yield StepData(
            tuple(
                Portion(number, collate_sentences(split, chosen[number][0], history), chosen[number][0], counts[number])
                for number in own
            ),
            sum(counts),
            chosen[-1][1],
        )


def collate_sentences(split: Split, sentences: Indices, history: View | int) -> Batch:
    """Cut the windows of some sentences out of the corpus and pad them to one batch."""
    return collate([window_of(split, int(sentence), history) for sentence in sentences], history)


class Ahead(Iterator[Item]):
    """An iterator whose next items are made in a thread of its own; use it as a context, which ends the thread."""

    def __init__(self, items: Iterator[Item], depth: int = AHEAD) -> None:
        self._items = items
        self._ready: queue.Queue[Item | BaseException] = queue.Queue(depth)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._fill, name="docaps-batches", daemon=True)

    def __enter__(self) -> "Ahead[Item]":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def __next__(self) -> Item:
        item = self._ready.get()
        if isinstance(item, BaseException):
            self._put(item)  # whoever asks again learns the same
            raise item
        return item

    def _fill(self) -> None:
        """Make items until nobody wants them any more; what goes wrong is told in the place of the next item."""
        try:
            for item in self._items:
                if not self._put(item):
                    return
            self._put(StopIteration())
        except BaseException as fault:
            self._put(fault)

    def _put(self, item: Item | BaseException) -> bool:
        """Hand over an item; False if it is not wanted any more."""
        while not self._over.is_set():
            try:
                self._ready.put(item, timeout=0.05)
            except queue.Full:
                continue
            return True
        return False
