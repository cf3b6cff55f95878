"""Contrastive accuracy: how often the right translation scores higher than every wrong one."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from docaps.corpus.contrastive import ContrastiveItem

Group = Sequence[ContrastiveItem]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One number for all items, and the same by phenomenon, by distance and by both."""

    all: float
    by_phenomenon: dict[str, float]
    by_distance: dict[str, float]
    by_phenomenon_and_distance: dict[str, dict[str, float]]

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def is_right(scores: Sequence[float]) -> bool:
    """Say whether the first score, that of the right translation, beats all others; a tie does not."""
    return all(scores[0] > other for other in scores[1:])


def accuracy(items: Group, scores: Sequence[Sequence[float]]) -> Breakdown:
    """Return the share of items whose right translation wins."""
    if len(items) != len(scores):
        raise ValueError(f"{len(items)} items, but scores of {len(scores)}")
    return break_down(items, [is_right(found) for found in scores], _mean)


def chance(items: Group) -> Breakdown:
    """Return the accuracy of guessing."""
    return break_down(items, [item.chance for item in items], _mean)


def counts(items: Group) -> Breakdown:
    """Return the number of items."""
    return break_down(items, [1] * len(items), len)


def break_down(items: Group, values: Sequence[float], measure: Callable[[Sequence[float]], float]) -> Breakdown:
    """Apply a measure to the values of all items and of each group of them."""
    numbers = range(len(items))
    by_phenomenon = _groups(numbers, [item.phenomenon for item in items])
    distances = [str(item.distance) for item in items]

    def measure_by_distance(group: Sequence[int]) -> dict[str, float]:
        parts = _groups(group, [distances[number] for number in group])
        return {name: measure([values[number] for number in part]) for name, part in parts.items()}

    return Breakdown(
        all=measure(values),
        by_phenomenon={name: measure([values[number] for number in part]) for name, part in by_phenomenon.items()},
        by_distance=measure_by_distance(numbers),
        by_phenomenon_and_distance={name: measure_by_distance(part) for name, part in by_phenomenon.items()},
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _groups(numbers: Sequence[int], names: Sequence[str]) -> dict[str, list[int]]:
    """Sort numbers of items into groups, in the order of the groups' names."""
    groups: dict[str, list[int]] = {}
    for number, name in zip(numbers, names, strict=True):
        groups.setdefault(name, []).append(number)
    return dict(sorted(groups.items()))
