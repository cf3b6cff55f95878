"""Numbers for Prometheus: counters, gauges and a histogram, written in its text format."""

import resource
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

BOUNDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Upper ends of the histogram of seconds."""
STATUS = Path("/proc/self/statm")


class Metrics:
    """What the service counts; many threads may."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: Counter[int] = Counter()
        self._seconds = 0.0
        self._sentences: Counter[str] = Counter()
        self._batches: Counter[str] = Counter()
        self._busy: Counter[str] = Counter()

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count an answer; translations are timed as well."""
        with self._lock:
            self._requests[route, status] += 1
            if route.startswith("/v1/translate"):
                self._buckets[bisect_left(BOUNDS, seconds)] += 1
                self._seconds += seconds

    def count_batch(self, model: str, sentences: int, seconds: float) -> None:
        """Count what a model has translated in one go."""
        with self._lock:
            self._sentences[model] += sentences
            self._batches[model] += 1
            self._busy[model] += round(seconds * 1e6)

    def render(self, queues: Mapping[str, int], active: int) -> str:
        """Write all numbers; `queues` says how many sentences wait for each model."""
        with self._lock:
            lines = [*self._request_lines(), *self._model_lines(queues)]
        lines += _family("docaps_active_requests", "gauge", "Translations in work.", {"": active})
        lines += _family("process_resident_memory_bytes", "gauge", "Memory in use.", {"": resident_memory()})
        return "\n".join(lines) + "\n"

    def _request_lines(self) -> Iterator[str]:
        answered = {
            f'{{path="{route}",status="{status}"}}': count for (route, status), count in sorted(self._requests.items())
        }
        yield from _family("docaps_requests_total", "counter", "Requests by path and status.", answered)
        name = "docaps_translate_seconds"
        yield f"# HELP {name} Time from a request for a translation to the end of its answer."
        yield f"# TYPE {name} histogram"
        total = 0
        for place, bound in enumerate((*BOUNDS, "+Inf")):
            total += self._buckets[place]
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self._seconds:.6f}"
        yield f"{name}_count {total}"

    def _model_lines(self, queues: Mapping[str, int]) -> Iterator[str]:
        def by_model(counts: Mapping[str, float]) -> dict[str, float]:
            return {f'{{model="{_escape(model)}"}}': counts.get(model, 0) for model in queues}

        yield from _family("docaps_sentences_total", "counter", "Translated sentences.", by_model(self._sentences))
        yield from _family("docaps_batches_total", "counter", "Batches of sentences.", by_model(self._batches))
        busy = {model: count / 1e6 for model, count in self._busy.items()}
        yield from _family("docaps_busy_seconds_total", "counter", "Time spent translating.", by_model(busy))
        yield from _family("docaps_queue_sentences", "gauge", "Sentences that wait.", by_model(queues))


def _family(name: str, kind: str, text: str, values: Mapping[str, float]) -> Iterator[str]:
    """Write one metric with all its labels."""
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values.items():
        yield f"{name}{labels} {value}"


def _escape(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def resident_memory() -> int:
    """Return how much memory the process has, in bytes; where the system does not say, the most it ever had."""
    if STATUS.exists():
        return int(STATUS.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
