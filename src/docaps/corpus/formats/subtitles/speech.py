r"""What is said in a cue: spans of speech, and between them what is kept, such as dashes before speakers.

The text of a cue without its tags is read with `\n` for each line break. A cue has several spans if there are several
speakers, sounds or songs. A sound in brackets that is written in capitals is translated in small letters, and written
in capitals again.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from docaps.corpus.documents import InlineMark, MarkKind
from docaps.corpus.formats.subtitles.cue import Dialect

KEPT = re.compile(
    r"(?P<speech>"
    r"(?:^|\n)[ \t]*(?:[-–—‐]+|>>+)[ \t]*(?=\S)"  # a dash before a speaker
    r"|(?:^|(?<=[\n\]>-])|(?<=[\n\]>-][ \t]))[ \t]*[A-ZÄÖÜ][A-ZÄÖÜ0-9 .'#-]{0,30}:(?=\s)[ \t]*"  # a speaker's name
    r"|[ \t\n]*[♪♫♬]+[ \t\n]*"
    r"|\n\s*\n\s*"  # a blank line
    r"|\[|\]"
    r"|(?:^|(?<=\n))\((?=[^()]*\)[ \t]*(?:\n|$))|(?<=[^()])\)(?=[ \t]*(?:\n|$))"  # a line or more in brackets
    r")|(?P<ellipsis>(?:^|(?<=\n))(?:\.\.\.|…)[ \t]*)"
)
LETTER = re.compile(r"[^\W_]")
VOICE = re.compile(r"<v[ .\t]")
SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of speech within a cue, on one line, with the marks in it.

    `joins_before` and `joins_after` say whether its sentence may come from the cue before, or run on into the next.
    `capitals` says that it was written in capitals. `breaks` is the number of line breaks in it, and `voice` the tag
    that names the speaker.
    """

    text: str
    marks: tuple[InlineMark, ...]
    capitals: bool = False
    joins_before: bool = True
    joins_after: bool = True
    breaks: int = 0
    voice: str = ""


@dataclass(frozen=True, slots=True)
class CueText:
    """The text of a cue: spans of speech, and what is kept before, between and after them: text, and marks in it."""

    kept: tuple[tuple[str, tuple[InlineMark, ...]], ...]
    spans: tuple[Span, ...]
    breaks: tuple[str, ...]
    """Its line breaks as the file writes them."""


def parse_cue(raw: str, dialect: Dialect, first: int = 0) -> CueText:
    """Split the text of a cue into spans; its marks are numbered from `first`, so that each can be found again."""
    text, marks, breaks = _take_marks(raw, dialect, first)
    voices = [mark for mark in marks if VOICE.match(mark.text)]
    borders = _find_spans(text, [mark.position for mark in voices])
    inline: list[list[InlineMark]] = [[] for _ in borders]
    pinned: list[list[InlineMark]] = [[] for _ in range(len(borders) + 1)]
    ends = {(mark.pair, mark.kind): mark.position for mark in marks}
    for mark in marks:
        number, is_inline = _locate(mark, borders, ends)
        (inline if is_inline else pinned)[number].append(mark)
    starts, stops = [0, *(end for _, end in borders)], [*(start for start, _ in borders), len(text)]
    kept = tuple(
        (text[start:stop], tuple(replace(mark, position=mark.position - start) for mark in own))
        for start, stop, own in zip(starts, stops, pinned, strict=True)
    )
    around = [(before, after) for (before, _), (after, _) in pairwise(kept)]
    spans = [_make_span(text, voices, *one) for one in zip(borders, inline, around, strict=True)]
    return CueText(kept, tuple(spans), breaks)


def _take_marks(raw: str, dialect: Dialect, first: int) -> tuple[str, list[InlineMark], tuple[str, ...]]:
    """Return the text of a cue without marks, with single spaces, its marks, and its line breaks."""
    text, marks, breaks = "", list[InlineMark](), list[str]()
    opened: list[tuple[str, int]] = []
    done = 0
    for found in (*re.finditer(f"(?P<mark>{dialect.mark.pattern})|{dialect.line_break.pattern}", raw), None):
        text = _append(text, dialect.decode(raw[done : found.start() if found else len(raw)]))
        if found is None:
            break
        done = found.end()
        if found["mark"] is None:
            breaks.append(found[0])
            text += "\n"
            continue
        mark = InlineMark(len(text), found[0], "single", first + len(marks))
        if name := dialect.opens(mark.text):
            opened.append((name, len(marks)))
            mark = replace(mark, kind="open")
        elif name := dialect.closes(mark.text):
            mark = replace(mark, kind="close", pair=_close(name, opened, marks, mark.pair))
        marks.append(mark)
    return text, marks, tuple(breaks)


def _append(text: str, more: str) -> str:
    """Add text, with single spaces."""
    more = SPACE.sub(" ", more)
    return text + (more[1:] if more[:1] == " " and text[-1:].isspace() else more)


def _close(name: str, opened: list[tuple[str, int]], marks: list[InlineMark], own: int) -> int:
    """Return the number of the pair that a closing tag ends; its own if it was opened in another cue.

    Tags within the pair that are not closed become single marks.
    """
    at = next((place for place in reversed(range(len(opened))) if opened[place][0] == name), None)
    if at is None:
        return own
    for _, number in opened[at + 1 :]:
        marks[number] = replace(marks[number], kind="single")
    pair = marks[opened[at][1]].pair
    del opened[at:]
    return pair


def _find_spans(text: str, voices: Sequence[int]) -> list[tuple[int, int]]:
    """Return where spans of speech begin and end; a new voice begins a span."""
    kept = [match.span() for match in KEPT.finditer(text)]
    borders = sorted([*kept, *((voice, voice) for voice in voices), (len(text), len(text))])
    spans, done = [], 0
    for start, end in borders:
        inner = text[done:start]
        if LETTER.search(inner):
            lead = len(inner) - len(inner.lstrip())
            spans.append((done + lead, done + len(inner.rstrip())))
        done = max(done, end)
    return spans


def _locate(
    mark: InlineMark, borders: Sequence[tuple[int, int]], ends: Mapping[tuple[int, MarkKind], int]
) -> tuple[int, bool]:
    """Return the number of the span a mark stands in and True, or that of the kept text and False.

    Marks at either end of a span are kept there, unless they belong to a pair that holds only a part of it.
    """
    position = mark.position
    for number, (start, end) in enumerate(borders):
        if position < start:
            return number, False
        if start < position < end:
            return number, True
        if position == start and mark.kind == "open" and start < ends.get((mark.pair, "close"), end) < end:
            return number, True
        if position == end and mark.kind == "close" and start < ends.get((mark.pair, "open"), start) < end:
            return number, True
        if position == start:
            return number, False
    return len(borders), False


def _make_span(
    text: str,
    voices: Sequence[InlineMark],
    border: tuple[int, int],
    marks: Sequence[InlineMark],
    around: tuple[str, str],
) -> Span:
    """Return the span of speech between two positions of the text of a cue."""
    start, end = border
    own, (before, after) = text[start:end], around
    capitals = before[-1:] in ("[", "(") and after[:1] in ("]", ")") and own.isupper() and len(own.lower()) == len(own)
    return Span(
        own.replace("\n", " ").lower() if capitals else own.replace("\n", " "),
        tuple(replace(mark, position=mark.position - start) for mark in marks),
        capitals,
        not before.strip(" \n.…"),
        not after.strip(),
        own.count("\n"),
        next((mark.text for mark in reversed(voices) if mark.position <= start), ""),
    )
