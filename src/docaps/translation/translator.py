"""Translating documents: sentences of all documents, sorted by length, in large batches, put back in order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from docaps import progress
from docaps.batches.batch import collate
from docaps.batches.windows import Window, windows_of_document
from docaps.config import DecodingSettings
from docaps.corpus.documents import Document
from docaps.model.precision import autocast
from docaps.translation.loading import TrainedModel
from docaps.translation.search import Hypothesis, search


@dataclass(frozen=True, slots=True)
class TranslatedSentence:
    """A translation and its score (log-probability divided by the length penalty)."""

    text: str
    score: float


class Translator:
    """Translate documents with a trained model."""

    def __init__(self, trained: TrainedModel, decoding: DecodingSettings | None = None) -> None:
        self._trained = trained
        self.decoding = decoding or trained.decoding

    def translate(
        self, documents: Sequence[Document], *, use_context: bool = True
    ) -> list[tuple[TranslatedSentence, ...]]:
        """Translate every sentence of every document; empty sentences stay empty."""
        history = self._trained.model.history if use_context else 0
        windows = [window for document in documents for window in self._windows(document, history)]
        best = iter(self._search(windows))
        return [tuple(next(best) for _ in document.sentences) for document in documents]

    def _windows(self, document: Document, history: int) -> Iterator[Window]:
        """Cut a document into sentences with their histories."""
        encoded = [self._trained.codec.encode_source(sentence) for sentence in document.sentences]
        return windows_of_document(encoded, history)

    def _search(self, windows: Sequence[Window]) -> list[TranslatedSentence]:
        """Translate windows in batches of like length, and put the results back in order."""
        results = [TranslatedSentence("", 0.0)] * len(windows)
        worded = [number for number, window in enumerate(windows) if len(window.source) > 1]
        order = sorted(worded, key=lambda number: len(windows[number].source))
        with progress.start("translate", len(order)) as task:
            for numbers in cut(order, windows, self.decoding.batch_tokens // self.decoding.beam):
                found = self._search_batch([windows[number] for number in numbers])
                for number, hypotheses in zip(numbers, found, strict=True):
                    text = self._trained.codec.decode_target(hypotheses[0].tokens)
                    results[number] = TranslatedSentence(text, hypotheses[0].score)
                task.advance(len(numbers))
        return results

    def _search_batch(self, windows: Sequence[Window]) -> list[list[Hypothesis]]:
        trained = self._trained
        batch = collate(windows, trained.model.history).to(trained.device)
        with autocast(trained.device, trained.precision):
            return search(trained.model, batch, self.decoding)


def cut(order: Sequence[int], windows: Sequence[Window], budget: int) -> Iterator[list[int]]:
    """Cut sentences sorted by length into batches of at most `budget` padded source tokens."""
    batch: list[int] = []
    for number in order:
        if batch and (len(batch) + 1) * len(windows[number].source) > budget:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
