"""Splitting a sentence that is too long for one piece: at the marks that cut least, near the middle."""

import re
import unicodedata
from collections.abc import Callable

MARKS = tuple(
    re.compile(pattern)
    for pattern in (
        r"[.!?…][\"'”’“»)\]]*\s+|[。！？][”」』]*",  # the end of a sentence
        r"[;:][\"'”’“»)\]]*\s+|\s[–—-]\s+|[；：]",  # of a clause
        r",[\"'”’“»)\]]*\s+|[，、]",
        r"\s+",  # of a word
    )
)


def split_sentence(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Cut a text into pieces that fit, each with the space after it; nothing is left out."""
    if fits(text) or len(text) < 2:
        return [text]
    place = find_cut(text)
    return [*split_sentence(text[:place], fits), *split_sentence(text[place:], fits)]


def find_cut(text: str) -> int:
    """Choose where to cut: in the middle half at the strongest mark, of equal ones at the one nearest to the middle."""
    middle = len(text) // 2
    for mark in MARKS:
        ends = [found.end() for found in mark.finditer(text, middle // 2, len(text) - middle // 2)]
        inner = [end for end in ends if 0 < end < len(text)]
        if inner:
            return min(inner, key=lambda end: abs(end - middle))
    while middle < len(text) - 1 and unicodedata.combining(text[middle]):  # an accent stays with its letter
        middle += 1
    return middle
