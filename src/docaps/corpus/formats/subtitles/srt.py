"""SubRip files: a number, a line of times, then the text of the cue up to a blank line.

A blank line within a cue is text of that cue: a cue ends where the next number and times begin.
"""

import re

from docaps.corpus.formats.encoded_text import EncodedText
from docaps.corpus.formats.format import ReadingOptions, shorten
from docaps.corpus.formats.subtitles.cue import Cue, check_count, parse_time

CLOCK = r"\d{1,3}:\d{1,2}:\d{1,2}(?:[,.]\d{1,3})?"
TIMING = re.compile(rf"[ \t]*({CLOCK})[ \t]*-->[ \t]*({CLOCK})(?=[ \t\r\n]|$)[^\r\n]*")
NUMBER = re.compile(r"[ \t]*\d+[ \t]*")
LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|$)")


def looks_like_srt(start: str) -> bool:
    """Return whether a file begins with a cue: a number, then a line of times."""
    worded = [line for line in re.split(r"\r\n|\r|\n", start) if line.strip()][:2]
    return bool(worded and TIMING.fullmatch(worded[0])) or (
        len(worded) == 2 and bool(NUMBER.fullmatch(worded[0]) and TIMING.fullmatch(worded[1]))
    )


def read_srt_cues(file: EncodedText, options: ReadingOptions) -> list[Cue]:
    """Return the cues of a SubRip file."""
    text = file.text
    headings = _find_headings(file, options)
    cues = []
    for number, (_, match) in enumerate(headings):
        following = headings[number + 1][0] if number + 1 < len(headings) else len(text)
        start = min(LINE.match(text, match.start()).end(), following)  # type: ignore[union-attr]
        end = start + len(text[start:following].rstrip())
        line = file.line_of(match.start())
        cues.append(Cue(start, end, line, parse_time(match[1]), parse_time(match[2])))
    return cues


def _find_headings(file: EncodedText, options: ReadingOptions) -> list[tuple[int, re.Match[str]]]:
    """Return the line of times of each cue, and where the cue begins: at the number before it, if there is one."""
    headings: list[tuple[int, re.Match[str]]] = []
    before: re.Match[str] | None = None
    for line in LINE.finditer(file.text):
        content = line[1]
        if "-->" in content and (timing := TIMING.fullmatch(file.text, line.start(), line.end(1))):
            numbered = before is not None and NUMBER.fullmatch(before[1])
            check_count(len(headings) + 1, file.line_of(line.start()), options)
            headings.append((before.start() if before and numbered else line.start(), timing))
        elif content.strip() and not headings and not NUMBER.fullmatch(content):
            expected = "expected a number, then times such as 00:00:01,000 --> 00:00:02,500"
            raise options.fault(f"{expected}, found '{shorten(content.strip())}'", file.line_of(line.start()))
        elif "-->" in content and before is not None and NUMBER.fullmatch(before[1]):
            message = f"times that cannot be read: '{shorten(content.strip())}'"
            raise options.fault(f"{message}, expected 00:00:01,000 --> 00:00:02,500", file.line_of(line.start()))
        before = line
    if not headings:
        raise options.fault("no cue: expected a number, then times such as 00:00:01,000 --> 00:00:02,500")
    return headings
