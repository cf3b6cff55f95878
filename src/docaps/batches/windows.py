"""Windows: a sentence and the K sentences before it, never across the border of a document."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from docaps.corpus.store import Split
from docaps.corpus.vocabulary import EOS

Tokens = Sequence[int] | NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Window:
    """Token ids of one sentence, of its history (nearest sentence first) and, if known, of its translation."""

    source: Tokens
    history: tuple[Tokens, ...] = ()
    target: Tokens | None = None


def window_of(split: Split, sentence: int, history: int) -> Window:
    """Cut the window of one sentence out of a prepared corpus."""
    first = max(int(split.document_starts[sentence]), sentence - history)
    earlier = tuple(without_end_mark(split.source[number]) for number in range(sentence - 1, first - 1, -1))
    return Window(split.source[sentence], earlier, split.target[sentence])


def windows_of_document(sentences: Sequence[Tokens], history: int, given: Sequence[Tokens] = ()) -> Iterator[Window]:
    """Go through the windows of a document; `given` sentences come before it as history only."""
    known = [without_end_mark(sentence) for sentence in (*given, *sentences)]
    for number, sentence in enumerate(sentences, start=len(given)):
        yield Window(sentence, tuple(known[max(0, number - history) : number][::-1]))


def without_end_mark(sentence: Tokens) -> Tokens:
    """Leave out the end mark: history consists of words."""
    return sentence[:-1] if len(sentence) and sentence[-1] == EOS else sentence
