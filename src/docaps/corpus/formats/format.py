"""The interface of a format: a reader from lines to documents, and a writer from documents to text."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from docaps.corpus.documents import Document, TextLayout
from docaps.corpus.formats.text_input import WHOLE, Arrival, one_line
from docaps.errors import CorpusError

Side = Literal["source", "target", "hypothesis"]
NO_TEXT = re.compile("[\0\ud800-\udfff]")
SOURCE_LANGUAGE, TARGET_LANGUAGE = "en", "de"


def same_language(one: str, other: str) -> bool:
    """Return whether two codes are of one language, whatever the country."""
    return _primary(one) == _primary(other)


def _primary(code: str) -> str:
    return re.split("[-_.@]", code.lower())[0]


@dataclass(frozen=True, slots=True)
class FileChoices:
    """What a user may choose for files of subtitles and strings; other formats pay no attention to it.

    `encoding` is that of a text without a byte-order mark, UTF-8 if not given. With `everything`, translations that are
    there already are made again. `line_length`, `lines` and `reading_speed` are limits of a cue: characters of a line,
    lines, characters a second. `existing` names a file of strings that has some of the translations, by their keys.
    """

    encoding: str | None = None
    everything: bool = False
    line_length: int = 42
    lines: int = 2
    reading_speed: float = 17.0
    existing: str | None = None


DEFAULT_CHOICES = FileChoices()


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """What to read: the file named in messages, its side and languages, and when to yield parts of a document."""

    path: Path
    side: Side = "source"
    language: str = SOURCE_LANGUAGE
    starts: Path | None = None
    arrival: Arrival = WHOLE
    target_language: str = TARGET_LANGUAGE
    choices: FileChoices = DEFAULT_CHOICES

    def fault(self, message: str, line: int | None = None) -> CorpusError:
        """Return an error at a line of the file."""
        return CorpusError(message, path=self.path, line=line)

    def check_languages(self, source: str, target: str, line: int | None = None) -> None:
        """Refuse a file that says it is from or into another language; codes of two and three letters may be of one."""
        for found, expected in ((source, self.language), (target, self.target_language)):
            if len(_primary(found)) == len(_primary(expected)) and not same_language(found, expected):
                said = " ".join([f"from '{source}'"] * bool(source) + [f"into '{target}'"] * bool(target))
                ours = f"the translation is from '{self.language}' into '{self.target_language}'"
                raise self.fault(f"the file says {said}, but {ours}: choose another run, or correct the file", line)

    def empty(self, expected: str) -> CorpusError:
        """Return the error for a file without documents."""
        return self.fault(f"the file is empty: expected {expected}")

    def check_sentence(self, text: object, line: int) -> str:
        """Return a sentence on one line; refuse what is not text, for formats that can spell any character."""
        if not isinstance(text, str):
            raise self.fault(f"expected a sentence, found {shorten(repr(text))}", line)
        if found := NO_TEXT.search(text):
            raise self.fault(f"a sentence holds the character U+{ord(found[0]):04X}, which is no text: remove it", line)
        return one_line(text)

    def check_not_empty(self, sentences: Sequence[object], *, name: str | None, line: int) -> None:
        """Refuse a document without sentences."""
        if not sentences:
            what = "a document" if name is None else f"document '{name}'"
            raise self.fault(f"{what} without sentences: remove it", line)


@dataclass(frozen=True, slots=True)
class WritingOptions:
    """What a file says about the text in it, and how it is laid out."""

    side: Side = "source"
    language: str = SOURCE_LANGUAGE
    target_language: str = TARGET_LANGUAGE
    system: str = "docaps"
    choices: FileChoices = DEFAULT_CHOICES


Span = tuple[int, int]
"""Where a stretch begins and ends, in characters of a text."""
Alignment = Sequence[tuple[Span, Span]]
"""Words of a sentence and words of its translation that belong together."""


@dataclass(frozen=True, slots=True)
class OutputDocument:
    """A document to write, optionally with its translation, and the word alignment of sentences with marks."""

    document: Document
    translation: tuple[str, ...] | None = None
    alignments: tuple[Alignment | None, ...] = ()
    """One for each sentence, None if it is not known; or nothing at all."""

    @property
    def text(self) -> tuple[str, ...]:
        """The side that a one-sided file holds: the translation if there is one."""
        return self.document.sentences if self.translation is None else self.translation

    def name(self, number: int) -> str:
        """Return the document's id on one line, or its number if it has none."""
        return str(number) if self.document.id is None else one_line(self.document.id)


Writer = Callable[[Iterable[OutputDocument], WritingOptions], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format for documents.

    A `two_sided` format holds a text and its translation. In a `free` one, a line may hold more than one sentence.
    `detect` returns whether the first lines of a file are in this format; only formats of plug-ins have it.
    """

    name: str
    summary: str
    read: Callable[[Iterable[str], ReadingOptions], Iterator[Document]]
    write: Writer
    two_sided: bool = False
    free: bool = False
    detect: Callable[[Sequence[str]], bool] | None = None


START_SIZE = 2**16
"""The first bytes of a file, by which formats of whole files are detected."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format of whole files, such as DOCX: a file is one document, and a translation is written into a copy of it.

    `detect` gets the first bytes of a file (at most `START_SIZE`; of a smaller file, all) and its name in lower case,
    empty for stdin. `read` keeps in the layout's details what `write` needs. Both get a file's bytes whole, so there is
    a limit on its size. A `binary` format is no text, and is not printed on a terminal.
    """

    name: str
    summary: str
    suffixes: tuple[str, ...]
    detect: Callable[[bytes, str], bool]
    read: Callable[[bytes, ReadingOptions], Document]
    write: Callable[[OutputDocument, WritingOptions], bytes]
    binary: bool = False
    two_sided: bool = False
    largest: int = 2**26
    """Bytes of the largest file that is read."""


def layout_writer(
    format: str, make_layout: Callable[[OutputDocument, int], TextLayout], encode: Callable[[str], str] = one_line
) -> Writer:
    """Return a writer that fills sentences into the layout that was read, or into a new one for the n-th document."""

    def write(documents: Iterable[OutputDocument], options: WritingOptions) -> Iterator[str]:  # noqa: ARG001
        for number, item in enumerate(documents, start=1):
            layout = item.document.layout_in(format) or make_layout(item, number)
            yield layout.fill([encode(sentence) for sentence in item.text])

    return write


def group_rows(
    rows: Iterable[tuple[int, str, str]],
    layout: Callable[[str, int, bool], TextLayout],
    options: ReadingOptions,
    *,
    named: bool = True,
) -> Iterator[Document]:
    """Join consecutive rows (line, document name, sentence) with the same name into documents, a long one in parts."""
    current, sentences, start, continues = "", list[str](), 1, False

    def document() -> Document:
        return Document(tuple(sentences), current if named else None, layout=layout(current, start, continues))

    for number, name, sentence in rows:
        if sentences and name != current:
            yield document()
            sentences = []
        if not sentences:
            current, start, continues = name, number, name == current
        sentences.append(sentence)
        if options.arrival.enough(len(sentences)):
            yield document()
            sentences = []
    if sentences:
        yield document()


def shorten(text: str, limit: int = 60) -> str:
    """Shorten a long text for a message."""
    return text if len(text) <= limit else text[: limit - 3] + "..."
