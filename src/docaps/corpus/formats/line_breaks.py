"""Where to cut a text: into the parts that go to several cues, and into the lines of a cue."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

BORDER = re.compile(
    r"(?<=\S)\s+(?=\S)"
    r"|(?<=[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff。、！？])(?=[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])"
)
"""Between words, and between the characters of scripts without spaces, but not before punctuation."""
PAUSE = re.compile(r"[.!?…,;:。、！？，；：—–-][\"'”’“»)\]]*$")
PAUSE_BONUS = 0.25
"""How far, as a share of a part, a cut goes out of its way to follow punctuation."""
FEW = 40
"""Borders near the ideal one that are tried."""

Border = tuple[int, int]
"""The end of a word and the start of the next."""


def cut_text(text: str, shares: Sequence[float]) -> list[tuple[int, int]]:
    """Cut a text into parts that are about in proportion to shares, at words, best after punctuation.

    Each part gets a word, as long as there are enough; else the last parts are empty.
    """
    borders = [match.span() for match in BORDER.finditer(text)]
    total = sum(shares) or 1.0
    ideal, cuts = 0.0, list[Border]()
    first = 0
    for number, share in enumerate(shares[:-1], start=1):
        ideal += share / total * len(text)
        last = len(borders) - (len(shares) - 1 - number)
        if first >= len(borders):
            cuts.append((len(text), len(text)))
            continue
        chosen = _nearest(text, borders, (first, max(last, first + 1)), (ideal, PAUSE_BONUS * len(text) / len(shares)))
        cuts.append(borders[chosen])
        first = chosen + 1
    starts, ends = [0, *(cut[1] for cut in cuts)], [*(cut[0] for cut in cuts), len(text)]
    return list(zip(starts, ends, strict=True))


def _nearest(text: str, borders: Sequence[Border], among: tuple[int, int], aim: tuple[float, float]) -> int:
    """Return the number of the border, among some, nearest to a position; after punctuation it has a bonus."""
    ideal, bonus = aim
    first, last = among
    near = bisect_left(borders, (ideal, 0.0), first, last)
    tried = range(max(first, near - FEW), min(last, near + FEW))

    def distance(number: int) -> float:
        end = borders[number][0]
        pause = bonus if PAUSE.search(text, max(0, end - 4), end) else 0.0
        return abs(end - ideal) - pause

    return min(tried, key=distance)


def break_line(text: str, length: int, most: int) -> list[int]:
    """Return where a text is broken into lines of at most so many characters: the ends of all lines but the last.

    As few lines as needed, of about the same length. If it does not fit into `most` lines, they are longer.
    """
    if len(text) <= length or most < 2:
        return []
    for count in range(min(most, -(-len(text) // length)), most + 1):
        parts = cut_text(text, [1.0] * count)
        if count == most or all(end - start <= length for start, end in parts):
            break
    if any(end - start > length for start, end in parts):
        parts = _fill_lines(text, length, most) or parts
    return [end for start, end in parts[:-1] if end < len(text)]


def _fill_lines(text: str, length: int, most: int) -> list[Border]:
    """Break a text greedily into full lines; return nothing if it does not fit."""
    borders = [*(match.span() for match in BORDER.finditer(text)), (len(text), len(text))]
    ends = [end for end, _ in borders]
    start, parts = 0, list[Border]()
    while start < len(text) and len(parts) < most:
        number = bisect_right(ends, start + length) - 1
        if number < 0 or ends[number] <= start:
            return []
        parts.append((start, ends[number]))
        start = borders[number][1]
    return parts if start >= len(text) else []
