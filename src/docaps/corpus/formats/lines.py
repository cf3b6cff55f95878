"""One sentence a line, with documents marked by `<d>` lines, by blank lines, or by a second file of line numbers.

`starts`, the form of the HAN corpora: a second file has the number of the first line of each document, counted from 0,
one a line. It is given, or found beside the text as `NAME.starts`, where NAME is the text's name with or without its
last ending (and without `.gz` or `.zst`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path

from docaps.corpus.documents import Document, TextLayout
from docaps.corpus.formats.format import OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.text_input import STDIN, WHOLE, one_line, read_lines
from docaps.errors import CorpusError

DOCUMENT_MARK = "<d>"
EMPTY_SENTENCE = "\u200b"  # a zero-width space stands for an empty sentence where an empty line ends the document
STARTS_SUFFIX = ".starts"
COMPRESSED = (".gz", ".zst")


def read_marked(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Yield the documents of lines with `<d>` marks, a long one in parts; lines without any are one document."""
    sentences: list[str] = []
    number = 0
    layout = TextLayout("lines")
    for number, line in enumerate(map(one_line, lines), start=1):
        if is_mark(line):
            if number > 1 and (sentences or not layout.continues):
                yield _marked_document(sentences, options, layout)
            sentences, layout = [], TextLayout("lines", number, f"{DOCUMENT_MARK}\n")
            continue
        sentences.append(line)
        if options.arrival.enough(len(sentences)):
            yield Document(tuple(sentences), layout=layout)
            sentences, layout = [], TextLayout("lines", number + 1, continues=True)
    if number == 0:
        raise options.empty("one sentence a line")
    if sentences or not layout.continues:
        yield _marked_document(sentences, options, layout)


def _marked_document(sentences: list[str], options: ReadingOptions, layout: TextLayout) -> Document:
    """Return the document of the lines after a mark."""
    if not sentences:
        raise options.fault(f"a document without sentences: remove this {DOCUMENT_MARK} line", layout.line)
    return Document(tuple(sentences), layout=layout)


def write_marked(documents: Iterable[OutputDocument], options: WritingOptions) -> Iterator[str]:  # noqa: ARG001
    """Write one sentence a line, each document after its mark."""
    for item in documents:
        layout = item.document.layout_in("lines") or TextLayout("lines", before=f"{DOCUMENT_MARK}\n")
        yield layout.fill([plain(sentence) for sentence in item.text])


def is_mark(line: str) -> bool:
    """Return whether a line is a document mark; in concatenated files a byte order mark may precede it."""
    return line.removeprefix("\ufeff") == DOCUMENT_MARK


def plain(sentence: str) -> str:
    """Return a sentence on one line; `<d>` gets a space, or it would be read as a mark."""
    line = one_line(sentence)
    return "< d>" if is_mark(line) else line


