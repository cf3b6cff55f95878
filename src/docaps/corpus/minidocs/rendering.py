"""Rendering: a clause and what fills its slots become a sentence and its translation."""

import re
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import NamedTuple

from docaps.corpus.minidocs.dialogue import Utterance
from docaps.corpus.minidocs.entries import Adjective, Adverbial, Clause, Noun
from docaps.corpus.minidocs.german import CASES, Article, contract, noun_phrase, order_words

_SLOT = re.compile(r"\{([a-z:]+)\}")
_VOWEL_LETTER, _CONSONANT_SOUND = "aeiou", ("use", "uni", "eu", "one")


class Pair(NamedTuple):
    """A sentence or phrase and its translation."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Slots:
    """What fills the slots of a clause, by language."""

    english: dict[str, str]
    german: dict[str, str]

    def with_german(self, forms: dict[str, str]) -> "Slots":
        """Add German forms only, as for a pronoun that English leaves open."""
        return Slots(self.english, self.german | forms)

    def with_both(self, english: dict[str, str], german: dict[str, str]) -> "Slots":
        """Add what differs between the languages."""
        return Slots(self.english | english, self.german | german)

    def with_noun(self, noun: Noun, adjective: Adjective | None) -> "Slots":
        """Add the forms of a noun phrase on both sides."""
        return self.with_both(*noun_slots(noun, adjective))


@cache
def noun_slots(noun: Noun, adjective: Adjective | None) -> tuple[dict[str, str], dict[str, str]]:
    """Give all forms of a noun phrase: {the}, {an} in English, {the:acc} and so on in German."""
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
    """Draw an adverbial for a share of the clauses; nobody is named both before a clause and in it."""
    if rng.random() >= share:
        return None
    adverbial = rng.choice(adverbials)
    return None if "{b}" in adverbial.english and clause.mentions("b") else adverbial


def render(clause: Clause, slots: Slots, front: Adverbial | None = None) -> Pair:
    """Write a clause as a sentence in both languages, after an adverbial if one is given."""
    english = f"{front.english} {clause.english}" if front else clause.english
    german = order_words(clause.subject, clause.verb, clause.rest, front.german if front else "")
    return Pair(_finish(_fill(english, slots.english)), _finish(contract(_fill(german, slots.german))))


def say(utterance: Utterance, slots: Slots, way: int = 0) -> Pair:
    """Write what somebody says in both languages, translated in the given one of its ways."""
    german = contract(_fill(utterance.german[way], slots.german))
    return Pair(_capitalise(_fill(utterance.english, slots.english)), _capitalise(" ".join(german.split())))


def _fill(template: str, values: dict[str, str]) -> str:
    """Replace each slot by its value."""
    return _SLOT.sub(lambda found: values[found[1]], template)


def _finish(words: str) -> str:
    """Add the capital and the full stop."""
    return f"{_capitalise(words)}."


def _capitalise(words: str) -> str:
    """Write the first letter large."""
    return words[0].upper() + words[1:]
