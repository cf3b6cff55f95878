"""Contrastive accuracy: how often the right translation scores higher than every wrong one.

For generative items: how often the model's own translation holds the expected word. Chance is the share of right
answers without looking: one of the translations given, or, for a generative item, the translation of another item.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from docaps.corpus.contrastive import AnyItem, ContrastiveItem, GenerativeItem
from docaps.evaluation.proportions import interval_of

Group = Sequence[AnyItem]
Value = TypeVar("Value")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Breakdown(Generic[Result]):
    """A measure of all items, and of those that have something in common; unknown distances are left out there."""

    all: Result
    by_phenomenon: dict[str, Result]
    by_distance: dict[str, Result]
    by_phenomenon_and_distance: dict[str, dict[str, Result]]
    by_pronoun: dict[str, Result]
    by_form: dict[str, Result]

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of an item: right or not, a tie (which is not right), and the chance to be right by guessing."""

    right: bool
    chance: float
    tie: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """Accuracy with its 95 % interval, beside chance and counts."""

    accuracy: float
    low: float
    high: float
    method: str
    chance: float
    items: int
    ties: int


def is_right(scores: Sequence[float]) -> bool:
    """Say whether the first score, that of the right translation, beats all others; a tie does not."""
    return all(scores[0] > other for other in scores[1:])


def judge_scores(items: Sequence[ContrastiveItem], scores: Sequence[Sequence[float]]) -> list[Decision]:
    """Decide items by the scores of their translations, the right one's first."""
    if len(items) != len(scores):
        raise ValueError(f"{len(items)} items, but scores of {len(scores)}")
    return [
        Decision(is_right(found), item.chance, found[0] == max(found[1:]))
        for item, found in zip(items, scores, strict=True)
    ]


def judge_translations(items: Sequence[GenerativeItem], translations: Sequence[str]) -> list[Decision]:
    """Decide items by what the model wrote; chance is the share of the other items' translations that would do."""
    if len(items) != len(translations):
        raise ValueError(f"{len(items)} items, but {len(translations)} translations")
    would_do = Counter({words: sum(holds(text, words) for text in translations) for words in _expectations(items)})
    decisions = []
    for item, text in zip(items, translations, strict=True):
        right = holds(text, item.expected)
        decisions.append(Decision(right, (would_do[item.expected] - right) / max(len(items) - 1, 1)))
    return decisions


def _expectations(items: Sequence[GenerativeItem]) -> Iterable[tuple[str, ...]]:
    return {item.expected for item in items}


def holds(text: str, words: Sequence[str]) -> bool:
    """Say whether one of the words stands in a text as a whole word, ignoring case."""
    return any(_whole_word(word).search(text.casefold()) for word in words)


@lru_cache(maxsize=10_000)
def _whole_word(word: str) -> re.Pattern[str]:
    words = r"\s+".join(re.escape(part) for part in word.casefold().split())
    return re.compile(rf"(?<!\w){words}(?!\w)")


def measure(items: Group, decisions: Sequence[Decision]) -> Breakdown[Measure]:
    """Return accuracy, interval, chance and counts of all items and of each group of them."""
    if len(items) != len(decisions):
        raise ValueError(f"{len(items)} items, but {len(decisions)} decisions")
    return break_down(items, list(zip(items, decisions, strict=True)), _measure)


def _measure(pairs: Sequence[tuple[AnyItem, Decision]]) -> Measure:
    right = [float(decision.right) for _, decision in pairs]
    interval = interval_of(right, [item.document for item, _ in pairs])
    return Measure(
        accuracy=_mean(right),
        low=interval.low,
        high=interval.high,
        method=interval.method,
        chance=_mean([decision.chance for _, decision in pairs]),
        items=len(pairs),
        ties=sum(decision.tie for _, decision in pairs),
    )


def accuracy(items: Sequence[ContrastiveItem], scores: Sequence[Sequence[float]]) -> Breakdown[float]:
    """Return the share of items whose right translation wins."""
    return break_down(items, [float(decision.right) for decision in judge_scores(items, scores)], _mean)


def chance(items: Sequence[ContrastiveItem]) -> Breakdown[float]:
    """Return the accuracy of guessing."""
    return break_down(items, [item.chance for item in items], _mean)


def counts(items: Group) -> Breakdown[int]:
    """Return the number of items."""
    return break_down(items, items, len)


def break_down(
    items: Group, values: Sequence[Value], measure: Callable[[Sequence[Value]], Result]
) -> Breakdown[Result]:
    """Apply a measure to the values of all items and of each group of them."""
    every = range(len(items))
    phenomena = [item.phenomenon for item in items]
    distances = [None if item.distance is None else str(item.distance) for item in items]

    def grouped(names: Sequence[str | None], numbers: Sequence[int] = every) -> dict[str, Result]:
        parts = _groups(names, numbers)
        return {name: measure([values[number] for number in part]) for name, part in parts.items()}

    return Breakdown(
        all=measure(values),
        by_phenomenon=grouped(phenomena),
        by_distance=grouped(distances),
        by_phenomenon_and_distance={
            name: found for name, part in _groups(phenomena, every).items() if (found := grouped(distances, part))
        },
        by_pronoun=grouped([item.pronoun for item in items]),
        by_form=grouped([item.form or None for item in items]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _groups(names: Sequence[str | None], numbers: Sequence[int]) -> dict[str, list[int]]:
    """Sort numbers of items into groups by name, "9" before "10"; what has no name is in no group."""
    groups: dict[str, list[int]] = {}
    for number in numbers:
        if (name := names[number]) is not None:
            groups.setdefault(name, []).append(number)
    return dict(sorted(groups.items(), key=lambda group: (len(group[0]) if group[0].isdigit() else 0, group[0])))
