"""Prometheus metrics of the service."""

import resource
from collections.abc import Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from docaps.web.dialects import TEXT_PATHS

BUCKETS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Upper bounds of the latency histogram, in seconds."""
STATM = Path("/proc/self/statm")

disable_created_metrics()  # type: ignore[no-untyped-call]  # /metrics has no `_created` samples


class Metrics:
    """Counters, gauges and the latency histogram of one service; safe to use from several threads."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        self.characters = 0
        self._requests = Counter("docaps_requests", "Requests by path and status.", ["path", "status"], registry=own)
        latency = "Time from a translation request to the end of its response."
        self._seconds = Histogram("docaps_translate_seconds", latency, registry=own, buckets=BUCKETS)
        self._sentences = Counter("docaps_sentences", "Translated sentences.", ["model"], registry=own)
        self._characters = Counter("docaps_characters", "Characters of accepted documents.", ["model"], registry=own)
        self._batches = Counter("docaps_batches", "Translated batches.", ["model"], registry=own)
        self._busy = Counter("docaps_busy_seconds", "Time spent translating.", ["model"], registry=own)
        self._queues = Gauge("docaps_queue_sentences", "Queued sentences.", ["model"], registry=own)
        self._active = Gauge("docaps_active_requests", "Translation requests in progress.", registry=own)
        memory = Gauge("process_resident_memory_bytes", "Resident memory size in bytes.", registry=own)
        memory.set_function(resident_memory)

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count a response; the latency histogram holds translation requests only."""
        self._requests.labels(route, status).inc()
        if route in TEXT_PATHS:
            self._seconds.observe(seconds)

    def count_characters(self, model: str, count: int) -> None:
        """Count the characters of a document that a model is to translate, without its history."""
        self.characters += count
        self._characters.labels(model).inc(count)

    def count_batch(self, model: str, sentences: int, seconds: float) -> None:
        """Count a batch that a model has translated."""
        self._sentences.labels(model).inc(sentences)
        self._batches.labels(model).inc()
        self._busy.labels(model).inc(seconds)

    def render(self, queues: Mapping[str, int], active: int) -> str:
        """Return all metrics in the Prometheus text format; `queues` holds the queued sentences of each model."""
        for model, waiting in queues.items():
            self._queues.labels(model).set(waiting)
            for counter in (self._sentences, self._characters, self._batches, self._busy):
                counter.labels(model)  # a model that has translated nothing yet is listed with 0
        self._active.set(active)
        return generate_latest(self._registry).decode("utf-8")


def resident_memory() -> int:
    """Return the resident memory of this process in bytes; its peak where the system does not report the size."""
    if STATM.exists():
        return int(STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
