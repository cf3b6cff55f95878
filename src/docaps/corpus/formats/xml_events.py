"""XML as a stream of events with the bytes where each stands, so that a file can be changed and else kept as it is.

Nothing is expanded and nothing is fetched: a document type, which could define entities, is refused.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Literal, NamedTuple
from xml.parsers import expat

from docaps.corpus.formats.format import ReadingOptions
from docaps.corpus.formats.markup import NOT_XML

DEEPEST = 200
"""Levels of elements within elements."""
CHUNK = 2**16


class XmlEvent(NamedTuple):
    """A tag, a stretch of text or anything else (a comment, an instruction), and the bytes where it stands.

    The end of an element without content (`<a/>`) has no bytes of its own: its start has all.
    """

    kind: Literal["start", "end", "text", "other"]
    name: str
    """The name of an element, with its prefix."""
    start: int
    end: int = 0
    text: str = ""
    attributes: Mapping[str, str] = {}


class _RefusedError(Exception):
    """Something that is refused though it may be well-formed."""


class _Scanner:
    """Collects the events of a parser; each ends where the next begins."""

    def __init__(self) -> None:
        self.parser = parser = expat.ParserCreate()
        self.events: list[XmlEvent] = []
        self._depth = 0
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse_type
        for name in ("Comment", "ProcessingInstruction", "StartCdataSection", "EndCdataSection", "XmlDecl"):
            setattr(parser, f"{name}Handler", lambda *_: self._add("other"))

    def _add(self, kind: Literal["start", "end", "text", "other"], name: str = "", text: str = "") -> None:
        self.events.append(XmlEvent(kind, name, self.parser.CurrentByteIndex, 0, text))

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _RefusedError(f"more than {DEEPEST} elements within each other")
        self.events.append(XmlEvent("start", name, self.parser.CurrentByteIndex, 0, "", attributes))

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._add("end", name)

    def _text(self, text: str) -> None:
        self._add("text", text=text)

    def _refuse_type(self, *_: object) -> None:
        raise _RefusedError("a document type (<!DOCTYPE ...>), which may define entities,")


def scan_xml(content: bytes, options: ReadingOptions, part: str = "") -> Iterator[XmlEvent]:
    """Yield the events of an XML file, or of a named part of a file."""
    scanner = _Scanner()
    where = f"{part}: " if part else ""
    held: XmlEvent | None = None
    for start in range(0, len(content) + 1, CHUNK):
        try:
            scanner.parser.Parse(content[start : start + CHUNK], start + CHUNK > len(content))
        except expat.ExpatError as fault:
            message = f"{where}not well-formed XML: {expat.ErrorString(fault.code)}"
            raise options.fault(message, None if part else fault.lineno) from None
        except _RefusedError as fault:
            line = None if part else scanner.parser.CurrentLineNumber
            raise options.fault(f"{where}XML with {fault} is not read", line) from None
        except (LookupError, ValueError) as fault:  # an encoding that Python does not know
            raise options.fault(f"{where}XML that cannot be read: {fault}") from None
        for event in scanner.events:
            if held:
                yield held._replace(end=event.start)
            held = event
        scanner.events.clear()
    if held:
        yield held._replace(end=len(content))


@dataclass(slots=True)
class XmlElement:
    """An element with all that is in it, and where it stands: its tags, and its content between them."""

    name: str
    attributes: Mapping[str, str]
    start: int
    content_start: int
    content_end: int = 0
    end: int = 0
    children: list["XmlElement | str"] = field(default_factory=list)

    @property
    def elements(self) -> list["XmlElement"]:
        """The elements among the children."""
        return [child for child in self.children if isinstance(child, XmlElement)]

    @property
    def text(self) -> str:
        """The text of the element itself."""
        return "".join(child for child in self.children if isinstance(child, str))

    def find(self, name: str) -> "XmlElement | None":
        """Return the first child of a name."""
        return next((child for child in self.elements if child.name == name), None)

    def below(self) -> Iterator["XmlElement"]:
        """Yield all elements below it, in order."""
        for child in self.elements:
            yield child
            yield from child.below()


def find_elements(
    events: Iterable[XmlEvent], names: Collection[str], skipped: Collection[str] = ()
) -> Iterator[XmlElement]:
    """Yield the outermost elements with one of these names, unless they are in skipped ones."""
    opened: list[XmlElement] = []
    ignored = 0
    for event in events:
        if ignored or (not opened and event.name in skipped):
            ignored += (event.name in skipped) * {"start": 1, "end": -1}.get(event.kind, 0)
        elif event.kind == "start" and (opened or event.name in names):
            opened.append(XmlElement(event.name, event.attributes, event.start, event.end))
        elif event.kind == "text" and opened:
            opened[-1].children.append(event.text)
        elif event.kind == "end" and opened:
            element = opened.pop()
            element.content_end, element.end = event.start, event.end
            if opened:
                opened[-1].children.append(element)
            else:
                yield element


def check_part(name: str, content: bytes, options: ReadingOptions, prefix: str) -> None:
    """Refuse a part that is not UTF-8, or whose elements have not the prefix with which all programs write it."""
    try:
        content.decode()
    except UnicodeDecodeError:
        raise options.fault(f"{name} is not UTF-8: save the file again") from None
    root = next((event for event in scan_xml(content, options, name) if event.kind == "start"), None)
    if root is not None and not root.name.startswith(f"{prefix}:"):
        raise options.fault(f"{name} begins with <{root.name}>, expected <{prefix}:...>: save the file again")


def encode_xml(text: str) -> str:
    """Encode text for XML; characters that it cannot hold become U+FFFD."""
    return escape(NOT_XML.sub("\ufffd", text), quote=False)
