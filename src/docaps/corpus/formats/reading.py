"""Reading documents in any format, one at a time or all at once: one side, or two sides that translate each other."""

from collections.abc import Callable, Iterator
from functools import wraps
from itertools import chain, zip_longest
from pathlib import Path
from typing import ParamSpec, TypeVar

from docaps.corpus.documents import Document, ParallelDocument
from docaps.corpus.formats.folder import check_partners, read_directory, read_member
from docaps.corpus.formats.foreign_texts import check_prose
from docaps.corpus.formats.format import (
    DEFAULT_CHOICES,
    SOURCE_LANGUAGE,
    START_SIZE,
    TARGET_LANGUAGE,
    FileChoices,
    FileFormat,
    Format,
    ReadingOptions,
    Side,
)
from docaps.corpus.formats.lines import DOCUMENT_MARK, find_starts
from docaps.corpus.formats.registry import (
    DIRECTORY,
    check_name,
    detect,
    detect_file,
    detect_markup,
    find_format,
)
from docaps.corpus.formats.text_input import STDIN, WHOLE, Arrival, InputFile, check_length, check_lengths, open_input
from docaps.errors import CorpusError

GUESSED = ("lines", "blank", "text")
"""Formats of plain text, which nearly any file may seem to be in."""
REMEMBERED_IDS = 1_000_000  # endless input must not fill the memory
Arguments = ParamSpec("Arguments")
Item = TypeVar("Item")


def iterate_documents(
    path: Path,
    *,
    format: str | None = None,
    side: Side = "source",
    language: str = SOURCE_LANGUAGE,
    starts: Path | None = None,
    running_text: bool = False,
    arrival: Arrival = WHOLE,
    target_language: str = TARGET_LANGUAGE,
    choices: FileChoices = DEFAULT_CHOICES,
) -> Iterator[Document]:
    """Yield the documents of a file, a directory or stdin (`-`), holding one at a time.

    The format is detected if it is not given (see `registry`); `running_text` allows that text which looks like running
    text is split into sentences, by the rules of `language`. `side` chooses the text of a two-sided file: source,
    target (a reference) or hypothesis. `starts` is the file of document starts, for the format `starts`.

    `arrival` says when to yield a part of a long document; the layout of the next part says that it continues. Only for
    formats with one sentence a line and for running text; others hold a whole document at a time. `target_language` and
    `choices` are for files of subtitles and strings.
    """
    if format is not None:
        check_name(format)
    if starts is not None and format not in (None, "starts"):
        raise CorpusError(f"document starts go with plain lines, not with the format '{format}'", path=path)
    options = ReadingOptions(path, side, language, starts, arrival, target_language, choices)
    return _check(_iterate(options, format, running_text), options)


def _iterate(options: ReadingOptions, format: str | None, running_text: bool) -> Iterator[Document]:
    """Choose the format, then read."""
    path = options.path
    if path != STDIN and path.is_dir():
        if format not in (None, DIRECTORY, "text"):
            advice = f"name the format '{DIRECTORY}' or 'text', or a file"
            raise options.fault(f"a directory, which is not read as '{format}': {advice}")
        yield from read_directory(options, running_text=format == "text")
        return
    if format == DIRECTORY:
        raise options.fault("not a directory: expected one with a file for each document")
    name = "starts" if format is None and (options.starts or find_starts(path)) else format
    with open_input(path, options.arrival if options.arrival is not WHOLE else None) as file:
        found = detect_file(file.peek(START_SIZE), path) if name is None else find_format(name)
        if isinstance(found, FileFormat):
            if name is None and not running_text:
                advice = f"docaps translate reads it; here, name it with --format {found.name} or give plain text"
                raise options.fault(f"a file in the format '{found.name}': {advice}")
            yield _read_whole(found, file, options)
            return
        lines = file.lines()
        if found is None:
            name, sample = detect(lines, path, running_text=running_text)
            if running_text and name in GUESSED:
                check_prose(path, sample)
            lines = options.arrival.replay(sample, lines) if options.arrival is not WHOLE else chain(sample, lines)
            found = find_format(name)
            assert isinstance(found, Format)
        yield from found.read(lines if found.free else check_lengths(lines, path), options)


def _read_whole(format: FileFormat, file: InputFile, options: ReadingOptions) -> Document:
    """Read a file as one document; what is wrong with it names the file."""
    try:
        return format.read(file.read(format.largest), options)
    except CorpusError as fault:
        raise fault if fault.path else options.fault(str(fault).removeprefix(f"{fault.line}: "), fault.line) from None


def iterate_member(
    path: Path,
    *,
    language: str = SOURCE_LANGUAGE,
    running_text: bool = False,
    arrival: Arrival = WHOLE,
    target_language: str = TARGET_LANGUAGE,
    choices: FileChoices = DEFAULT_CHOICES,
) -> Iterator[Document]:
    """Yield the documents of one file in a directory of files of any kind.

    Plain text has one sentence a line, or is `running_text`. What is clearly in another format is read as that.
    """
    options = ReadingOptions(path, "source", language, None, arrival, target_language, choices)
    return _check(_iterate_member(options, running_text), options)


