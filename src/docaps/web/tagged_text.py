"""Texts with tags: what stands between the tags is translated, and every tag comes back in its place.

HTML is read as a page. Of XML nothing is known but its form: an element whose neighbours are text stands within a
sentence; one beside which only elements stand separates sentences, as a client may also say by name.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from html import escape, unescape
from pathlib import Path
from typing import Literal

from docaps.corpus.documents import Document, InlineMark, MarkKind
from docaps.corpus.formats.format import Alignment, OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.html_pages import read_html, write_html
from docaps.corpus.formats.passages import Passage, PassageBuilder, fill, join_passages, replace_passages, split_passage

BEFORE_HTML = b"\xef\xbb\xbf<p>"
"""Says that a text is UTF-8, whatever it says of itself."""
TAG = re.compile(r"<(?:!--|!\[CDATA\[|[!?][^<>]*+>|(/?)([\w:][^\s/<>]*+)([^<>]*+)>)")
DECLARATION = re.compile(r"<![^<>]*+>")
ENDS = {"<!--": "-->", "<![CDATA[": "]]>"}
"""How what begins so ends."""


@dataclass(frozen=True)
class TagHandling:
    """How to read the tags of a text."""

    kind: Literal["html", "xml"]
    splitting: frozenset[str] = frozenset()
    """Tags that separate sentences."""
    inline: frozenset[str] = frozenset()
    """Tags that do not."""
    ignored: frozenset[str] = frozenset()
    """Elements whose text is not translated."""
    outline: bool = True
    """Whether to find out which other elements separate sentences."""


@dataclass(frozen=True)
class TaggedText:
    """The sentences of a text with tags, as a document with its marks."""

    document: Document
    tags: TagHandling

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences without tags."""
        return self.document.sentences

    def join(self, sentences: Sequence[str], alignments: Sequence[Alignment | None] = ()) -> str:
        """Return the text with other sentences, in which the tags are put where they belong."""
        item = OutputDocument(self.document, tuple(sentences), tuple(alignments))
        if self.tags.kind == "html":
            return write_html(item, WritingOptions()).removeprefix(BEFORE_HTML).decode()
        assert self.document.layout is not None
        content: bytes = self.document.layout.details["content"]
        return replace_passages(content, item, _encode).decode()


def read_tagged(text: str, language: str, tags: TagHandling, *, split: bool = True) -> TaggedText:
    """Read a text with tags; unless `split`, what stands between two separating tags is one sentence."""
    options = ReadingOptions(Path("text"), language=language)
    content = text.encode()
    if tags.kind == "html":
        document = read_html(BEFORE_HTML + content, options)
    else:
        document = join_passages(_XmlReader(text, tags).passages(), options, "xml", content=content)
    return TaggedText(document if split else _unsplit(document), tags)


def _unsplit(document: Document) -> Document:
    """Return a document in which each passage is one sentence."""
    assert document.layout is not None
    parts = [(passage, split_passage(passage, None)) for passage, _ in document.layout.details["passages"]]
    kept = tuple((passage, part.gaps) for passage, part in parts)
    layout = replace(document.layout, details={**document.layout.details, "passages": kept})
    sentences = tuple(sentence for _, part in parts for sentence in part.sentences)
    return Document(sentences, layout=layout, marks=tuple(own for _, part in parts for own in part.marks))


def _encode(_: Passage, pieces: Sequence[str | InlineMark]) -> str:
    return fill(pieces, lambda text: escape(text, quote=False))


@dataclass(frozen=True, slots=True)
class FoundTag:
    """A tag, or something else in angle brackets, which has no name; `end` is behind it."""

    start: int
    end: int
    text: str
    name: str | None
    kind: MarkKind


def find_tags(text: str) -> Iterator[FoundTag]:
    """Yield the tags of a text in order, in a time that grows as the text does, whatever is not closed in it."""
    endless = set[str]()
    position = 0
    while match := TAG.search(text, position):
        start, position, name = match.start(), match.end(), match[2]
        kind: MarkKind = "single"
        if (opening := match[0]) in ENDS:
            end = -1 if opening in endless else text.find(ENDS[opening], position)
            if end >= 0:
                position = end + len(ENDS[opening])
            else:  # nor does any that follows
                endless.add(opening)
                declaration = DECLARATION.match(text, start)
                if declaration is None:
                    continue
                position = declaration.end()
        elif name is not None and not match[3].rstrip().endswith("/"):
            kind = "close" if match[1] else "open"
        elif match[1]:
            kind = "close"
        yield FoundTag(start, position, text[start:position], name, kind)


