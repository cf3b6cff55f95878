"""JSON Lines: one document a line, `{"id": "...", "source": [...], "target": [...]}`.

`target` may be missing where it is not asked for; `paragraphs` (numbers of sentences) and other keys are kept.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from docaps.corpus.documents import Document, Layout
from docaps.corpus.formats.interface import (
    Entry,
    ReadingOptions,
    WritingOptions,
    check_not_empty,
    check_sentence,
    empty_file,
    layout_of,
    shorten,
)
from docaps.corpus.formats.opening import one_line
from docaps.errors import CorpusError

OWN_KEYS = ("id", "source", "target", "paragraphs")


def read_jsonl(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Go through documents that are JSON objects; blank lines are passed over."""
    found = False
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _document(_parse(line, number, options), number, options)
            found = True
    if not found:
        raise empty_file(options, 'lines such as: {"id": "...", "source": ["..."]}')


def _parse(line: str, number: int, options: ReadingOptions) -> dict[str, Any]:
    """Read one JSON object."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as fault:
        message = f"not a JSON object on one line: {fault.msg} at character {fault.pos + 1}"
        raise CorpusError(message, path=options.path, line=number) from None
    except (RecursionError, ValueError) as fault:
        raise CorpusError(f"not JSON that can be read: {fault}", path=options.path, line=number) from None
    if not isinstance(record, dict):
        message = f'expected an object with "source", found {shorten(line.strip())}'
        raise CorpusError(message, path=options.path, line=number)
    return record


def _document(record: dict[str, Any], number: int, options: ReadingOptions) -> Document:
    """Take one side of a record."""
    key = "source" if options.side == "source" else "target"
    name = _name(record.get("id"), number, options)
    found = record.get(key)
    if not isinstance(found, list):
        message = f'"{key}" must be a list of sentences, found {shorten(json.dumps(found))}'
        raise CorpusError(message, path=options.path, line=number)
    sentences = tuple(check_sentence(sentence, options, number) for sentence in found)
    check_not_empty(sentences, options, name=name, line=number)
    paragraphs = _paragraphs(record.get("paragraphs", []), len(sentences), number, options)
    others = {key: value for key, value in record.items() if key not in OWN_KEYS}
    return Document(sentences, name, paragraphs, Layout("jsonl", number, details=others))


def _name(value: object, number: int, options: ReadingOptions) -> str | None:
    """Read a document's id, a text or a number."""
    if value is None or isinstance(value, str):
        return value and check_sentence(value, options, number)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise CorpusError(f'"id" must be a text, found {shorten(json.dumps(value))}', path=options.path, line=number)


def _paragraphs(value: object, sentences: int, number: int, options: ReadingOptions) -> tuple[int, ...]:
    """Read the numbers of sentences of the paragraphs."""
    counts = value if isinstance(value, list) else [value]
    valid = all(isinstance(count, int) and count > 0 for count in counts)
    if not valid or (counts and sum(counts) != sentences):
        message = f'"paragraphs" must be numbers that add up to {sentences}, found {shorten(json.dumps(value))}'
        raise CorpusError(message, path=options.path, line=number)
    return tuple(counts)


def write_jsonl(entries: Iterable[Entry], options: WritingOptions) -> Iterator[str]:
    """Write one object a line, with the translation as its target."""
    for entry in entries:
        document = entry.document
        record: dict[str, Any] = {} if document.id is None else {"id": one_line(document.id)}
        if entry.translation is not None:
            texts = {"source": document.sentences, "target": entry.translation}
        else:
            texts = {"source" if options.side == "source" else "target": document.sentences}
        record |= {key: [one_line(sentence) for sentence in text] for key, text in texts.items()}
        record |= {"paragraphs": document.paragraphs} if document.paragraphs else {}
        layout = layout_of(document, "jsonl")
        yield json.dumps(record | dict(layout.details if layout else {}), ensure_ascii=False) + "\n"
