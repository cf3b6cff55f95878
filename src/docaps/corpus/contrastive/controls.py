"""Controls: the same items without their history, with another item's, or only some of them."""

import dataclasses
from collections.abc import Sequence
from random import Random
from typing import TypeVar

from docaps.corpus.contrastive.items import AnyItem
from docaps.errors import CorpusError

Thing = TypeVar("Thing")


def without_history(items: Sequence[AnyItem]) -> list[AnyItem]:
    """Hide the sentences before each item."""
    return [dataclasses.replace(item, history=(), target_history=()) for item in items]


def with_other_histories(items: Sequence[AnyItem], seed: int = 1) -> list[AnyItem]:
    """Give each item the history of an item from another document, drawn at random."""
    rng = Random(seed)
    documents = [item.document or f"item {number}" for number, item in enumerate(items)]
    if len(set(documents)) < 2:
        raise CorpusError("a shuffled history needs items of at least two documents; all are of one")
    shuffled = []
    for item, own in zip(items, documents, strict=True):
        while documents[number := rng.randrange(len(items))] == own:
            pass
        given = items[number]
        shuffled.append(dataclasses.replace(item, history=given.history, target_history=given.target_history))
    return shuffled


def with_nearest_history(items: Sequence[AnyItem], count: int) -> list[AnyItem]:
    """Show only so many of the sentences before each item."""
    return [
        dataclasses.replace(item, history=_last(item.history, count), target_history=_last(item.target_history, count))
        for item in items
    ]


def _last(sentences: tuple[str, ...], count: int) -> tuple[str, ...]:
    return sentences[-count:] if count else ()


def spread(items: Sequence[Thing], limit: int | None) -> list[Thing]:
    """Take at most `limit` items, evenly over the whole set, for sets are sorted."""
    if limit is None or limit >= len(items):
        return list(items)
    return [items[number * len(items) // limit] for number in range(limit)]


def spread_documents(items: Sequence[AnyItem], limit: int | None) -> list[AnyItem]:
    """Take about `limit` items, whole documents of them: items of one document balance each other."""
    groups: dict[str, list[AnyItem]] = {}
    for number, item in enumerate(items):
        groups.setdefault(item.document or f"item {number}", []).append(item)
    if limit is None or limit >= len(items):
        return list(items)
    wanted = max(limit * len(groups) // len(items), min(2, len(groups)))
    chosen = sorted(Random(1).sample(range(len(groups)), wanted))  # sets have a rhythm: every tenth may be of a kind
    return [item for number in chosen for item in list(groups.values())[number]]
