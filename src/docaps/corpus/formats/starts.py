"""Plain lines and a second file that says where documents start: the form of the HAN corpora.

The second file has one line number a line, counted from 0, the first one 0. It is given, or stands beside the text as
`NAME.starts`, where NAME is the text's name with or without its last ending (and without `.gz` or `.zst`).
"""

from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from pathlib import Path

from docaps.corpus.documents import Document, Layout
from docaps.corpus.formats.interface import Entry, ReadingOptions, WritingOptions, empty_file, fill
from docaps.corpus.formats.lines import DOCUMENT_MARK, is_mark, plain
from docaps.corpus.formats.opening import STDIN, one_line, read_lines
from docaps.errors import CorpusError

ENDING = ".starts"
COMPRESSED = (".gz", ".zst")


def find_starts(path: Path) -> Path | None:
    """Find the file of document starts beside a text."""
    if path == STDIN:
        return None
    return next((place for place in _places(path) if place.is_file()), None)


def _places(path: Path) -> list[Path]:
    """List where the document starts of a text may be."""
    plain = path.with_suffix("") if path.suffix in COMPRESSED else path
    return [path.with_name(name + ENDING) for name in dict.fromkeys((path.name, plain.name, plain.stem))]


def read_starts(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Go through documents whose first lines are numbered in another file."""
    place = options.starts or find_starts(options.path)
    if place is None:
        message = f"no file of document starts: give one with --starts, or as {_places(options.path)[0].name} beside it"
        raise CorpusError(message, path=options.path)
    starts = _read_numbers(place)
    total = 0
    continues = False
    sentences: list[str] = []
    waiting = iter([*starts[1:], None])
    ending = next(waiting)
    for total, line in enumerate(lines, start=1):
        if total - 1 == ending:
            if sentences:
                yield _document(sentences, total, continues)
            sentences, continues, ending = [], False, next(waiting)
        sentences.append(_check_sentence(one_line(line), total, place, options))
        if options.arrival.enough(len(sentences)):
            yield _document(sentences, total + 1, continues)
            sentences, continues = [], True
    if not total:
        raise empty_file(options, "one sentence a line")
    _check_end(starts, total, place, options)
    if sentences:
        yield _document(sentences, total + 1, continues)


def _check_sentence(sentence: str, line: int, place: Path, options: ReadingOptions) -> str:
    """Refuse a document mark: the documents would be told twice."""
    if is_mark(sentence):
        message = f"a {DOCUMENT_MARK} mark, but {place} says where documents start: remove one of them"
        raise CorpusError(message, path=options.path, line=line)
    return sentence


def _document(sentences: list[str], next_line: int, continues: bool) -> Document:
    return Document(tuple(sentences), layout=Layout("starts", next_line - len(sentences), continues=continues))


def _read_numbers(path: Path) -> list[int]:
    """Read the line numbers, which must begin with 0 and grow."""
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


def _check_end(starts: list[int], total: int, place: Path, options: ReadingOptions) -> None:
    """Refuse starts beyond the end of the text."""
    for line, start in enumerate(starts, start=1):
        if start >= total:
            message = f"a document starts at line {start}, but {options.path} has only {total} lines"
            raise CorpusError(f"{message} (counted from 0)", path=place, line=line)


def write_starts(entries: Iterable[Entry], options: WritingOptions) -> Iterator[str]:  # noqa: ARG001
    """Write plain lines; the starts of the input hold for them too."""
    for entry in entries:
        yield fill(Layout("starts"), [plain(sentence) for sentence in entry.text])


def format_starts(lengths: Iterable[int]) -> str:
    """Write the file of document starts for documents of some lengths."""
    ends = [0, *accumulate(lengths)]
    return "".join(f"{start}\n" for start in ends[:-1])
