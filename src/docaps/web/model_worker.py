"""The worker threads of each model: they take batches from the queue, translate them and deliver the results.

All batches of all models are computed in the engine, a pool with one thread for each core, each computing alone:
threads that share a batch wait for each other, while threads with a batch each keep all cores busy.
"""

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice

import torch

from docaps.errors import DocapsError
from docaps.translation.ordering import EncodedDocument, HistorySentence
from docaps.translation.routing_traces import count_numbers
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import TranslatedSentence, TranslationOptions, Translator
from docaps.web.batcher import Batcher, RequestBatch
from docaps.web.metrics import Metrics
from docaps.web.request_queue import QueuedRequest, RoutingTooLargeError

LOG = logging.getLogger("docaps.web")
LONGEST_PREPARATION = 0.2
"""Seconds after which a worker stops preparing requests and translates those that are prepared."""


class Engine:
    """A pool of compute threads, as many as torch has, each computing alone."""

    def __init__(self, size: int | None = None) -> None:
        self.size = size or torch.get_num_threads()
        self.pool = ThreadPoolExecutor(self.size, "docaps-engine", torch.set_num_threads, (1,))


class RequestError(DocapsError):
    """A request that the model could not translate; the cause is in the log."""


class ModelWorker:
    """Translate the requests to one model."""

    def __init__(self, name: str, trained: TrainedModel, metrics: Metrics, engine: Engine) -> None:
        self.name, self.trained = name, trained
        self._metrics, self._engine = metrics, engine
        workers = engine.size if trained.device.type == "cpu" else 1
        self.queue = Batcher(workers=workers)
        self._speed = 0.0
        self._threads = [
            threading.Thread(target=self._run, name=f"docaps-{name}-{number}", daemon=True) for number in range(workers)
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    @cached_property
    def routing_numbers(self) -> int:
        """How many numbers the routing has for each word of the history."""
        return count_numbers(self.trained)

    @property
    def alive(self) -> bool:
        """Whether all threads are running."""
        return all(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """End the threads after their current batches."""
        self.queue.close()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    @property
    def delay(self) -> int:
        """The estimated seconds until there is room in the queue."""
        return max(1, min(60, round(self.queue.waiting / self._speed) if self._speed else 1))

    def _run(self) -> None:
        while self.queue.wait():
            try:
                self._engine.pool.submit(self._work).result()
            except Exception as error:  # of the queue itself: fail all its requests, and accept new ones
                for request in self.queue.clear():
                    self._fail(request, error)
            self.queue.wake()

    def _work(self) -> None:
        """Prepare requests, then translate a batch, in a thread of the engine."""
        start = time.monotonic()
        while (request := self.queue.claim()) is not None:
            try:
                request.prepare(Translator(self.trained, request.settings.decoding, control=request.control))
            except RoutingTooLargeError as error:
                request.fail(error)
            except Exception as error:
                self._fail(request, error)
            if time.monotonic() - start > LONGEST_PREPARATION:
                break
        batch = self.queue.take()
        self.queue.wake()  # what was prepared may be enough for another batch
        if not batch:
            return
        self._translate(batch)
        seconds, count = time.monotonic() - start, sum(map(len, batch.values()))
        read = sum(len(one.context_only.intersection(numbers)) for one, numbers in batch.items())
        self._metrics.count_batch(self.name, count - read, seconds)
        self._speed = self.queue.workers * count / max(seconds, 1e-3)

    def _translate(self, batch: RequestBatch) -> None:
        """Translate a batch; if it fails, translate each request alone, so that only the faulty one fails."""
        first, *others = batch
        translator = Translator(self.trained, first.settings.decoding)
        try:
            documents = {request: request.encoded(numbers) for request, numbers in batch.items()}
            together = [document for own in documents.values() for document in own]
            sources = [request.sentences[number] for request, numbers in batch.items() for number in numbers]
            found = iter(translate_encoded(translator, together, first.settings.options, sources))
            for request, numbers in batch.items():
                own = list(islice(found, len(documents[request])))
                request.finish(numbers, [one for sentences, _ in own for one in sentences], own[-1][1])
        except Exception as error:
            if not others:
                self._fail(first, error)
                return
            for request, numbers in batch.items():
                self._translate({request: numbers})

    def _fail(self, request: QueuedRequest, error: Exception) -> None:
        LOG.error("a request to the model %s failed", self.name, exc_info=error)
        request.fail(RequestError(str(error)))


def translate_encoded(
    translator: Translator, documents: Sequence[EncodedDocument], options: TranslationOptions, sources: Sequence[str]
) -> list[tuple[tuple[TranslatedSentence, ...], list[HistorySentence]]]:
    """Translate parts of several documents together; return each part's sentences and the history after it.

    `sources` are the sentences of all parts as they were given, to align their words.
    """
    schedule = translator.search(documents, translator.view(options))
    searched = [*chain.from_iterable(schedule.searched)]
    sentences = [translator.assemble(one, options) for one in searched]
    if options.alignment:
        texts = [one.text for one in sentences]
        alignments = translator.align(list(zip(sources, searched, texts, strict=True)))
        sentences = [replace(one, alignment=own) for one, own in zip(sentences, alignments, strict=True)]
    rest = iter(sentences)
    return [
        (tuple(islice(rest, len(found))), history)
        for found, history in zip(schedule.searched, schedule.histories, strict=True)
    ]
