"""Translations as text: in the format of their source, as JSON, or as a table of scores; as they come."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from docaps.corpus.documents import Document
from docaps.corpus.formats import DIRECTORY, format_of, format_translations
from docaps.translation.passages import Alternative
from docaps.translation.translator import TranslatedSentence

TABLE_HEADING = ("document", "sentence", "rank", "score", "log_probability", "translation")


class Item(NamedTuple):
    """A document, or a part of a long one, from a file, and its translation."""

    path: Path
    document: Document
    sentences: tuple[TranslatedSentence, ...]


Writer = Callable[[Iterable[Item]], Iterator[str]]


def text_writer(language: str, target_language: str) -> Writer:
    """Return what writes translations in the format of their source."""

    def write(items: Iterable[Item]) -> Iterator[str]:
        pairs = ((_as_lines(item.document), [one.text for one in item.sentences]) for item in items)
        return format_translations(pairs, language=language, target_language=target_language)

    return write


def _as_lines(document: Document) -> Document:
    """Write the one document of a file that stood in a directory as lines."""
    if document.layout is None or format_of(document) != DIRECTORY:
        return document
    return replace(document, layout=replace(document.layout, format="lines"))


def write_table(items: Iterable[Item]) -> Iterator[str]:
    """Write a line for each translation, or for each of the best, with its scores; the columns are tab-separated."""
    yield "\t".join(TABLE_HEADING) + "\n"
    number = place = 0
    for item in items:
        if not _continues(item.document):
            number, place = number + 1, 0
        name = str(number) if item.document.id is None else item.document.id
        rows = []
        for place, sentence in enumerate(item.sentences, start=place + 1):  # noqa: B020
            ranked: Sequence[Alternative | TranslatedSentence] = sentence.alternatives or (sentence,)
            for rank, one in enumerate(ranked, start=1):
                rows.append((name, place, rank, f"{one.score:.6f}", f"{one.log_probability:.6f}", one.text))
        yield "".join("\t".join(" ".join(str(cell).split()) for cell in row) + "\n" for row in rows)


def write_json(items: Iterable[Item]) -> Iterator[str]:
    """Write one JSON object, a sentence a line."""
    begun = False
    yield '{"documents": ['
    for item in items:
        rows = ",\n".join(json.dumps(as_row(*pair), ensure_ascii=False) for pair in _pairs(item))
        if begun and _continues(item.document):
            yield f",\n{rows}" if rows else ""
            continue
        head = {"file": str(item.path), **({} if item.document.id is None else {"id": item.document.id})}
        opening = json.dumps(head, ensure_ascii=False).removesuffix("}")
        yield ("\n]}," if begun else "") + f'\n{opening}, "sentences": [\n{rows}'
        begun = True
    yield "\n]}\n]}\n" if begun else "]}\n"


def _pairs(item: Item) -> Iterator[tuple[str, TranslatedSentence]]:
    return zip(item.document.sentences, item.sentences, strict=True)


def as_row(source: str, sentence: TranslatedSentence) -> Mapping[str, Any]:
    """Put a sentence beside its translation, with what else was asked for."""
    row: dict[str, Any] = {
        "source": source,
        "translation": sentence.text,
        "score": sentence.score,
        "log_probability": sentence.log_probability,
    }
    if sentence.alternatives:
        row["alternatives"] = [
            {"translation": one.text, "score": one.score, "log_probability": one.log_probability}
            for one in sentence.alternatives
        ]
    if sentence.routing:
        row["routing"] = [trace.as_dict() for trace in sentence.routing]
    return row


def _continues(document: Document) -> bool:
    return document.layout is not None and document.layout.continues
