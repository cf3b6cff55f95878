"""One sentence a line: with a line `<d>` before each document, or with blank lines between documents."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from docaps.corpus.documents import Document, Layout
from docaps.corpus.formats.arrival import WHOLE
from docaps.corpus.formats.interface import Entry, ReadingOptions, WritingOptions, empty_file, fill, layout_of
from docaps.corpus.formats.opening import one_line
from docaps.errors import CorpusError

DOCUMENT_MARK = "<d>"
EMPTY_SENTENCE = "\u200b"  # a zero-width space stands for an empty sentence where an empty line ends the document


def split_documents(lines: Iterable[str], path: Path) -> list[Document]:
    """Cut lines into documents at their marks; `path` is named in messages."""
    return list(iterate_marked(lines, ReadingOptions(path)))


def read_marked(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Go through the documents of lines with marks; lines without any are one document."""
    return iterate_marked(map(one_line, lines), options)


def iterate_marked(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Cut lines into documents at their marks, one document, or a part of a long one, at a time."""
    sentences: list[str] = []
    number = 0
    layout = Layout("lines")
    for number, line in enumerate(lines, start=1):
        if is_mark(line):
            if number > 1 and (sentences or not layout.continues):
                yield _marked_document(sentences, options.path, layout)
            sentences, layout = [], Layout("lines", number, f"{DOCUMENT_MARK}\n")
            continue
        sentences.append(line)
        if options.arrival.enough(len(sentences)):
            yield Document(tuple(sentences), layout=layout)
            sentences, layout = [], Layout("lines", number + 1, continues=True)
    if number == 0:
        raise empty_file(options, "one sentence a line")
    if sentences or not layout.continues:
        yield _marked_document(sentences, options.path, layout)


def _marked_document(sentences: list[str], path: Path, layout: Layout) -> Document:
    """Make a document of the lines after a mark."""
    if not sentences:
        message = f"a document without sentences: remove this {DOCUMENT_MARK} line"
        raise CorpusError(message, path=path, line=layout.line)
    return Document(tuple(sentences), layout=layout)


def write_marked(entries: Iterable[Entry], options: WritingOptions) -> Iterator[str]:  # noqa: ARG001
    """Write one sentence a line, each document after its mark."""
    for entry in entries:
        layout = layout_of(entry.document, "lines") or Layout("lines", before=f"{DOCUMENT_MARK}\n")
        yield fill(layout, [plain(sentence) for sentence in entry.text])


def is_mark(line: str) -> bool:
    """Say whether a line is a mark; where files were joined, a byte order mark may stand before it."""
    return line.removeprefix("\ufeff") == DOCUMENT_MARK


def plain(sentence: str) -> str:
    """Write a sentence on one line; `<d>` gets a space, or it would be read as a mark."""
    line = one_line(sentence)
    return "< d>" if is_mark(line) else line


def read_blank(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Go through documents with blank lines between them; each is given as soon as it ends."""
    sentences: list[str] = []
    found, continues, gap, layout = False, False, 0, Layout("blank")
    for number, line in enumerate(map(one_line, lines), start=1):
        if is_mark(line):
            message = f"a {DOCUMENT_MARK} mark among documents with blank lines between them: name the format 'lines'"
            raise CorpusError(message, path=options.path, line=number)
        if line:
            if not sentences:
                layout = Layout("blank", number, "\n" * gap, continues=found and continues and not gap)
            sentences.append("" if line == EMPTY_SENTENCE else line)
            if continues := options.arrival.enough(len(sentences)):
                yield Document(tuple(sentences), layout=layout)
                sentences, gap, found = [], 0, True
        elif sentences:
            yield Document(tuple(sentences), layout=replace(layout, after="\n\n"))
            sentences, gap, found = [], 0, True
        else:
            gap += 1
    if sentences:
        yield Document(tuple(sentences), layout=layout)
    elif gap and found and options.arrival is not WHOLE:  # blank lines at the end, for who writes them again
        yield Document((), layout=Layout("blank", number, "\n" * gap, after="", continues=True))
    elif not found:
        raise empty_file(options, "one sentence a line and a blank line between documents")


def write_blank(entries: Iterable[Entry], options: WritingOptions) -> Iterator[str]:  # noqa: ARG001
    """Write one sentence a line, blank lines between documents as they were read, or one."""
    for number, entry in enumerate(entries):
        layout = layout_of(entry.document, "blank") or Layout("blank", before="\n" if number else "")
        yield fill(layout, [plain(sentence) or EMPTY_SENTENCE for sentence in entry.text])
