"""A story: an opening, labelled sentences after their antecedents, and sentences that fill the gaps."""

from dataclasses import dataclass, field
from math import gcd
from random import Random

from docaps.corpus.minidocs.cast import Cast
from docaps.corpus.minidocs.documents import MiniDocument
from docaps.corpus.minidocs.entries import GENDERS, Clause
from docaps.corpus.minidocs.phenomena import PHENOMENA, Event, Phenomenon, Variant
from docaps.corpus.minidocs.phenomena.pronoun import draw_class, draw_mentions
from docaps.corpus.minidocs.planning import Span, overlap
from docaps.corpus.minidocs.rendering import Pair, choose_front, render


@dataclass(frozen=True, slots=True)
class Placement:
    """An event in a document: where its cue and its sentences stand, and how it turns out."""

    event: Event
    variant: Variant
    cue: int
    labels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """A document whose events can still be turned another way."""

    gaps: dict[int, Pair]  # the sentences that belong to no event, by position
    placements: tuple[Placement, ...]

    def tell(self, turned: dict[int, Variant] | None = None) -> MiniDocument:
        """Write the document, with the events whose last sentences stand at these positions turned as told."""
        sentences, labels = dict(self.gaps), {}
        for placed in self.placements:
            variant = (turned or {}).get(placed.labels[-1], placed.variant)
            sentences[placed.cue] = variant.cue
            for number, position in enumerate(placed.labels):
                sentences[position] = Pair(placed.event.sources[number], variant.translations[number])
                labels[position] = placed.event.label(variant, number, position - placed.cue)
        ordered = [sentences[position] for position in range(len(sentences))]
        labels = {position: labels[position] for position in sorted(labels)}
        return MiniDocument(tuple(s.source for s in ordered), tuple(s.target for s in ordered), labels)


@dataclass(slots=True)
class StoryBuilder:
    """Builds one story; it remembers the topics and sentences that the story has used."""

    rng: Random
    cast: Cast
    phenomena: tuple[Phenomenon, ...] = PHENOMENA
    topics: set[str] = field(default_factory=set)
    told: set[Clause] = field(default_factory=set)

    def build(self, length: int, events: list[tuple[Span, Event]]) -> Story:
        """Put events at their spans and fill every other position."""
        placements = tuple(
            Placement(event, self.rng.choice(event.variants), cue, tuple(labels)) for (cue, *labels), event in events
        )
        taken = {position for span, _ in events for position in span}
        gaps = {p: self._fill_gap(p, length, placements) for p in range(length) if p not in taken}
        return Story(gaps, placements)

    def draw_events(self, spans: list[Span], last: Phenomenon | None = None) -> list[tuple[Span, Event]]:
        """Draw an event for each span, the phenomena at random; no antecedent comes between another one and its *it*.

        With `last` the phenomenon of the last span is given, and that span's event is left out.
        """
        chosen: list[tuple[Span, Phenomenon]] = [(spans[-1], last)] if last else []
        for span in spans[: len(spans) - len(chosen)]:
            taken = {what for other, phenomenon in chosen if overlap(span, other) for what in phenomenon.occupies}
            free = [phenomenon for phenomenon in self.phenomena if not taken & phenomenon.occupies]
            if free:  # else the story does without this event
                chosen.append((span, self.rng.choice(self._weighted(free))))
        drawn = chosen[1:] if last else chosen
        return [(span, self.draw_event(phenomenon, len(span) - 1)) for span, phenomenon in drawn]

    def _weighted(self, free: list[Phenomenon]) -> list[Phenomenon]:
        """Repeat each phenomenon by its weight, as few times as the weights of this corpus allow."""
        unit = gcd(*(phenomenon.weight for phenomenon in self.phenomena))
        return [phenomenon for phenomenon in free for _ in range(phenomenon.weight // unit)]

    def draw_event(self, phenomenon: Phenomenon, count: int = 1, form: str | None = None) -> Event:
        """Draw an event of `count` sentences on a topic that is new to the story."""
        return phenomenon.draw(self.rng, self.cast, self.topics, count, form)

    def _fill_gap(self, position: int, length: int, placements: tuple[Placement, ...]) -> Pair:
        """Open or close the story, compete with an antecedent, or tell something neutral."""
        lexicon, around = self.cast.lexicon, [p for p in placements if p.cue < position < p.labels[-1]]
        if position == 0:
            return render(
                self._choose(lexicon.openings), self.cast.opening_slots(self.rng), self.rng.choice(lexicon.dates)
            )
        if position == length - 1 and self.rng.random() < 0.7:
            return render(self._choose(lexicon.closings), self.cast.opening_slots(self.rng))
        pending = any(placed.variant.gender for placed in around)  # another thing would become the antecedent
        mention = not pending and self._classes_left() and self.rng.random() < 0.8
        return self._mention_other() if mention else self._tell_neutral()

    def _classes_left(self) -> bool:
        """Say whether there is a class of things that the story has not mentioned."""
        return any(things.name not in self.topics for things in self.cast.lexicon.things)

    def _choose(self, clauses: tuple[Clause, ...]) -> Clause:
        """Choose a clause that the story has not told yet."""
        clause = self.rng.choice([clause for clause in clauses if clause not in self.told])
        self.told.add(clause)
        return clause

    def _mention_other(self) -> Pair:
        """Mention a thing of a new class; all genders are equally likely, so none is a hint at the antecedent's."""
        things = draw_class(self.rng, self.cast, self.topics)
        return draw_mentions(self.rng, self.cast, things, (self.rng.choice(GENDERS),))[0]

    def _tell_neutral(self) -> Pair:
        """Tell an event, perhaps after an adverbial of time, or a state."""
        lexicon, slots = self.cast.lexicon, self.cast.draw_slots(self.rng)
        if self.rng.random() < 0.5:
            return render(self._choose(lexicon.states), slots)
        clause = self._choose(lexicon.fillers)
        return render(clause, slots, choose_front(self.rng, lexicon.times, clause, share=0.25))
