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
    verdicts = {id(item): is_right(found) for item, found in zip(items, scores, strict=True)}
    return break_down(items, lambda group: sum(verdicts[id(item)] for item in group) / len(group))


def chance(items: Group) -> Breakdown:
    """Return the accuracy of guessing."""
    return break_down(items, lambda group: sum(item.chance for item in group) / len(group))


def counts(items: Group) -> Breakdown:
    """Return the number of items."""
    return break_down(items, len)


def break_down(items: Group, measure: Callable[[Group], float]) -> Breakdown:
    """Apply a measure to all items and to each group of them."""
    by_phenomenon = _groups(items, lambda item: item.phenomenon)
    return Breakdown(
        all=measure(items),
        by_phenomenon={name: measure(group) for name, group in by_phenomenon.items()},
        by_distance=_by_distance(items, measure),
        by_phenomenon_and_distance={name: _by_distance(group, measure) for name, group in by_phenomenon.items()},
    )


def _by_distance(items: Group, measure: Callable[[Group], float]) -> dict[str, float]:
    return {name: measure(group) for name, group in _groups(items, lambda item: str(item.distance)).items()}


def _groups(items: Group, key: Callable[[ContrastiveItem], str]) -> dict[str, list[ContrastiveItem]]:
    """Sort items into groups, in the order of their names."""
    groups: dict[str, list[ContrastiveItem]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return dict(sorted(groups.items()))
