"""The service behind the routes: which models there are, what they take in, and whether the door is still open."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from docaps.config import DecodingSettings
from docaps.translation.translator import TranslatedSentence, as_row
from docaps.web.faults import RefusalError
from docaps.web.limits import Limits
from docaps.web.messages import Detail, ModelCard, Order, Sentence
from docaps.web.metrics import Metrics
from docaps.web.model_worker import ModelWorker
from docaps.web.request_queue import PartialResult, QueuedRequest, RequestSettings
from docaps.web.sources import Source, read_source


class Reception:
    """Where the translations of one request arrive, in the order of its sentences."""

    def __init__(self, order: Order, source: Source, worker: ModelWorker, ticket: QueuedRequest) -> None:
        self.order = order
        self.source = source
        self.model = worker.name
        self.ticket = ticket
        self.arrived: asyncio.Queue[PartialResult] = asyncio.Queue()

    async def sentences(self) -> AsyncIterator[Sentence]:
        """Go through the sentences as they are finished."""
        place = 0
        while place < len(self.source.sentences):
            found = await self.arrived.get()
            if isinstance(found, Exception):
                raise found
            for sentence in found:
                yield _as_message(self.source.sentences[place], sentence, self.order)
                place += 1

    def leave(self) -> None:
        """Take back what is not yet translated."""
        self.ticket.cancelled = True


def _as_message(source: str, sentence: TranslatedSentence, order: Order) -> Sentence:
    row = dict(as_row(source, sentence))
    if order.routing:
        row.setdefault("routing", [])
    return Sentence.model_validate(row)


class Service:
    """Models by name, the default first; requests are accepted until the service drains."""

    def __init__(
        self, workers: Sequence[ModelWorker], cards: Sequence[ModelCard], limits: Limits, metrics: Metrics
    ) -> None:
        self.workers: Mapping[str, ModelWorker] = {worker.name: worker for worker in workers}
        self.cards = list(cards)
        self.limits = limits
        self.metrics = metrics
        self.draining = False
        self.active = 0
        """Requests for translations whose answer is not yet complete."""

    @property
    def ready(self) -> bool:
        """Say whether requests are taken in."""
        return not self.draining and all(worker.alive for worker in self.workers.values())

    def start(self) -> None:
        """Let all models work."""
        for worker in self.workers.values():
            worker.start()

    def stop(self) -> None:
        """End all work."""
        for worker in self.workers.values():
            worker.stop()

    async def accept(self, order: Order, *, promptly: bool = False) -> Reception:
        """Check a request against the limits and queue it, or say why not."""
        worker = self._find(order.model)
        self._check(order)
        source = await self._read(order, worker.trained.codec.source.code)
        decoding = self._decoding(order, worker.trained.decoding)
        manner = RequestSettings(decoding, order.context, order.routing)
        ticket = QueuedRequest(source.sentences, tuple(order.history), manner, _discard, promptly)
        reception = Reception(order, source, worker, ticket)
        ticket.deliver = _into(reception.arrived)
        if source.sentences and not worker.queue.put(ticket, self.limits.queue):
            raise RefusalError(429, "too many sentences wait already", retry=worker.delay)
        return reception

    async def _read(self, order: Order, language: str) -> Source:
        """Get the sentences; others need not wait while a long text is split."""
        if order.text is None:
            return read_source(order, language)
        source = await asyncio.to_thread(read_source, order, language)
        self._check_size("text", source.sentences)
        return source

    def _find(self, name: str | None) -> ModelWorker:
        """Find a model; the name is only ever compared with those that are loaded."""
        if name is None:
            return next(iter(self.workers.values()))
        if name not in self.workers:
            known = ", ".join(self.workers)
            raise RefusalError(422, "no such model", [Detail(where="model", message=f"one of {known}")])
        return self.workers[name]

    def _check(self, order: Order) -> None:
        """Refuse what is beyond the limits before any work is done."""
        self._check_size("sentences", order.sentences or ())
        self._check_size("history", order.history)
        if max(order.beam or 1, order.nbest) > self.limits.beam:
            found = max(order.beam or 1, order.nbest)
            detail = Detail(where="beam", message=f"at most {self.limits.beam}, found {found}")
            raise RefusalError(422, "the beam is too wide", [detail])

    def _check_size(self, name: str, sentences: Sequence[str]) -> None:
        if len(sentences) > self.limits.sentences:
            detail = Detail(where=name, message=f"at most {self.limits.sentences} sentences, found {len(sentences)}")
            raise RefusalError(422, "too many sentences", [detail])
        for place, sentence in enumerate(sentences):
            if len(sentence) > self.limits.characters:
                message = f"at most {self.limits.characters} characters, found {len(sentence)}"
                raise RefusalError(422, "a sentence is too long", [Detail(where=f"{name}.{place}", message=message)])

    def _decoding(self, order: Order, settings: DecodingSettings) -> DecodingSettings:
        beam = order.beam or min(max(settings.beam, order.nbest), self.limits.beam)
        return settings.model_copy(update={"beam": beam, "nbest": order.nbest})


def _discard(_: PartialResult) -> None:
    """Stand in until there is somebody to tell."""


def _into(queue: "asyncio.Queue[PartialResult]") -> "_Bridge":
    return _Bridge(asyncio.get_running_loop(), queue)


@dataclass(frozen=True, slots=True)
class _Bridge:
    """From a worker's thread into the event loop; nobody is there any more once the loop is closed."""

    loop: asyncio.AbstractEventLoop
    queue: "asyncio.Queue[PartialResult]"

    def __call__(self, delivery: PartialResult) -> None:
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.queue.put_nowait, delivery)
