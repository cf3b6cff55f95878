"""Passages: stretches of running text in a file, such as paragraphs, split into sentences and put together again.

A format of whole files finds the passages of a file and where they stand. They become the sentences of one document,
with the marks in them. To write the translation, each passage is replaced where it stood, and every other byte stays.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from docaps.corpus.documents import Document, InlineMark, MarkKind, TextLayout
from docaps.corpus.formats.format import OutputDocument, ReadingOptions
from docaps.corpus.formats.mark_placing import place_marks, split_at_marks
from docaps.corpus.formats.text import split_sentences

MOST_SENTENCES = 500_000
"""Sentences of the longest file that is held in memory whole."""
MOST_TAGS = 100_000
"""Tags and other marks of a passage."""
Change = tuple[int, int, bytes]
"""A span of a content, and the bytes that replace it."""
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of running text and the marks in it, and the bytes of the file where it stands.

    `kind` and `part` are for the format: what the passage is, and in which part of the file.
    """

    text: str
    marks: tuple[InlineMark, ...] = ()
    start: int = 0
    end: int = 0
    line: int = 1
    kind: str = ""
    part: str = ""


class TooManyMarksError(Exception):
    """A passage with more marks than any text has: the file is damaged, or made to fill the memory."""


class PassageBuilder:
    """Collects the text of a passage and the marks in it, from left to right."""

    def __init__(self) -> None:
        self.marks: list[InlineMark] = []
        self._parts: list[str] = []
        self._length = 0
        self._opened: list[tuple[str, int]] = []  # tags that may have an end tag, and the numbers of their marks
        self._names = Counter[str]()  # how many of each there are

    def add_text(self, text: str) -> None:
        """Append text that is translated."""
        self._parts.append(text)
        self._length += len(text)

    def add_mark(self, text: str, kind: MarkKind = "single", pair: int = 0) -> None:
        """Append something that is not translated."""
        if len(self.marks) >= MOST_TAGS:
            raise TooManyMarksError
        self.marks.append(InlineMark(self._length, text, kind, pair))

    def add_start(self, name: str, text: str, pair: int) -> None:
        """Append a start tag; it is a single mark unless its end tag follows."""
        self._opened.append((name, len(self.marks)))
        self._names[name] += 1
        self.add_mark(text, "single", pair)

    def add_end(self, name: str, text: str, pair: int) -> None:
        """Append an end tag; it makes a pair with its start tag. What was opened between them stays single."""
        self.add_mark(text, "single", pair)
        opened, first = "", -1
        while self._names[name] and opened != name:
            opened, first = self._opened.pop()
            self._names[opened] -= 1
        if opened:
            self.marks[first] = replace(self.marks[first], kind="open")
            self.marks[-1] = replace(self.marks[-1], kind="close", pair=self.marks[first].pair)

    def add_space(self, text: str) -> None:
        """Append a mark that separates words, such as a line break."""
        self.marks.append(InlineMark(self._length, text, is_space=True))
        self.add_text(" ")

    @property
    def text(self) -> str:
        """All text so far."""
        return "".join(self._parts)

    def passage(self, start: int, end: int, **options: Any) -> Passage:
        """Return the passage; `options` are further fields of it."""
        return Passage(self.text, tuple(self.marks), start, end, **options)


@dataclass(frozen=True, slots=True)
class _Split:
    """The sentences of a passage, the space before, between and after them, and their marks."""

    sentences: tuple[str, ...]
    gaps: tuple[str, ...]
    marks: tuple[tuple[InlineMark, ...], ...]


def join_passages(passages: Iterable[Passage], options: ReadingOptions, format: str, **details: Any) -> Document:
    """Return a document of all sentences of passages; passages without a letter are left out."""
    kept: list[tuple[Passage, tuple[str, ...]]] = []
    sentences, marks, counts = list[str](), list[tuple[InlineMark, ...]](), list[int]()
    for passage in _counted(passages, options):
        if not any(map(str.isalpha, passage.text)):
            continue
        split = split_passage(passage, options.language)
        kept.append((passage, split.gaps))
        sentences += (options.check_sentence(sentence, passage.line) for sentence in split.sentences)
        marks += split.marks
        counts.append(len(split.sentences))
        if len(sentences) > MOST_SENTENCES:
            message = f"more than {MOST_SENTENCES:,} sentences: split the file"
            raise options.fault(message, passage.line)
    layout = TextLayout(format, details={"passages": tuple(kept), **details})
    return Document(tuple(sentences), paragraphs=tuple(counts), layout=layout, marks=tuple(marks) if any(marks) else ())


