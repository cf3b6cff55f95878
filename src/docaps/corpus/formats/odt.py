"""ODT: the paragraphs and headings of an OpenDocument text, its tables, notes, text boxes, headers and footers.

The tags in a paragraph are marks. Notes and text boxes stand within paragraphs and have paragraphs of their own, which
come after the one around them. Comments and deleted text stay as they are.
"""

from collections.abc import Iterator, Sequence

from docaps.corpus.documents import Document, InlineMark
from docaps.corpus.formats.format import FileFormat, OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.passages import Passage, PassageBuilder, fill, join_passages, replace_passages
from docaps.corpus.formats.xml_events import XmlElement, check_part, encode_xml, find_elements, scan_xml
from docaps.corpus.formats.zip_archive import LARGEST_ARCHIVE, ZipArchive, replace_members

PARTS = ("content.xml", "styles.xml")  # styles hold headers and footers
PARAGRAPHS = {"text:p", "text:h"}
PAIRS = {"text:span", "text:a", "text:meta"}
SPACES = {"text:s", "text:tab", "text:line-break"}
DROPPED = {"text:soft-page-break"}
UNTOUCHED = {"office:annotation", "text:tracked-changes", "text:index-title-template"}
MIMETYPE = b"mimetypeapplication/vnd.oasis.opendocument.text"


class _Reader:
    """Reads the passages of paragraphs of one part of the archive."""

    def __init__(self, content: bytes, part: str) -> None:
        self._content, self._part = content, part

    def passages(self, paragraph: XmlElement) -> Iterator[Passage]:
        """Yield the passage of a paragraph, then those of paragraphs in it."""
        builder = PassageBuilder()
        inner: list[XmlElement] = []
        self._add(paragraph, builder, inner)
        if builder.text.strip():
            yield builder.passage(paragraph.content_start, paragraph.content_end, part=self._part)
        for element in inner:
            for one in _outer_paragraphs(element):
                yield from self.passages(one)

    def _add(self, element: XmlElement, builder: PassageBuilder, inner: list[XmlElement]) -> None:
        """Add the content of an element to a passage, and note what else is in it."""
        for child in element.children:
            if isinstance(child, str):
                builder.add_text(child)
            elif child.name in SPACES:
                builder.add_space(self._raw(child.start, child.end))
            elif child.name in PAIRS:
                pair = child.start + 1
                builder.add_mark(self._raw(child.start, child.content_start), "open", pair)
                self._add(child, builder, inner)
                builder.add_mark(self._raw(child.content_end, child.end), "close", pair)
            elif child.name not in DROPPED:
                builder.add_mark(self._raw(child.start, child.end), "single", child.start + 1)
                inner.append(child)

    def _raw(self, start: int, end: int) -> str:
        return self._content[start:end].decode()


def _outer_paragraphs(element: XmlElement) -> Iterator[XmlElement]:
    """Yield the outermost paragraphs in an element."""
    if element.name in UNTOUCHED:
        return
    for child in element.elements:
        if child.name in PARAGRAPHS:
            yield child
        else:
            yield from _outer_paragraphs(child)


def read_odt(content: bytes, options: ReadingOptions) -> Document:
    """Read the paragraphs of the text, then those of headers and footers."""
    archive = ZipArchive(content, options)
    if PARTS[0] not in archive.names:
        raise options.fault(f"not an ODT file: it has no {PARTS[0]}")
    parts = {name: archive.read(name) for name in PARTS if name in archive.names}
    passages = (passage for name, part in parts.items() for passage in _part_passages(name, part, options))
    return join_passages(passages, options, "odt", content=content, parts=parts)


def _part_passages(name: str, content: bytes, options: ReadingOptions) -> Iterator[Passage]:
    """Yield the passages of one part."""
    check_part(name, content, options, "office")
    reader = _Reader(content, name)
    for paragraph in find_elements(scan_xml(content, options, name), PARAGRAPHS, UNTOUCHED):
        yield from reader.passages(paragraph)


def write_odt(item: OutputDocument, options: WritingOptions) -> bytes:  # noqa: ARG001
    """Write a copy of the file with the translated paragraphs."""
    assert item.document.layout is not None
    details = item.document.layout.details

    def encode(passage: Passage, pieces: Sequence[str | InlineMark]) -> str:  # noqa: ARG001
        return fill(pieces, encode_xml)

    parts = {name: replace_passages(part, item, encode, name) for name, part in details["parts"].items()}
    changed = {name: part for name, part in parts.items() if part != details["parts"][name]}
    return replace_members(details["content"], changed)


def is_odt(start: bytes, name: str) -> bool:
    """Return whether the first bytes are those of an OpenDocument text."""
    return start.startswith(b"PK\3\4") and (start[30:].startswith(MIMETYPE) or name.endswith(".odt"))


ODT = FileFormat(
    "odt", "OpenDocument texts", (".odt",), is_odt, read_odt, write_odt, binary=True, largest=LARGEST_ARCHIVE
)
