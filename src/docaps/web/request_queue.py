"""Queued translation requests and their partial results."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from docaps.batches.windows import View, windows_of_document
from docaps.config import DecodingSettings
from docaps.errors import DocapsError
from docaps.translation.ordering import EncodedDocument, HistorySentence, history_after
from docaps.translation.segments import SegmentedSentence
from docaps.translation.translator import DEFAULTS, FREE, Control, TranslatedSentence, TranslationOptions, Translator

Granularity = Literal["sentence", "sequential", "document"]
"""What is translated at a time: sentences in any order, one after the other (the model looks at its own translations),
or the whole document."""


def granularity_of(view: View) -> Granularity:
    """Return into what documents may be cut, given what the model looks at."""
    return "document" if view.future else "sequential" if view.translations else "sentence"


class RoutingTooLargeError(DocapsError):
    """A request whose response would hold too much routing."""


@dataclass(frozen=True)
class RequestSettings:
    """How a request is translated; requests with equal settings can share a batch."""

    decoding: DecodingSettings
    options: TranslationOptions = DEFAULTS

    @property
    def room(self) -> int:
        """The padded tokens of a batch; tracing the routing is about as much work again."""
        return self.decoding.batch_tokens // self.decoding.beam // (2 if self.options.routing else 1)


PartialResult = tuple[TranslatedSentence, ...] | Exception


@dataclass(eq=False)
class QueuedRequest:
    """An accepted request: its sentences, its progress, and the callback for its results."""

    sentences: tuple[str, ...]
    history: tuple[str, ...]
    settings: RequestSettings
    deliver: Callable[[PartialResult], None]
    promptly: bool = False
    """Whether to deliver sentences as soon as they are finished; otherwise all together."""
    control: Control = FREE
    max_routing: int | None = None
    """How many history words the routing may have, over all sentences."""
    cancelled: bool = False
    context_only: frozenset[int] = frozenset()
    """Numbers of the sentences that are only read as context; their translations are empty."""
    granularity: Granularity = "sentence"
    served: int = 0
    """Sentences taken since the request last went to the back of the queue."""
    passed_over: int = 0
    """How often others were taken while it was the first."""
    remaining: list[int] = field(default_factory=list)
    """Numbers of the sentences still to be translated."""
    taken: set[int] = field(default_factory=set)
    """Those of them that a worker is translating."""
    claimed: bool = False
    """Whether a worker is preparing it."""
    _prepared: list[EncodedDocument] | None = None
    _lengths: list[int] = field(default_factory=list)
    _history: list[HistorySentence] = field(default_factory=list)
    _results: dict[int, TranslatedSentence] = field(default_factory=dict)
    _delivered: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.remaining = list(range(len(self.sentences)))

    @property
    def characters(self) -> int:
        """The number of characters, history included."""
        return sum(map(len, self.sentences)) + sum(map(len, self.history))

    @property
    def waiting(self) -> int:
        """The number of sentences still to be translated."""
        return 0 if self.cancelled else len(self.remaining)

    @property
    def is_prepared(self) -> bool:
        """Whether its sentences are encoded, so that they can be taken."""
        return self._prepared is not None

    def prepare(self, translator: Translator) -> None:
        """Encode its sentences, unless the client leaves meanwhile."""
        view = translator.view(self.settings.options)
        self.granularity = granularity_of(view)
        history: list[HistorySentence] = []
        if self.granularity == "sequential":  # the history is translated too: sentence by sentence, like the rest
            self.sentences = (*self.history, *self.sentences)
            self.context_only = frozenset(number + len(self.history) for number in self.context_only)
            self.remaining, self._delivered = list(range(len(self.sentences))), len(self.history)
        else:
            history = self._history = translator.read_history(self.history, view)
        encoded: list[SegmentedSentence] = []
        for number, sentence in enumerate(self.sentences):
            if self.cancelled:
                return
            found = translator.segment(sentence)
            encoded.append(found.as_context() if number in self.context_only else found)
        if self.settings.options.routing:
            self._check_routing(encoded, history, view)
        self._lengths = [max(1, sentence.size) for sentence in encoded]
        prepared = []
        for one in encoded:
            prepared.append(EncodedDocument([one], history))
            if self.granularity == "sentence":
                history = history_after(prepared[-1], view)
        self._prepared = prepared  # last: from now on its sentences can be taken

    def _check_routing(self, encoded: list[SegmentedSentence], history: list[HistorySentence], view: View) -> None:
        """Refuse a routing that is too large before it is computed: each history word has dozens of numbers."""
        windows = windows_of_document([one.tokens for one in encoded], view, [one.source for one in history])
        words = 0
        for number, window in enumerate(windows):
            words += sum(map(len, window.history))
            if self.max_routing is not None and words > self.max_routing:
                found = f"at most {self.max_routing} history words; sentences 1 to {number + 1} have {words}: "
                fewer = f"ask for at most {number} sentences at a time, with those before them as `history`, or "
                raise RoutingTooLargeError(f"{found}{fewer if number else ''}leave `routing` out")

    def length(self, number: int) -> int:
        """Return the number of tokens of a sentence, at least one."""
        return self._lengths[number]

    def available(self) -> list[int]:
        """Return the numbers of the sentences that can be translated now."""
        with self._lock:
            if self.granularity == "sentence":
                return [number for number in self.remaining if number not in self.taken]
            return [] if self.taken else self.remaining[:1] if self.granularity == "sequential" else self.remaining

    def take(self, numbers: list[int]) -> None:
        """Mark sentences as being translated."""
        with self._lock:
            self.taken |= set(numbers)
        self.served += len(numbers)

    def encoded(self, numbers: list[int]) -> list[EncodedDocument]:
        """Return what to translate for some sentences, each with its history or all in a row."""
        assert self._prepared is not None
        parts = [self._prepared[number] for number in numbers]
        if self.granularity == "sentence":
            return parts
        with self._lock:
            return [EncodedDocument([sentence for part in parts for sentence in part.sentences], self._history)]

    def finish(self, numbers: list[int], sentences: list[TranslatedSentence], history: list[HistorySentence]) -> None:
        """Store the translations of some sentences and the history for the next; deliver what is due."""
        with self._lock:
            done = set(numbers)
            self._results |= dict(zip(numbers, sentences, strict=True))
            self._history = history
            self.remaining = [number for number in self.remaining if number not in done]
            self.taken -= done
            if self.cancelled or (self.remaining and not self.promptly):
                return
            start = self._delivered
            while self._delivered in self._results:
                self._delivered += 1
            if self._delivered > start:
                self.deliver(tuple(self._results[number] for number in range(start, self._delivered)))

    def fail(self, error: Exception) -> None:
        """Cancel it and deliver the error."""
        with self._lock:
            if not self.cancelled:
                self.cancelled = True
                self.deliver(error)
