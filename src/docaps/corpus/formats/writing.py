"""Writing documents and translations in any format; a translation in the format its source was read in."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TypedDict, Unpack

from docaps.corpus.documents import Document, ParallelDocument
from docaps.corpus.formats.folder import write_directory
from docaps.corpus.formats.format import Alignment, FileChoices, Format, OutputDocument, Side, WritingOptions
from docaps.corpus.formats.lines import STARTS_SUFFIX, format_starts
from docaps.corpus.formats.registry import DIRECTORY, find_format
from docaps.errors import CorpusError
from docaps.files import replacing, replacing_directory, write_text_atomically

Translated = tuple[Document, Sequence[str]]
AlignedTranslation = tuple[Document, Sequence[str], Sequence[Alignment | None]]


class Languages(TypedDict, total=False):
    """The codes of both languages and the user's choices, for formats that use them; defaults: `WritingOptions`."""

    language: str
    target_language: str
    choices: FileChoices


def format_documents(
    documents: Iterable[Document], format: str = "lines", *, side: Side = "source", **codes: Unpack[Languages]
) -> str:
    """Return documents as text: by default one sentence a line, each document after its `<d>` mark."""
    output = (OutputDocument(replace(document, layout=None)) for document in documents)
    return b"".join(_encode(output, format, WritingOptions(side, **codes))).decode()


def format_translations(
    translated: Iterable[Translated | AlignedTranslation],
    format: str | None = None,
    *,
    system: str = "docaps",
    **codes: Unpack[Languages],
) -> Iterator[str]:
    """Yield the text of a file of translations, one document at a time.

    Without a name, the format is the one the first document was read in.
    """
    return (piece.decode() for piece in encode_translations(translated, format, system=system, **codes))


def encode_translations(
    translated: Iterable[Translated | AlignedTranslation],
    format: str | None = None,
    *,
    system: str = "docaps",
    **codes: Unpack[Languages],
) -> Iterator[bytes]:
    """Yield the bytes of a file of translations, one document at a time; for files that may not be text.

    A document comes with its translation and, for the marks in it, the word alignment of its sentences if known.
    """
    items = iter(translated)
    for first in items:
        output = (_output(*item) for item in chain([first], items))
        yield from _encode(output, format or first[0].format, WritingOptions(system=system, **codes))


def _output(
    document: Document, translation: Sequence[str], alignments: Sequence[Alignment | None] = ()
) -> OutputDocument:
    """Combine a document and its translation, which must have the same number of sentences."""
    if len(translation) != len(document.sentences):
        raise ValueError(f"{len(document.sentences)} sentences, but {len(translation)} translations")
    return OutputDocument(document, tuple(translation), tuple(alignments))


def _encode(documents: Iterable[OutputDocument], name: str, options: WritingOptions) -> Iterator[bytes]:
    """Yield the bytes of documents in a format of one file."""
    if name == DIRECTORY:
        raise CorpusError("a directory of documents cannot be written as one text: name a directory to write to")
    found = find_format(name)
    if isinstance(found, Format):
        yield from (encode_text(text) for text in found.write(documents, options))
        return
    for number, item in enumerate(documents):
        if number or item.document.layout_in(name) is None:
            message = f"a '{name}' file is written only as the translation of one such file: name another format"
            raise CorpusError(message)
        yield found.write(item, options)


def encode_text(text: str) -> bytes:
    """Encode text as UTF-8; surrogates, as from the name of a file, are escaped."""
    return text.encode("utf-8", errors="backslashreplace")


def _write(path: Path, documents: Iterable[OutputDocument], format: str, options: WritingOptions) -> None:
    """Write a file or a directory, complete or not at all; refuse a directory if other files would be lost."""
    if format != DIRECTORY:
        pieces = _encode(documents, format, options)
        with replacing(path) as temporary, temporary.open("wb") as file:
            file.writelines(pieces)
        return
    with replacing_directory(path, error=CorpusError) as directory:
        write_directory(directory, documents)


def write_documents(
    path: Path,
    documents: Iterable[Document],
    format: str = "lines",
    *,
    side: Side = "source",
    **codes: Unpack[Languages],
) -> None:
    """Write a file of documents (or a directory), complete or not at all."""
    found = [OutputDocument(replace(document, layout=None)) for document in documents]
    _write(path, found, format, WritingOptions(side, **codes))
    if format == "starts":
        starts = format_starts(len(item.document.sentences) for item in found)
        write_text_atomically(path.with_name(path.name + STARTS_SUFFIX), starts)


def write_translations(
    path: Path,
    translated: Iterable[Translated | AlignedTranslation],
    format: str | None = None,
    *,
    system: str = "docaps",
    **codes: Unpack[Languages],
) -> None:
    """Write a file of translations (a directory, if the source was one), complete or not at all."""
    items = iter(translated)
    first = next(items, None)
    if first is None:
        raise CorpusError("there is nothing to write", path=path)
    output = (_output(*item) for item in chain([first], items))
    _write(path, output, format or first[0].format, WritingOptions(system=system, **codes))


def write_parallel(
    source: Path, target: Path, documents: Iterable[ParallelDocument], format: str = "lines", **codes: Unpack[Languages]
) -> None:
    """Write the two sides of documents to two files, or to one if both names are the same."""
    pairs = list(documents)
    ones = [Document(pair.source, pair.id, pair.paragraphs) for pair in pairs]
    if source == target:
        if format == DIRECTORY or not isinstance(found := find_format(format), Format) or not found.two_sided:
            raise CorpusError(f"the format '{format}' holds one side: name two files", path=source)
        both = (OutputDocument(one, pair.target) for one, pair in zip(ones, pairs, strict=True))
        _write(source, both, format, WritingOptions("target", **codes))
        return
    others = (Document(pair.target, pair.id, pair.paragraphs) for pair in pairs)
    write_documents(source, ones, format, **codes)
    write_documents(target, others, format, side="target", **codes)
