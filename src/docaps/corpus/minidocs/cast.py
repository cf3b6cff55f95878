"""The cast: two people whom a story is about."""

from dataclasses import dataclass
from random import Random

from docaps.corpus.minidocs.lexicon import Lexicon
from docaps.corpus.minidocs.rendering import Slots

_PRONOUNS = {"woman": ("she", "sie"), "man": ("he", "er")}


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a name that is the same in both languages."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Cast:
    """The two people of a story, and the town it starts in."""

    lead: Person
    second: Person
    lexicon: Lexicon

    def draw_slots(self, rng: Random) -> Slots:
        """Give roles for one sentence: {a} acts, {b} is the other one, {who} is {a} by name or as he or she."""
        a, b = (self.lead, self.second) if rng.random() < 0.65 else (self.second, self.lead)
        city = rng.choice(self.lexicon.cities)
        # With a woman and a man, he and she are clear; otherwise everybody keeps the name.
        as_pronoun = a.kind != b.kind and rng.random() < 0.35
        english, german = _PRONOUNS[a.kind] if as_pronoun else (a.name, a.name)
        people = {"a": a.name, "b": b.name}
        return Slots(people | {"who": english, "city": city[0]}, people | {"who": german, "city": city[1]})

    def opening_slots(self, rng: Random) -> Slots:
        """Give roles for the first sentence, where both have their names."""
        city = rng.choice(self.lexicon.cities)
        people = {"a": self.lead.name, "b": self.second.name}
        return Slots(people | {"city": city[0]}, people | {"city": city[1]})


def draw_cast(rng: Random, lexicon: Lexicon) -> Cast:
    """Choose two people with different names, women and men equally often."""
    kinds = [rng.choice(("woman", "man")) for _ in range(2)]
    names = {"woman": lexicon.women, "man": lexicon.men}
    first = rng.choice(names[kinds[0]])
    second = rng.choice([name for name in names[kinds[1]] if name != first])
    return Cast(Person(first, kinds[0]), Person(second, kinds[1]), lexicon)
