"""Texts with tags: what stands between the tags is translated, and every tag comes back in its place.

HTML is read as a page. Of XML nothing is known but its form: an element whose neighbours are text stands within a
sentence; one beside which only elements stand separates sentences, as a client may also say by name.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape, unescape
from pathlib import Path
from typing import Literal

from docaps.corpus.documents import Document, InlineMark
from docaps.corpus.formats.format import Alignment, OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.html_pages import read_html, write_html
from docaps.corpus.formats.passages import Passage, PassageBuilder, fill, join_passages, replace_passages, split_passage

BEFORE_HTML = b"\xef\xbb\xbf<p>"
"""Says that a text is UTF-8, whatever it says of itself."""
TAG = re.compile(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<[!?][^<>]*+>|<(/?)([\w:][^\s/<>]*+)([^<>]*+)>", re.DOTALL)


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


class _XmlReader:
    """Goes through a text with XML tags, well-formed or not, and collects its passages."""

    def __init__(self, text: str, tags: TagHandling) -> None:
        self._text = text
        found = _outline(text) if tags.outline else set()
        self._splitting = (found | tags.splitting) - tags.inline
        self._ignored = tags.ignored
        self._builder, self._start = PassageBuilder(), 0

    def passages(self) -> Iterator[Passage]:
        """Yield the passages in order; their places are those of the bytes."""
        position = 0
        while match := TAG.search(self._text, position):
            self._builder.add_text(unescape(self._text[position : match.start()]))
            position = match.end()
            name = match[2]
            if name is None:
                self._builder.add_mark(match[0], "single", match.start() + 1)
            elif name in self._ignored and not match[1] and (end := self._end_of(match)):
                self._builder.add_mark(self._text[match.start() : end], "single", match.start() + 1)
                position = end
            elif name in self._splitting:
                yield self._flush(match.start(), position)
            else:
                self._add_tag(match)
        self._builder.add_text(unescape(self._text[position:]))
        yield self._flush(len(self._text), len(self._text))

    def _flush(self, end: int, following: int) -> Passage:
        """Return the passage that ends at a place; another begins at the following one."""
        start, builder = self._start, self._builder
        self._start, self._builder = following, PassageBuilder()
        first = len(self._text[:start].encode())
        return builder.passage(first, first + len(self._text[start:end].encode()))

    def _add_tag(self, match: re.Match[str]) -> None:
        if match[1]:
            self._builder.add_end(match[2], match[0], match.start() + 1)
        elif match[3].rstrip().endswith("/"):
            self._builder.add_mark(match[0], "single", match.start() + 1)
        else:
            self._builder.add_start(match[2], match[0], match.start() + 1)

    def _end_of(self, match: re.Match[str]) -> int | None:
        """Return where an element ends; None if it does not."""
        if match[3].rstrip().endswith("/"):
            return match.end()
        depth = 1
        for found in TAG.finditer(self._text, match.end()):
            if found[2] == match[2] and not found[3].rstrip().endswith("/"):
                depth += -1 if found[1] else 1
                if not depth:
                    return found.end()
        return None


def _outline(text: str) -> set[str]:
    """Return the names of the elements that nowhere have text for a neighbour."""
    inside: list[tuple[str, set[str]]] = [("", set())]
    worded = [False]
    structure, inline = set[str](), set[str]()

    def leave() -> None:
        _, children = inside.pop()
        (inline if worded.pop() else structure).update(children)

    position = 0
    for match in TAG.finditer(text):
        worded[-1] = worded[-1] or bool(text[position : match.start()].strip())
        position = match.end()
        name = match[2]
        if name is None:
            continue
        if match[1]:
            if any(name == opened for opened, _ in inside):
                while inside[-1][0] != name:
                    leave()
                leave()
            continue
        inside[-1][1].add(name)
        if not match[3].rstrip().endswith("/"):
            inside.append((name, set()))
            worded.append(False)
    worded[-1] = worded[-1] or bool(text[position:].strip())
    while inside:
        leave()
    return structure - inline
