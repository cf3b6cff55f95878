"""ASS and SSA files: the text of each `Dialogue:` line of the section [Events].

Comments, drawings and karaoke (syllables with times of their own) are not touched.
"""

import re

from docaps.corpus.formats.encoded_text import EncodedText
from docaps.corpus.formats.format import ReadingOptions, shorten
from docaps.corpus.formats.subtitles.cue import Cue, check_count, parse_time

SECTION = re.compile(r"\s*\[([^\]]*)\]\s*")
CLOCK = re.compile(r"\d+:\d{1,2}:\d{1,2}(?:[.:]\d{1,3})?")
UNTOUCHED = re.compile(r"\{[^{}]*\\(?:p[1-9]|[kK][fo]?\d)")
"""Drawings and karaoke."""
LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|$)")
HEADING = re.compile(r"(?:\s|;[^\r\n]*|!:[^\r\n]*)*\[Script Info\]", re.IGNORECASE)
NEEDED = ("start", "end", "text")


def looks_like_ass(start: str) -> bool:
    """Return whether a file begins as ASS or SSA."""
    return bool(HEADING.match(start))


def read_ass_cues(file: EncodedText, options: ReadingOptions) -> list[Cue]:
    """Return the cues of an ASS or SSA file that hold text."""
    section, columns = "", list[str]()
    cues = []
    for line in LINE.finditer(file.text):
        if found := SECTION.fullmatch(line[1]):
            section = found[1].strip().lower()
            continue
        key, colon, rest = line[1].partition(":")
        if section != "events" or not colon:
            continue
        if key.strip().lower() == "format":
            columns = _read_columns(rest, file.line_of(line.start()), options)
        elif key.strip().lower() == "dialogue":
            cue = _read_event(line, columns, file, options)
            if not UNTOUCHED.search(file.text, cue.start, cue.end):
                cues.append(cue)
                check_count(len(cues), cue.line, options)
    if not columns:
        raise options.fault("no section [Events] with a line Format: expected an ASS or SSA file")
    return cues


def _read_columns(names: str, line: int, options: ReadingOptions) -> list[str]:
    """Return the names of the columns, of which the text must be the last."""
    columns = [name.strip().lower() for name in names.split(",")]
    if not set(NEEDED) <= set(columns) or columns[-1] != "text":
        raise options.fault(f"expected a Format with Start, End and, at its end, Text, found '{names.strip()}'", line)
    return columns


def _read_event(line: re.Match[str], columns: list[str], file: EncodedText, options: ReadingOptions) -> Cue:
    """Return the cue of a line `Dialogue:`."""
    number = file.line_of(line.start())
    if not columns:
        raise options.fault("a line Dialogue before the line Format: put the Format first", number)
    cells = line[1].partition(":")[2].split(",", len(columns) - 1)
    if len(cells) < len(columns):
        message = f"{len(cells)} columns, expected {len(columns)}: '{shorten(line[1])}'"
        raise options.fault(message, number)
    named = dict(zip(columns, cells, strict=True))
    times = [named[name].strip() for name in ("start", "end")]
    if bad := next((time for time in times if not CLOCK.fullmatch(time)), None):
        raise options.fault(f"a time that cannot be read: '{shorten(bad)}', expected such as 0:00:01.00", number)
    group = "\n".join(named.get(name, "") for name in ("style", "name", "actor"))
    shown, hidden = map(parse_time, times)
    return Cue(line.end(1) - len(cells[-1]), line.end(1), number, shown, hidden, group)
