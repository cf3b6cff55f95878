"""History conditions: a sentence with its true history, with another document's, with none, with the nearest sentences.

Both documents and contrastive items are shown under the same conditions.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from docaps.corpus.contrastive.contrastive_set import (
    AnyItem,
    with_nearest_history,
    with_other_histories,
    without_history,
)
from docaps.corpus.documents import ParallelDocument
from docaps.errors import CorpusError

TRUE, SHUFFLED, NONE, AGAINST = "true", "shuffled", "none", "against"
"""The first three are histories; `against` is the model that a run is compared with, with its own history."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Consecutive sentences of a document, oldest first, and their translations."""

    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()

    def last(self, count: int) -> "Excerpt":
        """Return the last sentences."""
        return Excerpt(self.source[-count:], self.target[-count:])


HistoryLookup = Callable[[int, int], Excerpt]
"""From document number and sentence number to the history that is shown."""
MOST_NEAREST = 16
"""Of a model that sees whole documents, no more than this many nearest sentences are shown one by one."""
Conditions = Sequence[tuple[str, HistoryLookup]]
"""Names of conditions with their histories."""


def nearest(count: int) -> str:
    """Name the condition that shows only the nearest sentences of the history."""
    return f"nearest {count}"


def shorter_histories(history: int) -> range:
    """Return the numbers of nearest sentences that are shown to a model that looks at `history` sentences."""
    return range(1, min(history, MOST_NEAREST + 1))


def condition_names(history: int) -> list[str]:
    """List the conditions of a model that looks at `history` sentences."""
    return [TRUE, SHUFFLED, NONE, *(nearest(count) for count in shorter_histories(history))]


def history_steps(history: int) -> list[tuple[str, str]]:
    """Pair each history with the one that is a sentence shorter, from the nearest sentence to the whole history."""
    if not history:
        return []
    chain = [NONE, *(nearest(count) for count in shorter_histories(history)), TRUE]
    return list(zip(chain[1:], chain[:-1], strict=True))


def check_documents(documents: Sequence[ParallelDocument]) -> None:
    """Refuse fewer than two documents."""
    if len(documents) < 2:
        what = "a shuffled history is another document's, so at least two are needed"
        raise CorpusError(f"{len(documents)} document: {what}")


class Histories:
    """The histories of all sentences of some documents, under every condition, with the translations given there."""

    def __init__(self, documents: Sequence[ParallelDocument], history: int, *, seed: int) -> None:
        self._documents, self._history, self._seed = documents, history, seed
        self._by_length = sorted(range(len(documents)), key=lambda number: len(documents[number].source))
        self._lengths = [len(documents[number].source) for number in self._by_length]

    def conditions(self, shuffles: int) -> list[tuple[str, HistoryLookup]]:
        """List the conditions with their histories; the shuffled one comes once per draw."""
        return [
            (TRUE, self.true),
            *((SHUFFLED, self.shuffled(draw)) for draw in range(shuffles)),
            (NONE, self.none),
            *((nearest(count), self.nearest(count)) for count in shorter_histories(self._history)),
        ]

    def true(self, document: int, sentence: int) -> Excerpt:
        """Return the sentences before a sentence in its document."""
        return self._passage(document, max(0, sentence - self._history), sentence)

    def none(self, document: int, sentence: int) -> Excerpt:  # noqa: ARG002
        """Return no history."""
        return Excerpt()

    def nearest(self, count: int) -> HistoryLookup:
        """Show only the nearest sentences of the true history."""
        return lambda document, sentence: self.true(document, sentence).last(count)

    def shuffled(self, draw: int) -> HistoryLookup:
        """Show as many consecutive sentences of another document; the same draw gives the same sentences."""

        def lookup(document: int, sentence: int) -> Excerpt:
            rng = Random(f"{self._seed}/{draw}/{document}/{sentence}")
            return self._draw(rng, document, len(self.true(document, sentence).source))

        return lookup

    def _draw(self, rng: Random, own: int, length: int) -> Excerpt:
        """Draw consecutive sentences of another document; if none is long enough, all of the longest other one."""
        count = len(self._by_length)
        first = min(bisect_left(self._lengths, length), count - 2)
        while (chosen := self._by_length[rng.randrange(first, count)]) == own:
            pass
        start = rng.randrange(max(len(self._documents[chosen].source) - length, 0) + 1)
        return self._passage(chosen, start, start + length)

    def _passage(self, document: int, start: int, end: int) -> Excerpt:
        found = self._documents[document]
        return Excerpt(found.source[start:end], found.target[start:end])


def vary_items(
    items: Sequence[AnyItem], history: int, *, shuffles: int, seed: int
) -> Iterator[tuple[str, list[AnyItem]]]:
    """Yield contrastive items under each condition, with histories no longer than the model looks at."""
    seen = with_nearest_history(items, history)
    yield TRUE, seen
    for draw in range(shuffles):
        others = zip(with_other_histories(seen, seed + draw), seen, strict=True)
        yield SHUFFLED, [with_nearest_history([other], len(own.history))[0] for other, own in others]
    yield NONE, without_history(seen)
    for count in shorter_histories(history):
        yield nearest(count), with_nearest_history(seen, count)
