"""Cleaning: which pairs a model should not be trained on, and why; nothing is dropped silently.

A filtered pair is not removed: it stays in its document as history of the sentences after it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from docaps.config import CleaningSettings
from docaps.corpus.arrays import TokenArray

Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Which pairs are left, and how many each filter took, each pair counted at the first filter that took it."""

    usable: Marks
    filtered: Mapping[str, int]


def clean(source: TokenArray, target: TokenArray, settings: CleaningSettings) -> Cleaned:
    """Go through the filters in order; sentences are words, numbered alike on both sides."""
    usable = np.ones(len(source), dtype=np.bool_)
    filtered = {}
    for name, taken in _filters(source, target, settings):
        filtered[name] = int((taken & usable).sum())
        usable &= ~taken
    return Cleaned(usable, filtered)


def _filters(source: TokenArray, target: TokenArray, settings: CleaningSettings) -> Iterator[tuple[str, Marks]]:
    """Say for each filter that is on which pairs it takes."""
    here, there = source.lengths, target.lengths
    yield "empty on one side or both", (here == 0) | (there == 0)
    if settings.longest is not None:
        yield f"longer than {settings.longest} words", np.maximum(here, there) > settings.longest
    if settings.ratio is not None:
        longer, shorter = np.maximum(here, there), np.maximum(np.minimum(here, there), 1)
        yield f"more than {settings.ratio:g} times as long as the other side", longer > settings.ratio * shorter
    if settings.copies:
        yield "the same on both sides", _copies(source, target)
    if settings.duplicates:
        yield "seen before", _duplicates(source, target)


def _copies(source: TokenArray, target: TokenArray) -> Marks:
    """Mark pairs whose sides are equal."""
    candidates = np.flatnonzero(source.lengths == target.lengths)
    marks = np.zeros(len(source), dtype=np.bool_)
    marks[[pair for pair in candidates.tolist() if np.array_equal(source[pair], target[pair])]] = True
    return marks


def _duplicates(source: TokenArray, target: TokenArray) -> Marks:
    """Mark pairs that were there before."""
    marks = np.zeros(len(source), dtype=np.bool_)
    seen: set[tuple[bytes, bytes]] = set()
    for pair in range(len(source)):
        key = (source[pair].tobytes(), target[pair].tobytes())
        marks[pair] = key in seen
        seen.add(key)
    return marks
