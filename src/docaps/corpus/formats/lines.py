"""One sentence a line, with documents marked by `<d>` lines, blank lines, lines of tags, or a file of line numbers.

`tags`, the form of the IWSLT training files (`train.tags.*`): a line that begins with one of the tags below describes a
talk, every other line is a sentence. Tag lines are kept when a translation is written.

`starts`, the form of the HAN corpora: a second file has the number of the first line of each document, counted from 0,
one a line. It is given, or found beside the text as `NAME.starts`, where NAME is the text's name with or without its
last ending (and without `.gz` or `.zst`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from html import escape
from itertools import accumulate, chain, pairwise
from pathlib import Path

from docaps.corpus.documents import Document, TextLayout
from docaps.corpus.formats.format import ReadingOptions, group_rows, layout_writer
from docaps.corpus.formats.markup import attributes_of, decode_entities
from docaps.corpus.formats.text_input import STDIN, WHOLE, one_line, read_lines
from docaps.errors import CorpusError

DOCUMENT_MARK = "<d>"
"""The line before each document in the format `lines`."""
EMPTY_SENTENCE = "\u200b"  # a zero-width space stands for an empty sentence where an empty line ends the document
STARTS_SUFFIX = ".starts"
COMPRESSED = (".gz", ".zst")
TAGS = ("url", "keywords", "speaker", "talkid", "title", "description", "reviewer", "translator", "transcript", "doc")
TAG_LINE = re.compile(rf"\s*</?(?:{'|'.join(TAGS)})(?:\s[^>]*)?>", re.IGNORECASE)
TALK_ID = re.compile(r"\s*<talkid>(.*?)(?:</talkid>|$)", re.IGNORECASE)
DOCUMENT_TAG = re.compile(r"\s*<doc\b([^>]*)>", re.IGNORECASE)


def read_marked(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Yield the documents of lines with `<d>` marks, a long one in parts; lines without any are one document."""
    sentences, number, layout = list[str](), 0, TextLayout("lines")
    ended_lines = chain(map(one_line, lines), [DOCUMENT_MARK])  # the end of the file is the end of a document
    for number, line in enumerate(ended_lines, start=1):
        if not is_mark(line):
            sentences.append(line)
            if options.arrival.enough(len(sentences)):
                yield Document(tuple(sentences), layout=layout)
                sentences, layout = [], TextLayout("lines", number + 1, continues=True)
            continue
        if sentences:
            yield Document(tuple(sentences), layout=layout)
        elif number > 1 and not layout.continues:
            raise options.fault(f"a document without sentences: remove this {DOCUMENT_MARK} line", layout.line)
        sentences, layout = [], TextLayout("lines", number, f"{DOCUMENT_MARK}\n")
    if number == 1:
        raise options.empty("one sentence a line")


def is_mark(line: str) -> bool:
    """Return whether a line is a document mark; in concatenated files a byte order mark may precede it."""
    return line.removeprefix("\ufeff") == DOCUMENT_MARK


def plain(sentence: str) -> str:
    """Return a sentence on one line; `<d>` gets a space, or it would be read as a mark."""
    line = one_line(sentence)
    return "< d>" if is_mark(line) else line


write_marked = layout_writer("lines", lambda *_: TextLayout("lines", before=f"{DOCUMENT_MARK}\n"), plain)
"""Write one sentence a line, each document after its mark."""


def read_blank(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Yield documents separated by blank lines, each as soon as it ends."""
    sentences, found, continues, gap, layout = list[str](), False, False, 0, TextLayout("blank")
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


write_blank = layout_writer(
    "blank",
    lambda _, number: TextLayout("blank", before="\n" if number > 1 else ""),
    lambda sentence: plain(sentence) or EMPTY_SENTENCE,
)
"""Write one sentence a line, with the blank lines that were read between documents, or one."""


def read_tags(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Yield the talks; a talk ends where tag lines follow its text and text follows those."""
    before, sentences, tags, start = list[str](), list[str](), list[str](), 1
    for number, line in enumerate(lines, start=1):
        if TAG_LINE.match(line):
            tags.append(line)
            continue
        if tags or not sentences:
            if sentences:
                yield _talk(before, sentences, start, options)
            before, sentences, tags, start = tags, [], [], number - len(tags)
        sentences.append(one_line(line))
    if not sentences and tags:
        raise options.fault(f"talk '{_talk_id(tags)}' has no sentences: remove it", len(tags))
    if not sentences:
        raise options.empty("lines of tags such as <talkid>, then lines of text")
    yield _talk(before, sentences, start, options, after=tags)


def _talk(
    before: list[str], sentences: list[str], start: int, options: ReadingOptions, after: Iterable[str] = ()
) -> Document:
    """Return the document of a talk's tag lines and text lines."""
    ids = [match[1].strip() for line in before if (match := TALK_ID.match(line))]
    if len(ids) > 1:
        raise options.fault(f"talk '{ids[0]}' has no sentences: remove it", start)
    opening, ending = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    return Document(tuple(sentences), _talk_id(before), layout=TextLayout("tags", start, opening, after=f"\n{ending}"))


def _talk_id(tags: list[str]) -> str | None:
    """Return the talk's id: <talkid>, or the docid of <doc>."""
    for line in tags:
        if match := TALK_ID.match(line):
            return decode_entities(match[1].strip())
    attributes = [attributes_of(match[1]) for line in tags if (match := DOCUMENT_TAG.match(line))]
    return next((found["docid"] for found in attributes if "docid" in found), None)


def _escape_tag(sentence: str) -> str:
    """Return a sentence on one line, with a space in it if it would be read as a tag line."""
    line = one_line(sentence)
    return line.replace("<", "< ", 1) if TAG_LINE.match(line) else line


write_tags = layout_writer(
    "tags",
    lambda item, number: TextLayout("tags", before=f"<talkid>{escape(item.name(number), quote=False)}</talkid>\n"),
    _escape_tag,
)
"""Write talks with the tag lines they had, or with <talkid> alone."""


def find_starts(path: Path) -> Path | None:
    """Return the file of document starts beside a text, if there is one."""
    return next((file for file in _starts_files(path) if file.is_file()), None) if path != STDIN else None


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

    def layout(_: str, line: int, continues: bool) -> TextLayout:
        return TextLayout("starts", line, continues=continues)

    return group_rows(_started_rows(lines, file, options), layout, options, named=False)


def _started_rows(lines: Iterable[str], file: Path, options: ReadingOptions) -> Iterator[tuple[int, str, str]]:
    """Yield the line number, the number of the document and the sentence of each line."""
    starts = _read_numbers(file)
    known, document, total = set(starts), 0, 0
    for total, line in enumerate(map(one_line, lines), start=1):
        if is_mark(line):
            message = f"a {DOCUMENT_MARK} mark, but {file} says where documents start: remove one of them"
            raise options.fault(message, total)
        document += total - 1 in known
        yield total, str(document), line
    if not total:
        raise options.empty("one sentence a line")
    for number, start in enumerate(starts, start=1):
        if start >= total:
            message = f"a document starts at line {start}, but {options.path} has only {total} lines"
            raise CorpusError(f"{message} (counted from 0)", path=file, line=number)


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


write_starts = layout_writer("starts", lambda *_: TextLayout("starts"), plain)
"""Write plain lines; the starts of the input are valid for them too."""


def format_starts(lengths: Iterable[int]) -> str:
    """Return the file of document starts for documents of these lengths."""
    ends = [0, *accumulate(lengths)]
    return "".join(f"{start}\n" for start in ends[:-1])
