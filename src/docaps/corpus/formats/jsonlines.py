"""JSON Lines: one document a line, `{"id": "...", "source": [...], "target": [...]}`.

`target` may be missing if it is not read; `paragraphs` (numbers of sentences) and other keys are kept.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from docaps.corpus.documents import Document, TextLayout
from docaps.corpus.formats.format import OutputDocument, ReadingOptions, WritingOptions, shorten
from docaps.corpus.formats.text_input import one_line
from docaps.errors import CorpusError

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
    """Return one side of a record; its id is a text or a number."""

    def unexpected(name: str, expected: str) -> CorpusError:
        return options.fault(f'"{name}" must be {expected}, found {shorten(json.dumps(record.get(name)))}', number)

    key = "source" if options.side == "source" else "target"
    name, found, counts = record.get("id"), record.get(key), record.get("paragraphs", [])
    if name is not None and type(name) not in (str, int):
        raise unexpected("id", "a text")
    name = None if name is None else options.check_sentence(str(name), number)
    if not isinstance(found, list):
        raise unexpected(key, "a list of sentences")
    sentences = tuple(options.check_sentence(sentence, number) for sentence in found)
    options.check_not_empty(sentences, name=name, line=number)
    counts = counts if isinstance(counts, list) else [counts]
    valid = all(isinstance(count, int) and count > 0 for count in counts)
    if not valid or (counts and sum(counts) != len(sentences)):
        raise unexpected("paragraphs", f"numbers that add up to {len(sentences)}")
    others = {key: value for key, value in record.items() if key not in OWN_KEYS}
    return Document(sentences, name, tuple(counts), TextLayout("jsonl", number, details=others))


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
