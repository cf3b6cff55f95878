"""Contrastive sets: items whose translation depends on the document, and controls of their history."""

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeVar

from docaps.errors import CorpusError

UNLABELLED, PRONOUN = "unlabelled", "pronoun"
_WORD = re.compile(r"\w+")
Element = TypeVar("Element")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetItem:
    """A sentence with the sentences before it; what a set does not record about it is None or empty."""

    id: str
    source: str
    phenomenon: str = UNLABELLED
    form: str = ""
    distance: int | None = None  # how many sentences back the deciding one is; 0 is the sentence itself
    pronoun: str | None = None  # the right one
    document: str | None = None  # items of one document are not independent
    history: tuple[str, ...] = ()  # source sentences before it, oldest first
    target_history: tuple[str, ...] = ()  # their translations, as many or none


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastiveItem(SetItem):
    """A sentence with the right translation and the wrong ones: which does a model find most likely?"""

    right: str
    wrong: tuple[str, ...]

    @property
    def chance(self) -> float:
        """The accuracy of guessing among the translations."""
        return 1 / (1 + len(self.wrong))


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerativeItem(SetItem):
    """A sentence whose translation by the model must contain one of the expected words."""

    expected: tuple[str, ...]


AnyItem = ContrastiveItem | GenerativeItem


@dataclass(frozen=True, slots=True)
class SetOptions:
    """Options of a reader: the languages of the model, and what a set needs besides its own files."""

    source_language: str = "en"
    target_language: str = "de"
    context_dir: Path | None = None  # the documents that ContraPro was taken from
    context_lines: int | None = None  # how many context lines each line of ContraPro has
    without_history: bool = False  # histories are not used: they may be missing


@dataclass(frozen=True, slots=True)
class ContrastiveSet:
    """The items of a set, and the number of items of each file."""

    items: tuple[AnyItem, ...]
    files: dict[str, int]


def join_sets(sets: list[ContrastiveSet]) -> ContrastiveSet:
    """Concatenate sets."""
    items = tuple(item for part in sets for item in part.items)
    return ContrastiveSet(items, {name: count for part in sets for name, count in part.files.items()})


def with_pronoun(item: AnyItem) -> AnyItem:
    """Add the pronoun to an item about pronouns whose translations differ in nothing else."""
    if item.pronoun is not None or item.phenomenon != PRONOUN or not isinstance(item, ContrastiveItem):
        return item
    return dataclasses.replace(item, pronoun=find_pronoun(item.right, item.wrong))


def find_pronoun(right: str, wrong: tuple[str, ...]) -> str | None:
    """Return the only word in which a right translation differs from the wrong ones, if there is one."""
    texts = [_WORD.findall(text.lower()) for text in (right, *wrong)]
    if len({len(words) for words in texts}) > 1:
        return None
    differing = [words[0] for words in zip(*texts, strict=True) if len(set(words)) > 1]
    return differing[0] if len(differing) == 1 else None


def without_history(items: Sequence[AnyItem]) -> list[AnyItem]:
    """Remove the history of each item."""
    return [dataclasses.replace(item, history=(), target_history=()) for item in items]


def with_other_histories(items: Sequence[AnyItem], seed: int = 1) -> list[AnyItem]:
    """Give each item the history of a random item from another document."""
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
    """Keep only the last `count` sentences of each history."""
    return [
        dataclasses.replace(item, history=_last(item.history, count), target_history=_last(item.target_history, count))
        for item in items
    ]


def _last(sentences: tuple[str, ...], count: int) -> tuple[str, ...]:
    return sentences[-count:] if count else ()


def spread(items: Sequence[Element], limit: int | None) -> list[Element]:
    """Return at most `limit` items, evenly spaced over the whole set, because sets are sorted."""
    if limit is None or limit >= len(items):
        return list(items)
    return [items[number * len(items) // limit] for number in range(limit)]


def spread_documents(items: Sequence[AnyItem], limit: int | None) -> list[AnyItem]:
    """Return about `limit` items in whole documents: items of one document balance each other."""
    groups: dict[str, list[AnyItem]] = {}
    for number, item in enumerate(items):
        groups.setdefault(item.document or f"item {number}", []).append(item)
    if limit is None or limit >= len(items):
        return list(items)
    wanted = max(limit * len(groups) // len(items), min(2, len(groups)))
    chosen = sorted(Random(1).sample(range(len(groups)), wanted))  # sets are periodic: every tenth may be of one kind
    return [item for number in chosen for item in list(groups.values())[number]]
