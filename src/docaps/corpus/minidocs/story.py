"""A story: an opening, labelled sentences after their cues, and sentences that fill the gaps.

First it is planned how long the story is and where its events are, then the events are drawn and the gaps filled.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import gcd
from random import Random

from docaps.corpus.minidocs.lexicon import GENDERS, Clause
from docaps.corpus.minidocs.phenomena import PHENOMENA, ContextLabel, Event, Phenomenon, Variant
from docaps.corpus.minidocs.phenomena.pronoun import draw_class, draw_mentions
from docaps.corpus.minidocs.rendering import Cast, SentencePair, choose_front, choose_unused, render

DISTANCES = (1, 2, 3)
SHORTEST, LONGEST = 4, 12
Span = tuple[int, ...]  # the position of a cue, and those of the sentences that need it


@dataclass(frozen=True, slots=True)
class MiniDocument:
    """A little story in both languages, sentence by sentence, with the labels of some sentences."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    labels: Mapping[int, ContextLabel]


def plan_spans(rng: Random) -> tuple[list[Span], int]:
    """Draw one to three spans, each with one to three distances, and the length of a story that holds them."""
    shapes = [_draw_distances(rng) for _ in range(rng.choice((1, 2, 2, 3)))]
    # An opening, the sentences of the events, and now and then some more: about half of a story is labelled.
    wanted = 1 + sum(1 + len(shape) for shape in shapes) + rng.choice((0, 1, 2, 3))
    for length in range(min(max(SHORTEST, wanted), LONGEST), LONGEST + 1):
        spans = place(rng, shapes, length, set())
        if spans is not None:
            return spans, length
    return plan_spans(rng)  # three events with gaps between them may need more room than a story has


def _draw_distances(rng: Random) -> tuple[int, ...]:
    """Draw the distances at which sentences follow a cue, all three equally often."""
    return tuple(sorted(rng.sample(DISTANCES, rng.choice((1, 2, 2, 3)))))


def plan_last_span(rng: Random, distance: int) -> tuple[list[Span], int]:
    """Plan a story that ends with a labelled sentence at a given distance, with an earlier event if one fits."""
    length = rng.choice((5, 6, 7))
    last = (length - 1 - distance, length - 1)
    others = place(rng, [_draw_distances(rng)], length - 1, set(last)) if rng.random() < 0.7 else None
    return [*(others or []), last], length


def place(rng: Random, shapes: list[tuple[int, ...]], length: int, taken: set[int]) -> list[Span] | None:
    """Draw free positions for all events after the opening; None if there are none."""
    if not shapes:
        return []
    distances, *others = shapes
    spans = [(start, *(start + distance for distance in distances)) for start in range(1, length - distances[-1])]
    free = [span for span in spans if not set(span) & taken]
    for span in rng.sample(free, len(free)):
        rest = place(rng, others, length, taken | set(span))
        if rest is not None:
            return [span, *rest]
    return None


@dataclass(frozen=True, slots=True)
class Story:
    """A story whose last event can still take another variant."""

    gaps: dict[int, SentencePair]  # the sentences that belong to no event, by position
    events: list[tuple[Span, Event, Variant]]

    def write(self, last: Variant | None = None) -> MiniDocument:
        """Return the document; `last` replaces the variant of the last event."""
        sentences, labels = dict(self.gaps), {}
        for number, ((cue, *positions), event, drawn) in enumerate(self.events, start=1):
            variant = last if last and number == len(self.events) else drawn
            sentences[cue] = variant.cue
            for index, position in enumerate(positions):
                sentences[position] = SentencePair(event.sources[index], variant.translations[index])
                labels[position] = event.label(variant, index, position - cue)
        source, target = zip(*(sentences[position] for position in range(len(sentences))), strict=True)
        return MiniDocument(source, target, {position: labels[position] for position in sorted(labels)})


@dataclass(slots=True)
class StoryBuilder:
    """Builds one story, using each topic and each clause only once."""

    rng: Random
    cast: Cast
    phenomena: tuple[Phenomenon, ...] = PHENOMENA
    topics: set[str] = field(default_factory=set)
    used: set[Clause] = field(default_factory=set)

    def build(self, length: int, events: list[tuple[Span, Event]]) -> Story:
        """Place events at their spans and fill every other position."""
        drawn = [(span, event, self.rng.choice(event.variants)) for span, event in events]
        taken = {position for span, _ in events for position in span}
        return Story({p: self._fill_gap(p, length, drawn) for p in range(length) if p not in taken}, drawn)

    def draw_events(self, spans: list[Span], last: Phenomenon | None = None) -> list[tuple[Span, Event]]:
        """Draw an event of a random phenomenon for each span; no antecedent comes between another one and its *it*.

        With `last` the phenomenon of the last span is given, and that span's event is left out.
        """
        chosen: list[tuple[Span, Phenomenon]] = [(spans[-1], last)] if last else []
        for span in spans[: len(spans) - len(chosen)]:
            overlapping = [kind for other, kind in chosen if span[0] < other[-1] and other[0] < span[-1]]
            taken = {what for kind in overlapping for what in kind.occupies}
            free = [phenomenon for phenomenon in self.phenomena if not taken & phenomenon.occupies]
            if free:  # else the story does without this event
                # Each is repeated by its weight, as few times as the weights of this corpus allow.
                unit = gcd(*(phenomenon.weight for phenomenon in self.phenomena))
                weighted = [phenomenon for phenomenon in free for _ in range(phenomenon.weight // unit)]
                chosen.append((span, self.rng.choice(weighted)))
        drawn = chosen[1:] if last else chosen
        return [(span, kind.draw(self.rng, self.cast, self.topics, len(span) - 1)) for span, kind in drawn]

    def _fill_gap(self, position: int, length: int, events: list[tuple[Span, Event, Variant]]) -> SentencePair:
        """Open or close the story, mention a thing that competes with an antecedent, or write a neutral sentence."""
        lexicon, rng = self.cast.lexicon, self.rng
        if position == 0:
            clause = choose_unused(rng, lexicon.openings, self.used)
            return render(clause, self.cast.opening_slots(rng), rng.choice(lexicon.dates))
        if position == length - 1 and rng.random() < 0.7:
            return render(choose_unused(rng, lexicon.closings, self.used), self.cast.opening_slots(rng))
        # While a sentence about a thing is still to come, another thing would become the antecedent.
        pending = any(variant.gender for span, _, variant in events if span[0] < position < span[-1])
        classes_left = any(things.name not in self.topics for things in lexicon.things)
        if not pending and classes_left and rng.random() < 0.8:
            # All genders are equally likely, so that none hints at the antecedent's.
            things = draw_class(rng, self.cast, self.topics)
            return draw_mentions(rng, self.cast, things, (rng.choice(GENDERS),))[0]
        slots = self.cast.draw_slots(rng)
        if rng.random() < 0.5:
            return render(choose_unused(rng, lexicon.states, self.used), slots)
        clause = choose_unused(rng, lexicon.fillers, self.used)
        return render(clause, slots, choose_front(rng, lexicon.times, clause, share=0.25))
