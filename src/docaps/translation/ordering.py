"""Ordering: rounds of sentences, so that each sentence finds in its window what the model looks at.

A model that looks at source sentences only translates all sentences in one round. A model that looks at its own
earlier translations needs as many rounds as the longest document has sentences: one for the first sentence of every
document, one for the second, and so on. A model that also looks at later translations sees drafts made without context.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from docaps.batches.windows import (
    Tokens,
    View,
    Window,
    exchange_histories,
    partners,
    window_at,
    windows_of_document,
    with_history_of,
)
from docaps.translation.hypothesis import Hypothesis
from docaps.translation.segments import SegmentedSentence


class HistorySentence(NamedTuple):
    """A sentence before those to translate, with its translation if the model looks at that."""

    source: Tokens
    target: Tokens = ()


@dataclass(frozen=True, slots=True)
class EncodedDocument:
    """Consecutive sentences of a document, and the history before them."""

    sentences: list[SegmentedSentence]
    history: list[HistorySentence]

    @property
    def tokens(self) -> list[Tokens]:
        """The sentences as other sentences see them."""
        return [sentence.tokens for sentence in self.sentences]


class SearchedSentence:
    """A sentence, the window it is translated in, and the hypotheses of each of its segments once it is searched."""

    def __init__(self, sentence: SegmentedSentence, window: Window) -> None:
        self.sentence = sentence
        self.window = replace(window, source=[*sentence.tags, *window.source]) if sentence.tags else window
        self.hypotheses: list[list[Hypothesis]] = [[] for _ in sentence.segments]

    @property
    def windows(self) -> list[Window]:
        """A window for each segment; all of them see the same history."""
        tags = self.sentence.tags
        return [
            replace(self.window, source=[*tags, *segment.tokens], required=segment.required)
            for segment in self.sentence.segments
        ]

    @property
    def translation(self) -> Tokens:
        """The tokens of the best translation."""
        return [token for ranked in self.hypotheses for token in ranked[0].tokens]


class Schedule:
    """The rounds in which documents are translated, and their results once all rounds are searched.

    `searched` holds the sentences of each document, `histories` the history for the sentences after each document.
    """

    def __init__(self, documents: Sequence[EncodedDocument], view: View) -> None:
        self.searched: list[list[SearchedSentence]] = [[] for _ in documents]
        self.histories: list[list[HistorySentence]] = []
        self._documents, self._view = documents, view

    def rounds(self) -> Iterator[list[SearchedSentence]]:
        """Yield the sentences of each round; their hypotheses must be set before the next round is asked for."""
        if not self._view.translations:
            yield from self._all_at_once(self._view)
        elif not self._view.future:
            yield from self._sentence_by_sentence()
        else:
            yield from self._all_at_once(View())
            drafts = [[sentence.translation for sentence in document] for document in self.searched]
            yield from self._all_at_once(self._view, drafts)
        pairs = zip(self._documents, self.searched, strict=True)
        self.histories = [history_after(document, self._view, found) for document, found in pairs]

    def _all_at_once(self, view: View, drafts: Sequence[Sequence[Tokens]] = ()) -> Iterator[list[SearchedSentence]]:
        """Make one round of all sentences: none waits for the translation of another."""
        seen = []
        for number, document in enumerate(self._documents):
            sources, targets = ([sentence[side] for sentence in document.history] for side in (0, 1))
            known = [*targets, *drafts[number]] if drafts else ()
            seen.append(list(windows_of_document(document.tokens, view, sources, translations=known)))
        if view.shuffled:
            seen = exchange_histories(seen)
        pairs = zip(self._documents, seen, strict=True)
        self.searched = [list(map(SearchedSentence, document.sentences, windows)) for document, windows in pairs]
        yield [sentence for document in self.searched for sentence in document]

    def _sentence_by_sentence(self) -> Iterator[list[SearchedSentence]]:
        """Make a round of the first sentence of each document, then of the second with the first ones' translations."""
        documents = self._documents
        known = [[*(sentence.source for sentence in document.history), *document.tokens] for document in documents]
        written = [[sentence.target for sentence in document.history] for document in documents]
        others = partners([len(document.sentences) for document in documents]) if self._view.shuffled else {}
        for position in range(max((len(document.sentences) for document in documents), default=0)):
            numbers = [number for number, document in enumerate(documents) if len(document.sentences) > position]
            for number in numbers:
                window = window_at(len(written[number]), known[number], written[number], self._view)
                if self._view.shuffled:  # what the other document has translated by now is as far, or its end
                    other = others[number]
                    last = len(known[other]) - 1
                    given = window_at(min(len(written[other]), last), known[other], written[other], self._view)
                    window = with_history_of(window, given, own=other == number)
                self.searched[number].append(SearchedSentence(documents[number].sentences[position], window))
            yield [self.searched[number][-1] for number in numbers]
            for number in numbers:
                written[number].append(self.searched[number][-1].translation)


def history_after(
    document: EncodedDocument, view: View, found: Sequence[SearchedSentence] = ()
) -> list[HistorySentence]:
    """Return the history for the sentences after a document; `found` are its sentences, if they were searched."""
    if not view.history:
        return []
    sources = [sentence.tokens for sentence in document.sentences[-view.history :]]
    targets: list[Tokens] = [one.translation for one in found[-view.history :]] or [()] * len(sources)
    own = [HistorySentence(*pair) for pair in zip(sources, targets, strict=True)]
    return [*document.history, *own][-view.history :]
