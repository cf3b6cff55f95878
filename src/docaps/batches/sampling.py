"""Sampling: which sentences share a batch, in an order that depends on seed and epoch alone.

Two ways: sentences of similar length from all documents (little padding), or runs of consecutive sentences (for models
that read a whole document). The stream of batches can start at any position, so training can resume anywhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, assert_never, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from docaps.corpus.store import Split

Indices = NDArray[np.int64]
Sampling = Literal["sentences", "documents"]


@dataclass(frozen=True, slots=True, order=True)
class StreamPosition:
    """A position in the stream of batches: finished epochs, and finished batches of the current epoch."""

    epoch: int = 0
    batch: int = 0


@runtime_checkable
class Sampler(Protocol):
    """Divides each epoch into batches."""

    def __len__(self) -> int:
        """Return the number of sentences to train on."""

    def epoch(self, number: int) -> list[Indices]:
        """Return the batches of one epoch as arrays of sentence numbers."""


def make_sampler(kind: Sampling, split: Split, *, budget: int, seed: int) -> Sampler:
    """Return a sampler of the given kind."""
    match kind:
        case "sentences":
            return LengthSampler(split, budget=budget, seed=seed)
        case "documents":
            return RunSampler(split, budget=budget, seed=seed)
        case unknown:
            assert_never(unknown)


def stream(sampler: Sampler, start: StreamPosition) -> Iterator[tuple[Indices, StreamPosition]]:
    """Yield the batches of all epochs from a position on, each with the position after it."""
    epoch, first = start.epoch, start.batch
    while True:
        batches = sampler.epoch(epoch)
        for number, batch in enumerate(batches[first:], start=first + 1):
            yield batch, StreamPosition(epoch, number) if number < len(batches) else StreamPosition(epoch + 1)
        epoch, first = epoch + 1, 0


class LengthSampler:
    """Batches of sentences of similar length, at most `budget` padded source + target tokens each."""

    def __init__(self, split: Split, *, budget: int, seed: int) -> None:
        self._cutter = _Cutter(split, budget)
        self._source, self._target = self._cutter.source, self._cutter.target
        self._usable = _usable(split)
        self._seed = seed

    def __len__(self) -> int:
        return len(self._usable)

    def epoch(self, number: int) -> list[Indices]:
        """Return the batches of one epoch as arrays of sentence numbers."""
        generator = np.random.default_rng((self._seed, number))
        shuffled = generator.permutation(self._usable)
        by_length = shuffled[np.lexsort((self._source[shuffled], self._target[shuffled]))]
        batches = self._cutter.cut(by_length)
        return [batches[index] for index in generator.permutation(len(batches))]

    def in_order(self) -> list[Indices]:
        """Return batches of all sentences, shortest first, unshuffled, for validation."""
        order = np.lexsort((self._source[self._usable], self._target[self._usable]))
        return self._cutter.cut(self._usable[order])


class RunSampler:
    """Batches of consecutive sentences: all or part of one or more documents."""

    def __init__(self, split: Split, *, budget: int, seed: int) -> None:
        self._cutter = _Cutter(split, budget)
        usable = _usable(split)
        borders = np.searchsorted(usable, split.documents[1:-1])
        self._documents = [document for document in np.split(usable, borders) if len(document)]
        self._count = len(usable)
        self._seed = seed

    def __len__(self) -> int:
        return self._count

    def epoch(self, number: int) -> list[Indices]:
        """Return the batches of one epoch as arrays of sentence numbers."""
        generator = np.random.default_rng((self._seed, number))
        order = generator.permutation(len(self._documents))
        batches = self._cutter.cut(np.concatenate([self._documents[index] for index in order])) if len(order) else []
        return [batches[index] for index in generator.permutation(len(batches))]


def _usable(split: Split) -> Indices:
    """Return the numbers of the sentences to train on: words on both sides, not removed by cleaning."""
    # A sentence that is only an end mark teaches nothing; like a removed sentence it still serves as history.
    worded = (np.asarray(split.source.lengths) > 1) & (np.asarray(split.target.lengths) > 1)
    return np.flatnonzero(worded if split.usable is None else worded & split.usable)


class _Cutter:
    """Cuts a sequence of sentences into batches within a budget of padded tokens."""

    def __init__(self, split: Split, budget: int) -> None:
        self.source, self.target = np.asarray(split.source.lengths), np.asarray(split.target.lengths)
        self._budget = budget

    def cut(self, ordered: Indices) -> list[Indices]:
        """Fill batches up to the budget; a sentence beyond it is a batch of its own."""
        borders, start, longest_source, longest_target = [], 0, 0, 0
        lengths = zip(self.source[ordered].tolist(), self.target[ordered].tolist(), strict=True)
        for index, (source, target) in enumerate(lengths):
            longest_source, longest_target = max(longest_source, source), max(longest_target, target)
            if (index - start + 1) * (longest_source + longest_target) > self._budget and index > start:
                borders.append(index)
                start, longest_source, longest_target = index, source, target
        return np.split(ordered, borders) if len(ordered) else []
