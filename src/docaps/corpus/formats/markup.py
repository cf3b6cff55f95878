"""Documents in markup: `<doc>` with `<seg>` in it, in WMT SGML, IWSLT XML and WMT XML.

The older files are not well-formed (a bare `&`, attributes without quotes), so tags are found by a pattern and all else
is text. A file is split after each `</doc>`, so that one document is held at a time, and the text around its sentences
is kept unchanged. Only the five named entities and numeric references are decoded, each once, so a file cannot grow
while it is read.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any

from docaps.corpus.documents import Document, TextLayout
from docaps.corpus.formats.format import ReadingOptions
from docaps.corpus.formats.text_input import one_line
from docaps.errors import CorpusError

NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
ATTRIBUTE = re.compile(r"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def decode_entities(text: str) -> str:
    """Decode the known entities of a text; leave anything else unchanged."""

    def decode(match: re.Match[str]) -> str:
        name, decimal, hexadecimal = match.groups()
        if name:
            return NAMED[name]
        code = int(decimal) if decimal else int(hexadecimal, 16)
        is_text = 0 < code < 0xD800 or 0xDFFF < code <= 0x10FFFF
        return chr(code) if is_text else match[0]

    return ENTITY.sub(decode, text)


def decode_markup(text: str) -> str:
    """Decode the text of an element into a sentence; CDATA is not decoded, unless it has no end."""
    closed, end, rest = text.rpartition("]]>")  # every CDATA before the last end is closed: the pattern is linear
    parts = CDATA.split(closed + end)
    decoded = [part if number % 2 else decode_entities(part) for number, part in enumerate(parts)]
    return one_line("".join(decoded) + decode_entities(rest))


def encode_markup(sentence: str) -> str:
    """Encode a sentence as the text of an element; characters that XML cannot hold become U+FFFD."""
    return escape(NOT_XML.sub("\ufffd", one_line(sentence)), quote=False)


def attributes_of(text: str) -> dict[str, str]:
    """Parse the attributes of a tag; their names become lower case."""
    # Of the three ways to quote a value one matched; the others are empty.
    return {name.lower(): decode_entities("".join(values)) for name, *values in ATTRIBUTE.findall(text)}


def format_attributes(attributes: dict[str, str]) -> str:
    """Format attributes for a tag, each after a space."""
    encoded = {name: escape(NOT_XML.sub("\ufffd", value)) for name, value in attributes.items()}
    return "".join(f' {name}="{value}"' for name, value in encoded.items())


CLOSING = re.compile(r"</doc\s*>", re.IGNORECASE)
EMPTY_SEGMENT = re.compile(r"<(seg)\b([^<>]*)/>", re.IGNORECASE)
ATTRIBUTES = r"""((?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)"""
TAG = re.compile(
    r"<!--|<(/?)(mteval|srcset|refset|tstset|dataset|collection|doc|src|ref|hyp|hl|p|seg)(?=[\s/>])" + ATTRIBUTES + ">",
    re.IGNORECASE,
)
SETS = ("srcset", "refset", "tstset")
VERSIONS = ("src", "ref", "hyp")
PARAGRAPHS = ("p", "hl")


class MarkupChunk:
    """The text of a file up to and including a `</doc>` (the last chunk: what follows the last one)."""

    def __init__(self, lines: Sequence[str], line: int) -> None:
        self.text = EMPTY_SEGMENT.sub(r"<\1\2></\1>", "\n".join(lines))
        self.line = line

    def line_at(self, position: int) -> int:
        """Return the line of the file on which a character of this chunk is."""
        return self.line + self.text.count("\n", 0, position)


def cut_chunks(lines: Iterable[str]) -> Iterator[MarkupChunk]:
    """Split markup after each `</doc>`; the last chunk has none."""
    waiting, start = list[str](), 1
    for number, line in enumerate(lines, start=1):
        while match := CLOSING.search(line):
            yield MarkupChunk([*waiting, line[: match.end()]], start)
            waiting, start, line = [], number, line[match.end() :]  # noqa: PLW2901
        waiting.append(line)
    yield MarkupChunk(waiting, start)


def _tags(text: str) -> Iterator[re.Match[str]]:
    """Yield the known tags of a text, skipping comments; a comment without an end is text."""
    comment_end = 0
    for match in TAG.finditer(text):
        if match.start() < comment_end:
            continue
        if match[2]:
            yield match
        elif comment_end >= 0:
            comment_end = text.find("-->", match.end())


@dataclass(slots=True)
class MarkedText:
    """One text of a document: the spans of its sentences in the chunk, their ids and paragraphs."""

    kind: str
    start: int
    end: int = 0
    spans: list[tuple[int, int]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)  # number of sentences before each paragraph

    @property
    def paragraphs(self) -> tuple[int, ...]:
        """Number of sentences of each paragraph, with those before the first; empty if there are no paragraph tags."""
        edges = [0, *self.breaks, len(self.ids)] if self.breaks else []
        return tuple(end - start for start, end in pairwise(edges) if end > start)


@dataclass(slots=True)
class MarkedDocument:
    """A `<doc>` of a chunk: its position, its attributes, and one text or several."""

    chunk: MarkupChunk
    start: int
    attributes: dict[str, str]
    set_kind: str | None
    set_attributes: dict[str, str]
    set_number: int
    versions: list[MarkedText] = field(default_factory=list)
    end: int = 0

    @property
    def name(self) -> str | None:
        """The document's id (`docid` in SGML, `id` in XML)."""
        return self.attributes.get("docid", self.attributes.get("id"))

    @property
    def line(self) -> int:
        """The line of the file on which the document begins."""
        return self.chunk.line_at(self.start)

    def read(self, format: str, version: MarkedText, **around: Any) -> Document:
        """Return the document of one text; `around` are the fields of its layout for what is around the sentences."""
        text = self.chunk.text
        sentences = tuple(decode_markup(text[start:end]) for start, end in version.spans)
        seams = tuple(text[one[1] : other[0]] for one, other in pairwise(version.spans))
        layout = TextLayout(format, self.line, between=seams, sentence_ids=tuple(version.ids), **around)
        return Document(sentences, self.name, version.paragraphs, layout)


class Scanner:
    """Finds the document of each chunk, and tracks the set (srcset, refset ...) it is in."""

    def __init__(self, options: ReadingOptions) -> None:
        self._options = options
        self._set: tuple[str | None, dict[str, str]] = (None, {})
        self.sets = self.documents = 0
        self.evaluation = False
        self._document: MarkedDocument | None = None
        self._segment: re.Match[str] | None = None

    def scan(self, chunk: MarkupChunk) -> MarkedDocument | None:
        """Return the document of a chunk; None if it has none (the end of the file)."""
        found = None
        for match in _tags(chunk.text):
            name, closing = match[2].lower(), bool(match[1])
            if self._segment and not (closing and name == "seg"):
                raise self._fault("a <seg> is not closed: </seg> missing", chunk, self._segment.start())
            if closing:
                found = self._close(name, match, chunk) or found
            else:
                self._open(name, match, chunk)
        if self._document:
            message = f"document '{self._document.name}' is not closed: </doc> missing"
            raise self._fault(message, chunk, self._document.start)
        return found

    def _open(self, name: str, match: re.Match[str], chunk: MarkupChunk) -> None:
        """Process an opening tag."""
        attributes = attributes_of(match[3])
        if name == "mteval":
            self.evaluation = True
        elif name in SETS:
            self._set, self.sets = (name, attributes), self.sets + 1
        elif name == "doc":
            if self._document:
                message = f"document '{self._document.name}' is not closed: </doc> missing before this <doc>"
                raise self._fault(message, chunk, match.start())
            self._document = MarkedDocument(chunk, match.start(), attributes, *self._set, self.sets)
        elif name in (*VERSIONS, *PARAGRAPHS, "seg"):
            self._open_part(name, attributes, match, chunk)

    def _open_part(self, name: str, attributes: dict[str, str], match: re.Match[str], chunk: MarkupChunk) -> None:
        """Begin a text, a paragraph or a sentence."""
        document = self._document
        if document is None:
            raise self._fault(f"a <{name}> outside of any <doc>", chunk, match.start())
        if name in VERSIONS or not document.versions:
            kind = name if name in VERSIONS else document.set_kind or ""
            document.versions.append(MarkedText(kind, match.end()))
        version = document.versions[-1]
        if name in PARAGRAPHS:
            version.breaks.append(len(version.ids))
        elif name == "seg":
            self._segment = match
            version.ids.append(attributes.get("id", str(len(version.ids) + 1)))

    def _close(self, name: str, match: re.Match[str], chunk: MarkupChunk) -> MarkedDocument | None:
        """Process a closing tag; `</doc>` returns the document."""
        document = self._document
        if name in SETS:
            self._set = (None, {})
        if document is None:
            return None
        if name == "seg":
            if self._segment is None:
                raise self._fault("a </seg> without its <seg>", chunk, match.start())
            document.versions[-1].spans.append((self._segment.end(), match.start()))
            self._segment = None
        elif name in VERSIONS and document.versions:
            document.versions[-1].end = match.start()
        elif name == "doc":
            document.end, self._document, self.documents = match.start(), None, self.documents + 1
            return document
        return None

    def _fault(self, message: str, chunk: MarkupChunk, position: int) -> CorpusError:
        return self._options.fault(message, chunk.line_at(position))
