"""Windows: a sentence and the sentences that a model looks at, never across the border of a document."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from docaps.corpus.arrays import TokenArray
from docaps.corpus.store import Split
from docaps.corpus.text.vocabulary import EOS

Tokens = Sequence[int] | NDArray[np.int32]
WHOLE = 1_000_000
"""More sentences than a document has."""


@dataclass(frozen=True, slots=True)
class View:
    """What of its document a model looks at besides the sentence itself."""

    history: int = 0
    """So many sentences before it; 0 for a sentence-level model."""
    future: int = 0
    """So many sentences after it."""
    translations: bool = False
    """Whether also at the translations of these sentences."""
    shuffled: bool = False
    """Whether, as a control, at sentences of another document in place of its own."""

    @property
    def is_whole(self) -> bool:
        """Whether the view ends only where the document does."""
        return WHOLE in (self.history, self.future)

    def __str__(self) -> str:
        if not self.history and not self.future:
            return "no earlier sentence in view"
        before = "all" if self.history == WHOLE else str(self.history)
        return f"{before} earlier {'and later ' if self.future else ''}sentences in view"


@dataclass(frozen=True, slots=True)
class Window:
    """Token ids of one sentence, of its history and, if known, of its translation.

    The history is what the model looks at: earlier sentences, the nearest first, then later ones, the nearest first.
    """

    source: Tokens
    history: tuple[Tokens, ...] = ()
    target: Tokens | None = None
    target_history: tuple[Tokens, ...] = ()
    """The translations of the history's sentences, for models that look at them; empty where there is none."""


def as_view(view: View | int) -> View:
    """Take a number for a view of so many earlier sentences."""
    return View(view) if isinstance(view, int) else view


def window_of(split: Split, sentence: int, view: View | int) -> Window:
    """Cut the window of one sentence out of a prepared corpus."""
    view = as_view(view)
    seen = _around(split, _elsewhere(split, sentence) if view.shuffled else sentence, view)
    return Window(
        split.source[sentence],
        _words(split.source, seen),
        split.target[sentence],
        _words(split.target, seen) if view.translations else (),
    )


def windows_of_document(
    sentences: Sequence[Tokens],
    view: View | int,
    given: Sequence[Tokens] = (),
    *,
    translations: Sequence[Tokens] = (),
) -> Iterator[Window]:
    """Go through the windows of a document.

    Sentences `given` before it are seen, but have no window. `translations` are those of both, in order, as far as
    they are known.
    """
    view = as_view(view)
    known = [without_end_mark(sentence) for sentence in (*given, *sentences)]
    for number, sentence in enumerate(sentences, start=len(given)):
        yield replace(window_at(number, known, translations, view), source=sentence)


def window_at(number: int, known: Sequence[Tokens], translations: Sequence[Tokens], view: View) -> Window:
    """Make the window of one sentence of a document, of whose translations perhaps only the first are known."""
    seen = neighbours(number, len(known), view)
    written = (translations[place] if place < len(translations) else () for place in seen)
    return Window(
        known[number],
        tuple(without_end_mark(known[place]) for place in seen),
        None,
        tuple(map(without_end_mark, written)) if view.translations else (),
    )


def neighbours(number: int, count: int, view: View) -> list[int]:
    """List the sentences in view of one of `count`: those before it, the nearest first, then those after it."""
    before = range(number - 1, max(0, number - view.history) - 1, -1)
    after = range(number + 1, min(count, number + 1 + view.future))
    return [*before, *after]


def _around(split: Split, sentence: int | None, view: View) -> list[int]:
    """List the sentences in view of one in a corpus; none if there is no such sentence."""
    if sentence is None:
        return []
    start = int(split.document_starts[sentence])
    end = int(split.documents[np.searchsorted(split.documents, sentence, side="right")])
    return [start + place for place in neighbours(sentence - start, end - start, view)]


def _words(side: TokenArray, numbers: Sequence[int]) -> tuple[Tokens, ...]:
    return tuple(without_end_mark(side[number]) for number in numbers)


def _elsewhere(split: Split, sentence: int) -> int | None:
    """Draw a sentence of another document, always the same for the same sentence, at the same place if it is as long.

    None if there is no other document, or only an empty one was drawn.
    """
    count = len(split.documents) - 1
    own = int(np.searchsorted(split.documents, sentence, side="right")) - 1
    if count < 2:
        return None
    other = Random(sentence).randrange(count - 1)
    other += other >= own
    start, end = (int(border) for border in split.documents[other : other + 2])
    return min(start + sentence - int(split.documents[own]), end - 1) if end > start else None


def without_end_mark(sentence: Tokens) -> Tokens:
    """Leave out the end mark: history consists of words."""
    return sentence[:-1] if len(sentence) and sentence[-1] == EOS else sentence


def exchange_histories(documents: Sequence[Sequence[Window]]) -> list[list[Window]]:
    """Give each document's sentences the histories of the document after it: the control of a shuffled history.

    A sentence gets the history of the sentence at its place, or of the last one. A document without words is passed
    over, and one alone has no other: its sentences get no history.
    """
    worded = [number for number, windows in enumerate(documents) if windows]
    partner = dict(zip(worded, (*worded[1:], *worded[:1]), strict=True))
    return [
        [
            _with_history_of(window, documents[partner[number]], place, own=partner[number] == number)
            for place, window in enumerate(windows)
        ]
        for number, windows in enumerate(documents)
    ]


def _with_history_of(window: Window, other: Sequence[Window], place: int, *, own: bool) -> Window:
    """Replace a window's history by that of another document's at a place."""
    if own:
        return Window(window.source, (), window.target)
    given = other[min(place, len(other) - 1)]
    return Window(window.source, given.history, window.target, given.target_history)
