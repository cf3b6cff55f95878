"""JSON Lines: one document a line, `{"id": "...", "source": [...], "target": [...]}`.

`target` may be missing if it is not read; `paragraphs` (numbers of sentences) and other keys are kept.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from docaps.corpus.documents import Document, TextLayout
from docaps.corpus.formats.format import (
    OutputDocument,
    ReadingOptions,
    WritingOptions,
    check_not_empty,
    check_sentence,
    shorten,
)
from docaps.corpus.formats.text_input import one_line

OWN_KEYS = ("id", "source", "target", "paragraphs")


def read_jsonl(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Yield documents that are JSON objects; blank lines are skipped."""
    found = False
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _document(_parse(line, number, options), number, options)
            found = True
    if not found:
        raise options.empty('lines such as: {"id": "...", "source": ["..."]}')


def _parse(line: str, number: int, options: ReadingOptions) -> dict[str, Any]:
    """Parse one JSON object."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as fault:
        message = f"not a JSON object on one line: {fault.msg} at character {fault.pos + 1}"
        raise options.fault(message, number) from None
    except (RecursionError, ValueError) as fault:
        raise options.fault(f"not JSON that can be read: {fault}", number) from None
    if not isinstance(record, dict):
        raise options.fault(f'expected an object with "source", found {shorten(line.strip())}', number)
    return record


def _document(record: dict[str, Any], number: int, options: ReadingOptions) -> Document:
    """Return one side of a record."""
    key = "source" if options.side == "source" else "target"
    name = _name(record.get("id"), number, options)
    found = record.get(key)
    if not isinstance(found, list):
        raise options.fault(f'"{key}" must be a list of sentences, found {shorten(json.dumps(found))}', number)
    sentences = tuple(check_sentence(sentence, options, number) for sentence in found)
    check_not_empty(sentences, options, name=name, line=number)
    paragraphs = _paragraphs(record.get("paragraphs", []), len(sentences), number, options)
    others = {key: value for key, value in record.items() if key not in OWN_KEYS}
    return Document(sentences, name, paragraphs, TextLayout("jsonl", number, details=others))


def _name(value: object, number: int, options: ReadingOptions) -> str | None:
    """Return a document's id, a text or a number in the record."""
    if value is None or isinstance(value, str):
        return value and check_sentence(value, options, number)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise options.fault(f'"id" must be a text, found {shorten(json.dumps(value))}', number)


def _paragraphs(value: object, sentences: int, number: int, options: ReadingOptions) -> tuple[int, ...]:
    """Return the number of sentences of each paragraph."""
    counts = value if isinstance(value, list) else [value]
    valid = all(isinstance(count, int) and count > 0 for count in counts)
    if not valid or (counts and sum(counts) != sentences):
        message = f'"paragraphs" must be numbers that add up to {sentences}, found {shorten(json.dumps(value))}'
        raise options.fault(message, number)
    return tuple(counts)


def write_jsonl(documents: Iterable[OutputDocument], options: WritingOptions) -> Iterator[str]:
    """Write one object a line, with the translation as its target."""
    for item in documents:
        document = item.document
        record: dict[str, Any] = {} if document.id is None else {"id": one_line(document.id)}
        if item.translation is not None:
            texts = {"source": document.sentences, "target": item.translation}
        else:
            texts = {"source" if options.side == "source" else "target": document.sentences}
        record |= {key: [one_line(sentence) for sentence in text] for key, text in texts.items()}
        record |= {"paragraphs": document.paragraphs} if document.paragraphs else {}
        layout = document.layout_in("jsonl")
        yield json.dumps(record | dict(layout.details if layout else {}), ensure_ascii=False) + "\n"
