"""Windows: a sentence with the context sentences that a model sees, never across a document boundary."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from docaps.corpus.arrays import TokenArray
from docaps.corpus.store import Split
from docaps.corpus.text.vocabulary import EOS

Tokens = Sequence[int] | NDArray[np.int32]
Indices = NDArray[np.int64]
Phrases = tuple[tuple[int, ...], ...]
"""Token sequences any of which will do."""
WHOLE = 1_000_000
"""More sentences than a document has."""


@dataclass(frozen=True, slots=True)
class View:
    """Which sentences of the document a model sees besides the current one."""

    history: int = 0
    """Number of sentences before it; 0 for a sentence-level model."""
    future: int = 0
    """Number of sentences after it."""
    translations: bool = False
    """Whether the model sees the translations of these sentences too."""
    shuffled: bool = False
    """Whether, as a control, the sentences come from another document."""

    @property
    def is_whole(self) -> bool:
        """Return whether the whole document is in view, on at least one side."""
        return WHOLE in (self.history, self.future)

    def __str__(self) -> str:
        if not self.history and not self.future:
            return "no earlier sentence in view"
        before = "all" if self.history == WHOLE else str(self.history)
        return f"{before} earlier {'and later ' if self.future else ''}sentences in view"


@dataclass(frozen=True, slots=True)
class Window:
    """Token ids of one sentence, of its history and, if known, of its translation.

    The history holds all sentences in view: the earlier ones, nearest first, then the later ones, nearest first.
    """

    source: Tokens
    history: tuple[Tokens, ...] = ()
    target: Tokens | None = None
    target_history: tuple[Tokens, ...] = ()
    """The translations of the history's sentences, for models that see them; empty where there is none."""
    weights: NDArray[np.float32] | None = None
    """How much each target token counts in the loss, in training; None: 1."""
    required: tuple[Phrases, ...] = ()
    """For search: what the translation must have, of each one of the phrases."""


def as_view(view: View | int) -> View:
    """Return the view; a number means that many earlier sentences."""
    return View(view) if isinstance(view, int) else view


def window_of(split: Split, sentence: int, view: View | int) -> Window:
    """Return the window of one sentence of a prepared corpus."""
    view = as_view(view)
    seen = _around(split, _elsewhere(split, sentence) if view.shuffled else sentence, view)
    return Window(
        split.source[sentence],
        _words(split.source, seen),
        split.target[sentence],
        _words(split.target, seen) if view.translations else (),
    )


def count_neighbours(split: Split, sentence: int, view: View) -> tuple[int, int]:
    """Return how many sentences before and after a sentence of a corpus are in view."""
    start = int(split.document_starts[sentence])
    end = int(split.documents[np.searchsorted(split.documents, sentence, side="right")])
    return min(view.history, sentence - start), min(view.future, end - 1 - sentence)


def windows_of_document(
    sentences: Sequence[Tokens], view: View | int, given: Sequence[Tokens] = (), *, translations: Sequence[Tokens] = ()
) -> Iterator[Window]:
    """Yield the windows of a document.

    Sentences `given` before it are in view, but have no window. `translations` are those of both, in order, as far
    as they are known.
    """
    view = as_view(view)
    known = [without_end_mark(sentence) for sentence in (*given, *sentences)]
    for number, sentence in enumerate(sentences, start=len(given)):
        yield replace(window_at(number, known, translations, view), source=sentence)


def window_at(number: int, known: Sequence[Tokens], translations: Sequence[Tokens], view: View) -> Window:
    """Return the window of one sentence of a document; translations may be known for the first sentences only."""
    seen = neighbours(number, len(known), view)
    written = (translations[index] if index < len(translations) else () for index in seen)
    return Window(
        known[number],
        tuple(without_end_mark(known[index]) for index in seen),
        None,
        tuple(map(without_end_mark, written)) if view.translations else (),
    )


def neighbours(number: int, count: int, view: View) -> list[int]:
    """List the sentences in view of one of `count`: those before it, nearest first, then those after it."""
    before = range(number - 1, max(0, number - view.history) - 1, -1)
    after = range(number + 1, min(count, number + 1 + view.future))
    return [*before, *after]


def _around(split: Split, sentence: int | None, view: View) -> list[int]:
    """List the sentences in view of a sentence of a corpus; without a sentence, none."""
    if sentence is None:
        return []
    start = int(split.document_starts[sentence])
    end = int(split.documents[np.searchsorted(split.documents, sentence, side="right")])
    return [start + index for index in neighbours(sentence - start, end - start, view)]


def _words(side: TokenArray, numbers: Sequence[int]) -> tuple[Tokens, ...]:
    return tuple(without_end_mark(side[number]) for number in numbers)


def _elsewhere(split: Split, sentence: int) -> int | None:
    """Draw a sentence of another document, at the same position if that is long enough; seeded by the sentence.

    Return None if there is no other document, or the one drawn is empty.
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
    """Remove the end mark: history consists of words."""
    return sentence[:-1] if len(sentence) and sentence[-1] == EOS else sentence


def exchange_histories(documents: Sequence[Sequence[Window]]) -> list[list[Window]]:
    """Give each document's sentences the histories of the next document, as the shuffled-history control.

    A sentence gets the history of the sentence at the same position, or of the last one. Empty documents are skipped;
    the sentences of a single document get no history.
    """
    others = partners([len(windows) for windows in documents])
    found = []
    for number, windows in enumerate(documents):
        given = documents[others[number]] if windows else ()
        rows = ((window, given[min(position, len(given) - 1)]) for position, window in enumerate(windows))
        found.append([with_history_of(*row, own=others[number] == number) for row in rows])
    return found


def partners(lengths: Sequence[int]) -> dict[int, int]:
    """Return for each document that has sentences the next one that has, the first after the last."""
    worded = [number for number, length in enumerate(lengths) if length]
    return dict(zip(worded, (*worded[1:], *worded[:1]), strict=True))


def with_history_of(window: Window, other: Window, *, own: bool) -> Window:
    """Replace a window's history by that of another document's window; if that is of its own document, by nothing."""
    if own:
        return Window(window.source, (), window.target)
    return Window(window.source, other.history, window.target, other.target_history)
