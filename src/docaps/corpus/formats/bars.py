"""`docid ||| sentence` on each line: the form of the selective-attention (SAN) corpora."""

from collections.abc import Iterable, Iterator

from docaps.corpus.documents import Document, Layout
from docaps.corpus.formats.interface import (
    Entry,
    ReadingOptions,
    WritingOptions,
    empty_file,
    fill,
    layout_of,
    name_of,
    shorten,
)
from docaps.corpus.formats.opening import one_line
from docaps.errors import CorpusError

BARS = "|||"


def read_bars(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Go through documents whose lines all begin with the document's id; blank lines are passed over."""
    current, sentences, start, continues = "", list[str](), 1, False
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        name, sentence = _split(line, number, options)
        if sentences and name != current:
            yield _document(current, sentences, start, continues)
            sentences = []
        if not sentences:
            current, start, continues = name, number, name == current
        sentences.append(sentence)
        if options.arrival.enough(len(sentences)):
            yield _document(current, sentences, start, continues)
            sentences = []
    if not current:
        raise empty_file(options, "lines such as: docid ||| sentence")
    if sentences:
        yield _document(current, sentences, start, continues)


def _split(line: str, number: int, options: ReadingOptions) -> tuple[str, str]:
    """Take the id off a line."""
    name, bars, sentence = line.partition(BARS)
    if not bars or not name.strip():
        message = f"expected a line such as: docid {BARS} sentence, found '{shorten(one_line(line))}'"
        raise CorpusError(message, path=options.path, line=number)
    return one_line(name), one_line(sentence)


def _document(name: str, sentences: list[str], start: int, continues: bool) -> Document:
    return Document(tuple(sentences), name, layout=_layout(name, start, continues))


def _layout(name: str, line: int = 1, continues: bool = False) -> Layout:
    return Layout("bars", line, f"{name} {BARS} ", f"\n{name} {BARS} ", "\n", continues=continues)


def write_bars(entries: Iterable[Entry], options: WritingOptions) -> Iterator[str]:  # noqa: ARG001
    """Write each sentence after the id of its document."""
    for number, entry in enumerate(entries, start=1):
        document = entry.document
        layout = layout_of(document, "bars") or _layout(name_of(document, number).replace(BARS, "|"))
        yield fill(layout, [one_line(sentence) for sentence in entry.text])
