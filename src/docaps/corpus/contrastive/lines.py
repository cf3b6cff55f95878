"""Lines that belong together: files of one sentence a line, as many in each, none of them blank where words are due."""

import re
from collections.abc import Sequence
from pathlib import Path

from docaps.corpus.formats.opening import LONGEST_SENTENCE, read_lines
from docaps.errors import CorpusError

_WORD = re.compile(r"\w+")


def read_sentences(path: Path, *, blank: bool = False) -> list[str]:
    """Read one sentence a line; a blank one only where that is allowed."""
    sentences = list(read_lines(path))
    if not any(sentences) and not (blank and sentences):
        raise CorpusError("the file is empty: expected one sentence a line", path=path)
    for number, sentence in enumerate(sentences, start=1):
        if not sentence and not blank:
            raise CorpusError("a blank line, expected a sentence", path=path, line=number)
        check_length(sentence, path, number)
    return sentences


def check_length(text: str, path: Path, line: int) -> None:
    """Refuse a text that is too long to be a sentence."""
    if len(text) > LONGEST_SENTENCE:
        message = f"a sentence of {len(text):,} characters, expected at most {LONGEST_SENTENCE:,}: remove it"
        raise CorpusError(message, path=path, line=line)


def check_counts(paths: Sequence[Path], counts: Sequence[int]) -> None:
    """Refuse files of different lengths, at the first line that has no partner."""
    short, long = (counts.index(limit(counts)) for limit in (min, max))
    if short != long:
        message = (
            f"no line {counts[short] + 1:,} in {paths[short]}, which has {counts[short]:,} lines and this file "
            f"{counts[long]:,}: expected as many in both; get both files anew"
        )
        raise CorpusError(message, path=paths[long], line=counts[short] + 1)


def same_sentence(one: str, other: str) -> bool:
    """Say whether two texts are one sentence: half of the words are enough, for editions differ in spelling."""
    first, second = (set(_WORD.findall(text.lower())) for text in (one, other))
    return one.split() == other.split() or 2 * len(first & second) >= max(len(first), len(second), 1)
