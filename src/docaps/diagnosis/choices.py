"""Choices under every history: a contrastive set taken with the true one, another item's, none, and the nearest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from docaps import progress
from docaps.config import DecodingSettings
from docaps.corpus.contrastive import AnyItem, with_nearest_history, with_other_histories, without_history
from docaps.diagnosis.contrastive_test import take_test
from docaps.diagnosis.measures import AGAINST, NONE, SHUFFLED, TRUE, count_right, nearest
from docaps.evaluation.contrastive import Breakdown, break_down
from docaps.evaluation.significance import Table
from docaps.translation.trained_model import TrainedModel


@dataclass(frozen=True, slots=True)
class Choices:
    """Right answers by document and by group, under each condition, and the share that guessing would give."""

    counts: Mapping[str, Table]
    accuracy: Mapping[str, Breakdown[float]]
    chance: float
    items: int


def vary(items: Sequence[AnyItem], history: int, *, shuffles: int, seed: int) -> Iterator[tuple[str, list[AnyItem]]]:
    """Go through the conditions: the same items with other histories, none longer than what the model looks at."""
    seen = with_nearest_history(items, history)
    yield TRUE, seen
    for draw in range(shuffles):
        yield SHUFFLED, list(map(_as_long, with_other_histories(seen, seed + draw), seen))
    yield NONE, without_history(seen)
    for count in range(1, history):
        yield nearest(count), with_nearest_history(seen, count)


def _as_long(item: AnyItem, own: AnyItem) -> AnyItem:
    """Cut another's history to the length of the own one."""
    return with_nearest_history([item], len(own.history))[0]


def take_choices(
    trained: TrainedModel,
    other: TrainedModel | None,
    items: Sequence[AnyItem],
    *,
    shuffles: int,
    seed: int,
    decoding: DecodingSettings | None = None,
) -> Choices:
    """Let a model, and the one it is compared with, answer all items under all conditions."""
    history = trained.model.history
    tasks = [(trained, *view) for view in vary(items, history, shuffles=shuffles, seed=seed)]
    tasks += [(other, AGAINST, list(items))] if other else []
    right: dict[str, list[list[float]]] = {}
    chance = 0.0
    with progress.start("diagnose choices", len(tasks) * len(items)) as task:
        for model, condition, shown in tasks:
            with progress.silent():
                decisions = [answer.decision for answer in take_test(model, shown, decoding)]
            right.setdefault(condition, []).append([float(decision.right) for decision in decisions])
            if condition == TRUE:
                chance = float(np.mean([decision.chance for decision in decisions]))
            task.advance(len(items), condition)
    means = {condition: np.mean(draws, axis=0).tolist() for condition, draws in right.items()}
    documents = [item.document for item in items]
    return Choices(
        counts={condition: count_right(values, documents) for condition, values in means.items()},
        accuracy={condition: break_down(items, values, _mean) for condition, values in means.items()},
        chance=chance,
        items=len(items),
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
