"""Rendering: a clause and the values of its slots become a sentence and its translation.

The values come from noun phrases, declined as German requires (singular only), and from the two people of a story.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Literal, NamedTuple, TypeVar

from docaps.corpus.minidocs.lexicon import Clause, Gender, Lexicon, Noun, Phrase, Utterance

Case = Literal["nom", "acc", "dat", "gen"]
Article = Literal["the", "an"]
CASES: tuple[Case, ...] = ("nom", "acc", "dat", "gen")
Entry = TypeVar("Entry", Clause, Utterance)

_DECLENSIONS: dict[tuple[Article, Gender], tuple[str, str]] = {  # articles and adjective endings, in the order of CASES
    ("the", "masculine"): ("der den dem des", "e en en en"),
    ("the", "feminine"): ("die die der der", "e e en en"),
    ("the", "neuter"): ("das das dem des", "e e en en"),
    ("an", "masculine"): ("ein einen einem eines", "er en en en"),
    ("an", "feminine"): ("eine eine einer einer", "e e en en"),
    ("an", "neuter"): ("ein ein einem eines", "es es en en"),
}
_PRONOUNS: dict[Gender, tuple[str, str, str]] = {  # nominative, accusative, stem of the possessive
    "masculine": ("er", "ihn", "sein"),
    "feminine": ("sie", "sie", "ihr"),
    "neuter": ("es", "es", "sein"),
}
_CONTRACTIONS = {"an dem": "am", "in dem": "im", "von dem": "vom", "zu dem": "zum", "zu der": "zur"}
_CONTRACTION = re.compile(r"\b(" + "|".join(_CONTRACTIONS) + r")\b")
_SLOT = re.compile(r"\{([a-z:]+)\}")
_VOWEL_LETTER, _CONSONANT_SOUND = "aeiou", ("use", "uni", "eu", "one")


def adjective_stem(adjective: str) -> str:
    """Return the stem for endings: "teur" for "teuer", "dunkl" for "dunkel", "hoh" for "hoch"."""
    if adjective == "hoch":
        return "hoh"
    if adjective.endswith(("el", "euer", "auer")):
        return adjective[:-2] + adjective[-1]
    return adjective.removesuffix("e")


def noun_phrase(noun: Noun, adjective: Phrase | None, article: Article, case: Case) -> str:
    """Decline article, adjective and noun together: "einen alten Löwen"."""
    articles, endings = (forms.split() for forms in _DECLENSIONS[article, noun.gender])
    position = CASES.index(case)
    form = (noun.german, noun.oblique, noun.oblique, noun.genitive)[position]
    if form is None:
        raise ValueError(f"{noun.german!r} has no genitive in its table")
    described = f"{adjective_stem(adjective.german)}{endings[position]} " if adjective else ""
    return f"{articles[position]} {described}{form}"


def pronoun_slots(gender: Gender) -> dict[str, str]:
    """Return the forms of *it* and *its* for a thing of this gender."""
    return dict(zip(("it", "it:acc", "its"), _PRONOUNS[gender], strict=True))


def contract(sentence: str) -> str:
    """Contract preposition and article as in German: "von dem" becomes "vom"."""
    return _CONTRACTION.sub(lambda found: _CONTRACTIONS[found[0]], sentence)


def order_words(clause: Clause, front: str = "") -> str:
    """Put the German verb second: after a phrase in front, the subject follows the verb."""
    subject, verb, rest = clause[1:]
    return " ".join(filter(None, (front, verb, subject, rest) if front else (subject, verb, rest)))


class SentencePair(NamedTuple):
    """A sentence or phrase and its translation."""

    source: str
    target: str


class Slots(NamedTuple):
    """The values of the slots of a clause, by language."""

    english: dict[str, str]
    german: dict[str, str]

    def add(self, english: dict[str, str], german: dict[str, str]) -> "Slots":
        """Add values; German forms alone for a pronoun that is ambiguous in English."""
        return Slots(self.english | english, self.german | german)

    def add_noun(self, noun: Noun, adjective: Phrase | None) -> "Slots":
        """Add the forms of a noun phrase on both sides."""
        return self.add(*noun_slots(noun, adjective))


@cache
def noun_slots(noun: Noun, adjective: Phrase | None) -> Slots:
    """Return all forms of a noun phrase: {the}, {an} in English, {the:acc} and so on in German."""
    words = f"{adjective.english} {noun.english}" if adjective else noun.english
    articles: tuple[Article, ...] = ("the", "an")
    cases = [case for case in CASES if case != "gen" or noun.genitive]
    german = {f"{a}:{case}": noun_phrase(noun, adjective, a, case) for a in articles for case in cases}
    return Slots({"the": f"the {words}", "an": f"{indefinite_article(words)} {words}"}, german)


def indefinite_article(words: str) -> str:
    """Choose between "a" and "an" by the sound of what follows."""
    word = words.lower()
    # "unusual" and "unimportant" start with the prefix un-, "uniform" with the sound of "you".
    starts_like_you = word.startswith(_CONSONANT_SOUND) and not word.startswith("unim")
    return "an" if word[0] in _VOWEL_LETTER and not starts_like_you else "a"


def choose_unused(rng: Random, entries: Sequence[Entry], used: set[Entry]) -> Entry:
    """Draw a clause or utterance that is not used yet, and add it to the used ones."""
    entry = rng.choice([entry for entry in entries if entry not in used])
    used.add(entry)
    return entry


def choose_adjective(rng: Random, adjectives: tuple[Phrase, ...], clause: Clause) -> Phrase | None:
    """Draw an adjective: always after *a*, so that the article never depends on the noun; often after *the*."""
    return rng.choice(adjectives) if clause.mentions("an") or rng.random() < 0.6 else None


def choose_front(rng: Random, adverbials: tuple[Phrase, ...], clause: Clause, share: float) -> Phrase | None:
    """Draw an adverbial for a share of the clauses; no person is named both before a clause and in it."""
    if rng.random() >= share:
        return None
    adverbial = rng.choice(adverbials)
    return None if "{b}" in adverbial.english and clause.mentions("b") else adverbial


def render(clause: Clause, slots: Slots, front: Phrase | None = None) -> SentencePair:
    """Render a clause as a sentence in both languages, after an adverbial if one is given."""
    english = f"{front.english} {clause.english}" if front else clause.english
    return _finish(f"{english}.", f"{order_words(clause, front.german if front else '')}.", slots)


def say(utterance: Utterance, slots: Slots, way: int = 0) -> SentencePair:
    """Render an utterance in both languages; `way` selects the translation."""
    return _finish(utterance.english, utterance.german[way], slots)


def _finish(english: str, german: str, slots: Slots) -> SentencePair:
    """Fill the slots of both sides and start with a capital; an empty slot of the German leaves no second blank."""
    source = _SLOT.sub(lambda found: slots.english[found[1]], english)
    target = " ".join(contract(_SLOT.sub(lambda found: slots.german[found[1]], german)).split())
    return SentencePair(source[0].upper() + source[1:], target[0].upper() + target[1:])


@dataclass(frozen=True, slots=True)
class Person:
    """A person, whose name is the same in both languages."""

    name: str
    kind: str

    @property
    def pronoun(self) -> SentencePair:
        """He or she."""
        return SentencePair("she", "sie") if self.kind == "woman" else SentencePair("he", "er")


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
        return slots.add({"who": english}, {"who": german})

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
