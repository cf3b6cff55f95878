"""The gender of *it*: er, sie or es, by the thing that an earlier sentence mentions."""

from dataclasses import dataclass
from random import Random

from docaps.corpus.minidocs.cast import Cast
from docaps.corpus.minidocs.entries import GENDERS, Clause, Gender
from docaps.corpus.minidocs.german import pronoun_slots
from docaps.corpus.minidocs.lexicon import FORMS, ThingClass
from docaps.corpus.minidocs.phenomena.interface import Event, Variant
from docaps.corpus.minidocs.rendering import Pair, choose_adjective, choose_front, render


@dataclass(frozen=True, slots=True)
class Pronoun:
    """*It* and *its*: the thing mentioned last is the antecedent, its noun picks the German form."""

    name: str = "pronoun"
    occupies: frozenset[str] = frozenset({"thing"})
    weight: int = 3
    # sein- serves masculine and neuter, so possessives contrast the feminine with each of them in turn.
    contrasts: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("subject", ("m", "f", "n")),
        ("object", ("m", "f", "n")),
        ("possessive", ("m", "f")),
        ("possessive", ("n", "f")),
    )

    def draw(self, rng: Random, cast: Cast, topics: set[str], count: int = 1, form: str | None = None) -> Event:
        """Choose a class of things, one noun of each gender, and sentences about *it* that suit them all."""
        things = draw_class(rng, cast, topics)
        forms = (form,) if form else tuple(rng.choice(FORMS) for _ in range(count))
        cues = draw_mentions(rng, cast, things, GENDERS)
        told: set[Clause] = set()
        sentences = [draw_sentences(rng, cast, things, form, told) for form in forms]
        variants = tuple(
            Variant(gender[0], cue, tuple(pairs[place].target for pairs in sentences), gender)
            for place, (gender, cue) in enumerate(zip(GENDERS, cues, strict=True))
        )
        return Event(self.name, forms, tuple(pairs[0].source for pairs in sentences), variants)


def draw_sentences(rng: Random, cast: Cast, things: ThingClass, form: str, told: set[Clause]) -> list[Pair]:
    """Write a sentence about *it* that is not told yet, once for each gender."""
    clause = rng.choice([clause for clause in things.frames[form] if clause not in told])
    told.add(clause)
    slots = cast.draw_slots(rng)
    front = choose_front(rng, cast.lexicon.comments, clause, share=0.1)
    return [render(clause, slots.with_german(pronoun_slots(gender)), front) for gender in GENDERS]


def draw_class(rng: Random, cast: Cast, topics: set[str]) -> ThingClass:
    """Choose a class that the document has not used, and mark it as used."""
    things = rng.choice([things for things in cast.lexicon.things if things.name not in topics])
    topics.add(things.name)
    return things


def draw_mentions(rng: Random, cast: Cast, things: ThingClass, genders: tuple[Gender, ...]) -> list[Pair]:
    """Mention a thing in a sentence, once for each gender, with everything but the noun the same."""
    own, shared = things.introductions, cast.lexicon.mentions
    clause, slots = rng.choice(own if rng.random() < 0.5 else shared), cast.draw_slots(rng)
    front = choose_front(rng, cast.lexicon.times, clause, share=0.15)
    adjective = choose_adjective(rng, things.adjectives, clause)
    nouns = [rng.choice(things.nouns[gender]) for gender in genders]
    return [render(clause, slots.with_noun(noun, adjective), front) for noun in nouns]
