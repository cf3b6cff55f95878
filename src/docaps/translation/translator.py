"""Translating documents: sentences of all documents, sorted by length, in large batches, put back in order.

Documents are taken as they come and worked on in windows of some thousand sentences, so memory is bounded whatever the
input. The history of a document that goes on in the next window is carried over.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from docaps import progress
from docaps.batches.batch import collate
from docaps.batches.windows import Tokens, Window, windows_of_document
from docaps.config import DecodingSettings
from docaps.corpus.documents import Document
from docaps.errors import RunError
from docaps.translation.batching import cut, in_order_of_length
from docaps.translation.loading import TrainedModel
from docaps.translation.passages import Alternative, Passage, read_passage
from docaps.translation.places import Place
from docaps.translation.routing import HistoryTrace, trace_window
from docaps.translation.search import Hypothesis, search

WINDOW = 4000
"""Sentences that are sorted by length and translated together."""


@dataclass(frozen=True, slots=True)
class TranslatedSentence:
    """A translation, its score (log-probability divided by the length penalty), and what else was asked for."""

    text: str
    score: float
    log_probability: float = 0.0
    alternatives: tuple[Alternative, ...] = ()
    """The best translations, the first of them among them; none unless several are wanted."""
    routing: tuple[HistoryTrace, ...] = ()


Translated = tuple[Document, tuple[TranslatedSentence, ...]]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is wanted of a translation besides the text, and what it is made from."""

    use_context: bool = True
    history: Sequence[str] = ()
    """Sentences before the first document that are read, but not translated."""
    routing: bool = False


TEXT = Wishes()


@dataclass(frozen=True, slots=True)
class _Source:
    """A document, or a part of a long one, as the model sees it: its sentences, and those before it."""

    passages: list[Passage]
    given: list[Tokens]


@dataclass
class _Pace:
    """How many sentences are done, and how fast; time spent waiting for input does not count."""

    task: progress.Task
    done: int = 0
    seconds: float = 0.0

    def advance(self, count: int, seconds: float = 0.0) -> None:
        """Show that more sentences are done."""
        self.done, self.seconds = self.done + count, self.seconds + seconds
        speed = f"{self.done / self.seconds:.1f} sentences/s" if self.seconds else None
        self.task.advance(count, speed)


