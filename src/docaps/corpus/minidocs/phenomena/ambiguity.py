"""An ambiguous noun: one of two translations, by the topic of an earlier sentence."""

from random import Random

from docaps.corpus.minidocs.entries import Clause
from docaps.corpus.minidocs.lexicon import Sense
from docaps.corpus.minidocs.phenomena.phenomenon import Event, Phenomenon
from docaps.corpus.minidocs.rendering import Cast, SentencePair, choose_adjective, choose_front, render


class Ambiguity(Phenomenon):
    """Nouns such as *bank*: the sentence around them suits both senses."""

    name = "ambiguity"
    weight = 3
    contrasts = (("noun", ("a", "b")),)

    def draw(self, rng: Random, cast: Cast, topics: set[str], count: int = 1, form: str | None = None) -> Event:
        """Draw a noun, neutral sentences for it, and a cue for each of its senses."""
        lexicon = cast.lexicon
        senses = rng.choice([senses for senses in lexicon.ambiguous if not _topics(senses) & topics])
        topics |= _topics(senses)
        clauses = rng.sample(lexicon.ambiguity_frames, count)
        sentences = [draw_sentences(rng, cast, senses, clause) for clause in clauses]
        return self.make_event((form or "noun",) * count, sentences, render_cues(rng, cast, senses), "ab")


def _topics(senses: tuple[Sense, Sense]) -> set[str]:
    """Return the topics of a noun: itself, and what would compete with it in one story."""
    return {senses[0].noun.english}.union(*(sense.avoid for sense in senses))


def draw_sentences(rng: Random, cast: Cast, senses: tuple[Sense, Sense], clause: Clause) -> list[SentencePair]:
    """Render a sentence with the noun, once for each sense."""
    slots = cast.draw_slots(rng)
    front = choose_front(rng, cast.lexicon.comments, clause, share=0.1)
    adjective = choose_adjective(rng, cast.lexicon.ambiguity_adjectives, clause)
    return [render(clause, slots.with_noun(sense.noun, adjective), front) for sense in senses]


def render_cues(rng: Random, cast: Cast, senses: tuple[Sense, Sense]) -> list[SentencePair]:
    """Render one cue for each sense, with the same people and the same comment before it."""
    slots, clauses = cast.draw_slots(rng), [rng.choice(sense.cues) for sense in senses]
    front = choose_front(rng, cast.lexicon.comments, clauses[0], share=0.05)
    return [render(clause, slots, front) for clause in clauses]
