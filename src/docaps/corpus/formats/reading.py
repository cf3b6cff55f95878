"""Reading documents in any format, one at a time or all at once."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from docaps.corpus.documents import Document
from docaps.corpus.formats.arrival import WHOLE, Arrival
from docaps.corpus.formats.catalogue import DIRECTORY, FORMATS, check_name
from docaps.corpus.formats.detection import detect
from docaps.corpus.formats.directory import read_directory
from docaps.corpus.formats.interface import SOURCE_LANGUAGE, ReadingOptions, Side
from docaps.corpus.formats.opening import LONGEST_SENTENCE, STDIN, check_lengths, read_raw_lines, too_long
from docaps.corpus.formats.starts import find_starts
from docaps.errors import CorpusError

REMEMBERED = 1_000_000  # ids: input without an end must not fill the memory


def read_documents(
    path: Path,
    *,
    format: str | None = None,
    side: Side = "source",
    language: str = SOURCE_LANGUAGE,
    starts: Path | None = None,
    running_text: bool = False,
) -> list[Document]:
    """Read the documents of a file or directory (`-` is stdin)."""
    return list(
        iterate_documents(path, format=format, side=side, language=language, starts=starts, running_text=running_text)
    )


def iterate_documents(
    path: Path,
    *,
    format: str | None = None,
    side: Side = "source",
    language: str = SOURCE_LANGUAGE,
    starts: Path | None = None,
    running_text: bool = False,
    arrival: Arrival = WHOLE,
) -> Iterator[Document]:
    """Go through the documents of a file or directory, holding one at a time.

    Args:
        path: where to read; `-` is stdin.
        format: the format's name; without it the content decides (see `detection`).
        side: which side of a two-sided file: the source, the target (a reference), or a hypothesis.
        language: code of the text's language, for splitting running text.
        starts: the file of document starts, for the format `starts`.
        running_text: whether content that looks like running text may be split into sentences.
        arrival: when to hand over a part of a long document; the layout of the next part says that it continues. Only
            where each sentence has its own line, and in running text; other formats hold a whole document at a time.
    """
    if format is not None:
        check_name(format)
    if starts is not None and format not in (None, "starts"):
        raise CorpusError(f"document starts go with plain lines, not with the format '{format}'", path=path)
    options = ReadingOptions(path, side, language, starts, arrival)
    return _with_unique_ids(_with_short_sentences(_iterate(options, format, running_text), options), options)


def _iterate(options: ReadingOptions, format: str | None, running_text: bool) -> Iterator[Document]:
    """Choose the format, then read."""
    path = options.path
    if path != STDIN and path.is_dir() and format in (None, DIRECTORY, "text"):
        yield from read_directory(options, running_text=format == "text")
        return
    if path != STDIN and path.is_dir():
        message = f"a directory, which is not read as '{format}': name the format '{DIRECTORY}' or 'text', or a file"
        raise CorpusError(message, path=path)
    if format == DIRECTORY:
        raise CorpusError("not a directory: expected one with a file for each document", path=path)
    lines = read_raw_lines(path, options.arrival if options.arrival is not WHOLE else None)
    name = "starts" if format is None and (options.starts or find_starts(path)) else format
    if name is None:
        name, sample = detect(lines, path, running_text=running_text)
        lines = options.arrival.replay(sample, lines) if options.arrival is not WHOLE else chain(sample, lines)
    yield from FORMATS[name].read(lines if FORMATS[name].free else check_lengths(lines, path), options)


def _with_short_sentences(documents: Iterator[Document], options: ReadingOptions) -> Iterator[Document]:
    """Hand on documents, and refuse a sentence that is too long to be one."""
    for document in documents:
        longest = max(document.sentences, key=len, default="")
        if len(longest) > LONGEST_SENTENCE:
            raise too_long(longest, options.path, document.layout.line if document.layout else 1)
        yield document


def _with_unique_ids(documents: Iterator[Document], options: ReadingOptions) -> Iterator[Document]:
    """Hand on documents, and refuse the second of an id."""
    seen: dict[str, int | None] = {}
    for document in documents:
        if document.id is not None and not (document.layout and document.layout.continues):
            line = document.layout.line if document.layout else None
            if document.id in seen:
                first = f"line {seen[document.id]}" if seen[document.id] else "before"
                message = f"a second document '{document.id}' (the first: {first}): give each document its own id"
                raise CorpusError(message, path=options.path, line=line)
            seen[document.id] = line
            if len(seen) > REMEMBERED:
                del seen[next(iter(seen))]
        yield document
