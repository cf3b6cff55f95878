"""Sampling: sentences of like length share a batch, the order is shuffled by seed and epoch."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from docaps.corpus.store import Split

Indices = NDArray[np.int64]


class LengthSampler:
    """Cut an epoch into batches of at most `budget` padded source + target tokens."""

    def __init__(self, split: Split, *, budget: int, seed: int) -> None:
        source, target = np.asarray(split.source.lengths), np.asarray(split.target.lengths)
        self._source, self._target = source, target
        # A sentence of nothing but the end mark teaches nothing; it still serves as history, like what cleaning took.
        worded = (source > 1) & (target > 1)
        self._usable = np.flatnonzero(worded if split.usable is None else worded & split.usable)
        self._budget = budget
        self._seed = seed

    def __len__(self) -> int:
        return len(self._usable)

    def epoch(self, number: int) -> list[Indices]:
        """Return the batches of one epoch, as numbers of sentences."""
        generator = np.random.default_rng((self._seed, number))
        shuffled = generator.permutation(self._usable)
        by_length = shuffled[np.lexsort((self._source[shuffled], self._target[shuffled]))]
        batches = list(self._cut(by_length))
        return [batches[place] for place in generator.permutation(len(batches))]

    def forever(self) -> Iterator[Indices]:
        """Go through the batches of all epochs."""
        number = 0
        while True:
            yield from self.epoch(number)
            number += 1

    def in_order(self) -> list[Indices]:
        """Return batches of all sentences, shortest first, not shuffled: for validation."""
        order = np.lexsort((self._source[self._usable], self._target[self._usable]))
        return list(self._cut(self._usable[order]))

    def _cut(self, ordered: Indices) -> Iterator[Indices]:
        """Fill batches up to the budget of padded tokens; a sentence beyond it is a batch of its own."""
        start = 0
        longest_source = longest_target = 0
        for place, sentence in enumerate(ordered):
            longest_source = max(longest_source, int(self._source[sentence]))
            longest_target = max(longest_target, int(self._target[sentence]))
            if (place - start + 1) * (longest_source + longest_target) > self._budget and place > start:
                yield ordered[start:place]
                start = place
                longest_source, longest_target = int(self._source[sentence]), int(self._target[sentence])
        if start < len(ordered):
            yield ordered[start:]