class Translator:
    """Translate documents with a trained model."""

    def __init__(
        self,
        trained: TrainedModel,
        decoding: DecodingSettings | None = None,
        *,
        window: int | None = None,
        warn: Callable[[str], None] = progress.say,
    ) -> None:
        self._trained = trained
        self.window = window or WINDOW
        self._warn = warn
        self.decoding = decoding or trained.decoding

    def translate(
        self, documents: Iterable[Document], *, use_context: bool = True
    ) -> list[tuple[TranslatedSentence, ...]]:
        """Translate every sentence of every document; empty sentences stay empty."""
        return [sentences for _, sentences in self.stream(documents, Wishes(use_context))]

    def translate_placed(
        self, sentences: Sequence[str], histories: Sequence[Sequence[str]]
    ) -> list[TranslatedSentence]:
        """Translate sentences, each with a history that somebody chose for it (oldest first)."""
        found: list[TranslatedSentence] = []
        pairs = list(zip(sentences, histories, strict=True))
        for start in range(0, len(pairs), self.window):
            sources = [
                _Source(
                    [read_passage(self._trained.codec, sentence, self.decoding.longest_source)],
                    self._encode_history(history),
                )
                for sentence, history in pairs[start : start + self.window]
            ]
            with _task(True) as task:
                found += self._search_documents(sources, TEXT, _Pace(task))
        return found

    def stream(self, documents: Iterable[Document], wishes: Wishes = TEXT) -> Iterator[Translated]:
        """Translate documents as they come, a window of them at a time."""
        for window in self.windows(documents, wishes):
            for document, sentences in window:
                assert sentences is not None
                yield document, sentences

    def windows(
        self,
        documents: Iterable[Document],
        wishes: Wishes = TEXT,
        *,
        skip: int = 0,
        enough: Callable[[int], bool] | None = None,
        shown: bool = True,
    ) -> Iterator[list[tuple[Document, tuple[TranslatedSentence, ...] | None]]]:
        """Translate documents window by window.

        Args:
            documents: the documents; a layout that `continues` goes on with the document before it.
            wishes: what is wanted.
            skip: as many windows are only read, their translations are None.
            enough: says whether so many sentences should be translated now; by default, when a window is full.
            shown: whether to show progress.
        """
        carried = self._encode_history(wishes.history if wishes.use_context else ())
        place = Place(self.decoding.longest_source, self._warn)
        with _task(shown) as task:
            pace = _Pace(task)
            for number, window in enumerate(gather(documents, self.window, enough)):
                if number < skip:
                    carried = self._pass_over(window, carried, place)
                    yield [(document, None) for document in window]
                    continue
                sources, carried = self._read(window, carried, wishes, place)
                found = self._search_documents(sources, wishes, pace)
                yield [(document, tuple(next(found) for _ in document.sentences)) for document in window]
        place.finish()

    def _history(self, wishes: Wishes) -> int:
        return self._trained.model.history if wishes.use_context else 0

    def _encode_history(self, sentences: Sequence[str], before: Sequence[Tokens] = ()) -> list[Tokens]:
        """Encode sentences that are only looked back at."""
        longest = self.decoding.longest_source
        tokens = [read_passage(self._trained.codec, sentence, longest).tokens for sentence in sentences]
        history = self._trained.model.history
        return [*before, *tokens][-history:] if history else []

    def _pass_over(self, window: Sequence[Document], carried: list[Tokens], place: Place) -> list[Tokens]:
        """Read a window only for what it leaves to the next one: the last sentences of a document that may go on."""
        for document in window:
            before = () if place.begin(document) else carried
            carried = self._encode_history(document.sentences[-max(self._trained.model.history, 1) :], before)
            place.pass_over(len(document.sentences))
        return carried

    def _read(
        self, window: Sequence[Document], carried: list[Tokens], wishes: Wishes, place: Place
    ) -> tuple[list[_Source], list[Tokens]]:
        """Get the documents of a window ready, each with the sentences before it, and say what the last one leaves."""
        sources: list[_Source] = []
        history = self._history(wishes)
        for document in window:
            if place.begin(document):
                carried = []
            passages = []
            for sentence in document.sentences:
                passages.append(read_passage(self._trained.codec, sentence, self.decoding.longest_source))
                place.look_at(passages[-1])
            sources.append(_Source(passages, carried))
            carried = [*carried, *(passage.tokens for passage in passages)][-history:] if history else []
        return sources, carried

    def _search_documents(
        self, sources: Sequence[_Source], wishes: Wishes, pace: _Pace
    ) -> Iterator[TranslatedSentence]:
        """Translate all sentences at once: none needs the translation of another.

        A model that looks at its own earlier translations would go through its documents here side by side, first the
        first sentence of each, then the second; nothing outside of this method would change.
        """
        history = self._history(wishes)
        pairs = [
            (passage, window)
            for source in sources
            for passage, window in zip(
                source.passages,
                windows_of_document([one.tokens for one in source.passages], history, source.given),
                strict=True,
            )
        ]
        parts = [replace(window, source=part.tokens) for passage, window in pairs for part in passage.parts]
        found = iter(self._search(parts, pace))
        pace.advance(len(pairs) - len(parts))
        for passage, window in pairs:
            hypotheses = [next(found) for _ in passage.parts]
            traced = trace_window(self._trained, window) if wishes.routing and passage.parts else ()
            yield self._assemble(passage, hypotheses, traced)

    def _assemble(
        self, passage: Passage, found: Sequence[Sequence[Hypothesis]], traced: tuple[HistoryTrace, ...]
    ) -> TranslatedSentence:
        """Make a sentence of the hypotheses of its parts; a part with fewer than others gives its last one again."""
        if not found:
            return TranslatedSentence(passage.before, 0.0)
        count = min(self.decoding.nbest, max(map(len, found)))
        ranked = [
            passage.assemble(
                self._trained.codec, [one[min(rank, len(one) - 1)] for one in found], self.decoding.length_penalty
            )
            for rank in range(count)
        ]
        best = ranked[0]
        several = tuple(ranked) if self.decoding.nbest > 1 else ()
        return TranslatedSentence(best.text, best.score, best.log_probability, several, traced)

    def _search(self, windows: Sequence[Window], pace: _Pace) -> list[list[Hypothesis]]:
        """Translate windows in batches of like length, and put the results back in order."""
        results: list[list[Hypothesis]] = [[] for _ in windows]
        for numbers in cut(in_order_of_length(windows), windows, self.decoding.batch_tokens // self.decoding.beam):
            start = time.monotonic()
            for number, hypotheses in zip(
                numbers, self._search_batch([windows[number] for number in numbers]), strict=True
            ):
                results[number] = hypotheses
            pace.advance(len(numbers), time.monotonic() - start)
        return results

    def _search_batch(self, windows: Sequence[Window]) -> list[list[Hypothesis]]:
        trained = self._trained
        batch = collate(windows, trained.model.history).to(trained.device)
        with trained.autocast():
            found = search(trained.packed or trained.model, batch, self.decoding)
        if not all(found):
            raise RunError("the model finds no translation: its scores are not numbers (NaN). Train it again")
        return found


def gather(
    documents: Iterable[Document], most: int, enough: Callable[[int], bool] | None = None
) -> Iterator[list[Document]]:
    """Put documents together until there are enough sentences."""
    window: list[Document] = []
    count = 0
    for document in documents:
        window.append(document)
        count += len(document.sentences)
        if count >= most or (enough is not None and enough(count)):
            yield window
            window, count = [], 0
    if window:
        yield window


def _task(shown: bool) -> AbstractContextManager[progress.Task]:
    """Begin to show progress, or not."""
    return progress.start("translate") if shown else nullcontext(progress.Task("translate", None))
