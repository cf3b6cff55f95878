"""Sentences that run over several cues: joined to be translated, and cut again at the cues.

Spans of speech are put together while nothing stands between them but the border of two cues; then the text is split
into sentences. A translation is cut in proportion to what each cue has of its sentence, at words and best after
punctuation. Marks stay in the cue they came from.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from docaps.corpus.documents import InlineMark
from docaps.corpus.formats.line_breaks import cut_text
from docaps.corpus.formats.subtitles.cue import Cue
from docaps.corpus.formats.subtitles.speech import CueText, Span
from docaps.corpus.formats.text import split_sentences

LONGEST_PAUSE = 3.0
"""Seconds between cues that a sentence may run over."""
MOST_SPANS, ENOUGH_SPANS = 16, 8
"""Spans put together at most; beyond the second number, only up to the end of a sentence."""
SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’“»«)\]]*$")


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a sentence that is in one cue: the numbers of cue and span, and how many characters it has."""

    cue: int
    span: int
    size: int


@dataclass(frozen=True, slots=True)
class SpokenSentence:
    """A sentence, its marks, the cues it is in, and which of them each mark is from."""

    text: str
    marks: tuple[InlineMark, ...]
    shares: tuple[Share, ...]
    owners: tuple[int, ...] = ()
    """For each mark the number of its share; nothing if there is one share only."""


_Placed = tuple[int, int, Span]
"""A span with the numbers of its cue and of itself there."""


def join_cues(cues: Sequence[Cue], texts: Sequence[CueText], language: str) -> Iterator[SpokenSentence]:
    """Yield the sentences of all cues in order."""
    run: list[_Placed] = []
    for number, text in enumerate(texts):
        for index, span in enumerate(text.spans):
            if run and not _continues(run, cues, number, span):
                yield from _split(run, language)
                run = []
            run.append((number, index, span))
    if run:
        yield from _split(run, language)


def _continues(run: Sequence[_Placed], cues: Sequence[Cue], number: int, span: Span) -> bool:
    """Return whether a sentence of a run of spans may go on in the first span of another cue."""
    last, _, before = run[-1]
    if last == number or not (before.joins_after and span.joins_before):
        return False
    one, other = cues[last], cues[number]
    near = one.shown <= other.shown <= one.hidden + LONGEST_PAUSE
    same = one.group == other.group and before.voice == span.voice
    alike = before.text.isupper() == span.text.isupper() or min(len(before.text), len(span.text)) < 3
    ends = SENTENCE_END.search(before.text) is not None
    return near and same and alike and len(run) < (ENOUGH_SPANS if ends else MOST_SPANS)


def _split(run: Sequence[_Placed], language: str) -> Iterator[SpokenSentence]:
    """Split a run of spans into sentences."""
    text = " ".join(span.text for _, _, span in run)
    starts, at = list[int](), 0
    for _, _, span in run:
        starts.append(at)
        at += len(span.text) + 1
    marks = [
        (number, replace(mark, position=mark.position + start))
        for number, (start, (_, _, span)) in enumerate(zip(starts, run, strict=True))
        for mark in span.marks
    ]
    first = done = 0
    for part in split_sentences(text, language):
        start = text.index(part.strip(), done)
        done = start + len(part.strip())
        until = next((place for place in range(first, len(marks)) if not _belongs(marks[place][1], done)), len(marks))
        yield _make_sentence(text, (start, done), run, starts, marks[first:until])
        first = until


def _belongs(mark: InlineMark, end: int) -> bool:
    """Return whether a mark belongs to a sentence that ends at a position, rather than to the next."""
    return mark.position < end or (mark.position == end and mark.kind != "open")


def _make_sentence(
    text: str,
    border: tuple[int, int],
    run: Sequence[_Placed],
    starts: Sequence[int],
    marks: Sequence[tuple[int, InlineMark]],
) -> SpokenSentence:
    """Return the sentence between two positions of the text of a run."""
    start, end = border
    numbers, shares = list[int](), list[Share]()
    for number, (cue, index, span) in enumerate(run):
        size = min(end, starts[number] + len(span.text)) - max(start, starts[number])
        if size > 0:
            numbers.append(number)
            shares.append(Share(cue, index, size))
    own = tuple(replace(mark, position=min(max(mark.position - start, 0), end - start)) for _, mark in marks)
    nearest = [min(max(number, numbers[0]), numbers[-1]) - numbers[0] for number, _ in marks]
    return SpokenSentence(text[start:end], own, tuple(shares), tuple(nearest) if len(shares) > 1 else ())


Piece = tuple[str, tuple[InlineMark, ...]]
"""A text and the marks in it."""


def cut_translation(sentence: SpokenSentence, text: str, marks: Sequence[InlineMark]) -> list[Piece]:
    """Cut a translation, with its marks in place, into the pieces of its cues."""
    if len(sentence.shares) == 1:
        return [(text, tuple(marks))]
    owners = {(mark.pair, mark.kind): owner for mark, owner in zip(sentence.marks, sentence.owners, strict=True)}
    pieces = []
    for number, (start, end) in enumerate(cut_text(text, [share.size for share in sentence.shares])):
        own = (mark for mark in marks if owners[mark.pair, mark.kind] == number)
        moved = (replace(mark, position=min(max(mark.position, start), end) - start) for mark in own)
        pieces.append((text[start:end], tuple(moved)))
    return pieces
