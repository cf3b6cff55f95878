"""The text of a cue put together again: what was kept, the translation, marks in place, lines broken within limits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from docaps import progress
from docaps.corpus.documents import InlineMark
from docaps.corpus.formats.format import WritingOptions
from docaps.corpus.formats.line_breaks import break_line, cut_text
from docaps.corpus.formats.subtitles.cue import Cue, Dialect
from docaps.corpus.formats.subtitles.joined_cues import Piece
from docaps.corpus.formats.subtitles.speech import CueText


class CueLimits:
    """The limits of a cue, and the cues that do not keep them."""

    def __init__(self, options: WritingOptions) -> None:
        self.options = options.choices
        self._long, self._fast, self._cues = list[int](), list[tuple[float, int]](), 0

    def check(self, cue: Cue, lines: Sequence[str]) -> None:
        """Note a cue whose lines are too long or too many, or too much to read in its time."""
        self._cues += 1
        longest = max(map(len, lines))
        if longest > self.options.line_length or len(lines) > self.options.lines:
            self._long.append(cue.line)
        seconds, letters = cue.hidden - cue.shown, sum(map(len, lines))
        if seconds > 0 and letters / seconds > self.options.reading_speed:
            self._fast.append((letters / seconds, cue.line))

    def report(self) -> None:
        """Say how many cues do not keep the limits."""
        most, length = self.options.lines, self.options.line_length
        if self._long:
            limit = f"{most} line{'' if most == 1 else 's'} of {length} characters"
            progress.say(
                f"{len(self._long)} of {self._cues} cues do not fit into {limit}, the first at line {self._long[0]}"
            )
        if self._fast:
            speed, line = max(self._fast)
            what = f"{len(self._fast)} of {self._cues} cues show more than {self.options.reading_speed:g} characters"
            progress.say(f"{what} per second; the fastest, {speed:.0f}, is at line {line}")


@dataclass(frozen=True, slots=True)
class CueWriter:
    """Writes the cues of a file."""

    dialect: Dialect
    limits: CueLimits
    line_end: str

    def write(self, text: CueText, translated: Sequence[Piece], cue: Cue) -> str:
        """Return the text of a cue as the file writes it, from the translation of each of its spans."""
        whole, marks = self._assemble(text, translated)
        breaks = self._find_breaks(whole, text)
        borders = [-1, *breaks, len(whole)]
        lines = [whole[start + 1 : end].strip() for start, end in pairwise(borders)]
        self.limits.check(cue, lines)
        return "".join(self._fill(whole, marks, breaks, text.breaks or (self.line_end,)))

    def _assemble(self, text: CueText, translated: Sequence[Piece]) -> Piece:
        r"""Return the whole text of a cue, with `\n` for the line breaks in what is kept, and all marks."""
        pieces = [text.kept[0]]
        for span, (words, marks), kept in zip(text.spans, translated, text.kept[1:], strict=True):
            capitals = span.capitals and len(words.upper()) == len(words)
            pieces += (words.upper() if capitals else words, marks), kept
        return join_pieces(pieces)

    def _find_breaks(self, whole: str, text: CueText) -> list[int]:
        """Return where lines end: where the kept text says so, and within long lines."""
        options, lines = self.limits.options, whole.split("\n")
        hard = [kept.count("\n") for kept, _ in text.kept]
        soft = [0] * len(lines)
        line = hard[0]
        for span, count in zip(text.spans, hard[1:], strict=True):
            soft[line] += span.breaks
            line += count
        breaks, start = list[int](), 0
        for own, count in zip(lines, soft, strict=True):
            if self.dialect.fixed_breaks:
                found = [end for _, end in cut_text(own, [1.0] * (count + 1))[:-1]]
            else:
                found = break_line(own, options.line_length, max(1, options.lines // len(lines)))
            breaks += (start + end for end in found)
            start += len(own) + 1
            breaks.append(start - 1)
        return breaks[:-1]

    def _fill(
        self, whole: str, marks: Sequence[InlineMark], breaks: Sequence[int], line_ends: Sequence[str]
    ) -> Iterator[str]:
        """Yield the text with its marks and line breaks; a line break takes the place of white space."""
        inserted = [(mark.position, 0, number, mark.text) for number, mark in enumerate(marks)]
        for number, end in enumerate(breaks):
            inserted.append((end, 1, number, line_ends[min(number, len(line_ends) - 1)]))
        done = 0
        for position, is_break, _, shown in sorted(inserted):
            if position > done:
                yield self.dialect.encode(whole[done:position])
                done = position
            yield shown
            if is_break:
                done += whole[done : done + 1].isspace()
        yield self.dialect.encode(whole[done:])


def join_pieces(pieces: Sequence[Piece], between: str = "") -> Piece:
    """Join texts with their marks; `between` goes between two that are not empty."""
    text, marks = "", list[InlineMark]()
    for more, own in pieces:
        text += between if text and more else ""
        marks += (replace(mark, position=mark.position + len(text)) for mark in own)
        text += more
    return text, tuple(marks)
