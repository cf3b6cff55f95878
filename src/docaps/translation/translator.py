"""Translate documents: segment their sentences, search them in rounds, assemble the translations.

Documents come in windows of some thousand sentences, so memory is bounded whatever the input. A session carries the
history of a document that continues in the next window.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from docaps import progress
from docaps.batches.windows import View
from docaps.config import DecodingSettings
from docaps.corpus.documents import Document
from docaps.translation.ordering import EncodedDocument, HistorySentence, Schedule, SearchedSentence, history_after
from docaps.translation.routing_traces import HistoryTrace, trace_window
from docaps.translation.search import search_windows
from docaps.translation.segments import RankedTranslation, SegmentedSentence, segment_sentence
from docaps.translation.trained_model import TrainedModel

WINDOW = 4000
"""Sentences that are sorted by length and translated together."""
MOST_WARNINGS = 5
"""Split sentences that are reported one by one; beyond that, only their number is."""


@dataclass(frozen=True, slots=True)
class TranslatedSentence(RankedTranslation):
    """A translation with its score, and what else was asked for."""

    alternatives: tuple[RankedTranslation, ...] = ()
    """The n-best translations, this one first; empty unless several were asked for."""
    routing: tuple[HistoryTrace, ...] = ()


def as_row(source: str, sentence: TranslatedSentence) -> Mapping[str, Any]:
    """Return a source sentence and its translation as plain JSON values."""
    row = {"source": source, **sentence.as_dict()}
    if sentence.alternatives:
        row["alternatives"] = [one.as_dict() for one in sentence.alternatives]
    if sentence.routing:
        row["routing"] = [trace.as_dict() for trace in sentence.routing]
    return row


@dataclass(frozen=True, slots=True)
class TranslationOptions:
    """What a translation may look at, and what to return besides the text."""

    use_context: bool = True
    history: Sequence[str] = ()
    """Sentences before the first document: read, not translated."""
    routing: bool = False


DEFAULTS = TranslationOptions()


class Translator:
    """Translate documents with a trained model; unless `scored`, greedy search leaves out the scores."""

    def __init__(
        self,
        trained: TrainedModel,
        decoding: DecodingSettings | None = None,
        *,
        window: int | None = None,
        scored: bool = True,
        warn: Callable[[str], None] = progress.say,
    ) -> None:
        self._trained, self._scored, self.warn = trained, scored, warn
        self.window = window or WINDOW
        self.decoding = decoding or trained.decoding

    def translate(
        self, documents: Iterable[Document], *, use_context: bool = True
    ) -> list[tuple[TranslatedSentence, ...]]:
        """Translate every sentence of every document; empty sentences stay empty."""
        return [sentences for _, sentences in self.stream(documents, TranslationOptions(use_context))]

    def stream(
        self, documents: Iterable[Document], options: TranslationOptions = DEFAULTS
    ) -> Iterator[tuple[Document, tuple[TranslatedSentence, ...]]]:
        """Translate documents as they come, a window of them at a time."""
        with self.session(options) as session:
            for window in _windows(documents, self.window):
                yield from zip(window, session.translate(window), strict=True)

    def translate_with_histories(
        self,
        sentences: Sequence[str],
        histories: Sequence[Sequence[str]],
        translations: Sequence[Sequence[str]] | None = None,
    ) -> list[TranslatedSentence]:
        """Translate sentences, each with a history of its own (oldest first), and the translations of that if known."""
        found: list[TranslatedSentence] = []
        view = replace(self._trained.model.view, shuffled=False)
        rows = list(zip(sentences, histories, translations or [()] * len(sentences), strict=True))
        for start in range(0, len(rows), self.window):
            with progress.start("translate") as task:
                documents = [
                    EncodedDocument([self.segment(sentence)], self.read_history(history, view, known))
                    for sentence, history, known in rows[start : start + self.window]
                ]
                found += [self.assemble(one) for (one,) in self.search(documents, view, task).searched]
        return found

    @contextmanager
    def session(self, options: TranslationOptions = DEFAULTS, *, shown: bool = True) -> Iterator["Session"]:
        """Open a session for a stream of documents; `shown`: report progress."""
        unseen = nullcontext(progress.Task("translate"))
        with progress.start("translate") if shown else unseen as task:
            session = Session(self, options, task)
            yield session
        if session.split > MOST_WARNINGS:
            self.warn(f"{session.split} sentences were too long for one piece, and translated in parts")

    def view(self, options: TranslationOptions) -> View:
        """Return what of a document the model may look at."""
        return self._trained.model.view if options.use_context else View()

    def segment(self, sentence: str) -> SegmentedSentence:
        """Encode a sentence."""
        return segment_sentence(self._trained.codec, sentence, self.decoding.longest_source)

    def read_history(self, history: Sequence[str], view: View, known: Sequence[str] = ()) -> list[HistorySentence]:
        """Encode history sentences and, for a model that looks at them, translations: the known ones, or its own."""
        document = EncodedDocument([self.segment(sentence) for sentence in history], [])
        if view.translations and known:
            encode = self._trained.codec.encode_target
            return [HistorySentence(*pair) for pair in zip(document.tokens, map(encode, known), strict=True)]
        return self.search([document], view).histories[0] if view.translations else history_after(document, view)

    def search(self, documents: Sequence[EncodedDocument], view: View, task: progress.Task | None = None) -> Schedule:
        """Search all sentences, in an order in which each finds what the model looks at."""
        task = task or progress.Task("translate")
        schedule = Schedule(documents, view)
        for part in schedule.rounds():
            windows = [window for sentence in part for window in sentence.windows]
            slots = [hypotheses for sentence in part for hypotheses in sentence.hypotheses]
            start = time.monotonic()
            for numbers, found in search_windows(self._trained, windows, self.decoding, scored=self._scored):
                for number, hypotheses in zip(numbers, found, strict=True):
                    slots[number].extend(hypotheses)
                task.advance_timed(len(numbers), time.monotonic() - start, "sentences")
                start = time.monotonic()
            task.advance_timed(len(part) - len(windows), 0.0, "sentences")  # sentences count, not their segments
        return schedule

    def assemble(self, found: SearchedSentence, options: TranslationOptions = DEFAULTS) -> TranslatedSentence:
        """Make a sentence of its segments' hypotheses; a segment with fewer than others repeats its last one."""
        sentence, ranked = found.sentence, found.hypotheses
        if not ranked:
            return TranslatedSentence(sentence.before, 0.0)
        codec, alpha = self._trained.codec, self.decoding.length_penalty
        nbest = [
            sentence.assemble(codec, [one[min(rank, len(one) - 1)] for one in ranked], alpha)
            for rank in range(min(self.decoding.nbest, max(map(len, ranked))))
        ]
        best, several = nbest[0], nbest if self.decoding.nbest > 1 else ()
        traces = trace_window(self._trained, found.window) if options.routing else ()
        return TranslatedSentence(best.text, best.score, best.log_probability, tuple(several), traces)


