"""Sampling: which sentences share a batch, in an order that depends on seed and epoch alone.

Two ways: sentences of similar length from all documents (little padding), or runs of consecutive sentences (for models
that read a whole document). The stream of batches can start at any position, so training can resume anywhere.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from docaps.batches.signals import NO_SIGNALS, Signals
from docaps.batches.windows import Indices
from docaps.corpus.store import Split
from docaps.runs.stored_forms import Natural

Sampling = Literal["sentences", "documents"]


@dataclass(frozen=True, slots=True, order=True)
class StreamPosition:
    """A position in the stream of batches: finished epochs, and finished batches of the current epoch."""

    epoch: Natural = 0
    batch: Natural = 0


def usable_sentences(split: Split) -> Indices:
    """Return the numbers of the sentences to train on: with words on both sides, not removed by cleaning.

    A sentence that is only an end mark teaches nothing; like a removed sentence it still serves as history.
    """
    worded = (np.asarray(split.source.lengths) > 1) & (np.asarray(split.target.lengths) > 1)
    return np.flatnonzero(worded if split.usable is None else worded & split.usable)


class Sampler(ABC):
    """Divides each epoch into batches of at most `budget` padded source + target tokens.

    A batch is an array of sentence numbers, or of examples if the signals cut sentences (see `halves`).
    """

    def __init__(self, split: Split, *, budget: int, seed: int, signals: Signals = NO_SIGNALS) -> None:
        self._source, self._target = np.asarray(split.source.lengths), np.asarray(split.target.lengths)
        if signals.halves is not None:
            self._source, self._target = signals.halves.lengths(self._source, self._target)
        self._usable = usable_sentences(split)
        self._budget, self._seed = budget, seed
        self.signals = signals

    def __len__(self) -> int:
        """Return the number of sentences to train on: words on both sides, not removed by cleaning."""
        return len(self._usable)

    def epoch(self, number: int) -> list[Indices]:
        """Return the batches of one epoch."""
        generator = np.random.default_rng((self._seed, number))
        batches = self._cut(self._shuffle(generator))
        return [batches[index] for index in generator.permutation(len(batches))]

    def target_tokens(self, batch: Indices) -> int:
        """Return the number of target tokens of a batch."""
        return int(self._target[batch].sum())

    @abstractmethod
    def _shuffle(self, generator: np.random.Generator) -> Indices:
        """Return everything that an epoch trains on, in its order."""

    def _cut_some(self, sentences: Indices, generator: np.random.Generator) -> Indices:
        """Replace some of the sentences by their halves, if the signals ask for it."""
        halves = self.signals.halves
        return sentences if halves is None else halves.draw(sentences, generator)

    def _cut(self, ordered: Indices) -> list[Indices]:
        """Fill batches up to the budget; a sentence beyond it is a batch of its own."""
        borders, start, longest_source, longest_target = [], 0, 0, 0
        lengths = zip(self._source[ordered].tolist(), self._target[ordered].tolist(), strict=True)
        for index, (source, target) in enumerate(lengths):
            longest_source, longest_target = max(longest_source, source), max(longest_target, target)
            if (index - start + 1) * (longest_source + longest_target) > self._budget and index > start:
                borders.append(index)
                start, longest_source, longest_target = index, source, target
        return np.split(ordered, borders) if len(ordered) else []


class LengthSampler(Sampler):
    """Batches of sentences of similar length, with a given share of selected ones if the signals have a selection."""

    def _shuffle(self, generator: np.random.Generator) -> Indices:
        selection = self.signals.selection
        if selection is None:
            return self._by_length(self._cut_some(generator.permutation(self._usable), generator))
        others = np.setdiff1d(self._usable, selection.sentences, assume_unique=True)
        drawn = selection.draw(selection.count(len(others)), generator)
        kept = others[:0] if selection.share == 1 else generator.permutation(others)
        return interleave(*(self._by_length(self._cut_some(part, generator)) for part in (kept, drawn)))

    def _by_length(self, examples: Indices) -> Indices:
        return examples[np.lexsort((self._source[examples], self._target[examples]))]

    def in_order(self) -> list[Indices]:
        """Return batches of all sentences, shortest first, unshuffled, for validation."""
        return self._cut(self._by_length(self._usable))


class RunSampler(Sampler):
    """Batches of consecutive sentences: all or part of one or more documents."""

    def __init__(self, split: Split, *, budget: int, seed: int, signals: Signals = NO_SIGNALS) -> None:
        super().__init__(split, budget=budget, seed=seed, signals=signals)
        borders = np.searchsorted(self._usable, split.documents[1:-1])
        self._documents = [document for document in np.split(self._usable, borders) if len(document)]

    def _shuffle(self, generator: np.random.Generator) -> Indices:
        order = generator.permutation(len(self._documents))
        ordered = np.concatenate([self._documents[index] for index in order]) if len(order) else self._usable
        return self._cut_some(ordered, generator)


def interleave(one: Indices, other: Indices) -> Indices:
    """Merge two lists by relative rank, so that every stretch of the result has the same share of each."""
    ranks = np.concatenate([(np.arange(len(part)) + 0.5) / len(part) for part in (one, other)])
    return np.concatenate((one, other))[np.argsort(ranks, kind="stable")]


def make_sampler(kind: Sampling, split: Split, *, budget: int, seed: int, signals: Signals = NO_SIGNALS) -> Sampler:
    """Return a sampler of the given kind."""
    samplers: dict[Sampling, type[Sampler]] = {"sentences": LengthSampler, "documents": RunSampler}
    return samplers[kind](split, budget=budget, seed=seed, signals=signals)


def stream(sampler: Sampler, start: StreamPosition) -> Iterator[tuple[Indices, StreamPosition]]:
    """Yield the batches of all epochs from a position on, each with the position after it."""
    epoch, first = start.epoch, start.batch
    while True:
        batches = sampler.epoch(epoch)
        for number, batch in enumerate(batches[first:], start=first + 1):
            yield batch, StreamPosition(epoch, number) if number < len(batches) else StreamPosition(epoch + 1)
        epoch, first = epoch + 1, 0
