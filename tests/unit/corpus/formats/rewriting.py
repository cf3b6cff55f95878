"""Read a file as a document, translate it by a rule, and write it: what tests of formats of whole files share."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from hypothesis import strategies as st

from docaps.corpus.documents import Document
from docaps.corpus.formats.format import FileChoices, OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.registry import FILE_FORMATS

Rule = Callable[[str], str]
RULES: dict[str, Rule] = {
    "capitals": str.upper,
    "reversed": lambda text: " ".join(reversed(text.split())),
    "long": lambda text: f"{text} {text.lower()}",
    "short": lambda text: text.split()[0] if text else "",
    "nothing": lambda _: "",
    "same": str,
}
"""Translations that keep, move, add and lose words."""


def read(name: str, content: str | bytes, **choices: object) -> Document:
    """Return the document of a file; check that it is written back unchanged without a translation."""
    data = content.encode() if isinstance(content, str) else content
    options = ReadingOptions(Path(f"file.{name}"), choices=FileChoices(**choices))  # type: ignore[arg-type]
    document = FILE_FORMATS[name].read(data, options)
    assert FILE_FORMATS[name].write(OutputDocument(document), WritingOptions()) == data
    return document


def translate(name: str, content: str | bytes, rule: Rule | Sequence[str] = str.upper, **choices: object) -> str:
    """Return a file translated by a rule, or with given translations, decoded as UTF-8."""
    return translate_bytes(name, content, rule, **choices).decode()


def translate_bytes(
    name: str, content: str | bytes, rule: Rule | Sequence[str] = str.upper, **choices: object
) -> bytes:
    """Return the bytes of a file translated by a rule, or with given translations."""
    document = read(name, content, **choices)
    texts = [rule(text) for text in document.sentences] if callable(rule) else rule
    item = OutputDocument(document, tuple(texts))
    options = replace(WritingOptions(), choices=FileChoices(**choices))  # type: ignore[arg-type]
    return FILE_FORMATS[name].write(item, options)


def grows_evenly(action: Callable[[int], object], size: int) -> bool:
    """Return whether twice as much takes no more than about twice as many calls of functions."""
    action(size)  # which fills caches
    return _count_calls(action, 2 * size) < 2.5 * _count_calls(action, size)


def _count_calls(action: Callable[[int], object], size: int) -> int:
    counted = count()
    before = sys.getprofile()
    sys.setprofile(lambda _frame, event, _argument: next(counted) if "call" in event else None)
    try:
        action(size)
    finally:
        sys.setprofile(before)
    return next(counted)


rules = st.sampled_from(sorted(RULES)).map(RULES.__getitem__)
words = st.sampled_from(
    [
        "the",
        "ship",
        "was",
        "late",
        "Anna",
        "saw",
        "Dr.",
        "Weber",
        "and",
        "he",
        "left",
        "again",
        "12",
        "Über",
        "straße",
        "東京",
        "naïve",
    ]
)
"""Words as they occur; few, so that sentences repeat them."""


def sentences(least: int = 1) -> st.SearchStrategy[str]:
    """Sentences of some words, mostly with a mark at their end."""
    ends = st.sampled_from([".", "?", "!", "...", "", ","])
    return st.builds(lambda found, end: " ".join(found) + end, st.lists(words, min_size=least, max_size=9), ends)