class Session:
    """Translate the windows of one stream of documents; warn of sentences that are split, by their position in it."""

    def __init__(self, translator: Translator, options: TranslationOptions, task: progress.Task) -> None:
        self._translator, self._options, self._task = translator, options, task
        self._view = translator.view(options)
        self._history = translator.read_history(options.history, self._view)
        self._document = self._sentence = self.split = 0
        self._name = ""

    def translate(self, documents: Sequence[Document]) -> list[tuple[TranslatedSentence, ...]]:
        """Translate the documents of a window."""
        found = chain.from_iterable(self._search(documents))
        return [
            tuple(self._translator.assemble(next(found), self._options) for _ in document.sentences)
            for document in documents
        ]

    def skip(self, documents: Sequence[Document]) -> None:
        """Read the documents of a window only for the history they leave: they were translated before."""
        if self._view.translations:
            self._search(documents)
            return
        for document in documents:
            history = [] if self._enter(document) else self._history
            last = document.sentences[-self._view.history :] if self._view.history else ()
            read = EncodedDocument([self._translator.segment(sentence) for sentence in last], history)
            self._history = history_after(read, self._view)
            self._sentence += len(document.sentences)

    def _search(self, documents: Sequence[Document]) -> list[list[SearchedSentence]]:
        """Search all sentences of a window; keep the history for the next window."""
        encoded = [EncodedDocument([], self._history)]
        for document in documents:
            if self._enter(document):
                encoded.append(EncodedDocument([], []))
            encoded[-1].sentences.extend(self._segment(sentence) for sentence in document.sentences)
        schedule = self._translator.search(encoded, self._view, self._task)
        self._history = schedule.histories[-1]
        return schedule.searched

    def _enter(self, document: Document) -> bool:
        """Go to the next document, or part of one; return whether it starts one after the first."""
        if document.continues:
            return False
        self._document, self._sentence = self._document + 1, 0
        self._name = f" ('{document.id}')" if document.id is not None else ""
        return self._document > 1

    def _segment(self, sentence: str) -> SegmentedSentence:
        """Encode the next sentence; warn if it is split."""
        self._sentence += 1
        found = self._translator.segment(sentence)
        if len(found.segments) > 1:
            self.split += 1
            if self.split <= MOST_WARNINGS:
                position = f"document {self._document}{self._name}, sentence {self._sentence}"
                limit = f"more than {self._translator.decoding.longest_source} tokens (decoding.longest_source)"
                self._translator.warn(f"{position}: {limit}: translated in {len(found.segments)} parts")
        return found


def _windows(documents: Iterable[Document], most: int) -> Iterator[list[Document]]:
    """Yield lists of consecutive documents, each ending with the document that makes it `most` sentences long."""
    window: list[Document] = []
    count = 0
    for document in documents:
        window.append(document)
        count += len(document.sentences)
        if count >= most:
            yield window
            window, count = [], 0
    if window:
        yield window
