"""Ordering: rounds of sentences, so that each sentence finds in its window what the model looks at.

A model that looks at source sentences only translates all sentences in one round. A model that looks at its own
earlier translations needs as many rounds as the longest document has sentences: one for the first sentence of every
document, one for the second, and so on. A model that also looks at later translations sees drafts made without context.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from docaps.batches.windows import Tokens, View, Window, exchange_histories, window_at, windows_of_document
from docaps.translation.search import Hypothesis
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


@dataclass(frozen=True, slots=True)
class SearchedSentence:
    """A sentence, the window it was translated in, and the hypotheses of each of its segments."""

    sentence: SegmentedSentence
    window: Window
    hypotheses: list[list[Hypothesis]]

    @property
    def translation(self) -> Tokens:
        """The tokens of the best translation."""
        return [token for ranked in self.hypotheses for token in ranked[0].tokens]


class Round:
    """Sentences that are searched together: `windows`, one for each segment, and their hypotheses once they are set."""

    def __init__(self, sentences: list[SegmentedSentence], seen: list[Window]) -> None:
        self.sentences = sentences
        self.hypotheses: list[list[Hypothesis]] = []
        self._seen = seen
        # All segments of a sentence see the same history.
        pairs = zip(sentences, seen, strict=True)
        self.windows = [replace(window, source=one.tokens) for sentence, window in pairs for one in sentence.segments]

    @property
    def searched(self) -> list[SearchedSentence]:
        """The sentences with their hypotheses."""
        found = iter(self.hypotheses)
        pairs = zip(self.sentences, self._seen, strict=True)
        return [SearchedSentence(one, window, [next(found) for _ in one.segments]) for one, window in pairs]


class Schedule:
    """The rounds in which documents are translated, and their results once all rounds are searched.

    `searched` holds the sentences of each document, `histories` the history for the sentences after each document.
    """

    def __init__(self, documents: Sequence[EncodedDocument], view: View) -> None:
        self.searched: list[list[SearchedSentence]] = [[] for _ in documents]
        self.histories: list[list[HistorySentence]] = []
        self._documents = documents
        self._view = view

    def rounds(self) -> Iterator[Round]:
        """Yield the rounds; the hypotheses of each must be set before the next is asked for."""
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

    def _all_at_once(self, view: View, drafts: Sequence[Sequence[Tokens]] = ()) -> Iterator[Round]:
        """Make one round of all sentences: none waits for the translation of another."""
        seen = []
        for number, document in enumerate(self._documents):
            sources, targets = ([sentence[side] for sentence in document.history] for side in (0, 1))
            known = [*targets, *drafts[number]] if drafts else ()
            seen.append(list(windows_of_document(document.tokens, view, sources, translations=known)))
        if view.shuffled:
            seen = exchange_histories(seen)
        sentences = [sentence for document in self._documents for sentence in document.sentences]
        everything = Round(sentences, [window for windows in seen for window in windows])
        yield everything
        found = iter(everything.searched)
        self.searched = [[next(found) for _ in document.sentences] for document in self._documents]

    def _sentence_by_sentence(self) -> Iterator[Round]:
        """Make a round of the first sentence of each document, then of the second with the first ones' translations."""
        documents = self._documents
        known = [[*(sentence.source for sentence in document.history), *document.tokens] for document in documents]
        written = [[sentence.target for sentence in document.history] for document in documents]
        for position in range(max((len(document.sentences) for document in documents), default=0)):
            numbers = [number for number, document in enumerate(documents) if len(document.sentences) > position]
            windows = [window_at(len(written[n]), known[n], written[n], self._view) for n in numbers]
            one_each = Round([documents[number].sentences[position] for number in numbers], windows)
            yield one_each
            for number, searched in zip(numbers, one_each.searched, strict=True):
                self.searched[number].append(searched)
                written[number].append(searched.translation)


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
