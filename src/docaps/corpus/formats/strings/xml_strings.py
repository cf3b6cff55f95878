"""What XLIFF and TMX share: text with inline elements as a message, and changes of the bytes around it."""

import codecs
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from xml.sax.saxutils import quoteattr

from docaps.corpus.documents import InlineMark
from docaps.corpus.formats.format import ReadingOptions
from docaps.corpus.formats.strings.messages import Message, read_paragraph
from docaps.corpus.formats.xml_events import XmlElement, encode_xml

DECLARED = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([\w.:-]+)")
WRAPPERS = frozenset(("g", "pc", "mrk", "hi"))
"""Inline elements around text; all others are marks as a whole."""
OPENING, CLOSING = frozenset(("bx", "bpt", "sc", "sm")), frozenset(("ex", "ept", "ec", "em"))
REFERENCES = ("rid", "startRef", "i", "id")
"""Attributes by which the two elements of a pair know each other, the strongest first."""
BREAK_KINDS, CODES = ("ctype", "type", "subType"), ("equiv-text", "equiv", "disp")
BREAKS = ("lb", "pb", "x-br", "x-html-br")
"""Kinds of inline elements that separate words."""
BREAK_CODE = re.compile(r"\s+|\s*<br\b[^<>]*>\s*|&nbsp;|\\n", re.IGNORECASE)
INDENT = re.compile(r"(?:\r\n|\r|\n)[ \t]*$")


def local_name(name: str) -> str:
    """Return the name of an element without its prefix."""
    return name.rpartition(":")[2]


def child_of(element: XmlElement, *names: str) -> XmlElement | None:
    """Return the first child with one of the names, of the first name if there are several."""
    found = {local_name(child.name): child for child in reversed(element.elements)}
    return next((found[name] for name in names if name in found), None)


def is_empty(element: XmlElement) -> bool:
    """Return whether an element holds neither text nor elements."""
    return not element.text.strip() and not element.elements


@dataclass(frozen=True, slots=True)
class XmlFile:
    """The bytes of an XML file and their encoding."""

    content: bytes
    encoding: str

    def line_of(self, position: int) -> int:
        """Return the line of a byte."""
        return self.content.count(b"\n", 0, position) + 1

    def raw(self, start: int, end: int) -> str:
        """Return a part of the file as it is there."""
        return self.content[start:end].decode(self.encoding)

    def encode(self, text: str) -> bytes:
        """Encode what is written; a character that the encoding lacks becomes a reference."""
        return text.encode(self.encoding, errors="xmlcharrefreplace")

    def indent_before(self, position: int) -> str:
        """Return the line end and the indentation before a tag; nothing if other text is before it on its line."""
        near = self.content[max(0, position - 400) & ~1 : position]  # an even number of bytes, for UTF-16
        found = INDENT.search(near.decode(self.encoding, errors="replace"))
        return found[0] if found else ""

    def tag_with(self, element: XmlElement, attributes: Mapping[str, str]) -> str:
        """Return the start tag of an element with some of its attributes changed or added."""
        tag = self.raw(element.start, element.content_start)
        for name, value in attributes.items():
            pattern = re.compile(rf"(\s{re.escape(name)}\s*=\s*)(?:\"[^\"]*\"|'[^']*')")
            written = quoteattr(value)
            if pattern.search(tag):
                tag = pattern.sub(lambda found, written=written: found[1] + written, tag, count=1)  # type: ignore[misc]
            else:
                end = re.search(r"\s*/?>$", tag)
                assert end is not None
                tag = f"{tag[: end.start()]} {name}={written}{end[0]}"
        return tag


def open_xml(content: bytes, options: ReadingOptions) -> XmlFile:
    """Return an XML file with the encoding it names, or that of its byte-order mark."""
    if content.startswith(codecs.BOM_UTF16_LE):
        return XmlFile(content, "utf-16-le")
    if content.startswith(codecs.BOM_UTF16_BE):
        return XmlFile(content, "utf-16-be")
    declared = DECLARED.match(content.removeprefix(codecs.BOM_UTF8))
    name = declared[1].decode("ascii") if declared else "utf-8"
    try:
        content.decode(name)
    except (LookupError, UnicodeError):
        raise options.fault(f"not {name.upper()}, as its first line says: convert the file to UTF-8") from None
    return XmlFile(content, name)


def read_content(element: XmlElement, file: XmlFile, line: int) -> Message:
    """Return the message of an element's text, with its inline elements as marks."""
    pieces = list(_pieces(element, file, _pairs(element)))
    text, marks = "", list[InlineMark]()
    for piece in pieces:
        if isinstance(piece, str):
            text += re.sub(r"[\t\r\n]", " ", piece)
        else:
            marks.append(replace(piece, position=len(text)))
    found = read_paragraph(text, line, encode_xml, marks)
    raw = file.raw(element.content_start, element.content_end)
    return Message((raw if isinstance(found, str) else found,), line)


def _pieces(element: XmlElement, file: XmlFile, pairs: Mapping[int, int]) -> Iterator[str | InlineMark]:
    """Yield the text of an element and its inline elements as marks, from left to right."""
    for child in element.children:
        if isinstance(child, str):
            yield child
            continue
        number, name = pairs.get(child.start, 0), local_name(child.name)
        if name in WRAPPERS and not _is_kept(child) and child.content_start < child.end:
            yield InlineMark(0, file.raw(child.start, child.content_start), "open", child.start)
            yield from _pieces(child, file, pairs)
            yield InlineMark(0, file.raw(child.content_end, child.end), "close", child.start)
        elif number and name in OPENING:
            yield InlineMark(0, file.raw(child.start, child.end), "open", number)
        elif number and name in CLOSING:
            yield InlineMark(0, file.raw(child.start, child.end), "close", number)
        else:
            yield InlineMark(0, file.raw(child.start, child.end), "single", child.start, _is_break(child))


def _is_break(element: XmlElement) -> bool:
    """Return whether an element stands for a line break or a space: by its kind, or by the code in it."""
    kinds = (element.attributes.get(name, "").rpartition(":")[2] for name in BREAK_KINDS)
    codes = (element.text, *(element.attributes.get(name, "") for name in CODES))
    return any(kind in BREAKS for kind in kinds) or any(BREAK_CODE.fullmatch(code) for code in codes)


def _is_kept(element: XmlElement) -> bool:
    """Return whether the text of an element is not to be translated."""
    return element.attributes.get("translate") == "no" or element.attributes.get("mtype") == "protected"


def _pairs(element: XmlElement) -> dict[int, int]:
    """Return the number of the pair of each opening and closing element that has a partner, by where it stands."""
    waiting: dict[tuple[str, str], int] = {}
    found: dict[int, int] = {}
    for child in element.below():
        name = local_name(child.name)
        if name in OPENING:
            for key in _keys(child):
                waiting[key] = child.start
        elif name in CLOSING:
            start = next((waiting[key] for key in _keys(child) if key in waiting), None)
            if start is not None and start not in found:
                found[start] = found[child.start] = start
    return found


def _keys(element: XmlElement) -> Iterator[tuple[str, str]]:
    """Yield the references of an element to its partner; an id is what a partner's `startRef` names."""
    for name in REFERENCES:
        if value := element.attributes.get(name):
            yield ("id" if name == "startRef" else name), value


def names_of(codes: Collection[str]) -> str:
    """List the codes of languages for a message."""
    return ", ".join(sorted(codes)) or "none"
