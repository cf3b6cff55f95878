"""Running text: an article as people write it, split into sentences; its paragraphs come back as they were.

One file is one document. Paragraphs are lines, or lines broken at a width with a blank line after each paragraph.
"""

from collections.abc import Iterable, Iterator

from docaps.corpus.documents import Document, Layout
from docaps.corpus.formats.interface import Entry, ReadingOptions, WritingOptions, empty_file, fill, layout_of
from docaps.corpus.formats.opening import one_line
from docaps.corpus.formats.splitting import split_paragraphs, split_sentences

LONGEST_BLOCK = 1000  # lines without a blank line between them, beyond which no end is waited for


def read_text(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Read one document of running text; a long one in parts of whole paragraphs."""
    sentences, gaps, counts = list[str](), list[str](), list[int]()
    found = False
    for gap, paragraph in _paragraphs(lines):
        pieces = split_sentences(paragraph, options.language)
        gaps += [gap, *(_space_after(piece) for piece in pieces[:-1])]
        sentences += [one_line(piece) for piece in pieces]
        counts.append(len(pieces))
        if options.arrival.enough(len(sentences)):
            yield _part(sentences, gaps, counts, continues=found)
            sentences, gaps, counts, found = [], [], [], True
    if sentences:
        yield _part(sentences, gaps, counts, continues=found)
    elif not found:
        raise empty_file(options, "running text")


def _part(sentences: list[str], gaps: list[str], counts: list[int], *, continues: bool) -> Document:
    """Make a document of paragraphs; the line end after the part before it is written already."""
    before = gaps[0].removeprefix("\n") if continues else gaps[0]
    layout = Layout("text", 1, before, tuple(gaps[1:]), continues=continues)
    return Document(tuple(sentences), paragraphs=tuple(counts), layout=layout)


def _space_after(piece: str) -> str:
    """Return the space after a sentence: none in a script that has none."""
    return " " if piece[-1].isspace() else ""


def _paragraphs(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Go through the paragraphs, each after the line ends that stand before it."""
    gap = ""
    for block in _blocks(lines):
        if not block[0]:
            gap += "\n" * len(block)
            continue
        for paragraph in split_paragraphs(block):
            yield gap, paragraph
            gap = "\n"


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Cut lines into runs of blank lines and runs of others."""
    block: list[str] = []
    for line in map(one_line, lines):
        if block and (bool(block[0]) != bool(line) or len(block) == LONGEST_BLOCK):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def write_text(entries: Iterable[Entry], options: WritingOptions) -> Iterator[str]:  # noqa: ARG001
    """Write running text with the paragraphs it had; a paragraph from elsewhere is a line, with blank lines between."""
    for number, entry in enumerate(entries):
        layout = layout_of(entry.document, "text") or _lay_out(entry.document, number)
        yield fill(layout, [one_line(sentence) for sentence in entry.text])


def _lay_out(document: Document, number: int) -> Layout:
    """Place the paragraphs of a document that comes from elsewhere."""
    counts = document.paragraphs or (len(document.sentences),)
    gaps = [gap for count in counts for gap in ("\n\n", *(" ",) * (count - 1))]
    return Layout("text", before="\n" if number else "", between=tuple(gaps[1:]))
