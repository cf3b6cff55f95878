"""Translate documents: segment their sentences, search them in rounds, assemble the translations.

Documents come in windows of some thousand sentences, so memory is bounded whatever the input. A session carries the
history of a document that continues in the next window.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, TypeVar

from docaps import progress
from docaps.batches.windows import View
from docaps.config import DecodingSettings
from docaps.corpus.documents import Document
from docaps.corpus.formats.format import Alignment
from docaps.translation.confidence import Confidence, describe_distance
from docaps.translation.glossary import Glossary
from docaps.translation.ordering import EncodedDocument, HistorySentence, Schedule, SearchedSentence, history_after
from docaps.translation.position import BEGINNING, Position
from docaps.translation.routing_traces import HistoryTrace, trace_window
from docaps.translation.search import search_windows
from docaps.translation.segments import RankedTranslation, SegmentedSentence, segment_sentence
from docaps.translation.terms import TermUse, describe_term, judge_terms
from docaps.translation.trained_model import Formality, TrainedModel
from docaps.translation.word_alignment import align_sentences

WINDOW = 4000
"""Sentences that are sorted by length and translated together."""
MOST_WARNINGS = 5
"""Split sentences that are reported one by one; beyond that, only their number is."""
ENOUGH_WORDS = 200
"""Words after which a text is judged to be near or far from what the model knows; a shorter one is at its end."""


@dataclass(frozen=True, slots=True)
class TranslatedSentence(RankedTranslation):
    """A translation with its score, and what else was asked for."""

    alternatives: tuple[RankedTranslation, ...] = ()
    """The n-best translations, this one first; empty unless several were asked for."""
    routing: tuple[HistoryTrace, ...] = ()
    confidence: Confidence | None = None
    """None for an empty sentence."""
    terms: tuple[TermUse, ...] = ()
    """The sentence's terms of the glossary, in order."""
    alignment: Alignment | None = None
    """Only of sentences with inline marks."""


SKIPPED = TranslatedSentence("", 0.0)


def as_row(source: str, sentence: TranslatedSentence) -> Mapping[str, Any]:
    """Return a source sentence and its translation as plain JSON values."""
    row = {"source": source, **sentence.as_dict()}
    if sentence.confidence is not None:
        row["confidence"] = sentence.confidence.as_dict()
    if sentence.alternatives:
        row["alternatives"] = [one.as_dict() for one in sentence.alternatives]
    if sentence.terms:
        row["terms"] = [one.as_dict() for one in sentence.terms]
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
    alignment: bool = False
    """Whether to align the words of every sentence, not only of those with marks; of the service."""


DEFAULTS = TranslationOptions()
Read = TypeVar("Read", bound=Document)


