"""Items as JSON Lines: the format that docaps writes, and the one for a set of your own."""

import dataclasses
import difflib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from docaps.corpus.contrastive.contrastive_set import UNLABELLED, AnyItem, ContrastiveItem, GenerativeItem
from docaps.corpus.contrastive.records import JsonRecord, parse_record
from docaps.corpus.formats.text_input import read_raw_lines
from docaps.errors import CorpusError
from docaps.files import write_text_atomically

FIELDS = tuple(field.name for kind in (ContrastiveItem, GenerativeItem) for field in dataclasses.fields(kind))


def write_items(path: Path, items: Iterable[AnyItem]) -> None:
    """Write one item a line as JSON, without the unknown fields."""
    known = ({name: v for name, v in dataclasses.asdict(item).items() if v not in (None, "")} for item in items)
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
    """Return the item of a record."""
    _check_names(record)
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
    history = record.sentences("history", blank=True) if record.has("history") else ()
    target = record.sentences("target_history", blank=True) if record.has("target_history") else ()
    if target and len(target) != len(history):
        found = f"{len(history)} sentences in 'history' and {len(target)} in 'target_history'"
        raise record.fault(f"{found}; expected as many in both")
    return {
        "id": record.text("id") if record.has("id") else str(record.line),
        "source": record.sentence("source"),
        "phenomenon": record.text("phenomenon") if record.has("phenomenon") else UNLABELLED,
        "form": record.text("form") if record.has("form") else "",
        "distance": record.integer("distance") if record.has("distance") else None,
        "pronoun": record.text("pronoun").lower() if record.has("pronoun") else None,
        "document": record.text("document") if record.has("document") else None,
        "history": history,
        "target_history": target,
    }


def _check_names(record: JsonRecord) -> None:
    """Refuse a misspelt field; other unknown fields are ignored."""
    for name in record.values:
        if name not in FIELDS and (near := difflib.get_close_matches(name, FIELDS, n=1, cutoff=0.8)):
            raise record.fault(f"unknown field '{name}': did you mean '{near[0]}'?")
