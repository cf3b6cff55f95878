"""Threads for each model: they take sentences of all requests, let them be translated, and hand them out.

All batches of all models are computed in the engine, which has a thread for each core, and each computes alone: threads
that share a batch wait for each other, and while one does what is no product of matrices, the others go on.
"""

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch

from docaps.errors import DocapsError
from docaps.translation.loading import TrainedModel
from docaps.translation.pieces import Piece
from docaps.translation.translator import Translator
from docaps.web.metrics import Metrics
from docaps.web.tickets import Manner, Ticket
from docaps.web.turns import Batch, Queue

LOG = logging.getLogger("docaps.web")
PREPARING = 0.2
"""Seconds after which one who gets requests ready turns to those that are."""


class Engine:
    """Threads that compute, one for each of torch's; each computes alone."""

    def __init__(self, size: int | None = None) -> None:
        self.size = size or torch.get_num_threads()
        self.pool = ThreadPoolExecutor(self.size, "docaps-engine", torch.set_num_threads, (1,))


class RequestError(DocapsError):
    """One request that the model could not translate; the cause is in the log."""


class Worker:
    """Translate what waits for one model."""

    def __init__(self, name: str, trained: TrainedModel, metrics: Metrics, engine: "Engine") -> None:
        self.name = name
        self._engine = engine
        self.trained = trained
        self._metrics = metrics
        takers = engine.size if trained.device.type == "cpu" else 1
        self.queue = Queue(takers=takers)
        self._speed = 0.0
        self._threads = [
            threading.Thread(target=self._run, name=f"docaps-{name}-{number}", daemon=True) for number in range(takers)
        ]

    def start(self) -> None:
        """Begin to work."""
        for thread in self._threads:
            thread.start()

    @property
    def alive(self) -> bool:
        """Say whether the threads are at work."""
        return all(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """End the threads after the batches that they are in."""
        self.queue.close()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    @property
    def delay(self) -> int:
        """Estimate in how many seconds there is room again."""
        return max(1, min(60, round(self.queue.waiting / self._speed) if self._speed else 1))

    def _run(self) -> None:
        while self.queue.wait():
            try:
                self._engine.pool.submit(self._work).result()
            except Exception as fault:  # of the queue itself: whoever waits in it is told, and the next may come
                for ticket in self.queue.clear():
                    self._give_up(ticket, fault)
            self.queue.look_again()

    def _work(self) -> None:
        """Translate a batch, in a thread of the engine."""
        start = time.monotonic()
        while (ticket := self.queue.claim()) is not None:
            self._prepare(ticket)
            if time.monotonic() - start > PREPARING:
                break  # others wait who are ready
        batch = self.queue.take()
        self.queue.look_again()  # there may be enough for another, now that it is known what there is
        if not batch:
            return
        self._translate(batch)
        seconds, count = time.monotonic() - start, sum(map(len, batch.values()))
        self._metrics.count_batch(self.name, count, seconds)
        self._speed = self.queue.takers * count / max(seconds, 1e-3)

    def _prepare(self, ticket: Ticket) -> None:
        try:
            ticket.prepare(self._translator(ticket.manner))
        except Exception as fault:
            self._give_up(ticket, fault)

    def _translate(self, batch: Batch) -> None:
        """Translate a part of each ticket together; if that fails, each alone, so that only the culprit is told."""
        try:
            self._attempt(batch)
        except Exception as fault:
            if len(batch) > 1:
                for ticket, places in batch.items():
                    self._translate({ticket: places})
                return
            (ticket,) = batch
            self._give_up(ticket, fault)

    def _attempt(self, batch: Batch) -> None:
        manner = next(iter(batch)).manner
        pieces: list[Piece] = []
        for ticket, places in batch.items():
            pieces += ticket.pieces(places)
        found = iter(self._translator(manner).translate_pieces(pieces, manner.wishes))
        for ticket, places in batch.items():
            own = [next(found) for _ in ticket.pieces(places)]
            ticket.finish(places, [one for sentences, _ in own for one in sentences], own[-1][1])

    def _give_up(self, ticket: Ticket, fault: Exception) -> None:
        LOG.error("a request to the model %s failed", self.name, exc_info=fault)
        ticket.fail(RequestError(str(fault)))

    def _translator(self, manner: Manner) -> Translator:
        return Translator(self.trained, manner.decoding, warn=LOG.debug)