class InputWarnings:
    """Warns of sentences that are split, of terms that are missing, and once of a text far from the training text."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._split = self._lost_terms = self._words = self._rare_words = 0
        self._judged = False

    def note_split(self, message: str) -> None:
        """Note a sentence that was split; the first few are reported."""
        self._split += 1
        if self._split <= MOST_WARNINGS:
            self._warn(message)

    def note_term(self, message: str) -> None:
        """Note a term that is missing or forced; the first few are reported."""
        self._lost_terms += 1
        if self._lost_terms <= MOST_WARNINGS:
            self._warn(message)

    def judge(self, translated: Sequence[Sequence[TranslatedSentence]]) -> None:
        """Say once that the text is far from what the model knows, as soon as there is enough of it to judge by."""
        if self._judged:
            return
        for one in (sentence.confidence for document in translated for sentence in document):
            if one is not None:
                self._words, self._rare_words = self._words + one.words, self._rare_words + one.rare_words
        if self._words >= ENOUGH_WORDS:
            self._say_distance()

    def _say_distance(self) -> None:
        self._judged = True
        if message := describe_distance(self._words, self._rare_words):
            self._warn(message)

    def finish(self) -> None:
        """Say what can only be said at the end."""
        if not self._judged:
            self._say_distance()
        if self._split > MOST_WARNINGS:
            self._warn(f"{self._split} sentences were too long for one piece, and translated in parts")
        if self._lost_terms > MOST_WARNINGS:
            self._warn(f"{self._lost_terms} terms of the glossary were missing or forced")


@dataclass(frozen=True, slots=True)
class Control:
    """What translations must keep to: the terms of a glossary, and a form of address."""

    glossary: Glossary | None = None
    formality: Formality | None = None


FREE = Control()


class Translator:
    """Translate documents with a trained model; unless `scored`, greedy search leaves out the scores."""

    whole = False
    """Whether windows must end where a document ends."""

    def __init__(
        self,
        trained: TrainedModel,
        decoding: DecodingSettings | None = None,
        *,
        window: int | None = None,
        scored: bool = True,
        control: Control = FREE,
        warn: Callable[[str], None] = progress.say,
    ) -> None:
        self._trained, self._scored, self.warn = trained, scored, warn
        self._glossary = control.glossary
        self._tags = (trained.tag(control.formality),) if control.formality else ()
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
            warnings = InputWarnings(self.warn)
            yield self.open(options, task, warnings)
        warnings.finish()

    def open(self, options: TranslationOptions, task: progress.Task, warnings: InputWarnings) -> "Session":
        """Return a session that reports to a task and passes its warnings on."""
        return Session(self, options, task, warnings)

    def view(self, options: TranslationOptions) -> View:
        """Return what of a document the model may look at."""
        return self._trained.model.view if options.use_context else View()

    def segment(self, sentence: str, more: Glossary | None = None) -> SegmentedSentence:
        """Encode a sentence; `more` are terms besides those of the glossary."""
        glossaries = [one for one in (self._glossary, more) if one is not None]
        return segment_sentence(self._trained.codec, sentence, self.decoding.longest_source, glossaries, self._tags)

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

    def align(self, translated: Sequence[tuple[str, SearchedSentence, str]]) -> list[Alignment | None]:
        """Return the word alignment of sentences and their translations, where it is known."""
        return align_sentences(self._trained, translated) if translated else []

    def assemble(self, found: SearchedSentence, options: TranslationOptions = DEFAULTS) -> TranslatedSentence:
        """Make a sentence of its segments' hypotheses; a segment with fewer than others repeats its last one."""
        sentence, ranked = found.sentence, found.hypotheses
        if not ranked:
            unread = Confidence(None, sentence.words, sentence.words, None) if sentence.words else None
            terms = judge_terms(sentence.hits, sentence.before, forced=False)
            return TranslatedSentence(sentence.before, 0.0, confidence=unread, terms=terms)
        codec, alpha = self._trained.codec, self.decoding.length_penalty
        nbest = [
            sentence.assemble(codec, [one[min(rank, len(one) - 1)] for one in ranked], alpha)
            for rank in range(min(self.decoding.nbest, max(map(len, ranked))))
        ]
        best, several = nbest[0], nbest if self.decoding.nbest > 1 else ()
        traces = trace_window(self._trained, found.window) if options.routing else ()
        confidence = _judge(found, best.log_probability)
        terms = judge_terms(sentence.hits, best.text, forced=any(one[0].forced for one in ranked))
        return TranslatedSentence(
            best.text, best.score, best.log_probability, tuple(several), traces, confidence, terms
        )


def _judge(found: SearchedSentence, log_probability: float) -> Confidence:
    """Return the confidence of the best translation of a sentence."""
    sentence, marks, written = found.sentence, len(found.hypotheses), len(found.translation)
    mean = None if math.isnan(log_probability) else log_probability / (written + marks)
    return Confidence(mean, sentence.words, sentence.rare_words, written / (sentence.size - marks))


