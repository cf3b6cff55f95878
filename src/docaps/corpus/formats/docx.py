"""DOCX: the paragraphs of a text document, in its body, tables, text boxes, notes, headers and footers.

Paragraphs of a text box come after the one that it is in, and so do those of notes; headers and footers come last.
The text of a paragraph is that of its runs. Runs of the formatting that most of its text has are plain text; other
runs, links and all else in a paragraph become marks. To write a translation, the runs of each paragraph are replaced,
and everything else in the XML and in the archive stays.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from docaps.corpus.documents import Document, InlineMark
from docaps.corpus.formats.format import FileFormat, OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.passages import (
    Passage,
    PassageBuilder,
    fill,
    join_passages,
    replace_written,
    written_passages,
)
from docaps.corpus.formats.xml_events import XmlElement, check_part, encode_xml, find_elements, scan_xml
from docaps.corpus.formats.zip_archive import ZipArchive, replace_members

BODY = "word/document.xml"
PARTS = re.compile(r"word/(?:header|footer|footnotes|endnotes)\d*\.xml")
"""The other parts that are translated; comments are not."""
NOTES = {"w:footnoteReference": "word/footnotes.xml", "w:endnoteReference": "word/endnotes.xml"}
CONTAINERS = {"w:hyperlink", "w:ins", "w:moveTo", "w:smartTag", "w:bdo", "w:dir", "w:sdt", "w:fldSimple"}
SPACES = {"w:tab", "w:br", "w:cr"}
DROPPED = {"w:rPr", "w:lastRenderedPageBreak", "w:softHyphen", "w:proofErr"}
"""What is not written again: formatting (it is written with each run), and notes of an editor about the old text."""
CHARACTERS = {"w:noBreakHyphen": "\u2011"}
SHOWN_FIELDS = ("HYPERLINK", "TOC")
"""Fields whose result is text; that of others, such as a page number, is not translated."""
END = "</w:t></w:r>"
EMPTY_RUN = re.compile(
    r'<w:r>(?:<w:rPr>(?:(?!</?w:r[> ]).)*</w:rPr>|<w:rPr/>)?<w:t xml:space="preserve"></w:t></w:r>', re.DOTALL
)


@dataclass(slots=True)
class _Text:
    """Text of a run, with its formatting."""

    text: str
    formatting: str


@dataclass(slots=True)
class _Object:
    """Something else in a run, as runs of its own; where it stands in the part, less what is added before it."""

    raw: str
    start: int
    is_space: bool = False


@dataclass(slots=True)
class _Group:
    """What stands in a paragraph, or in a link, a field or a tracked insertion in it."""

    opening: str = ""
    closing: str = ""
    items: list["_Text | _Object | _Group"] = field(default_factory=list)

    @property
    def formatting(self) -> str:
        """The formatting of most of the text."""
        sizes = Counter[str]()
        for item in self.items:
            if isinstance(item, _Text):
                sizes[item.formatting] += len(item.text.strip())
        return max(sizes, key=lambda name: sizes[name], default="")


class _ParagraphReader:
    """Reads the passages of paragraphs of one part of the archive."""

    def __init__(self, content: bytes, part: str) -> None:
        self._content, self._part = content, part

    def passages(self, paragraph: XmlElement) -> Iterator[Passage]:
        """Yield the passage of a paragraph, if it has text, then those of paragraphs in its text boxes."""
        elements = [child for child in paragraph.elements if child.name != "w:pPr"]
        builder = PassageBuilder()
        group = _Group(items=self._items(elements))
        _MarkWriter(builder).write(group)
        if builder.text.strip():
            start, end = elements[0].start, elements[-1].end
            yield builder.passage(start, end, part=self._part, kind=group.formatting)
        for one in _outer_paragraphs(paragraph):
            yield from self.passages(one)

    def _raw(self, start: int, end: int) -> str:
        return self._content[start:end].decode()

    def _items(self, elements: list[XmlElement]) -> list[_Text | _Object | _Group]:
        """Return what elements of a paragraph hold."""
        items: list[_Text | _Object | _Group] = []
        waiting, closed = elements[::-1], True
        while waiting:
            element = waiting.pop()
            inner = _take_field(element, waiting) if closed and _has_field(element, "begin") else ()
            closed = closed and inner is not None  # else this field, and all after it, end elsewhere
            if inner:
                items.append(self._field(inner))
            elif element.name == "w:r":
                items += self._run(element)
            elif element.name in CONTAINERS and (group := self._container(element)):
                items.append(group)
            elif element.name not in DROPPED:
                items.append(_Object(self._raw(element.start, element.end), element.start))
        return items

    def _container(self, element: XmlElement) -> _Group | None:
        """Return what a link and the like holds; None for what is not translated."""
        inner = element.find("w:sdtContent") if element.name == "w:sdt" else element
        if inner is None or (element.name == "w:fldSimple" and not _is_shown(element.attributes.get("w:instr", ""))):
            return None
        opening = self._raw(element.start, inner.content_start)
        return _Group(opening, self._raw(inner.content_end, element.end), self._items(inner.elements))

    def _field(self, runs: list[XmlElement]) -> "_Object | _Group":
        """Return a field: a group if its result is translated."""
        instruction = "".join(child.text for run in runs for child in run.elements if child.name == "w:instrText")
        middle = next((number for number, run in enumerate(runs) if _has_field(run, "separate")), None)
        if middle is None or not _is_shown(instruction) or any(len(_field_marks(run)) > 1 for run in runs):
            return _Object(self._raw(runs[0].start, runs[-1].end), runs[0].start)
        opening = self._raw(runs[0].start, runs[middle].end)
        return _Group(opening, self._raw(runs[-1].start, runs[-1].end), self._items(runs[middle + 1 : -1]))

    def _run(self, run: XmlElement) -> list[_Text | _Object | _Group]:
        """Return the texts and other things in a run."""
        found = run.find("w:rPr")
        formatting = self._raw(found.start, found.end) if found else ""
        items: list[_Text | _Object | _Group] = []
        for child in run.elements:
            if child.name == "w:t":
                keeps = child.attributes.get("xml:space") == "preserve"
                items.append(_Text(child.text if keeps else child.text.strip(), formatting))
            elif child.name in CHARACTERS:
                items.append(_Text(CHARACTERS[child.name], formatting))
            elif child.name not in DROPPED:
                added = f"<w:r>{formatting}"
                raw = f"{added}{self._raw(child.start, child.end)}</w:r>"
                items.append(_Object(raw, child.start - len(added.encode()), child.name in SPACES))
        return items


class _MarkWriter:
    """Writes groups as text and marks.

    Text stands in a run that is open all the time: a mark closes it, and opens one of the formatting after the mark.
    """

    def __init__(self, builder: PassageBuilder) -> None:
        self._builder = builder
        self._pairs = 0

    def write(self, group: _Group) -> None:
        """Write all items of a group whose formatting is open."""
        base = open_formatting = group.formatting
        pair = 0
        for item in group.items:
            if isinstance(item, _Object):
                raw = END + item.raw + open_run(open_formatting)
                if item.is_space:
                    self._builder.add_space(raw)
                else:
                    self._builder.add_mark(raw, pair=item.start - len(END) + 1)  # text boxes in it are passages, too
                continue
            wanted = item.formatting if isinstance(item, _Text) and item.text.strip() else open_formatting
            wanted = base if isinstance(item, _Group) else wanted
            if wanted != open_formatting:
                if open_formatting != base:
                    self._builder.add_mark(END + open_run(base), "close", pair)
                if wanted != base:
                    pair = self._next_pair()
                    self._builder.add_mark(END + open_run(wanted), "open", pair)
                open_formatting = wanted
            if isinstance(item, _Text):
                self._builder.add_text(item.text)
            else:
                self._write_inner(item, base)
        if open_formatting != base:
            self._builder.add_mark(END + open_run(base), "close", pair)

    def _write_inner(self, group: _Group, outer: str) -> None:
        pair = self._next_pair()
        self._builder.add_mark(END + group.opening + open_run(group.formatting), "open", pair)
        self.write(group)
        self._builder.add_mark(END + group.closing + open_run(outer), "close", pair)

    def _next_pair(self) -> int:
        self._pairs += 1
        return self._pairs


def open_run(formatting: str) -> str:
    """Return the beginning of a run, up to its text."""
    return f'<w:r>{formatting}<w:t xml:space="preserve">'


def _outer_paragraphs(element: XmlElement) -> Iterator[XmlElement]:
    """Yield the outermost paragraphs below an element, but not those that repeat others for old programs."""
    for child in element.elements:
        if child.name == "w:p":
            yield child
        elif child.name != "mc:Fallback":
            yield from _outer_paragraphs(child)


def _field_marks(run: XmlElement) -> list[str]:
    """Return which marks of fields (begin, separate, end) are in a run."""
    return [child.attributes.get("w:fldCharType", "") for child in run.elements if child.name == "w:fldChar"]


def _has_field(run: XmlElement, mark: str) -> bool:
    return run.name == "w:r" and mark in _field_marks(run)


def _take_field(begin: XmlElement, waiting: list[XmlElement]) -> list[XmlElement] | None:
    """Take the elements of a field from those that follow (the next is last); None if it does not end among them."""
    depth = 0
    for taken, element in enumerate((begin, *reversed(waiting))):
        marks = _field_marks(element) if element.name == "w:r" else []
        depth += marks.count("begin") - marks.count("end")
        if depth <= 0:
            found = [begin, *reversed(waiting[len(waiting) - taken :])]
            del waiting[len(waiting) - taken :]
            return found
    return None


def _is_shown(instruction: str) -> bool:
    """Return whether the result of a field is text to translate."""
    return instruction.strip().upper().startswith(SHOWN_FIELDS)


def read_docx(content: bytes, options: ReadingOptions) -> Document:
    """Read the paragraphs of the body, a note after the paragraph that refers to it, then headers and footers."""
    archive = ZipArchive(content, options)
    if BODY not in archive.names:
        raise options.fault(f"not a DOCX file: it has no {BODY}")
    parts = {BODY: archive.read(BODY)}
    parts |= {name: archive.read(name) for name in sorted(archive.names) if PARTS.fullmatch(name)}
    passages = _all_passages(parts, options)
    return join_passages(passages, options, "docx", content=content, parts=parts)


def _all_passages(parts: Mapping[str, bytes], options: ReadingOptions) -> Iterator[Passage]:
    """Yield the passages of all parts in the order in which they are read."""
    notes = {one: _read_notes(name, parts[name], options) for one, name in NOTES.items() if name in parts}
    for paragraph, reader in _paragraphs(BODY, parts[BODY], options):
        yield from reader.passages(paragraph)
        for element in paragraph.below():
            yield from notes.get(element.name, {}).pop(element.attributes.get("w:id", ""), ())
    for left in notes.values():  # to which nothing refers
        yield from chain.from_iterable(left.values())
    for name in sorted(parts.keys() - {BODY, *NOTES.values()}, key=lambda name: ("footer" in name, name)):
        for paragraph, reader in _paragraphs(name, parts[name], options):
            yield from reader.passages(paragraph)


def _read_notes(name: str, content: bytes, options: ReadingOptions) -> dict[str, list[Passage]]:
    """Return the passages of each footnote or endnote by its id."""
    check_part(name, content, options, "w")
    reader, notes = _ParagraphReader(content, name), dict[str, list[Passage]]()
    for note in find_elements(scan_xml(content, options, name), {"w:footnote", "w:endnote"}):
        found = chain.from_iterable(map(reader.passages, _outer_paragraphs(note)))
        notes.setdefault(note.attributes.get("w:id", ""), []).extend(found)
    return notes


def _paragraphs(name: str, content: bytes, options: ReadingOptions) -> Iterator[tuple[XmlElement, _ParagraphReader]]:
    """Yield the outermost paragraphs of one part, each with what reads them."""
    check_part(name, content, options, "w")
    reader = _ParagraphReader(content, name)
    for paragraph in find_elements(scan_xml(content, options, name), {"w:p"}, {"mc:Fallback"}):
        yield paragraph, reader


def write_docx(item: OutputDocument, options: WritingOptions) -> bytes:  # noqa: ARG001
    """Write a copy of the file with the translated paragraphs."""
    assert item.document.layout is not None
    details = item.document.layout.details
    written: dict[str, list[tuple[Passage, list[str | InlineMark]]]] = {}
    for passage, pieces in written_passages(item):
        written.setdefault(passage.part, []).append((passage, pieces))
    parts = {name: replace_written(details["parts"][name], found, _encode) for name, found in written.items()}
    return replace_members(details["content"], parts)


def _encode(passage: Passage, pieces: Sequence[str | InlineMark]) -> str:
    """Return a passage as runs."""
    return EMPTY_RUN.sub("", open_run(passage.kind) + fill(pieces, encode_xml) + END)


def is_docx(start: bytes, name: str) -> bool:
    """Return whether the first bytes are those of a zip archive with a text document of Word."""
    return start.startswith(b"PK\3\4") and (b"word/" in start or name.endswith((".docx", ".docm")))


DOCX = FileFormat(
    "docx", "Word documents", (".docx", ".docm"), is_docx, read_docx, write_docx, binary=True, largest=2**28
)