def read_blank(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Yield documents separated by blank lines, each as soon as it ends."""
    sentences: list[str] = []
    found, continues, gap, layout = False, False, 0, TextLayout("blank")
    for number, line in enumerate(map(one_line, lines), start=1):
        if is_mark(line):
            message = f"a {DOCUMENT_MARK} mark among documents with blank lines between them: name the format 'lines'"
            raise options.fault(message, number)
        if line:
            if not sentences:
                layout = TextLayout("blank", number, "\n" * gap, continues=found and continues and not gap)
            sentences.append("" if line == EMPTY_SENTENCE else line)
            if continues := options.arrival.enough(len(sentences)):
                yield Document(tuple(sentences), layout=layout)
                sentences, gap, found = [], 0, True
        elif sentences:
            yield Document(tuple(sentences), layout=replace(layout, after="\n\n"))
            sentences, gap, found = [], 0, True
        else:
            gap += 1
    if sentences:
        yield Document(tuple(sentences), layout=layout)
    elif gap and found and options.arrival is not WHOLE:  # blank lines at the end, to be written back
        yield Document((), layout=TextLayout("blank", number, "\n" * gap, after="", continues=True))
    elif not found:
        raise options.empty("one sentence a line and a blank line between documents")


def write_blank(documents: Iterable[OutputDocument], options: WritingOptions) -> Iterator[str]:  # noqa: ARG001
    """Write one sentence a line, with the blank lines that were read between documents, or one."""
    for number, item in enumerate(documents):
        layout = item.document.layout_in("blank") or TextLayout("blank", before="\n" if number else "")
        yield layout.fill([plain(sentence) or EMPTY_SENTENCE for sentence in item.text])


def find_starts(path: Path) -> Path | None:
    """Return the file of document starts beside a text, if there is one."""
    if path == STDIN:
        return None
    return next((candidate for candidate in _starts_files(path) if candidate.is_file()), None)


def _starts_files(path: Path) -> list[Path]:
    """Return the possible paths of the document starts of a text."""
    unpacked = path.with_suffix("") if path.suffix in COMPRESSED else path
    return [path.with_name(name + STARTS_SUFFIX) for name in dict.fromkeys((path.name, unpacked.name, unpacked.stem))]


def read_starts(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Yield documents whose first lines are listed in another file."""
    file = options.starts or find_starts(options.path)
    if file is None:
        name = _starts_files(options.path)[0].name
        raise options.fault(f"no file of document starts: give one with --starts, or as {name} beside it")
    starts = _read_numbers(file)
    total = 0
    continues = False
    sentences: list[str] = []
    following = iter([*starts[1:], None])
    ending = next(following)
    for total, line in enumerate(lines, start=1):
        if total - 1 == ending:
            if sentences:
                yield _started_document(sentences, total, continues)
            sentences, continues, ending = [], False, next(following)
        sentence = one_line(line)
        if is_mark(sentence):
            message = f"a {DOCUMENT_MARK} mark, but {file} says where documents start: remove one of them"
            raise options.fault(message, total)
        sentences.append(sentence)
        if options.arrival.enough(len(sentences)):
            yield _started_document(sentences, total + 1, continues)
            sentences, continues = [], True
    if not total:
        raise options.empty("one sentence a line")
    _check_end(starts, total, file, options)
    if sentences:
        yield _started_document(sentences, total + 1, continues)


def _started_document(sentences: list[str], next_line: int, continues: bool) -> Document:
    return Document(tuple(sentences), layout=TextLayout("starts", next_line - len(sentences), continues=continues))


def _read_numbers(path: Path) -> list[int]:
    """Read line numbers, which must begin with 0 and increase."""
    numbers: list[int] = []
    for line, text in enumerate(read_lines(path), start=1):
        if not (text.isascii() and text.isdigit()):
            raise CorpusError(f"expected a line number, found '{text}'", path=path, line=line)
        numbers.append(int(text))
    if not numbers or numbers[0] != 0:
        found = numbers[0] if numbers else "nothing"
        raise CorpusError(f"the first document must start at line 0, found {found}", path=path, line=1)
    for line, (one, other) in enumerate(pairwise(numbers), start=2):
        if other <= one:
            raise CorpusError(f"start {other} after start {one}: they must grow", path=path, line=line)
    return numbers


def _check_end(starts: list[int], total: int, file: Path, options: ReadingOptions) -> None:
    """Refuse starts beyond the end of the text."""
    for line, start in enumerate(starts, start=1):
        if start >= total:
            message = f"a document starts at line {start}, but {options.path} has only {total} lines"
            raise CorpusError(f"{message} (counted from 0)", path=file, line=line)


def write_starts(documents: Iterable[OutputDocument], options: WritingOptions) -> Iterator[str]:  # noqa: ARG001
    """Write plain lines; the starts of the input are valid for them too."""
    for item in documents:
        yield TextLayout("starts").fill([plain(sentence) for sentence in item.text])


def format_starts(lengths: Iterable[int]) -> str:
    """Return the file of document starts for documents of these lengths."""
    ends = [0, *accumulate(lengths)]
    return "".join(f"{start}\n" for start in ends[:-1])
