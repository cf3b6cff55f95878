"""What every format has: a reader from lines to documents, and a writer from documents to text."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from docaps.corpus.documents import Document, Layout
from docaps.corpus.formats.arrival import WHOLE, Arrival
from docaps.corpus.formats.opening import one_line
from docaps.errors import CorpusError

Side = Literal["source", "target", "hypothesis"]
NO_TEXT = re.compile("[\0\ud800-\udfff]")
SOURCE_LANGUAGE, TARGET_LANGUAGE = "en", "de"


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """What to read: the file named in messages, which side of it, in which language, and in which parts."""

    path: Path
    side: Side = "source"
    language: str = SOURCE_LANGUAGE
    starts: Path | None = None
    arrival: Arrival = WHOLE


@dataclass(frozen=True, slots=True)
class WritingOptions:
    """What to say in a file about the text in it."""

    side: Side = "source"
    language: str = SOURCE_LANGUAGE
    target_language: str = TARGET_LANGUAGE
    system: str = "docaps"


@dataclass(frozen=True, slots=True)
class Entry:
    """A document to write, perhaps with its translation."""

    document: Document
    translation: tuple[str, ...] | None = None

    @property
    def text(self) -> tuple[str, ...]:
        """The one side that a one-sided file holds: the translation if there is one."""
        return self.document.sentences if self.translation is None else self.translation


Reader = Callable[[Iterable[str], ReadingOptions], Iterator[Document]]
Writer = Callable[[Iterable[Entry], WritingOptions], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Format:
    """One way to keep documents in a file.

    A two-sided one holds a text and its translation. In a free one, a line may hold more than one sentence.
    """

    name: str
    summary: str
    read: Reader
    write: Writer
    two_sided: bool = False
    free: bool = False


def layout_of(document: Document, name: str) -> Layout | None:
    """Return how the document stood in its file, if that file had the format `name`."""
    return document.layout if document.layout and document.layout.format == name else None


def fill(layout: Layout, sentences: Sequence[str]) -> str:
    """Put sentences where the layout has its gaps."""
    if isinstance(layout.between, str):
        return layout.before + layout.between.join(sentences) + layout.after
    pieces = [layout.before]
    for sentence, piece in zip(sentences, (*layout.between, layout.after), strict=True):
        pieces += (sentence, piece)
    return "".join(pieces)


def name_of(document: Document, number: int) -> str:
    """Return the document's id on one line, or its number if it has none."""
    return str(number) if document.id is None else one_line(document.id)


def check_sentence(text: object, options: ReadingOptions, line: int) -> str:
    """Return a sentence on one line, or say why it is none; for formats that can spell any character."""
    if not isinstance(text, str):
        raise CorpusError(f"expected a sentence, found {shorten(repr(text))}", path=options.path, line=line)
    if found := NO_TEXT.search(text):
        message = f"a sentence holds the character U+{ord(found[0]):04X}, which is no text: remove it"
        raise CorpusError(message, path=options.path, line=line)
    return one_line(text)


def check_not_empty(sentences: Sequence[str], options: ReadingOptions, *, name: str | None, line: int) -> None:
    """Refuse a document without sentences."""
    if not sentences:
        what = "a document" if name is None else f"document '{name}'"
        raise CorpusError(f"{what} without sentences: remove it", path=options.path, line=line)


def empty_file(options: ReadingOptions, expected: str) -> CorpusError:
    """Say that there is no document in the file, and what was expected."""
    return CorpusError(f"the file is empty: expected {expected}", path=options.path)


def shorten(text: str, limit: int = 60) -> str:
    """Cut a long text for a message."""
    return text if len(text) <= limit else text[: limit - 3] + "..."
