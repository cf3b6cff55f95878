"""An ambiguous noun: one of two translations, by the topic that an earlier sentence sets."""

from dataclasses import dataclass
from random import Random

from docaps.corpus.minidocs.cast import Cast
from docaps.corpus.minidocs.entries import Clause
from docaps.corpus.minidocs.lexicon import Sense
from docaps.corpus.minidocs.phenomena.interface import Event, Variant
from docaps.corpus.minidocs.rendering import Pair, choose_adjective, choose_front, render


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """Nouns such as *bank*: the sentence around them suits both senses."""

    name: str = "ambiguity"
    occupies: frozenset[str] = frozenset()
    weight: int = 3
    contrasts: tuple[tuple[str, tuple[str, ...]], ...] = (("noun", ("a", "b")),)

    def draw(self, rng: Random, cast: Cast, topics: set[str], count: int = 1, form: str | None = None) -> Event:
        """Choose a noun, neutral sentences for it, and a cue for each of its senses."""
        lexicon = cast.lexicon
        senses = rng.choice([senses for senses in lexicon.ambiguous if not _topics(senses) & topics])
        topics |= _topics(senses)
        clauses = rng.sample(lexicon.ambiguity_frames, count)
        sentences = [draw_sentences(rng, cast, senses, clause) for clause in clauses]
        variants = tuple(
            Variant(tag, cue, tuple(pairs[place].target for pairs in sentences))
            for place, (tag, cue) in enumerate(zip("ab", render_cues(rng, cast, senses), strict=True))
        )
        return Event(self.name, (form or "noun",) * count, tuple(pairs[0].source for pairs in sentences), variants)


def _topics(senses: tuple[Sense, Sense]) -> set[str]:
    """Return what a story with this noun must not have besides it: the noun itself, and what would compete."""
    return {senses[0].noun.english}.union(*(sense.avoid for sense in senses))


def draw_sentences(rng: Random, cast: Cast, senses: tuple[Sense, Sense], clause: Clause) -> list[Pair]:
    """Write a sentence with the noun, once for each of its senses."""
    slots = cast.draw_slots(rng)
    front = choose_front(rng, cast.lexicon.comments, clause, share=0.1)
    adjective = choose_adjective(rng, cast.lexicon.ambiguity_adjectives, clause)
    return [render(clause, slots.with_noun(sense.noun, adjective), front) for sense in senses]


def render_cues(rng: Random, cast: Cast, senses: tuple[Sense, Sense]) -> list[Pair]:
    """Write one cue for each sense, with the same people and the same comment before it."""
    slots, clauses = cast.draw_slots(rng), [rng.choice(sense.cues) for sense in senses]
    front = choose_front(rng, cast.lexicon.comments, clauses[0], share=0.05)
    return [render(clause, slots, front) for clause in clauses]
