"""TMX: translation units with a variant for each language.

A unit without a variant in the target language gets one. Units that have one are read as context, and so are notes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, cast

from docaps.corpus.documents import Document
from docaps.corpus.formats.encoded_text import decode_start
from docaps.corpus.formats.format import FileFormat, OutputDocument, ReadingOptions, WritingOptions, same_language
from docaps.corpus.formats.passages import replace_spans
from docaps.corpus.formats.strings.messages import Message, join_messages, limited, read_context, written_messages
from docaps.corpus.formats.strings.xml_strings import (
    XmlFile,
    child_of,
    is_empty,
    names_of,
    open_xml,
    read_content,
)
from docaps.corpus.formats.xml_events import XmlElement, encode_xml, find_elements, scan_xml

DOCTYPE = re.compile(r"<!DOCTYPE\s+tmx\s+(?:SYSTEM|PUBLIC\s+(?:\"[^\"]*\"|'[^']*'))\s+(?:\"[^\"]*\"|'[^']*')\s*>")
"""A document type without definitions of its own; what it names is not fetched."""
ROOT = re.compile(r"\s*(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*>|\s+)*<tmx[\s>]", re.DOTALL)


class ChosenUnit(NamedTuple):
    """A unit to translate: its source variant, the target segment if there is one, where to put a new variant."""

    source: XmlElement
    target: XmlElement | None
    last: XmlElement
    message: int


@dataclass(frozen=True, slots=True)
class TmxFile:
    """What is kept of a file to write it again."""

    file: XmlFile
    chosen: tuple[ChosenUnit, ...]


def read_tmx(content: bytes, options: ReadingOptions) -> Document:
    """Return the document of a file, its units in order."""
    file = open_xml(content, options)
    readable = file.encode(DOCTYPE.sub(lambda found: " " * len(found[0]), file.raw(0, len(content)), count=1))
    messages, chosen, seen = list[Message](), list[ChosenUnit](), set[str]()
    counted, line = 0, 1
    for unit in limited(find_elements(scan_xml(readable, options), ("tu",)), options):
        line, counted = line + content.count(b"\n", counted, unit.start), unit.start
        variants = [(language_of(one), one) for one in unit.elements if one.name == "tuv"]
        seen.update(code for code, _ in variants)
        source, target = (_find(variants, code) for code in (options.language, options.target_language))
        text = source and child_of(source, "seg")
        if source is None or text is None or is_empty(text):
            continue
        segment = target and child_of(target, "seg")
        if segment is None or is_empty(segment) or options.choices.everything:
            notes = (one.text for one in unit.elements if one.name == "note" and one.text.strip())
            messages += (read_context(note, line) for note in notes)
            chosen.append(ChosenUnit(source, segment, variants[-1][1], len(messages)))
            messages.append(read_content(text, file, line))
        else:
            messages.append(read_context(text.text, line))
    if not messages:
        found = f"languages in it: {names_of(seen)}"
        raise options.fault(f"no <tu> with text in the source language '{options.language}' ({found})")
    return join_messages(messages, options, "tmx", file=TmxFile(file, tuple(chosen)))


def language_of(variant: XmlElement) -> str:
    """Return the language code of a variant."""
    return variant.attributes.get("xml:lang") or variant.attributes.get("lang", "")


def _find(variants: list[tuple[str, XmlElement]], language: str) -> XmlElement | None:
    """Return the variant in a language: of exactly this code or else of the same language."""
    exact = (variant for code, variant in variants if code.lower() == language.lower())
    near = (variant for code, variant in variants if same_language(code, language))
    return next(exact, None) or next(near, None)


def write_tmx(item: OutputDocument, options: WritingOptions) -> bytes:
    """Return the file with variants in the target language."""
    assert item.document.layout is not None
    kept = cast(TmxFile, item.document.layout.details["file"])
    if item.translation is None:
        return kept.file.content
    written = list(written_messages(item, encode_xml))
    changes = (change for unit in kept.chosen for change in _fill_unit(unit, written[unit.message], kept, options))
    return replace_spans(kept.file.content, ((start, end, kept.file.encode(text)) for start, end, text in changes))


def _fill_unit(unit: ChosenUnit, text: str, kept: TmxFile, options: WritingOptions) -> Iterator[tuple[int, int, str]]:
    """Yield the changes that give a unit its translation."""
    target, file = unit.target, kept.file
    if target is None:
        name = "lang" if "lang" in unit.source.attributes else "xml:lang"
        opening = f'<tuv {name}="{options.target_language}" creationid="{options.system}">'
        new = f"{file.indent_before(unit.last.start)}{opening}<seg>{text}</seg></tuv>"
        yield unit.last.end, unit.last.end, new
    elif target.content_start == target.end:  # <seg/>
        tag = file.raw(target.start, target.end).removesuffix("/>").rstrip()
        yield target.start, target.end, f"{tag}>{text}</{target.name}>"
    else:
        yield target.content_start, target.content_end, text


def detect_tmx(start: bytes, name: str) -> bool:
    """Return whether a file begins as TMX."""
    return bool(ROOT.match(decode_start(start))) or name.endswith(".tmx")


TMX = FileFormat("tmx", "TMX translation memories", (".tmx",), detect_tmx, read_tmx, write_tmx)
