"""Rendering: a clause and the values of its slots become a sentence and its translation.

The values come from nouns and from the cast, the two people of a story.
"""

import re
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import NamedTuple

from docaps.corpus.minidocs.entries import Adjective, Adverbial, Clause, Noun
from docaps.corpus.minidocs.german import CASES, Article, contract, noun_phrase, order_words
from docaps.corpus.minidocs.lexicon import Lexicon, Utterance

_SLOT = re.compile(r"\{([a-z:]+)\}")
_VOWEL_LETTER, _CONSONANT_SOUND = "aeiou", ("use", "uni", "eu", "one")


class SentencePair(NamedTuple):
    """A sentence or phrase and its translation."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Slots:
    """The values of the slots of a clause, by language."""

    english: dict[str, str]
    german: dict[str, str]

    def with_german(self, forms: dict[str, str]) -> "Slots":
        """Add German forms only, as for a pronoun that is ambiguous in English."""
        return Slots(self.english, self.german | forms)

    def with_both(self, english: dict[str, str], german: dict[str, str]) -> "Slots":
        """Add values for both languages."""
        return Slots(self.english | english, self.german | german)

    def with_noun(self, noun: Noun, adjective: Adjective | None) -> "Slots":
        """Add the forms of a noun phrase on both sides."""
        return self.with_both(*noun_slots(noun, adjective))


@cache
def noun_slots(noun: Noun, adjective: Adjective | None) -> tuple[dict[str, str], dict[str, str]]:
    """Return all forms of a noun phrase: {the}, {an} in English, {the:acc} and so on in German."""
    words = f"{adjective.english} {noun.english}" if adjective else noun.english
    english = {"the": f"the {words}", "an": f"{indefinite_article(words)} {words}"}
    articles: tuple[Article, ...] = ("the", "an")
    cases = [case for case in CASES if case != "gen" or noun.genitive]
    german = {f"{a}:{case}": noun_phrase(noun, adjective, a, case) for a in articles for case in cases}
    return english, german


def indefinite_article(words: str) -> str:
    """Choose between "a" and "an" by the sound of what follows."""
    word = words.lower()
    # "unusual" and "unimportant" start with the prefix un-, "uniform" with the sound of "you".
    starts_like_you = word.startswith(_CONSONANT_SOUND) and not word.startswith("unim")
    return "an" if word[0] in _VOWEL_LETTER and not starts_like_you else "a"


def choose_adjective(rng: Random, adjectives: tuple[Adjective, ...], clause: Clause) -> Adjective | None:
    """Draw an adjective: always after *a*, so that the article never depends on the noun; often after *the*."""
    return rng.choice(adjectives) if clause.mentions("an") or rng.random() < 0.6 else None


def choose_front(rng: Random, adverbials: tuple[Adverbial, ...], clause: Clause, share: float) -> Adverbial | None:
    """Draw an adverbial for a share of the clauses; no person is named both before a clause and in it."""
    if rng.random() >= share:
        return None
    adverbial = rng.choice(adverbials)
    return None if "{b}" in adverbial.english and clause.mentions("b") else adverbial


def render(clause: Clause, slots: Slots, front: Adverbial | None = None) -> SentencePair:
    """Render a clause as a sentence in both languages, after an adverbial if one is given."""
    english = f"{front.english} {clause.english}" if front else clause.english
    german = order_words(clause.subject, clause.verb, clause.rest, front.german if front else "")
    return SentencePair(_finish(_fill(english, slots.english)), _finish(contract(_fill(german, slots.german))))


def say(utterance: Utterance, slots: Slots, way: int = 0) -> SentencePair:
    """Render an utterance in both languages; `way` selects the translation."""
    german = contract(_fill(utterance.german[way], slots.german))
    return SentencePair(_capitalise(_fill(utterance.english, slots.english)), _capitalise(" ".join(german.split())))


def _fill(template: str, values: dict[str, str]) -> str:
    """Replace each slot by its value."""
    return _SLOT.sub(lambda found: values[found[1]], template)


def _finish(words: str) -> str:
    """Add the capital and the full stop."""
    return f"{_capitalise(words)}."


def _capitalise(words: str) -> str:
    """Capitalise the first letter."""
    return words[0].upper() + words[1:]


_PRONOUNS = {"woman": SentencePair("she", "sie"), "man": SentencePair("he", "er")}


@dataclass(frozen=True, slots=True)
class Person:
    """A person, whose name is the same in both languages."""

    name: str
    kind: str

    @property
    def pronoun(self) -> SentencePair:
        """He or she."""
        return _PRONOUNS[self.kind]


@dataclass(frozen=True, slots=True)
class Cast:
    """The two people of a story."""

    lead: Person
    second: Person
    lexicon: Lexicon

    def draw_roles(self, rng: Random) -> tuple[Person, Person]:
        """Draw who acts and who is the other one."""
        return (self.lead, self.second) if rng.random() < 0.65 else (self.second, self.lead)

    def draw_slots(self, rng: Random) -> Slots:
        """Draw the roles of one sentence: {a} acts, {b} is the other one, {who} is {a} by name or as he or she."""
        a, b = self.draw_roles(rng)
        slots = self.name_slots(rng, a, b)
        # With a woman and a man, he and she are clear; otherwise both keep their names.
        as_pronoun = a.kind != b.kind and rng.random() < 0.35
        english, german = a.pronoun if as_pronoun else (a.name, a.name)
        return slots.with_both({"who": english}, {"who": german})

    def opening_slots(self, rng: Random) -> Slots:
        """Return the roles of the first sentence, in which both are named."""
        return self.name_slots(rng, self.lead, self.second)

    def name_slots(self, rng: Random, a: Person, b: Person) -> Slots:
        """Return the roles of two people by name, with a random town."""
        english, german = rng.choice(self.lexicon.cities)
        people = {"a": a.name, "b": b.name}
        return Slots(people | {"city": english}, people | {"city": german})


def draw_cast(rng: Random, lexicon: Lexicon) -> Cast:
    """Draw two people with different names, women and men equally often."""
    kinds = [rng.choice(("woman", "man")) for _ in range(2)]
    names = {"woman": lexicon.women, "man": lexicon.men}
    first = rng.choice(names[kinds[0]])
    second = rng.choice([name for name in names[kinds[1]] if name != first])
    return Cast(Person(first, kinds[0]), Person(second, kinds[1]), lexicon)
