"""Contrastive sets: items whose translation depends on the document, controls of their history, and their JSON Lines.

JSON Lines is the format that docaps writes, and the one for a set of your own: one item a line.
"""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from docaps.corpus.contrastive.records import JsonRecord, parse_record
from docaps.corpus.formats.text_input import read_raw_lines
from docaps.errors import CorpusError
from docaps.files import write_text_atomically

PRONOUN = "pronoun"
_WORD = re.compile(r"\w+")
Element = TypeVar("Element")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetItem:
    """A sentence with the sentences before it; what a set does not record about it is None or empty."""

    id: str
    source: str
    phenomenon: str = "unlabelled"
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
"""An item of either kind."""
FIELDS = tuple(field.name for kind in (ContrastiveItem, GenerativeItem) for field in fields(kind))


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
    return replace(item, pronoun=find_pronoun(item.right, item.wrong))


def find_pronoun(right: str, wrong: tuple[str, ...]) -> str | None:
    """Return the only word in which a right translation differs from the wrong ones, if there is one."""
    texts = [_WORD.findall(text.lower()) for text in (right, *wrong)]
    if len({len(words) for words in texts}) > 1:
        return None
    differing = [words[0] for words in zip(*texts, strict=True) if len(set(words)) > 1]
    return differing[0] if len(differing) == 1 else None


def without_history(items: Sequence[AnyItem]) -> list[AnyItem]:
    """Remove the history of each item."""
    return [replace(item, history=(), target_history=()) for item in items]


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
        shuffled.append(replace(item, history=given.history, target_history=given.target_history))
    return shuffled


def with_nearest_history(items: Sequence[AnyItem], count: int) -> list[AnyItem]:
    """Keep only the last `count` sentences of each history."""
    last = slice(-count, None) if count else slice(0)
    return [replace(item, history=item.history[last], target_history=item.target_history[last]) for item in items]


def spread(items: Sequence[Element], limit: int | None) -> list[Element]:
    """Return at most `limit` items, one from each part of the set, because sets are sorted."""
    if limit is None or limit >= len(items):
        return list(items)
    # At random within a part, by a fixed seed: sets are periodic, and the first of each part may be of one kind.
    rng, edges = Random(1), [number * len(items) // limit for number in range(limit + 1)]
    return [items[rng.randrange(start, stop)] for start, stop in pairwise(edges)]


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


def write_items(path: Path, items: Iterable[AnyItem]) -> None:
    """Write one item a line as JSON, without the unknown fields."""
    known = ({name: v for name, v in asdict(item).items() if v not in (None, "")} for item in items)
    write_text_atomically(path, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in known))


def read_items(path: Path) -> list[ContrastiveItem]:
    """Read items that all have a right translation and wrong ones."""
    items = []
    for record in _records(path):
        item = _read_item(record)
        if not isinstance(item, ContrastiveItem):
            raise record.fault("the field 'right' is missing: here every item needs 'right' and 'wrong'")
        items.append(item)
    return items


def read_any_items(path: Path) -> list[AnyItem]:
    """Read items of both kinds."""
    return [_read_item(record) for record in _records(path)]


def _records(path: Path) -> Iterator[JsonRecord]:
    """Yield the records of a file; blank lines are skipped."""
    found = False
    for number, line in enumerate(read_raw_lines(path), start=1):
        if line.strip():
            yield parse_record(line, path, number)
            found = True
    if not found:
        raise CorpusError("no contrastive items: the file is empty; expected one JSON object a line", path=path)


def _read_item(record: JsonRecord) -> AnyItem:
    """Return the item of a record; refuse a misspelt field, and ignore other unknown ones."""
    for name in record.values:
        if name not in FIELDS and (near := difflib.get_close_matches(name, FIELDS, n=1, cutoff=0.8)):
            raise record.fault(f"unknown field '{name}': did you mean '{near[0]}'?")
    shared = _shared_fields(record)
    if record.has("expected"):
        if record.has("right") or record.has("wrong"):
            raise record.fault("both 'expected' and 'right' or 'wrong': give the one or the others")
        single = isinstance(record.values["expected"], str)
        expected = (record.sentence("expected"),) if single else record.sentences("expected")
        return GenerativeItem(expected=expected, **shared)
    right, wrong = record.sentence("right"), record.sentences("wrong")
    if right in wrong:
        raise record.fault(f"a wrong translation is the right one: {right!r}; no model can distinguish them")
    return ContrastiveItem(right=right, wrong=wrong, **shared)


def _shared_fields(record: JsonRecord) -> dict[str, Any]:
    """Read the fields of both kinds of items; all but the source may be missing."""
    names = ("history", "target_history")
    found: dict[str, Any] = {name: record.sentences(name, blank=True) for name in names if record.has(name)}
    history, target = (len(found.get(name, ())) for name in names)
    if target not in (0, history):
        counts = f"{history} sentences in 'history' and {target} in 'target_history'"
        raise record.fault(f"{counts}; expected as many in both")
    found |= {"id": str(record.line), "source": record.sentence("source")}
    texts = ("id", "phenomenon", "form", "pronoun", "document")
    found |= {name: record.text(name) for name in texts if record.has(name)}
    found |= {"distance": record.integer("distance")} if record.has("distance") else {}
    found |= {"pronoun": found["pronoun"].lower()} if "pronoun" in found else {}
    return found
