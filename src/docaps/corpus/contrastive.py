"""Contrastive items: a sentence in its document, the right translation, and wrong ones that only context rules out."""

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docaps.errors import CorpusError
from docaps.files import write_text_atomically


@dataclass(frozen=True, slots=True)
class ContrastiveItem:
    """A sentence in its document, with the right translation and the wrong ones."""

    id: str
    phenomenon: str
    form: str
    distance: int
    history: tuple[str, ...]  # source sentences before it, oldest first
    target_history: tuple[str, ...]  # their translations
    source: str
    right: str
    wrong: tuple[str, ...]

    @property
    def chance(self) -> float:
        """The accuracy of guessing among the translations."""
        return 1 / (1 + len(self.wrong))


def write_items(path: Path, items: Iterable[ContrastiveItem]) -> None:
    """Write one item a line as JSON."""
    lines = [json.dumps(dataclasses.asdict(item), ensure_ascii=False) + "\n" for item in items]
    write_text_atomically(path, "".join(lines))


def read_items(path: Path) -> list[ContrastiveItem]:
    """Read the items of a file, or say which line is wrong and why."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CorpusError(f"cannot read the contrastive items: {error.strerror}", path=path) from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"not UTF-8 at byte {error.start}; convert the file to UTF-8", path=path) from error
    # Only "\n" ends a line: `splitlines` would also cut at odd characters that JSON allows inside a string.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not lines:
        raise CorpusError("no contrastive items: the file is empty; expected one JSON object a line", path=path)
    return [_read_item(line, path, number) for number, line in lines]


def _read_item(line: str, path: Path, number: int) -> ContrastiveItem:
    """Turn one line of JSON into an item."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise CorpusError(f"not JSON ({error.msg}); expected one JSON object a line", path=path, line=number) from error
    if not isinstance(record, dict):
        raise CorpusError(f"found {_json_type(record)}, expected a JSON object", path=path, line=number)
    item = ContrastiveItem(**{name: _read_field(record, name, path, number) for name in _FIELD_CHECKS})
    if len(item.history) != len(item.target_history):
        found = f"{len(item.history)} sentences in 'history' and {len(item.target_history)} in 'target_history'"
        raise CorpusError(f"{found}; expected as many in both", path=path, line=number)
    return item


def _read_field(record: dict[str, Any], name: str, path: Path, number: int) -> Any:
    """Take one field out of a record if it is there and has the right type."""
    if name not in record:
        raise CorpusError(f"the field '{name}' is missing", path=path, line=number)
    value, expected = record[name], _FIELD_CHECKS[name]
    strings = isinstance(value, list) and all(isinstance(part, str) for part in value)
    fits = {
        "a string": isinstance(value, str),
        "an integer": isinstance(value, int) and not isinstance(value, bool),
        "a list of strings": strings,
        "a non-empty list of strings": strings and value != [],
    }
    if not fits[expected]:
        raise CorpusError(f"the field '{name}' is {json.dumps(value)}, expected {expected}", path=path, line=number)
    return tuple(value) if strings else value


def _json_type(value: object) -> str:
    """Name a JSON value that is no object."""
    return "a list" if isinstance(value, list) else json.dumps(value)


_FIELD_CHECKS = {
    "id": "a string",
    "phenomenon": "a string",
    "form": "a string",
    "distance": "an integer",
    "history": "a list of strings",
    "target_history": "a list of strings",
    "source": "a string",
    "right": "a string",
    "wrong": "a non-empty list of strings",
}
