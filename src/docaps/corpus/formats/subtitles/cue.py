"""Cues of subtitles, and how each format writes the text of a cue."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape

from docaps.corpus.formats.encoded_text import EncodedText
from docaps.corpus.formats.format import ReadingOptions

MOST_CUES = 200_000
TIME_UNITS = (3600.0, 60.0, 1.0)


@dataclass(frozen=True, slots=True)
class Cue:
    """A cue: the span of its text in the file, its line there, and when it is shown, in seconds.

    A sentence never runs from a cue into one of another `group`, such as the style and speaker of ASS.
    """

    start: int
    end: int
    line: int
    shown: float
    hidden: float
    group: str = ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a format writes the text of a cue: its inline marks, line breaks and escaped characters.

    `opens` and `closes` return the name of the tag that a mark opens or closes, if it does. With `fixed_breaks`, a cue
    keeps its number of line breaks.
    """

    mark: re.Pattern[str]
    line_break: re.Pattern[str]
    opens: Callable[[str], str | None]
    closes: Callable[[str], str | None]
    decode: Callable[[str], str] = str
    encode: Callable[[str], str] = str
    fixed_breaks: bool = False


CueReader = Callable[[EncodedText, ReadingOptions], list[Cue]]

TAG_NAME = re.compile(r"<(?!br\b)([A-Za-z]+)(?!.*/>$)", re.IGNORECASE | re.DOTALL)
END_TAG_NAME = re.compile(r"</([A-Za-z]+)")
LINE_END = re.compile(r"\r\n|\r|\n")


def _opened(mark: str) -> str | None:
    found = TAG_NAME.match(mark)
    return found[1].lower() if found else None


def _closed(mark: str) -> str | None:
    found = END_TAG_NAME.match(mark)
    return found[1].lower() if found else None


def _none(_: str) -> None:
    return None


def _encode_vtt(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("-->", "--&gt;")


def _decode_ass(text: str) -> str:
    return text.replace("\\h", " ")


TAG = r"</?[A-Za-z][^<>\r\n]*>"
CODE = r"\{\\[^{}\r\n]*\}"
"""A code of ASS, such as `{\\an8}`, which players know in other formats too."""
SRT = Dialect(re.compile(f"{TAG}|{CODE}"), LINE_END, _opened, _closed)
VTT = Dialect(
    re.compile(rf"</?[A-Za-z][^<>]*>|<\d[\d:.]*>|</>|{CODE}"), LINE_END, _opened, _closed, unescape, _encode_vtt
)
ASS = Dialect(re.compile(r"\{[^{}]*\}"), re.compile(r"\\[Nn]"), _none, _none, _decode_ass, fixed_breaks=True)


def parse_time(clock: str) -> float:
    """Return a time such as `01:02:03,450` or `02:03.450` in seconds."""
    numbers = [float(part) for part in clock.replace(",", ".").split(":")]
    return sum(unit * number for unit, number in zip(TIME_UNITS[-len(numbers) :], numbers, strict=True))


def check_count(count: int, line: int, options: ReadingOptions) -> None:
    """Refuse more cues than any film has."""
    if count > MOST_CUES:
        raise options.fault(f"more than {MOST_CUES:,} cues: split the file", line)
