"""A thread that owns a model: it takes a round of sentences from all requests, lets it be translated, and hands it out.

All rounds of all models are computed in one thread, the engine, where the models were loaded too: a second thread would
bring threads of its own for its matrix products, and on a machine whose cores are all in use both would be slower.
"""

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Executor

from docaps.config import DecodingSettings
from docaps.errors import DocapsError
from docaps.translation.loading import TrainedModel
from docaps.translation.translator import Piece, TranslatedSentence, Translator, Wishes
from docaps.web.metrics import Metrics
from docaps.web.tickets import Manner, Queue, Ticket

LOG = logging.getLogger("docaps.web")
LETTERS = 4
"""Letters of a token, about: work is reckoned before text becomes tokens."""
BATCHES = 4
"""Batches of a round. More of them are of more even length, fewer let a newcomer in sooner."""


class RequestError(DocapsError):
    """One request that the model could not translate; the cause is in the log."""


class Worker:
    """Translate what waits for one model."""

    def __init__(self, name: str, trained: TrainedModel, metrics: Metrics, engine: Executor) -> None:
        self.name = name
        self._engine = engine
        self.trained = trained
        self._metrics = metrics
        self.queue = Queue(budget=BATCHES * LETTERS * trained.decoding.batch_tokens)
        if self._translator(trained.decoding).needs_whole_documents:
            self.queue.share = 1_000_000_000
        self._speed = 0.0
        self._thread = threading.Thread(target=self._run, name=f"docaps-{name}", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Say whether the thread is at work."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """End the thread after the round that it is in."""
        self.queue.close()
        if self.alive:
            self._thread.join()

    @property
    def delay(self) -> int:
        """Estimate in how many seconds there is room again."""
        return max(1, min(60, round(self.queue.waiting / self._speed) if self._speed else 1))

    def _run(self) -> None:
        while (round_ := self.queue.take()) is not None:
            self._engine.submit(self._work, round_).result()

    def _work(self, round_: dict[Ticket, int]) -> None:
        """Translate a round, in the engine's thread."""
        start = time.monotonic()
        for manner in {ticket.manner for ticket in round_}:
            self._translate(manner, {one: count for one, count in round_.items() if one.manner == manner})
        seconds = time.monotonic() - start
        self._metrics.count_round(self.name, sum(round_.values()), seconds)
        self._speed = sum(round_.values()) / max(seconds, 1e-3)

    def _translate(self, manner: Manner, counts: dict[Ticket, int]) -> None:
        """Translate a part of each ticket together; if that fails, each alone, so that only the culprit is told."""
        try:
            self._attempt(manner, counts)
        except Exception as fault:
            if len(counts) > 1:
                for ticket, count in counts.items():
                    self._translate(manner, {ticket: count})
                return
            LOG.exception("a request to the model %s failed", self.name)
            (ticket,) = counts
            ticket.cancelled = True
            ticket.deliver(RequestError(str(fault)))

    def _attempt(self, manner: Manner, counts: dict[Ticket, int]) -> None:
        translator = self._translator(manner.decoding)
        wishes = Wishes(manner.use_context, routing=manner.routing)
        pieces = [_next_piece(translator, ticket, count) for ticket, count in counts.items()]
        found = translator.translate_pieces(pieces, wishes)
        for ticket, (sentences, carried) in zip(counts, found, strict=True):
            _hand_out(ticket, sentences)
            ticket.carried = carried

    def _translator(self, decoding: DecodingSettings) -> Translator:
        return Translator(self.trained, decoding, warn=LOG.debug)


def _next_piece(translator: Translator, ticket: Ticket, count: int) -> Piece:
    """Cut the next sentences off a ticket; its first ones are given the history."""
    if ticket.carried is None:
        ticket.carried = translator.begin(Wishes(ticket.manner.use_context, ticket.history))
    return Piece(ticket.sentences[ticket.done : ticket.done + count], ticket.carried)


def _hand_out(ticket: Ticket, sentences: Sequence[TranslatedSentence]) -> None:
    """Tell a client what is ready."""
    ticket.done += len(sentences)
    if not ticket.cancelled:
        ticket.deliver(tuple(sentences))
