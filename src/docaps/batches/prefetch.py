"""Data of training steps, prefetched in a thread while the step before runs.

A step takes one or more batches of the stream (gradient accumulation); several processes share them.
"""

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from docaps.batches.batch import Batch, collate
from docaps.batches.sampling import Sampler, StreamPosition, stream
from docaps.batches.signals import Signals
from docaps.batches.windows import Indices, View, as_view, window_of
from docaps.corpus.store import Split

Item = TypeVar("Item")
QUEUE_SIZE = 4


@dataclass(frozen=True, slots=True)
class StepBatch:
    """One batch of a step: its number within the step, tensors, sentence numbers and count of target tokens."""

    number: int
    batch: Batch
    sentences: Indices
    tokens: int
    added_weight: float = 0.0
    """How much more the target tokens weigh in the loss than their number."""

    @property
    def weight(self) -> float:
        """The sum of the target tokens' weights, by which the loss is divided."""
        return self.tokens + self.added_weight


@dataclass(frozen=True, slots=True)
class StepData:
    """The batches that one process learns from in one step."""

    batches: tuple[StepBatch, ...]
    tokens: int
    """Target tokens of the whole step, over all processes."""
    after: StreamPosition
    """The position in the stream after the step."""
    added_weight: float = 0.0
    """How much more the tokens of the whole step weigh in the loss than their number."""

    @property
    def weight(self) -> float:
        """The sum of the weights of the whole step's target tokens, over all processes."""
        return self.tokens + self.added_weight


@dataclass(frozen=True, slots=True)
class Shard:
    """One process's batches of a step: every `processes`-th of `batches`, starting with number `process`."""

    batches: int = 1
    process: int = 0
    processes: int = 1


ONE_BATCH = Shard()
BEGINNING = StreamPosition()


def load_steps(
    split: Split, sampler: Sampler, *, history: View | int, start: StreamPosition = BEGINNING, shard: Shard = ONE_BATCH
) -> Iterator[StepData]:
    """Yield the data of all steps from a position in the stream on, without end."""
    batches, before = stream(sampler, start), start
    while True:
        chosen = list[_Chosen]()
        for number in range(shard.batches):
            examples, after = next(batches)
            chosen.append(_Chosen(number, examples, before))
            before = after
        tokens = [sampler.target_tokens(one.examples) for one in chosen]
        added = [sampler.signals.added_weight(one.examples) for one in chosen]
        own = (
            StepBatch(
                one.number,
                _collate_examples(split, one, sampler.signals, as_view(history)),
                sampler.signals.sentences(one.examples),
                tokens[one.number],
                added[one.number],
            )
            for one in chosen[shard.process :: shard.processes]
        )
        yield StepData(tuple(own), sum(tokens), before, sum(added))


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The examples of one batch of a step, and the batch's position in the stream."""

    number: int
    examples: Indices
    position: StreamPosition


def _collate_examples(split: Split, chosen: _Chosen, signals: Signals, view: View) -> Batch:
    """Return one padded batch of examples, with the signals of the stage."""
    epoch, batch = chosen.position.epoch, chosen.position.batch
    return collate(signals.windows(split, chosen.examples, view, epoch=epoch, batch=batch), view)


def collate_sentences(split: Split, sentences: Indices, history: View | int) -> Batch:
    """Return one padded batch with the windows of some sentences of the corpus."""
    return collate([window_of(split, int(sentence), history) for sentence in sentences], history)


class Prefetcher(Iterator[Item]):
    """An iterator that makes its next items in a thread; use it as a context manager, which ends the thread."""

    def __init__(self, items: Iterator[Item], size: int = QUEUE_SIZE) -> None:
        self._items = items
        self._ready: queue.Queue[Item | BaseException] = queue.Queue(size)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._fill, name="docaps-batches", daemon=True)

    def __enter__(self) -> "Prefetcher[Item]":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join()

    def __next__(self) -> Item:
        item = self._ready.get()
        if isinstance(item, BaseException):
            self._put(item)  # the next call raises it again
            raise item
        return item

    def _fill(self) -> None:
        """Queue items until the prefetcher is closed; an exception is queued in place of the next item."""
        try:
            for item in self._items:
                if not self._put(item):
                    return
            self._put(StopIteration())
        except BaseException as error:
            self._put(error)

    def _put(self, item: Item | BaseException) -> bool:
        """Queue an item, waiting for room; return False if the prefetcher is closed."""
        while not self._closed.is_set():
            try:
                self._ready.put(item, timeout=0.05)
            except queue.Full:
                continue
            return True
        return False