class Session:
    """Translate the windows of one stream of documents; warn of sentences that are split, by their position in it."""

    def __init__(
        self,
        translator: Translator,
        options: TranslationOptions,
        task: progress.Task,
        warnings: InputWarnings,
        start: Position = BEGINNING,
    ) -> None:
        self._translator, self._options, self._task, self._warnings = translator, options, task, warnings
        self._view = translator.view(options)
        self._history = translator.read_history(options.history, self._view)
        self._position = start
        self._start, self._earlier = start, self._history

    def stream(
        self, windows: Iterable[Sequence[Read]], skip: int = 0
    ) -> Iterator[tuple[Sequence[Read], list[tuple[TranslatedSentence, ...]]]]:
        """Yield each window with its translations; the first `skip` were translated before, and are only read."""
        for number, window in enumerate(windows, start=1):
            if number <= skip:
                self.skip(window)
                yield window, skipped(window)
            else:
                yield window, self.translate(window)

    def translate(self, documents: Sequence[Document]) -> list[tuple[TranslatedSentence, ...]]:
        """Translate the documents of a window."""
        self._start, self._earlier = self._position, self._history
        found = self._settle(documents, [*chain.from_iterable(self._search(documents))])
        sentences = [self._translator.assemble(one, self._options) for one in found]
        self._align(documents, found, sentences)
        rest = iter(sentences)
        translated = [tuple(islice(rest, len(document.sentences))) for document in documents]
        self._warnings.judge(translated)
        self._check_terms(documents, translated)
        return translated

    def _settle(self, documents: Sequence[Document], found: list[SearchedSentence]) -> list[SearchedSentence]:  # noqa: ARG002
        """Return what is kept of the sentences that were searched; some sessions search some of them again."""
        return found

    def _check_terms(self, documents: Sequence[Document], translated: Sequence[Sequence[TranslatedSentence]]) -> None:
        """Say which terms are missing, or stand where the length limit left no choice."""
        position = self._start
        for document, sentences in zip(documents, translated, strict=True):
            position = position.enter(document)
            for sentence in sentences:
                position = position.after(1)
                for use in (one for one in sentence.terms if one.state != "written"):
                    self._warnings.note_term(f"{position}: {describe_term(use)}")

    def _align(
        self, documents: Sequence[Document], found: Sequence[SearchedSentence], sentences: list[TranslatedSentence]
    ) -> None:
        """Add the word alignment of sentences with marks."""
        marks = chain.from_iterable(document.marks or ((),) * len(document.sentences) for document in documents)
        numbers = [number for number, own in enumerate(marks) if own]
        sources = [*chain.from_iterable(document.sentences for document in documents)] if numbers else []
        wanted = [(sources[number], found[number], sentences[number].text) for number in numbers]
        for number, alignment in zip(numbers, self._translator.align(wanted), strict=True):
            sentences[number] = replace(sentences[number], alignment=alignment)

    def skip(self, documents: Sequence[Document]) -> None:
        """Read the documents of a window only for the history they leave: they were translated before.

        Windows of a model that looks at its translations must end with a document, for these are not known here.
        """
        for document in documents:
            history = [] if self._enter(document) else self._history
            last = document.sentences[-self._view.history :] if self._view.history else ()
            read = EncodedDocument([self._translator.segment(sentence) for sentence in last], history)
            self._history = history_after(read, self._view)
            self._position = self._position.after(len(document.sentences))

    def _search(self, documents: Sequence[Document]) -> list[list[SearchedSentence]]:
        """Search all sentences of a window; keep the history for the next window."""
        encoded = [EncodedDocument([], self._history)]
        for document in documents:
            if self._enter(document):
                encoded.append(EncodedDocument([], []))
            encoded[-1].sentences.extend(
                self._segment(sentence, is_read_only=number in document.context_only)
                for number, sentence in enumerate(document.sentences)
            )
        schedule = self._translator.search(encoded, self._view, self._task)
        self._history = schedule.histories[-1]
        return schedule.searched

    def _enter(self, document: Document) -> bool:
        """Go to the next document, or part of one; return whether it starts one after the first."""
        self._position = self._position.enter(document)
        return not document.continues and self._position.documents > 1

    def _segment(self, sentence: str, *, is_read_only: bool = False) -> SegmentedSentence:
        """Encode the next sentence; warn if it is split. One that is only read as context has nothing to translate."""
        self._position = self._position.after(1)
        found = self._translator.segment(sentence)
        if is_read_only:
            return found.as_context()
        if len(found.segments) > 1:
            limit = f"more than {self._translator.decoding.longest_source} tokens (decoding.longest_source)"
            self._warnings.note_split(f"{self._position}: {limit}: translated in {len(found.segments)} parts")
        return found


def skipped(documents: Sequence[Document]) -> list[tuple[TranslatedSentence, ...]]:
    """Return empty translations for documents that were translated before."""
    return [(SKIPPED,) * len(document.sentences) for document in documents]


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
