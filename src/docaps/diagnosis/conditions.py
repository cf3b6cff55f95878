"""Histories to compare: a sentence's own, another document's of the same length, none, and only the nearest ones."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from random import Random

from docaps.corpus.documents import ParallelDocument
from docaps.diagnosis.measures import NONE, SHUFFLED, TRUE, nearest
from docaps.errors import CorpusError

Sentences = tuple[str, ...]
View = Callable[[int, int], Sentences]
"""From the numbers of a document and of a sentence in it to the history that is shown, oldest sentence first."""


class Histories:
    """The histories of all sentences of some documents, under every condition."""

    def __init__(self, documents: Sequence[ParallelDocument], history: int, *, seed: int) -> None:
        self._documents = documents
        self._history = history
        self._seed = seed
        self._by_length = sorted(range(len(documents)), key=lambda number: len(documents[number].source))
        self._lengths = [len(documents[number].source) for number in self._by_length]

    def views(self, shuffles: int) -> list[tuple[str, View]]:
        """List the conditions with what is seen in each; another document's history comes in several draws."""
        return [
            (TRUE, self.own),
            *((SHUFFLED, self.other(draw)) for draw in range(shuffles)),
            (NONE, self.nothing),
            *((nearest(count), self.nearest(count)) for count in range(1, self._history)),
        ]

    def own(self, document: int, sentence: int) -> Sentences:
        """Return the sentences before a sentence, never those of another document."""
        return self._documents[document].source[max(0, sentence - self._history) : sentence]

    def nothing(self, document: int, sentence: int) -> Sentences:  # noqa: ARG002
        """Return no sentence at all."""
        return ()

    def nearest(self, count: int) -> View:
        """Show only the nearest sentences."""
        return lambda document, sentence: self.own(document, sentence)[-count:]

    def other(self, draw: int) -> View:
        """Show as many consecutive sentences of another document, the same ones whenever the draw is the same."""

        def view(document: int, sentence: int) -> Sentences:
            rng = Random(f"{self._seed}/{draw}/{document}/{sentence}")
            return self._draw(rng, document, len(self.own(document, sentence)))

        return view

    def _draw(self, rng: Random, own: int, length: int) -> Sentences:
        """Draw a stretch of another document; where no other is as long, the longest other gives what it has."""
        count = len(self._by_length)
        first = min(bisect_left(self._lengths, length), count - 2)
        while (chosen := self._by_length[rng.randrange(first, count)]) == own:
            pass
        sentences = self._documents[chosen].source
        start = rng.randrange(max(len(sentences) - length, 0) + 1)
        return sentences[start : start + length]


def check_documents(documents: Sequence[ParallelDocument]) -> None:
    """Refuse text in which no document has another beside it."""
    if len(documents) < 2:
        raise CorpusError(
            f"{len(documents)} document: a shuffled history is another document's, so at least two are needed"
        )