def find_ends(tags: Sequence[FoundTag], names: Set[str]) -> dict[int, int]:
    """Return for the numbers of some elements' opening tags those of their closing ones, where there are any."""
    opened: dict[str, list[int]] = {name: [] for name in names}
    ends: dict[int, int] = {}
    for number, tag in enumerate(tags):
        if tag.name not in opened:
            continue
        if tag.kind == "open":
            opened[tag.name].append(number)
        elif tag.kind == "close" and opened[tag.name]:
            ends[opened[tag.name].pop()] = number
    return ends


class _XmlReader:
    """Goes through a text with XML tags, well-formed or not, and collects its passages."""

    def __init__(self, text: str, tags: TagHandling) -> None:
        self._text, self._tags = text, [*find_tags(text)]
        found = _outline(text, self._tags) if tags.outline else set()
        self._splitting = (found | tags.splitting) - tags.inline
        self._ignored, self._ends = tags.ignored, find_ends(self._tags, tags.ignored)
        self._builder, self._start = PassageBuilder(), 0
        self._counted = self._bytes = 0  # so many characters have so many bytes

    def passages(self) -> Iterator[Passage]:
        """Yield the passages in order; their places are those of the bytes."""
        position = 0
        for number, tag in enumerate(self._tags):
            if tag.start < position:  # within an ignored element
                continue
            self._builder.add_text(unescape(self._text[position : tag.start]))
            position = tag.end
            if tag.name in self._ignored and tag.kind != "close" and (end := self._end_of(number)):
                self._builder.add_mark(self._text[tag.start : end], "single", tag.start + 1)
                position = end
            elif tag.name in self._splitting:
                yield self._flush(tag.start, position)
            else:
                self._add_tag(tag)
        self._builder.add_text(unescape(self._text[position:]))
        yield self._flush(len(self._text), len(self._text))

    def _flush(self, end: int, following: int) -> Passage:
        """Return the passage that ends at a place; another begins at the following one."""
        start, builder = self._start, self._builder
        self._start, self._builder = following, PassageBuilder()
        self._bytes += len(self._text[self._counted : start].encode())
        first, self._counted = self._bytes, start
        return builder.passage(first, first + len(self._text[start:end].encode()))

    def _add_tag(self, tag: FoundTag) -> None:
        if tag.kind == "close" and tag.name is not None:
            self._builder.add_end(tag.name, tag.text, tag.start + 1)
        elif tag.kind == "open" and tag.name is not None:
            self._builder.add_start(tag.name, tag.text, tag.start + 1)
        else:
            self._builder.add_mark(tag.text, "single", tag.start + 1)

    def _end_of(self, number: int) -> int | None:
        """Return where an element ends; None if it does not."""
        tag = self._tags[number]
        if tag.kind == "single":
            return tag.end
        return self._tags[self._ends[number]].end if number in self._ends else None


def _outline(text: str, tags: Sequence[FoundTag]) -> set[str]:
    """Return the names of the elements that nowhere have text for a neighbour."""
    inside: list[tuple[str, set[str]]] = [("", set())]
    opened: Counter[str] = Counter()
    worded = [False]
    structure, inline = set[str](), set[str]()

    def leave() -> None:
        name, children = inside.pop()
        opened[name] -= 1
        (inline if worded.pop() else structure).update(children)

    position = 0
    for tag in tags:
        worded[-1] = worded[-1] or bool(text[position : tag.start].strip())
        position, name = tag.end, tag.name
        if name is None:
            continue
        if tag.kind == "close":
            if opened[name]:
                while inside[-1][0] != name:
                    leave()
                leave()
            continue
        inside[-1][1].add(name)
        if tag.kind == "open":
            inside.append((name, set()))
            opened[name] += 1
            worded.append(False)
    worded[-1] = worded[-1] or bool(text[position:].strip())
    while inside:
        leave()
    return structure - inline
