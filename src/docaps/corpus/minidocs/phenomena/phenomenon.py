"""The interface of a phenomenon: something in a sentence whose translation an earlier sentence decides.

To add one, write a module with a subclass of `Phenomenon` and enter it in `phenomena/__init__.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from docaps.corpus.minidocs.lexicon import Gender
from docaps.corpus.minidocs.rendering import Cast, SentencePair


@dataclass(frozen=True, slots=True)
class ContextLabel:
    """What a sentence needs context for, the distance of that context, and the translations that are wrong."""

    phenomenon: str
    form: str
    distance: int
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """One outcome of an event: the earlier sentence (the cue), and the translations it requires."""

    tag: str
    cue: SentencePair
    translations: tuple[str, ...]
    gender: Gender | None = None  # of the thing that the cue mentions, if any


@dataclass(frozen=True, slots=True)
class Event:
    """One or more sentences that are the same in all variants, and whose translation depends on the cue."""

    phenomenon: str
    forms: tuple[str, ...]
    sources: tuple[str, ...]
    variants: tuple[Variant, ...]

    def select(self, tag: str) -> Variant:
        """Return the variant with this tag."""
        return next(variant for variant in self.variants if variant.tag == tag)

    def label(self, variant: Variant, number: int, distance: int) -> ContextLabel:
        """Return the label of a sentence, with the translations that are wrong for this variant."""
        others = dict.fromkeys(other.translations[number] for other in self.variants)  # in order, each once
        wrong = tuple(translation for translation in others if translation != variant.translations[number])
        return ContextLabel(self.phenomenon, self.forms[number], distance, wrong)


class Phenomenon(ABC):
    """A source of events."""

    name: ClassVar[str]
    """The name in labels and items."""

    occupies: ClassVar[frozenset[str]] = frozenset()
    """What the event uses up to its last sentence, so that no event that uses the same may come between.

    A "thing" is what *it* refers to until another thing is mentioned; a "dialogue" is one of two speakers.
    """

    weight: ClassVar[int] = 1
    """How often it is drawn, relative to the others: what is learnt slowly comes more often."""

    contrasts: ClassVar[tuple[tuple[str, tuple[str, ...]], ...]]
    """The minimal sets of each round of items: a form, and the tags of the variants to contrast."""

    @abstractmethod
    def draw(self, rng: Random, cast: Cast, topics: set[str], count: int = 1, form: str | None = None) -> Event:
        """Draw an event of `count` sentences on a topic not yet in `topics`, and add that topic.

        All choices except the cue are made before the variants and independently of them.
        """

    def make_event(
        self,
        forms: tuple[str, ...],
        sentences: Sequence[Sequence[SentencePair]],
        cues: Sequence[SentencePair],
        tags: Sequence[str],
        genders: Sequence[Gender | None] | None = None,
    ) -> Event:
        """Return an event of sentences, each rendered once for every cue; the variants are named by `tags`."""
        variants = tuple(
            Variant(tag, cue, tuple(pairs[number].target for pairs in sentences), genders[number] if genders else None)
            for number, (tag, cue) in enumerate(zip(tags, cues, strict=True))
        )
        return Event(self.name, forms, tuple(pairs[0].source for pairs in sentences), variants)
