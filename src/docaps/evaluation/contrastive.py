"""Contrastive accuracy: how often the right translation scores higher than every wrong one.

For generative items: how often the model's own translation holds the expected word. Chance is the accuracy of guessing:
one of the given translations, or, for a generative item, the translation of another item.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from docaps.corpus.contrastive import ContrastiveItem, GenerativeItem
from docaps.corpus.contrastive.contrastive_set import AnyItem
from docaps.evaluation.intervals import share_interval

Value = TypeVar("Value")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ByGroup(Generic[Result]):
    """A result for all items and by group; an item without a label is in no group of that kind."""

    all: Result
    by_phenomenon: dict[str, Result]
    by_distance: dict[str, Result]
    by_phenomenon_and_distance: dict[str, dict[str, Result]]
    by_pronoun: dict[str, Result]
    by_form: dict[str, Result]


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of an item: right or not, a tie (which is not right), and the chance of guessing it."""

    right: bool
    chance: float
    tie: bool = False


@dataclass(frozen=True, slots=True)
class Accuracy:
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
    """Decide items by the scores of their translations, the right one first."""
    return [
        Decision(is_right(found), item.chance, found[0] == max(found[1:]))
        for item, found in zip(items, scores, strict=True)
    ]


def judge_translations(items: Sequence[GenerativeItem], translations: Sequence[str]) -> list[Decision]:
    """Decide items by the model's translations; chance is the share of other items' translations that would do."""
    would_do = {words: sum(holds(text, words) for text in translations) for words in {item.expected for item in items}}
    judged = [(holds(text, item.expected), item.expected) for item, text in zip(items, translations, strict=True)]
    return [Decision(right, (would_do[words] - right) / max(len(items) - 1, 1)) for right, words in judged]


def holds(text: str, words: Sequence[str]) -> bool:
    """Say whether a text holds one of the words as a whole word, ignoring case."""
    return any(_whole_word(word).search(text.casefold()) for word in words)


@lru_cache(maxsize=10_000)
def _whole_word(word: str) -> re.Pattern[str]:
    words = r"\s+".join(re.escape(part) for part in word.casefold().split())
    return re.compile(rf"(?<!\w){words}(?!\w)")


def measure_accuracy(items: Sequence[AnyItem], decisions: Sequence[Decision]) -> ByGroup[Accuracy]:
    """Return accuracy, interval, chance and counts of all items and of each group."""
    return group_items(items, list(zip(items, decisions, strict=True)), _accuracy)


def _accuracy(pairs: Sequence[tuple[AnyItem, Decision]]) -> Accuracy:
    right = [float(decision.right) for _, decision in pairs]
    interval = share_interval(right, [item.document for item, _ in pairs])
    chance, ties = _mean([decision.chance for _, decision in pairs]), sum(decision.tie for _, decision in pairs)
    return Accuracy(_mean(right), interval.low, interval.high, interval.method, chance, len(pairs), ties)


def accuracy(items: Sequence[ContrastiveItem], scores: Sequence[Sequence[float]]) -> ByGroup[float]:
    """Return the share of items whose right translation wins."""
    return group_items(items, [float(decision.right) for decision in judge_scores(items, scores)], _mean)


def chance(items: Sequence[ContrastiveItem]) -> ByGroup[float]:
    """Return the accuracy of guessing."""
    return group_items(items, [item.chance for item in items], _mean)


def counts(items: Sequence[AnyItem]) -> ByGroup[int]:
    """Return the number of items."""
    return group_items(items, items, len)


def group_items(
    items: Sequence[AnyItem], values: Sequence[Value], summarise: Callable[[Sequence[Value]], Result]
) -> ByGroup[Result]:
    """Summarise the values of all items and of each group."""
    phenomena = [item.phenomenon for item in items]
    distances = [None if item.distance is None else str(item.distance) for item in items]
    pairs = list(zip(distances, values, strict=True))
    crossed = _group(phenomena, pairs, lambda some: _group([d for d, _ in some], [v for _, v in some], summarise))
    return ByGroup(
        all=summarise(values),
        by_phenomenon=_group(phenomena, values, summarise),
        by_distance=_group(distances, values, summarise),
        by_phenomenon_and_distance={name: found for name, found in crossed.items() if found},
        by_pronoun=_group([item.pronoun for item in items], values, summarise),
        by_form=_group([item.form or None for item in items], values, summarise),
    )


def _group(
    names: Sequence[str | None], values: Sequence[Value], summarise: Callable[[Sequence[Value]], Result]
) -> dict[str, Result]:
    """Summarise values by name, leaving out the unnamed; names are sorted, "9" before "10"."""
    groups: dict[str, list[Value]] = {}
    for name, value in zip(names, values, strict=True):
        if name is not None:
            groups.setdefault(name, []).append(value)
    ordered = sorted(groups, key=lambda name: (len(name) if name.isdigit() else 0, name))
    return {name: summarise(groups[name]) for name in ordered}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
