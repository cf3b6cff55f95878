"""Contrastive items from what was found: histories on both sides, and as many items of one answer as of another."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from docaps.corpus.contrastive import ContrastiveItem
from docaps.corpus.contrastive.contrastive_set import PRONOUN
from docaps.corpus.mining.knowledge import DocumentFindings, Sides
from docaps.corpus.mining.repetition import REPETITION
from docaps.corpus.mining.sentences import Finding, Words

Writer = Callable[[str], str]
"""Turns a text that was searched into one for people."""


@dataclass(frozen=True, slots=True)
class MinedItem:
    """An item, and its answer: the pronoun, form of address, verb or word."""

    item: ContrastiveItem
    answer: str


def make_items(
    documents: Iterable[tuple[str, Sides]],
    found: Iterable[DocumentFindings],
    *,
    history: int,
    write: tuple[Writer, Writer] = (str, str),
) -> Iterator[MinedItem]:
    """Yield an item for each finding that has wrong translations; documents have names."""
    for (name, sides), findings in zip(documents, found, strict=True):
        for one in findings.findings:
            if one.wrong:
                yield MinedItem(_make_item(name, sides, one, history, write), one.label)


def _make_item(name: str, sides: Sides, found: Finding, history: int, write: tuple[Writer, Writer]) -> ContrastiveItem:
    """Return the item of a finding."""
    source, target = sides
    number, translation = found.sentence, Words(target[found.sentence])
    seen = slice(max(0, number - history), number)
    word = found.form if found.phenomenon == REPETITION else str(found.places[0])
    return ContrastiveItem(
        id=f"{name}:{number + 1}:{found.phenomenon}:{word}",
        source=write[0](source[number]),
        phenomenon=found.phenomenon,
        form=found.form or found.label,
        distance=found.distance,
        pronoun=found.label if found.phenomenon == PRONOUN else None,
        document=name,
        history=tuple(map(write[0], source[seen])),
        target_history=tuple(map(write[1], target[seen])),
        right=write[1](translation.text),
        wrong=tuple(write[1](translation.edit(change)) for change in found.wrong),
    )


def balance(mined: Sequence[MinedItem], seed: int = 1) -> list[ContrastiveItem]:
    """Keep as many items of the most frequent answer to a question as of the second; rarer ones are all kept.

    A question is a phenomenon, and the case of a pronoun or the word that is repeated; with one answer only, it is no
    question. Which items are dropped is drawn by the seed. Order: phenomenon, distance, place.
    """
    groups: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, one in enumerate(mined):
        question = one.item.form if one.item.phenomenon in (PRONOUN, REPETITION) else ""
        groups[one.item.phenomenon, question][one.answer].append(number)
    kept = [number for group in groups.values() for number in _even_out(group, Random(seed))]
    return sort_items(mined[number].item for number in sorted(kept))


def _even_out(group: dict[str, list[int]], rng: Random) -> list[int]:
    """Return no more numbers of one answer than of the second most frequent one."""
    _, limit, *_ = sorted((*map(len, group.values()), 0, 0), reverse=True)
    return [number for found in group.values() for number in rng.sample(found, min(limit, len(found)))]


def sort_items(items: Iterable[ContrastiveItem]) -> list[ContrastiveItem]:
    """Order items by phenomenon and distance; items of the same stay in their order."""
    return sorted(items, key=lambda item: (item.phenomenon, item.distance or 0))


def count_items(items: Iterable[ContrastiveItem]) -> dict[str, dict[str, int]]:
    """Count items by phenomenon and distance."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for item in items:
        counts[item.phenomenon][str(item.distance)] += 1
    return {name: dict(sorted(found.items())) for name, found in sorted(counts.items())}
