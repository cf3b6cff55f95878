"""The gender of *it*: er, sie or es, by the thing that an earlier sentence mentions."""

from random import Random

from docaps.corpus.minidocs.lexicon import FORMS, GENDERS, Clause, Gender, ThingClass
from docaps.corpus.minidocs.phenomena.phenomenon import Event, Phenomenon
from docaps.corpus.minidocs.rendering import (
    Cast,
    SentencePair,
    choose_adjective,
    choose_front,
    choose_unused,
    pronoun_slots,
    render,
)


class Pronoun(Phenomenon):
    """*It* and *its*: the thing mentioned last is the antecedent, and its noun decides the German form."""

    name = "pronoun"
    occupies = frozenset({"thing"})
    weight = 3
    # sein- serves masculine and neuter, so possessives contrast the feminine with each of them in turn.
    contrasts = (
        ("subject", ("m", "f", "n")),
        ("object", ("m", "f", "n")),
        ("possessive", ("m", "f")),
        ("possessive", ("n", "f")),
    )

    def draw(self, rng: Random, cast: Cast, topics: set[str], count: int = 1, form: str | None = None) -> Event:
        """Draw a class of things, one noun of each gender, and sentences about *it* that suit them all."""
        things = draw_class(rng, cast, topics)
        forms = (form,) if form else tuple(rng.choice(FORMS) for _ in range(count))
        cues = draw_mentions(rng, cast, things, GENDERS)
        used: set[Clause] = set()
        sentences = []
        for one in forms:
            clause, slots = choose_unused(rng, things.frames[one], used), cast.draw_slots(rng)
            front = choose_front(rng, cast.lexicon.comments, clause, share=0.1)
            sentences.append([render(clause, slots.add({}, pronoun_slots(gender)), front) for gender in GENDERS])
        return self.make_event(forms, sentences, cues, [gender[0] for gender in GENDERS], GENDERS)


def draw_class(rng: Random, cast: Cast, topics: set[str]) -> ThingClass:
    """Draw a class that the document has not used, and add it to the topics."""
    things = rng.choice([things for things in cast.lexicon.things if things.name not in topics])
    topics.add(things.name)
    return things


def draw_mentions(rng: Random, cast: Cast, things: ThingClass, genders: tuple[Gender, ...]) -> list[SentencePair]:
    """Render a sentence that mentions a thing, once for each gender, with everything but the noun the same."""
    own, shared = things.introductions, cast.lexicon.mentions
    clause, slots = rng.choice(own if rng.random() < 0.5 else shared), cast.draw_slots(rng)
    front = choose_front(rng, cast.lexicon.times, clause, share=0.15)
    adjective = choose_adjective(rng, things.adjectives, clause)
    nouns = [rng.choice(things.nouns[gender]) for gender in genders]
    return [render(clause, slots.add_noun(noun, adjective), front) for noun in nouns]
