"""XLIFF 1.2 and 2.x: units with a source and a target.

Units without a target, or with one that is new, are translated and marked for review. Approved and final ones, and
those that must not be translated, are never touched. What is translated already is read as context; so are notes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, count
from typing import NamedTuple, cast

from docaps.corpus.documents import Document
from docaps.corpus.formats.encoded_text import decode_start
from docaps.corpus.formats.format import FileFormat, OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.passages import replace_spans
from docaps.corpus.formats.strings.messages import Message, join_messages, limited, read_context, written_messages
from docaps.corpus.formats.strings.xml_strings import XmlFile, child_of, is_empty, local_name, open_xml, read_content
from docaps.corpus.formats.xml_events import XmlElement, XmlEvent, encode_xml, find_elements, scan_xml

ROOT = re.compile(r"\s*(?:<\?.*?\?>|<!--.*?-->|\s+)*<(?:[\w.-]+:)?xliff[\s>]", re.DOTALL)
UNITS = ("trans-unit", "unit")
FINAL = ("final", "signed-off")
TO_TRANSLATE = ("new", "needs-translation", "initial")
REVIEW = {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}
"""What a target of version 1 says."""
TRANSLATED = {"state": "translated", "subState": "docaps:mt"}
"""What a segment of version 2 says."""

Change = tuple[int, int, bytes]


class ChosenSegment(NamedTuple):
    """A segment to translate: what holds source and target (which has the state in version 2), and its message."""

    holder: XmlElement
    source: XmlElement
    target: XmlElement | None
    message: int


@dataclass(frozen=True, slots=True)
class XliffFile:
    """What is kept of a file to write it again; `headings` are elements that should name the target language."""

    file: XmlFile
    is_second: bool
    headings: tuple[XmlElement, ...]
    chosen: tuple[ChosenSegment, ...]


def read_xliff(content: bytes, options: ReadingOptions) -> Document:
    """Return the document of a file, its units in order."""
    file = open_xml(content, options)
    reader = _XliffReader(file, options)
    reader.read(iter(scan_xml(content, options)))
    kept = XliffFile(file, reader.is_second, tuple(reader.headings), tuple(reader.chosen))
    return join_messages(reader.messages, options, "xliff", file=kept)


class _XliffReader:
    """Goes through a file; collects messages and the segments to translate."""

    def __init__(self, file: XmlFile, options: ReadingOptions) -> None:
        self._file, self._options = file, options
        self.is_second = False
        self.headings: list[XmlElement] = []
        self.messages: list[Message] = []
        self.chosen: list[ChosenSegment] = []
        self._counted = (0, 1)
        self._count = limited(count(), options)

    def read(self, events: Iterator[XmlEvent]) -> None:
        """Read all units, and which of the elements around them forbid translation."""
        allowed = [True]
        is_first = True
        for event in events:
            name = local_name(event.name)
            if event.kind == "start" and is_first:
                self._check_root(name, event)
                is_first = False
            if event.kind == "start" and name in UNITS:
                unit = next(find_elements(chain([event], events), (event.name,)))
                self._read_unit(unit, translate=_may_translate(event.attributes, allowed[-1]))
            elif event.kind == "start":
                self._check_languages(name, event)
                allowed.append(_may_translate(event.attributes, allowed[-1]))
                self._note_heading(name, event)
            elif event.kind == "end":
                allowed.pop()

    def _check_root(self, name: str, root: XmlEvent) -> None:
        version = root.attributes.get("version", "")
        if name != "xliff" or version[:2] not in ("1.", "2."):
            message = f"<{root.name}> of version '{version}'" if name == "xliff" else f"<{root.name}>"
            raise self._options.fault(f"expected <xliff> of version 1.2 or 2, found {message}", self._line(root.start))
        self.is_second = version.startswith("2.")

    def _check_languages(self, name: str, event: XmlEvent) -> None:
        """Refuse a file that is in other languages."""
        if name == ("xliff" if self.is_second else "file"):
            names = ("srcLang", "trgLang") if self.is_second else ("source-language", "target-language")
            source, target = (event.attributes.get(one, "") for one in names)
            self._options.check_languages(source, target, self._line(event.start))

    def _note_heading(self, name: str, event: XmlEvent) -> None:
        """Remember an element that should name the target language, but does not."""
        wanted, attribute = ("xliff", "trgLang") if self.is_second else ("file", "target-language")
        if name == wanted and not event.attributes.get(attribute):
            self.headings.append(XmlElement(event.name, event.attributes, event.start, event.end))

    def _line(self, position: int) -> int:
        """Return the line of a byte; positions grow from call to call."""
        before, line = self._counted
        self._counted = (position, line + self._file.content.count(b"\n", before, position))
        return self._counted[1]

    def _read_unit(self, unit: XmlElement, *, translate: bool) -> None:
        if not translate:
            return
        line = self._line(unit.start)
        notes = [one for one in unit.below() if local_name(one.name) == "note" and one.text.strip()]
        holders = [one for one in unit.elements if local_name(one.name) == "segment"] if self.is_second else [unit]
        next(self._count)
        segments = [found for holder in holders if (found := self._find_segment(holder, line))]
        if any(wanted for wanted, _ in segments):
            self.messages += (read_context(note.text, line) for note in notes)
        for wanted, segment in segments:
            if wanted:
                self.chosen.append(segment._replace(message=len(self.messages)))
                self.messages.append(read_content(segment.source, self._file, line))
            else:
                self.messages.append(read_context(_all_text(segment.source), line))

    def _find_segment(self, holder: XmlElement, line: int) -> tuple[bool, ChosenSegment] | None:
        """Return the source and target of a unit or segment, and whether it is to be translated."""
        source, target = child_of(holder, "seg-source", "source"), child_of(holder, "target")
        if source is None:
            raise self._options.fault(f"<{holder.name}> without <source>: add it", line)
        if is_empty(source):
            return None
        attributes = holder.attributes if self.is_second or target is None else target.attributes
        state = attributes.get("state", "")
        is_open = target is None or is_empty(target) or state in TO_TRANSLATE or self._options.choices.everything
        is_final = holder.attributes.get("approved") == "yes" or state in FINAL
        return is_open and not is_final, ChosenSegment(holder, source, target, 0)


def _may_translate(attributes: Mapping[str, str], inherited: bool) -> bool:
    """Return whether an element may be translated: it says so itself, or the one around it does."""
    return attributes.get("translate") != "no" if "translate" in attributes else inherited


def _all_text(element: XmlElement) -> str:
    """Return the text of an element and of those around text in it."""
    return "".join(child if isinstance(child, str) else _all_text(child) for child in element.children)


def write_xliff(item: OutputDocument, options: WritingOptions) -> bytes:
    """Return the file with targets filled."""
    assert item.document.layout is not None
    kept = cast(XliffFile, item.document.layout.details["file"])
    if item.translation is None or not kept.chosen:
        return kept.file.content
    written = list(written_messages(item, encode_xml))
    attribute = {"trgLang" if kept.is_second else "target-language": options.target_language}
    changes: Iterable[tuple[int, int, str]] = chain(
        ((one.start, one.content_start, kept.file.tag_with(one, attribute)) for one in kept.headings),
        *(_fill_segment(segment, written[segment.message], kept) for segment in kept.chosen),
    )
    encoded = ((start, end, kept.file.encode(text)) for start, end, text in changes)
    return replace_spans(kept.file.content, encoded)


def _fill_segment(segment: ChosenSegment, text: str, kept: XliffFile) -> Iterator[tuple[int, int, str]]:
    """Yield the changes that give a segment its target and its state."""
    holder, target, file = segment.holder, segment.target, kept.file
    state = {} if kept.is_second else REVIEW
    if kept.is_second:
        yield holder.start, holder.content_start, file.tag_with(holder, TRANSLATED)
    if target is None:
        prefix = segment.source.name.removesuffix(local_name(segment.source.name))
        attributes = "".join(f' {name}="{value}"' for name, value in state.items())
        new = f"<{prefix}target{attributes}>{text}</{prefix}target>"
        place = segment.source
        yield place.end, place.end, f"{file.indent_before(place.start)}{new}"
        return
    tag = file.tag_with(target, state)
    if target.content_start == target.end:  # <target/>
        yield target.start, target.end, f"{tag.removesuffix('/>').rstrip()}>{text}</{target.name}>"
    else:
        yield target.start, target.content_start, tag
        yield target.content_start, target.content_end, text


def detect_xliff(start: bytes, name: str) -> bool:
    """Return whether a file begins as XLIFF."""
    return bool(ROOT.match(decode_start(start))) or name.endswith((".xlf", ".xliff"))


XLIFF = FileFormat("xliff", "XLIFF 1.2 and 2", (".xlf", ".xliff"), detect_xliff, read_xliff, write_xliff)
