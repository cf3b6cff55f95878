"""Translating documents: sentences of all documents, sorted by length, in large batches, put back in order.

Documents are taken as they come and worked on in windows of some thousand sentences, so memory is bounded whatever the
input. The history of a document that goes on in the next window is carried over.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice

from docaps import progress
from docaps.batches.batch import collate
from docaps.batches.windows import View, Window
from docaps.config import DecodingSettings
from docaps.corpus.documents import Document
from docaps.errors import RunError
from docaps.translation.batching import cut, in_order_of_length
from docaps.translation.loading import TrainedModel
from docaps.translation.ordering import Earlier, Found, Source, translate_in_order
from docaps.translation.passages import Alternative, Passage, read_passage
from docaps.translation.pieces import Carried, Grain, Piece
from docaps.translation.places import Place
from docaps.translation.routing import HistoryTrace, trace_window
from docaps.translation.search import Hypothesis, search
from docaps.translation.workers import work_side_by_side

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
    """Translate documents with a trained model; if scores are not wanted, greedy search leaves them out."""

    def __init__(
        self,
        trained: TrainedModel,
        decoding: DecodingSettings | None = None,
        *,
        window: int | None = None,
        scored: bool = True,
        warn: Callable[[str], None] = progress.say,
    ) -> None:
        self._trained, self._scored, self._warn = trained, scored, warn
        self.window = window or WINDOW
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
        view = replace(self._trained.model.view, shuffled=False)
        pairs = list(zip(sentences, histories, strict=True))
        for start in range(0, len(pairs), self.window):
            with _task(True) as task:
                sources = [
                    Source([self._passage(sentence)], self._carry(self._read_history(history), view))
                    for sentence, history in pairs[start : start + self.window]
                ]
                found += [self._assemble(one, TEXT) for one in self._search_documents(sources, view, _Pace(task))]
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
        view = self._view(wishes)
        place = self._place()
        with _task(shown) as task:
            pace = _Pace(task)
            carried = self._carry(self._read_history(wishes.history), view)
            for number, window in enumerate(gather(documents, self.window, enough, whole=view.future > 0)):
                known = number < skip
                if known and not view.translations:
                    carried = self._pass_over(window, carried, view, place)
                    yield [(document, None) for document in window]
                    continue
                sources = self._read(window, carried, place)
                found = self._search_documents(sources, view, pace)
                carried = _leave(sources, found, view)
                sentences = (self._assemble(one, wishes) for one in found)
                yield [
                    (document, None if known else tuple(next(sentences) for _ in document.sentences))
                    for document in window
                ]
        place.finish()

    def grain(self, wishes: Wishes) -> Grain:
        """Say into which pieces documents may be cut, for what the model looks at."""
        view = self._view(wishes)
        return "document" if view.future else "turn" if view.translations else "sentence"

    def begin(self, wishes: Wishes) -> Carried:
        """Return what the first piece of a document is given: the sentences before it."""
        return self._carry(self._read_history(wishes.history), self._view(wishes))

    def read(self, sentences: Sequence[str]) -> list[Passage]:
        """Get the sentences of a document ready."""
        (source,) = self._read([Document(tuple(sentences))], [], self._place())
        return source.passages

    def cut_up(self, passages: Sequence[Passage], wishes: Wishes) -> list[Piece]:
        """Make each sentence of a document a piece, if the grain is a sentence."""
        view, carried = self._view(wishes), self.begin(wishes)
        pieces = []
        for passage in passages:
            pieces.append(Piece((passage,), carried))
            carried = _leave([Source([passage], carried)], [], view)
        return pieces

    def translate_pieces(
        self, pieces: Sequence[Piece], wishes: Wishes
    ) -> list[tuple[tuple[TranslatedSentence, ...], Carried]]:
        """Translate pieces of several documents together; say of each what it leaves to the next piece."""
        view = self._view(wishes)
        sources = [Source(list(piece.passages), piece.carried) for piece in pieces]
        found = iter(self._search_documents(sources, view, _Pace(progress.Task("pieces", None))))
        results = []
        for source in sources:
            own = list(islice(found, len(source.passages)))
            results.append((tuple(self._assemble(one, wishes) for one in own), _leave([source], own, view)))
        return results

    def _place(self) -> Place:
        """Begin to count documents and sentences."""
        return Place(self.decoding.longest_source, self._warn)

    def _view(self, wishes: Wishes) -> View:
        """Return what of a document the model may look at."""
        return self._trained.model.view if wishes.use_context else View()

    def _read_history(self, history: Sequence[str]) -> Source:
        """Read sentences that are only looked back at."""
        return Source([self._passage(sentence) for sentence in history], [])

    def _passage(self, sentence: str) -> Passage:
        return read_passage(self._trained.codec, sentence, self.decoding.longest_source)

    def _carry(self, source: Source, view: View) -> list[Earlier]:
        """Say what sentences leave to those after them; they are translated only for a model that looks at that."""
        unseen = _Pace(progress.Task("history", None))
        found = self._search_documents([source], view, unseen) if view.translations else []
        return _leave([source], found, view)

    def _pass_over(self, window: Sequence[Document], carried: list[Earlier], view: View, place: Place) -> list[Earlier]:
        """Read a window only for what it leaves to the next one: the last sentences of a document that may go on."""
        for document in window:
            before = [] if place.begin(document) else carried
            last = document.sentences[-view.history :] if view.history else ()
            carried = _leave([Source([self._passage(sentence) for sentence in last], before)], [], view)
            place.pass_over(len(document.sentences))
        return carried

    def _read(self, window: Sequence[Document], carried: list[Earlier], place: Place) -> list[Source]:
        """Get the documents of a window ready, the first perhaps with sentences before it."""
        sources = [Source([], carried)]
        for document in window:
            if place.begin(document):
                sources.append(Source([], []))
            for sentence in document.sentences:
                sources[-1].passages.append(self._passage(sentence))
                place.look_at(sources[-1].passages[-1])
        return sources

    def _search_documents(self, sources: Sequence[Source], view: View, pace: _Pace) -> list[Found]:
        """Translate all sentences, in an order in which each finds what the model looks at."""

        def search_windows(passages: Sequence[Passage], windows: Sequence[Window]) -> list[Found]:
            pairs = list(zip(passages, windows, strict=True))
            parts = [replace(window, source=part.tokens) for passage, window in pairs for part in passage.parts]
            found = iter(self._search(parts, pace))
            pace.advance(len(pairs) - len(parts))
            return [Found(passage, window, [next(found) for _ in passage.parts]) for passage, window in pairs]

        return translate_in_order(sources, view, search_windows)

    def _assemble(self, sentence: Found, wishes: Wishes) -> TranslatedSentence:
        """Make a sentence of the hypotheses of its parts; a part with fewer than others gives its last one again."""
        passage, found = sentence.passage, sentence.parts
        if not found:
            return TranslatedSentence(passage.before, 0.0)
        traced = trace_window(self._trained, sentence.window) if wishes.routing else ()
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
        order = in_order_of_length(windows)
        # The longest come first: in the end no worker should wait for one that has just begun with much.
        batches = list(cut(order, windows, self.decoding.batch_tokens // self.decoding.beam))[::-1]
        start = time.monotonic()
        for numbers, found in zip(batches, self._search_batches(batches, windows), strict=True):
            for number, hypotheses in zip(numbers, found, strict=True):
                results[number] = hypotheses
            pace.advance(len(numbers), time.monotonic() - start)
            start = time.monotonic()
        return results

    def _search_batches(
        self, batches: Sequence[Sequence[int]], windows: Sequence[Window]
    ) -> Iterator[list[list[Hypothesis]]]:
        workers = None if self._trained.device.type == "cpu" else 1
        return work_side_by_side(
            lambda numbers: self._search_batch([windows[number] for number in numbers]), batches, workers
        )

    def _search_batch(self, windows: Sequence[Window]) -> list[list[Hypothesis]]:
        trained = self._trained
        batch = collate(windows, trained.model.view).to(trained.device)
        with trained.autocast():
            found = search(trained.packed or trained.model, batch, self.decoding, scored=self._scored)
        if not all(found):
            raise RunError("the model finds no translation: its scores are not numbers (NaN). Train it again")
        return found


def _leave(sources: Sequence[Source], found: Sequence[Found], view: View) -> list[Earlier]:
    """Say what the last document leaves to its sentences after it."""
    if not view.history:
        return []
    last = sources[-1]
    written = [one.translation for one in found[len(found) - len(last.passages) :]] if found else []
    written += [()] * (len(last.passages) - len(written))
    own = [Earlier(passage.tokens, target) for passage, target in zip(last.passages, written, strict=True)]
    return [*last.given, *own][-view.history :]


def gather(
    documents: Iterable[Document], most: int, enough: Callable[[int], bool] | None = None, *, whole: bool = False
) -> Iterator[list[Document]]:
    """Put documents together until there are enough sentences; `whole`: and until the last of them is at its end."""
    window: list[Document] = []
    count = 0

    def is_full() -> bool:
        return count >= most or (enough is not None and enough(count))

    for document in documents:
        if whole and window and not _continues(document) and is_full():
            yield window
            window, count = [], 0
        window.append(document)
        count += len(document.sentences)
        if not whole and is_full():
            yield window
            window, count = [], 0
    if window:
        yield window


def _continues(document: Document) -> bool:
    return document.layout is not None and document.layout.continues


def _task(shown: bool) -> AbstractContextManager[progress.Task]:
    """Begin to show progress, or not."""
    return progress.start("translate") if shown else nullcontext(progress.Task("translate", None))
