"""WebVTT files: blocks between blank lines, or up to a line of times; those with a line of times are cues.

The heading, NOTE, STYLE and REGION blocks, identifiers and cue settings are not touched.
"""

import re
from collections.abc import Iterator

from docaps.corpus.formats.encoded_text import EncodedText
from docaps.corpus.formats.format import ReadingOptions, shorten
from docaps.corpus.formats.subtitles.cue import Cue, check_count, parse_time

CLOCK = r"(?:\d+:)?\d{2}:\d{2}\.\d{3}"
TIMING = re.compile(rf"[ \t]*({CLOCK})[ \t]+-->[ \t]+({CLOCK})(?:[ \t][^\r\n]*)?")
LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|$)")
HEADING = re.compile(r"WEBVTT(?:[ \t\r\n]|$)")

Line = re.Match[str]


def looks_like_vtt(start: str) -> bool:
    """Return whether a file begins as WebVTT."""
    return bool(HEADING.match(start))


def read_vtt_cues(file: EncodedText, options: ReadingOptions) -> list[Cue]:
    """Return the cues of a WebVTT file."""
    if not looks_like_vtt(file.text):
        found = shorten(file.text.partition("\n")[0].strip())
        raise options.fault(f"expected WEBVTT on the first line, found '{found}'", 1)
    cues = []
    for number, block in enumerate(_blocks(file.text)):
        at = next((position for position, line in enumerate(block[:2]) if "-->" in line[1]), None)
        if at is None or (number == 0 and at == 0):
            continue
        cues.append(_read_cue(file, block, at, options))
        check_count(len(cues), cues[-1].line, options)
    if not cues:
        raise options.fault("no cue: expected lines of times such as 00:01.000 --> 00:02.500")
    return cues


def _read_cue(file: EncodedText, block: list[Line], at: int, options: ReadingOptions) -> Cue:
    """Return the cue of a block whose times are on the line `at` of it."""
    timing = TIMING.fullmatch(block[at][1])
    line = file.line_of(block[at].start())
    if timing is None:
        found = f"times that cannot be read: '{shorten(block[at][1].strip())}'"
        raise options.fault(f"{found}, expected 00:01.000 --> 00:02.500", line)
    start, end = block[at].end(), block[-1].end(1)
    start = start if len(block) > at + 1 else block[at].end(1)
    return Cue(start, max(start, end), line, parse_time(timing[1]), parse_time(timing[2]))


def _blocks(text: str) -> Iterator[list[Line]]:
    """Yield the lines of each block: what stands between blank lines; a line of times after a cue begins another."""
    block: list[Line] = []
    for line in LINE.finditer(text):
        begins = "-->" in line[1] and any("-->" in before[1] for before in block[:2])
        if block and (begins or not line[1]):
            yield block
            block = []
        if line[1]:
            block.append(line)
    if block:
        yield block
