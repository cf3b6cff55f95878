"""Documents in markup: `<doc>` with `<seg>` in it, in WMT SGML, IWSLT XML and WMT XML.

The older files are not well-formed (a bare `&`, attributes without quotes), so tags are found by a pattern and all else
is text. A file is cut after each `</doc>`, so one document is held at a time, and what stands around its sentences is
kept word for word.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from docaps.corpus.formats.entities import attributes_of, decode_markup
from docaps.corpus.formats.interface import ReadingOptions
from docaps.errors import CorpusError

CLOSING = re.compile(r"</doc\s*>", re.IGNORECASE)
EMPTY_SEGMENT = re.compile(r"<(seg)\b([^<>]*)/>", re.IGNORECASE)
ATTRIBUTES = r"""((?:[^<>"']|"[^"<]*"|'[^'<]*')*)"""
TAG = re.compile(
    r"<!--|<(/?)(mteval|srcset|refset|tstset|dataset|collection|doc|src|ref|hyp|hl|p|seg)(?=[\s/>])" + ATTRIBUTES + ">",
    re.IGNORECASE,
)
SETS = ("srcset", "refset", "tstset")
VERSIONS = ("src", "ref", "hyp")
PARAGRAPHS = ("p", "hl")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a file up to and with a `</doc>` (the last piece: what follows the last one)."""

    text: str
    line: int

    def line_at(self, place: int) -> int:
        """Return the line of the file on which a character of this piece stands."""
        return self.line + self.text.count("\n", 0, place)


def cut_chunks(lines: Iterable[str]) -> Iterator[Chunk]:
    """Cut markup after each `</doc>`; the last chunk has none."""
    waiting: list[str] = []
    start = 1
    for number, whole in enumerate(lines, start=1):
        line = whole
        while match := CLOSING.search(line):
            yield _chunk([*waiting, line[: match.end()]], start)
            waiting, start, line = [], number, line[match.end() :]
        waiting.append(line)
    yield _chunk(waiting, start)


def _chunk(lines: list[str], start: int) -> Chunk:
    return Chunk(EMPTY_SEGMENT.sub(r"<\1\2></\1>", "\n".join(lines)), start)


def _tags(text: str) -> Iterator[re.Match[str]]:
    """Go through the known tags of a text, passing over comments; a comment without an end is text."""
    comment_end = 0
    for match in TAG.finditer(text):
        if match.start() < comment_end:
            continue
        if match[2]:
            yield match
        elif comment_end >= 0:
            found = text.find("-->", match.end())
            comment_end = found if found >= 0 else -1


@dataclass(slots=True)
class Version:
    """One text of a document: where its sentences stand in the chunk, their ids and paragraphs."""

    kind: str
    attributes: dict[str, str]
    start: int
    end: int = 0
    spans: list[tuple[int, int]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)

    @property
    def paragraphs(self) -> tuple[int, ...]:
        """Numbers of sentences, paragraph by paragraph; none if there are no paragraph tags."""
        return tuple(count for count in self.counts if count)

    def open_paragraph(self) -> None:
        """Begin a paragraph; sentences before the first one are a paragraph too."""
        if not self.counts:
            self.counts.append(len(self.ids))
        self.counts.append(0)

    def sentences(self, chunk: Chunk) -> tuple[str, ...]:
        """Read the sentences."""
        return tuple(decode_markup(chunk.text[start:end]) for start, end in self.spans)

    def seams(self, chunk: Chunk) -> tuple[str, ...]:
        """Return what stands between the sentences."""
        ends = zip(self.spans, self.spans[1:], strict=False)
        return tuple(chunk.text[one[1] : other[0]] for one, other in ends)


@dataclass(slots=True)
class MarkedDocument:
    """A `<doc>` of a chunk: its place, its attributes, and one text or several."""

    start: int
    attributes: dict[str, str]
    set_kind: str | None
    set_attributes: dict[str, str]
    set_number: int
    versions: list[Version] = field(default_factory=list)
    end: int = 0

    @property
    def name(self) -> str | None:
        """The document's id (`docid` in SGML, `id` in XML)."""
        return self.attributes.get("docid", self.attributes.get("id"))


class Scanner:
    """Find the document of each chunk; knows which set (srcset, refset ...) it is in."""

    def __init__(self, options: ReadingOptions) -> None:
        self._options = options
        self._set: tuple[str | None, dict[str, str]] = (None, {})
        self.sets = self.documents = 0
        self.evaluation = False
        self._document: MarkedDocument | None = None
        self._segment: re.Match[str] | None = None

    def scan(self, chunk: Chunk) -> MarkedDocument | None:
        """Read one chunk; None if it holds no document (the end of the file)."""
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

    def _open(self, name: str, match: re.Match[str], chunk: Chunk) -> None:
        """Take an opening tag."""
        attributes = attributes_of(match[3])
        if name == "mteval":
            self.evaluation = True
        elif name in SETS:
            self._set, self.sets = (name, attributes), self.sets + 1
        elif name == "doc":
            self._open_document(attributes, match, chunk)
        elif name in (*VERSIONS, *PARAGRAPHS, "seg"):
            self._open_part(name, attributes, match, chunk)

    def _open_document(self, attributes: dict[str, str], match: re.Match[str], chunk: Chunk) -> None:
        if self._document:
            message = f"document '{self._document.name}' is not closed: </doc> missing before this <doc>"
            raise self._fault(message, chunk, match.start())
        self._document = MarkedDocument(match.start(), attributes, *self._set, self.sets)

    def _open_part(self, name: str, attributes: dict[str, str], match: re.Match[str], chunk: Chunk) -> None:
        """Take the beginning of a text, a paragraph or a sentence."""
        document = self._document
        if document is None:
            raise self._fault(f"a <{name}> outside of any <doc>", chunk, match.start())
        if name in VERSIONS or not document.versions:
            kind = name if name in VERSIONS else document.set_kind or ""
            document.versions.append(Version(kind, attributes, match.end()))
        version = document.versions[-1]
        if name in PARAGRAPHS:
            version.open_paragraph()
        elif name == "seg":
            self._segment = match
            version.ids.append(attributes.get("id", str(len(version.ids) + 1)))
            if version.counts:
                version.counts[-1] += 1

    def _close(self, name: str, match: re.Match[str], chunk: Chunk) -> MarkedDocument | None:
        """Take a closing tag; the one of a document gives the document."""
        document = self._document
        if name in SETS:
            self._set = (None, {})
        if document is None:
            return None
        if name == "seg":
            self._close_segment(document, match, chunk)
        elif name in VERSIONS and document.versions:
            document.versions[-1].end = match.start()
        elif name == "doc":
            document.end, self._document, self.documents = match.start(), None, self.documents + 1
            return document
        return None

    def _close_segment(self, document: MarkedDocument, match: re.Match[str], chunk: Chunk) -> None:
        if self._segment is None:
            raise self._fault("a </seg> without its <seg>", chunk, match.start())
        document.versions[-1].spans.append((self._segment.end(), match.start()))
        self._segment = None

    def _fault(self, message: str, chunk: Chunk, place: int) -> CorpusError:
        return CorpusError(message, path=self._options.path, line=chunk.line_at(place))
