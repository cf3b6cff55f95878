"""The order of translating: all sentences at once, or one after the other where a model looks at its own translations.

Documents are independent, so those of a window go side by side: first the first sentence of each, then the second. A
model that looks at later translations, too, finds drafts there, made without context.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from docaps.batches.windows import Tokens, View, Window, exchange_histories, window_at, windows_of_document
from docaps.translation.passages import Passage
from docaps.translation.search import Hypothesis


class Earlier(NamedTuple):
    """A sentence before those that are translated, and its translation if the model looks at that."""

    source: Tokens
    target: Tokens = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A document, or a part of a long one, as the model sees it: its sentences, and those before it."""

    passages: list[Passage]
    given: list[Earlier]

    @property
    def sentences(self) -> list[Tokens]:
        """The sentences to translate, as tokens."""
        return [passage.tokens for passage in self.passages]


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence, what was seen with it, and the hypotheses for each of its parts."""

    passage: Passage
    window: Window
    parts: list[list[Hypothesis]]

    @property
    def translation(self) -> Tokens:
        """The tokens of the best translation."""
        return [token for hypotheses in self.parts for token in hypotheses[0].tokens]


Search = Callable[[Sequence[Passage], Sequence[Window]], list[Found]]


def translate_in_order(sources: Sequence[Source], view: View, search: Search) -> list[Found]:
    """Translate all sentences of some documents so that each finds in its window what the model looks at."""
    if not view.translations:
        return _at_once(sources, view, search)
    if not view.future:
        return _in_turn(sources, view, search)
    drafts = iter(_at_once(sources, View(), search))
    return _at_once(sources, view, search, [[next(drafts).translation for _ in one.passages] for one in sources])


def _at_once(
    sources: Sequence[Source], view: View, search: Search, drafts: Sequence[Sequence[Tokens]] | None = None
) -> list[Found]:
    """Translate all sentences at once: none waits for the translation of another."""
    documents = []
    for number, source in enumerate(sources):
        before, written = ([one[side] for one in source.given] for side in (0, 1))
        known = [*written, *drafts[number]] if drafts else ()
        documents.append(list(windows_of_document(source.sentences, view, before, translations=known)))
    if view.shuffled:
        documents = exchange_histories(documents)
    passages = [passage for source in sources for passage in source.passages]
    return search(passages, [window for windows in documents for window in windows])


def _in_turn(sources: Sequence[Source], view: View, search: Search) -> list[Found]:
    """Translate the first sentence of each document, then the second of each with what was found before in view."""
    known = [[*(one.source for one in source.given), *source.sentences] for source in sources]
    written = [[one.target for one in source.given] for source in sources]
    found: list[list[Found]] = [[] for _ in sources]
    for place in range(max((len(source.passages) for source in sources), default=0)):
        turn = [number for number, source in enumerate(sources) if len(source.passages) > place]
        windows = [window_at(len(written[number]), known[number], written[number], view) for number in turn]
        for number, one in zip(
            turn, search([sources[number].passages[place] for number in turn], windows), strict=True
        ):
            found[number].append(one)
            written[number].append(one.translation)
    return [one for document in found for one in document]
