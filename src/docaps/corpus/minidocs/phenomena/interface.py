"""What a phenomenon is: something in a sentence that an earlier sentence decides.

To add one, write a module with a class like `Phenomenon` and enter it in `phenomena/__init__.py`.
"""

from dataclasses import dataclass
from random import Random
from typing import Protocol

from docaps.corpus.minidocs.cast import Cast
from docaps.corpus.minidocs.documents import Label
from docaps.corpus.minidocs.entries import Gender
from docaps.corpus.minidocs.rendering import Pair


@dataclass(frozen=True, slots=True)
class Variant:
    """One way an event can turn out: the earlier sentence, and the translations it calls for."""

    tag: str
    cue: Pair
    translations: tuple[str, ...]
    gender: Gender | None = None  # of the thing that the cue mentions, if any


@dataclass(frozen=True, slots=True)
class Event:
    """One or more sentences that read the same in all variants, and are translated by their cue."""

    phenomenon: str
    forms: tuple[str, ...]
    sources: tuple[str, ...]
    variants: tuple[Variant, ...]

    def select(self, tag: str) -> Variant:
        """Find a variant by its tag."""
        return next(variant for variant in self.variants if variant.tag == tag)

    def label(self, variant: Variant, number: int, distance: int) -> Label:
        """Say what a sentence needs, with the translations that are wrong for this variant."""
        others = dict.fromkeys(other.translations[number] for other in self.variants)  # in order, each once
        wrong = tuple(translation for translation in others if translation != variant.translations[number])
        return Label(self.phenomenon, self.forms[number], distance, wrong)


class Phenomenon(Protocol):
    """A source of events."""

    @property
    def name(self) -> str:
        """The name in labels and items."""
        ...

    @property
    def occupies(self) -> frozenset[str]:
        """What belongs to the event up to its last sentence, so that no other event may come between.

        A "thing" is what *it* refers to until another thing is mentioned; a "dialogue" is one of two speakers.
        """
        ...

    @property
    def weight(self) -> int:
        """How often it is drawn, compared with the others: what is learnt slowly comes more often."""
        ...

    @property
    def contrasts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The minimal sets to make in each round: a form, and the tags of the variants to contrast."""
        ...

    def draw(self, rng: Random, cast: Cast, topics: set[str], count: int = 1, form: str | None = None) -> Event:
        """Draw an event of `count` sentences on a topic not yet in `topics`, and add that topic.

        All choices but the cue are made before and without regard to the variants.
        """
        ...
