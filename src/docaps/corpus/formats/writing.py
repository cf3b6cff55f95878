"""Writing documents and translations in any format; a translation in the format its source was read in."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from docaps.corpus.documents import Document, ParallelDocument
from docaps.corpus.formats.catalogue import DIRECTORY, FORMATS, check_name
from docaps.corpus.formats.directory import write_directory
from docaps.corpus.formats.interface import SOURCE_LANGUAGE, TARGET_LANGUAGE, Entry, Side, WritingOptions
from docaps.corpus.formats.starts import ENDING, format_starts
from docaps.errors import CorpusError
from docaps.files import replacing, replacing_directory, write_text_atomically

Translated = tuple[Document, Sequence[str]]


def format_documents(
    documents: Iterable[Document],
    format: str = "lines",
    *,
    side: Side = "source",
    language: str = SOURCE_LANGUAGE,
    target_language: str = TARGET_LANGUAGE,
) -> str:
    """Write documents as text: by default as lines, each document after its mark."""
    options = WritingOptions(side, language, target_language)
    return "".join(_pieces((Entry(replace(one, layout=None)) for one in documents), format, options))


def format_translations(
    translated: Iterable[Translated],
    format: str | None = None,
    *,
    language: str = SOURCE_LANGUAGE,
    target_language: str = TARGET_LANGUAGE,
    system: str = "docaps",
) -> Iterator[str]:
    """Go through the pieces of text that make up a file of translations, one document at a time.

    Without a name, the format is the one the first document was read in.
    """
    options = WritingOptions(language=language, target_language=target_language, system=system)
    pairs = iter(translated)
    for document, translation in pairs:
        entries = (_entry(*pair) for pair in chain([(document, translation)], pairs))
        yield from _pieces(entries, format or format_of(document), options)


def format_of(document: Document) -> str:
    """Return the name of the format a document was read in (`lines` if it was not read)."""
    return document.layout.format if document.layout else "lines"


def _entry(document: Document, translation: Sequence[str]) -> Entry:
    """Put a translation beside its document; they must have the same number of sentences."""
    if len(translation) != len(document.sentences):
        raise ValueError(f"{len(document.sentences)} sentences, but {len(translation)} translations")
    return Entry(document, tuple(translation))


def _pieces(entries: Iterable[Entry], name: str, options: WritingOptions) -> Iterator[str]:
    """Write entries in a format that is one text."""
    check_name(name)
    if name == DIRECTORY:
        raise CorpusError("a directory of documents cannot be written as one text: name a directory to write to")
    return FORMATS[name].write(entries, options)


def write_documents(
    path: Path,
    documents: Iterable[Document],
    format: str = "lines",
    *,
    side: Side = "source",
    language: str = SOURCE_LANGUAGE,
    target_language: str = TARGET_LANGUAGE,
) -> None:
    """Write a file of documents (or a directory), complete or not at all."""
    found = [replace(document, layout=None) for document in documents]
    if format == DIRECTORY:
        _write_whole_directory(path, [Entry(document) for document in found])
        return
    write_text_atomically(
        path, format_documents(found, format, side=side, language=language, target_language=target_language)
    )
    if format == "starts":
        lengths = (len(document.sentences) for document in found)
        write_text_atomically(path.with_name(path.name + ENDING), format_starts(lengths))


def write_translations(
    path: Path,
    translated: Iterable[Translated],
    format: str | None = None,
    *,
    language: str = SOURCE_LANGUAGE,
    target_language: str = TARGET_LANGUAGE,
    system: str = "docaps",
) -> None:
    """Write a file of translations (a directory, if the source was one), complete or not at all."""
    pairs = iter(translated)
    first = next(pairs, None)
    if first is None:
        raise CorpusError("there is nothing to write", path=path)
    whole = chain([first], pairs)
    if (format or format_of(first[0])) == DIRECTORY:
        _write_whole_directory(path, (_entry(*pair) for pair in whole))
        return
    pieces = format_translations(whole, format, language=language, target_language=target_language, system=system)
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.writelines(pieces)


def _write_whole_directory(path: Path, entries: Iterable[Entry]) -> None:
    """Write a directory of documents, complete or not at all; files of other names are never lost."""
    with replacing_directory(path) as directory:
        write_directory(directory, entries)
        written = {place.name for place in directory.iterdir()}
        others = sorted(place.name for place in path.iterdir() if place.name not in written) if path.exists() else []
        if others:
            raise CorpusError(f"the directory holds something else ({others[0]}): choose another one", path=path)


def write_parallel(
    source: Path,
    target: Path,
    documents: Iterable[ParallelDocument],
    format: str = "lines",
    *,
    language: str = SOURCE_LANGUAGE,
    target_language: str = TARGET_LANGUAGE,
) -> None:
    """Write the two sides of some documents to two files, or to one if both names are the same."""
    pairs = list(documents)
    if source == target:
        _write_both(source, pairs, format, WritingOptions("target", language, target_language))
        return
    ones = (Document(pair.source, pair.id, pair.paragraphs) for pair in pairs)
    others = (Document(pair.target, pair.id, pair.paragraphs) for pair in pairs)
    write_documents(source, ones, format, language=language, target_language=target_language)
    write_documents(target, others, format, side="target", language=language, target_language=target_language)


def _write_both(path: Path, pairs: Sequence[ParallelDocument], name: str, options: WritingOptions) -> None:
    """Write both sides to one file, if the format can hold them."""
    check_name(name)
    if name == DIRECTORY or not FORMATS[name].two_sided:
        raise CorpusError(f"the format '{name}' holds one side: name two files", path=path)
    entries = (Entry(Document(pair.source, pair.id, pair.paragraphs), pair.target) for pair in pairs)
    write_text_atomically(path, "".join(_pieces(entries, name, options)))
