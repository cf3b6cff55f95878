"""The cast: two people whom a story is about."""

from dataclasses import dataclass
from random import Random

from docaps.corpus.minidocs.lexicon import Lexicon
from docaps.corpus.minidocs.rendering import Pair, Slots

_PRONOUNS = {"woman": Pair("she", "sie"), "man": Pair("he", "er")}


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a name that is the same in both languages."""

    name: str
    kind: str

    @property
    def pronoun(self) -> Pair:
        """He or she."""
        return _PRONOUNS[self.kind]


@dataclass(frozen=True, slots=True)
class Cast:
    """The two people of a story, and the town it starts in."""

    lead: Person
    second: Person
    lexicon: Lexicon

    def draw_roles(self, rng: Random) -> tuple[Person, Person]:
        """Choose who acts and who is the other one."""
        return (self.lead, self.second) if rng.random() < 0.65 else (self.second, self.lead)

    def draw_slots(self, rng: Random) -> Slots:
        """Give roles for one sentence: {a} acts, {b} is the other one, {who} is {a} by name or as he or she."""
        a, b = self.draw_roles(rng)
        slots = self.name_slots(rng, a, b)
        # With a woman and a man, he and she are clear; otherwise everybody keeps the name.
        as_pronoun = a.kind != b.kind and rng.random() < 0.35
        english, german = a.pronoun if as_pronoun else (a.name, a.name)
        return slots.with_both({"who": english}, {"who": german})

    def opening_slots(self, rng: Random) -> Slots:
        """Give roles for the first sentence, where both have their names."""
        return self.name_slots(rng, self.lead, self.second)

    def name_slots(self, rng: Random, a: Person, b: Person) -> Slots:
        """Give two people their roles by name, and draw a town."""
        english, german = rng.choice(self.lexicon.cities)
        people = {"a": a.name, "b": b.name}
        return Slots(people | {"city": english}, people | {"city": german})


def draw_cast(rng: Random, lexicon: Lexicon) -> Cast:
    """Choose two people with different names, women and men equally often."""
    kinds = [rng.choice(("woman", "man")) for _ in range(2)]
    names = {"woman": lexicon.women, "man": lexicon.men}
    first = rng.choice(names[kinds[0]])
    second = rng.choice([name for name in names[kinds[1]] if name != first])
    return Cast(Person(first, kinds[0]), Person(second, kinds[1]), lexicon)
