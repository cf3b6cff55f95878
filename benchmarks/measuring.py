"""Shared by the benchmarks: interleaved repeats, medians, and peak memory."""

import gc
import os
import statistics
import time
from collections.abc import Callable, Mapping

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler would log on stderr

import torch

Work = Callable[[], object]


def seconds(work: Work) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def medians(works: Mapping[str, Work], repeats: int) -> dict[str, float]:
    """Time several functions in turn, so that other load on the machine affects all of them; return the medians."""
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(max(5, repeats)):
        for name, work in works.items():
            times[name].append(seconds(work))
    return {name: statistics.median(found) for name, found in times.items()}


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