def _counted(passages: Iterable[Passage], options: ReadingOptions) -> Iterator[Passage]:
    """Pass on passages; refuse one with too many marks."""
    try:
        yield from passages
    except TooManyMarksError:
        raise options.fault(f"more than {MOST_TAGS:,} tags and other marks in one paragraph: split the file") from None


def written_passages(item: OutputDocument) -> Iterator[tuple[Passage, list[str | InlineMark]]]:
    """Yield the passages of a document that `join_passages` made, each as the pieces of its translation."""
    document = item.document
    assert document.layout is not None
    done = 0
    for passage, gaps in document.layout.details["passages"]:
        pieces: list[str | InlineMark] = [gaps[0]] if gaps[0] else []
        for number, gap in enumerate(gaps[1:], start=done):
            pieces += written_sentence(item, number)
            if gap:
                pieces.append(gap)
        done += len(gaps) - 1
        yield passage, _with_spaces(pieces)


def _with_spaces(pieces: Sequence[str | InlineMark]) -> list[str | InlineMark]:
    """Return pieces without spaces beside marks that separate words, and with spaces around marks that have them."""
    found: list[str | InlineMark] = []
    for number, piece in enumerate(pieces):
        if isinstance(piece, str):
            before, after = pieces[number - 1] if number else "", pieces[number + 1] if number + 1 < len(pieces) else ""
            text = piece.lstrip() if isinstance(before, InlineMark) and before.is_space else piece
            text = text.rstrip() if isinstance(after, InlineMark) and after.is_space else text
            found += [text] if text else []
        elif piece.is_space or not (piece.text.startswith(" ") or piece.text.endswith(" ")):
            found.append(piece)
        else:
            left = piece.text.startswith(" ") and not _nearest(found[::-1], -1).isspace()
            right = piece.text.endswith(" ") and not _nearest(pieces[number + 1 :], 0).isspace()
            found.append(replace(piece, text=" " * left + piece.text.strip(" ") + " " * right))
    return found


def _nearest(pieces: Iterable[str | InlineMark], end: int) -> str:
    """Return the nearest character beside a mark, the first or last of a piece; tags of pairs are seen through."""
    for piece in pieces:
        text = piece if isinstance(piece, str) else " " if piece.is_space else piece.text
        if isinstance(piece, str) or piece.is_space or piece.kind == "single" or text[end].isspace():
            return text[end]
    return " "


def written_sentence(item: OutputDocument, number: int) -> list[str | InlineMark]:
    """Return a sentence as the pieces of its translation: the text, and the marks put where they belong."""
    document, text = item.document, item.text[number]
    if not document.marks:
        return [text] if text else []
    marks: Sequence[InlineMark] = document.marks[number]
    if item.translation is not None:
        alignment = item.alignments[number] if item.alignments else None
        marks = place_marks(document.sentences[number], marks, text, alignment)
    return split_at_marks(text, marks)


def fill(pieces: Iterable[str | InlineMark], encode: Callable[[str], str]) -> str:
    """Join pieces; text is encoded as the format needs it, marks are written as they were."""
    return "".join(encode(piece) if isinstance(piece, str) else piece.text for piece in pieces)


def replace_spans(content: bytes, changes: Iterable[Change]) -> bytes:
    """Replace spans (start, end, new bytes) of a content; all other bytes stay as they are."""
    parts, done = list[bytes](), 0
    for start, end, new in sorted(changes, key=lambda change: change[:2]):
        if not done <= start <= end <= len(content):
            raise ValueError(f"the span {start} to {end} overlaps another, or is beyond the end")
        parts += (content[done:start], new)
        done = end
    return b"".join((*parts, content[done:]))


def replace_passages(
    content: bytes,
    item: OutputDocument,
    encode: Callable[[Passage, Sequence[str | InlineMark]], str],
    part: str = "",
    others: Sequence[Change] = (),
) -> bytes:
    """Replace all passages of one part of a file; a passage may stand within a mark of another.

    Such a mark is the content itself, and its `pair` is where it starts, counted from 1. `others` are changes besides.
    """
    return replace_written(content, [one for one in written_passages(item) if one[0].part == part], encode, others)


def replace_written(
    content: bytes,
    written: Sequence[tuple[Passage, list[str | InlineMark]]],
    encode: Callable[[Passage, Sequence[str | InlineMark]], str],
    others: Sequence[Change] = (),
) -> bytes:
    """Do the same with passages of the content and the pieces of their translations."""
    changes: list[Change] = []  # the last in the file first
    for passage, pieces in sorted(written, key=lambda one: (-one[0].start, one[0].end)):
        inner = list[Change]()
        while changes and changes[-1][0] < passage.end:
            inner.append(changes.pop())
        filled = [piece if isinstance(piece, str) else _with_inner(piece, inner) for piece in pieces]
        changes.append((passage.start, passage.end, encode(passage, filled).encode()))
    return replace_spans(content, [*changes, *others])


