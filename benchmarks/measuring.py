"""Shared by the benchmarks: interleaved repeats, medians, ratios over rounds, and peak memory."""

import gc
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler would log on stderr

import torch

Work = Callable[[], object]


def seconds(work: Work) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class Rounds:
    """The seconds of several kinds of work, one time of each in every round.

    A ratio of two medians swings with the load on the machine; neighbours in time share that load, so the median of
    their ratios swings less.
    """

    times: Mapping[str, Sequence[float]]

    def median(self, name: str) -> float:
        """Return the median seconds of one kind of work."""
        return statistics.median(self.times[name])

    def speed(self, name: str, than: str) -> float:
        """Return the speed of one kind of work as a share of another's: the median over rounds."""
        return statistics.median(self._speeds(name, than))

    def describe(self, name: str, than: str) -> str:
        """Return the times of two kinds of work, and the speed of one as a share of the other's."""
        low, _, high = statistics.quantiles(self._speeds(name, than), n=4)
        medians = [f"{one} {1000 * self.median(one):.0f} ms" for one in (than, name)]
        share = f"{self.speed(name, than):.3f} of the speed"
        return f"{', '.join(medians)}: {share} (quartiles {low:.3f} to {high:.3f}, {len(self.times[name])} rounds)"

    def _speeds(self, name: str, than: str) -> list[float]:
        return [other / own for own, other in zip(self.times[name], self.times[than], strict=True)]


def time_rounds(works: Mapping[str, Work], repeats: int) -> Rounds:
    """Time several functions in turn, so that other load on the machine affects all of them, after a warm-up."""
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for number in range(max(5, repeats)):
        for name, work in list(works.items())[:: -1 if number % 2 else 1]:
            times[name].append(seconds(work))
    return Rounds(times)


def medians(works: Mapping[str, Work], repeats: int) -> dict[str, float]:
    """Time several functions in turn; return the median seconds of each."""
    found = time_rounds(works, repeats)
    return {name: found.median(name) for name in works}


def peak_memory(work: Work) -> int:
    """Return the peak rise of tensor memory during a call, in bytes."""
    work()
    gc.collect()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        work()
    results = profile.profiler.kineto_results if profile.profiler else None
    changes = [event.nbytes() for event in results.events() if event.name() == "[memory]"] if results else []
    level = peak = 0
    for change in changes:
        level += change
        peak = max(peak, level)
    return peak