def _iterate_member(options: ReadingOptions, running_text: bool) -> Iterator[Document]:
    with open_input(options.path) as file:
        start = file.peek(START_SIZE)
        if found := detect_file(start, options.path):
            yield _read_whole(found, file, options)
            return
        lines = file.lines()
        name = detect_markup(start, options.path)
        if name is None:
            check_prose(options.path, start.decode("utf-8-sig", errors="replace").splitlines())
            yield from read_member(lines, options, running_text=running_text)
            return
        known = find_format(name)
        assert isinstance(known, Format)
        yield from known.read(lines, options)


def _check(documents: Iterator[Document], options: ReadingOptions) -> Iterator[Document]:
    """Pass on documents; refuse a sentence that is too long to be one, and a second document with the same id."""
    seen: dict[str, int | None] = {}
    for document in documents:
        check_length(max(document.sentences, key=len, default=""), options.path, document.line)
        if document.id is not None and not (document.layout and document.layout.continues):
            line = document.layout.line if document.layout else None
            if document.id in seen:
                first = f"line {seen[document.id]}" if seen[document.id] else "before"
                message = f"a second document '{document.id}' (the first: {first}): give each document its own id"
                raise options.fault(message, line)
            seen[document.id] = line
            if len(seen) > REMEMBERED_IDS:
                del seen[next(iter(seen))]
        yield document


def iterate_parallel(
    source: Path,
    target: Path | None = None,
    *,
    format: str | None = None,
    language: str = SOURCE_LANGUAGE,
    target_language: str = TARGET_LANGUAGE,
    starts: Path | None = None,
    target_side: Side = "target",
) -> Iterator[ParallelDocument]:
    """Yield the documents of two sides, holding one at a time; one file is enough if it holds both.

    Running text is split into sentences only if the format `text` is given.
    """
    other = source if target is None else target
    if source == other == STDIN:
        raise CorpusError("both sides cannot be read from stdin: give two files", path=STDIN)
    if source.is_dir() and other.is_dir():
        check_partners(source, other)
    ones = iterate_documents(source, format=format, language=language, starts=starts)
    others = iterate_documents(other, format=format, language=target_language, starts=starts, side=target_side)
    return _pair(source, other, ones, others, alone=target is None)


def _check_two_sided(path: Path, one: Document, other: Document) -> None:
    """Refuse a file that was given alone, but whose format has one side only, read twice."""
    if one.sentences == other.sentences and (one.format == DIRECTORY or not find_format(one.format).two_sided):
        raise CorpusError(
            f"holds one side only (format '{one.format}'): name the file of its translation too", path=path
        )


def _pair(
    source: Path, target: Path, ones: Iterator[Document], others: Iterator[Document], *, alone: bool
) -> Iterator[ParallelDocument]:
    """Pair documents; refuse the first that do not match, or the first without a partner."""
    for number, (one, other) in enumerate(zip_longest(ones, others), start=1):
        if one is None or other is None:
            more = number + sum(1 for _ in chain(ones, others))  # one of them has ended
            here, there = (more, number - 1) if one else (number - 1, more)
            counts = f"{here} documents in {source}, but {there} in {target}"
            message = f"{counts}: the one that begins here has no partner, remove it or add the other side"
            path, line = (source, one.line) if one else (target, other.line if other else None)
            raise CorpusError(message, path=path, line=line)
        _check_pair(source, target, number, one, other)
        if alone:
            _check_two_sided(source, one, other)
        yield ParallelDocument(one.sentences, other.sentences, one.id, one.paragraphs)


def _check_pair(source: Path, target: Path, number: int, one: Document, other: Document) -> None:
    """Refuse two documents that differ in id, length or, if both have them, sentence ids."""
    ids = [document.layout.sentence_ids if document.layout else () for document in (one, other)]
    if one.id is not None and other.id is not None and one.id != other.id:
        what = f"document {number} is '{one.id}' in {source}, but '{other.id}' in {target}: put them in the same order"
    elif len(one.sentences) != len(other.sentences):
        units = f"lines and {DOCUMENT_MARK} marks" if one.format == "lines" else "documents and sentences"
        advice = f"both sides need the same {units}"
        if one.format != other.format:
            advice = f"they were read as '{one.format}' and '{other.format}'; name the format if that is wrong"
        where = f"document {number} (near line {one.line})"
        counts = f"{len(one.sentences)} sentences in {source}, but {len(other.sentences)} in {target}"
        what = f"{where} has {counts}: {advice}"
    elif found := next((pair for pair in zip(*ids, strict=False) if pair[0] != pair[1]), None):
        what = f"document {number} has the sentence ids '{found[0]}' in {source}, but '{found[1]}' in {target}"
    else:
        return
    raise CorpusError(what, path=target, line=other.line)


def _reading_all(iterate: Callable[Arguments, Iterator[Item]]) -> Callable[Arguments, list[Item]]:
    """Return a function with the same arguments that returns a list of all that `iterate` yields."""
    return wraps(iterate)(lambda *args, **options: list(iterate(*args, **options)))


read_documents = _reading_all(iterate_documents)
"""Read the documents of a file or directory into a list; arguments as for `iterate_documents`."""

read_parallel = _reading_all(iterate_parallel)
"""Read two sides whose sentences translate each other into a list; arguments as for `iterate_parallel`."""