def _with_inner(mark: InlineMark, inner: Sequence[Change]) -> InlineMark:
    """Return a mark with the changes of passages that stand in it."""
    raw = mark.text.encode()
    start = mark.pair - 1 - (len(raw) - len(raw.lstrip(b" ")))  # a mark may begin with a space of the text
    found = [one for one in inner if start <= one[0] and one[1] <= start + len(raw)]
    if mark.kind == "close" or not found:
        return mark
    moved = [(first - start, last - start, new) for first, last, new in found]
    return replace(mark, text=replace_spans(raw, moved).decode())


def split_passage(passage: Passage, language: str | None) -> _Split:
    """Split a passage into sentences; its marks are kept with them, and white space becomes single spaces.

    Without a language it is one sentence.
    """
    text, marks = _collapse(passage.text, passage.marks)
    spans, done = list[tuple[int, int]](), 0
    for part in [text] if language is None else split_sentences(text, language):
        start = text.index(part.strip(), done)
        done = start + len(part.strip())
        spans.append((start, done))
    borders = [*(end for _, end in spans[:-1]), len(text)]
    starts = [0, *(start for start, _ in spans[1:])]
    inner = [text[end:start] for end, start in zip(borders[:-1], starts[1:], strict=True)]
    positions = [mark.position for mark in passage.marks]
    first = min([len(passage.text) - len(passage.text.lstrip()), *positions])
    last = max([len(passage.text.rstrip()), *positions])
    gaps = (passage.text[:first], *inner, passage.text[last:])
    sentences = tuple(text[start:end] for start, end in zip(starts, borders, strict=True))
    return _Split(sentences, gaps, tuple(_distribute(marks, list(zip(starts, borders, strict=True)))))


def _collapse(text: str, marks: Sequence[InlineMark]) -> tuple[str, Sequence[InlineMark]]:
    """Replace white space by single spaces, and remove it at both ends; marks move with the text."""
    if text == " ".join(text.split()):
        return text, marks
    lead = len(text) - len(text.lstrip())
    stripped = text.strip()
    runs = [(0, lead), *((lead + match.start() + 1, lead + match.end()) for match in _SPACE.finditer(stripped))]
    totals = list(accumulate((end - start for start, end in runs), initial=0))
    starts = [start for start, _ in runs]
    result, moved = _SPACE.sub(" ", stripped), list[InlineMark]()
    end = lead + len(stripped)
    for number, mark in enumerate(marks):
        run = bisect_right(starts, mark.position) - 1
        removed = totals[run] + min(mark.position, runs[run][1]) - starts[run]
        position = min(mark.position - removed, len(result))
        before, after = _own_space(text, marks, number, (lead, end))
        moved.append(replace(mark, position=position, text=before + mark.text + after))
    return result, moved


def _own_space(text: str, marks: Sequence[InlineMark], number: int, worded: tuple[int, int]) -> tuple[str, str]:
    """Return the space before and after a mark that the text loses: at its ends, or as one of two around the mark."""
    mark = marks[number]
    position, kind = mark.position, mark.kind
    if mark.is_space:
        return "", ""
    is_last = number + 1 == len(marks) or marks[number + 1].position != position
    is_first = number == 0 or marks[number - 1].position != position
    before, after = text[position - 1 : position].isspace(), text[position : position + 1].isspace()
    if position > worded[1]:
        return " " if before and is_first and kind != "close" else "", ""
    if position < worded[0]:
        return "", " " if after and is_last and kind != "open" else ""
    if not (before and after and 0 < position < worded[1]):
        return "", ""
    return " " if is_first and kind != "close" else "", " " if is_last and kind != "open" else ""


def _distribute(marks: Sequence[InlineMark], spans: Sequence[tuple[int, int]]) -> Iterator[tuple[InlineMark, ...]]:
    """Yield the marks of each sentence, their positions counted from its start.

    Between two sentences, what closes or follows the first without space belongs to it, and all after that to the next.
    """
    taken = 0
    for number, (start, end) in enumerate(spans):
        following = spans[number + 1][0] if number + 1 < len(spans) else end
        until, inside = taken, set[int]()
        for index in range(taken, len(marks)):
            mark = marks[index]
            if mark.position < end or number + 1 == len(spans):
                until = index + 1
            elif mark.position > following:
                break
            elif mark.kind == "open":
                inside.add(mark.pair)
            elif (mark.kind == "close" and mark.pair not in inside) or (
                mark.kind == "single" and mark.position == end < following
            ):
                until = index + 1
        own, taken = marks[taken:until], until
        yield tuple(replace(mark, position=min(max(mark.position - start, 0), end - start)) for mark in own)
