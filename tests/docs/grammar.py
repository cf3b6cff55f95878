"""The grammar of the mini-documents read backwards: the translations that it has for given sentences.

A sentence may need what earlier ones settle: the gender of the thing mentioned last, the sense of an ambiguous noun,
the gender of a person with a profession, du or Sie. Answers without a verb (ellipsis) are not read.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product

from docaps.corpus.minidocs.lexicon import Clause, Gender, Noun, Phrase, Utterance, load_lexicon
from docaps.corpus.minidocs.rendering import SentencePair, Slots, pronoun_slots, render, say

LEXICON = load_lexicon()
PEOPLE = {*LEXICON.women, *LEXICON.men}
CITIES = dict(LEXICON.cities)
PRONOUNS = {"he": "er", "she": "sie"}
FRONTS = (None, *LEXICON.dates, *LEXICON.times, *LEXICON.comments)
WOMAN = {"she": "she", "her": "her", "herself": "herself"}
MAN = {"she": "he", "her": "his", "herself": "himself"}


@dataclass(frozen=True)
class Settled:
    """What the sentences before have settled."""

    thing: Gender | None = None
    way: int | None = None
    nouns: Mapping[str, Noun] = field(default_factory=dict)
    """Nouns with two translations, and the one that was settled."""


@dataclass(frozen=True)
class Reading:
    """A translation of a sentence, and what is settled after it."""

    translation: str
    settled: Settled


def translate(document: Sequence[str]) -> list[set[str]]:
    """Return, for each sentence of a document, the grammar's translations of it: one, or none if it has no such."""
    found, states = [], [Settled()]
    for sentence in document:
        readings = [reading for settled in states for reading in read(sentence, settled)]
        found.append({reading.translation for reading in readings})
        states = [reading.settled for reading in readings] or states
    return found


def read(sentence: str, settled: Settled) -> Iterator[Reading]:
    """Yield the readings of a sentence after what is settled."""
    plain = (*LEXICON.openings, *LEXICON.fillers, *LEXICON.states, *LEXICON.closings)
    yield from (Reading(pair.target, settled) for pair in _clauses(sentence, plain))
    yield from _about_things(sentence, settled)
    yield from _about_ambiguous_nouns(sentence, settled)
    yield from _about_professions(sentence, settled)
    yield from _spoken(sentence, settled)


def _about_things(sentence: str, settled: Settled) -> Iterator[Reading]:
    """Read a mention of a thing, or a sentence about *it*."""
    for things in LEXICON.things:
        nouns = [noun for some in things.nouns.values() for noun in some]
        for noun in nouns:
            for pair in _clauses(sentence, (*things.introductions, *LEXICON.mentions), noun, things.adjectives):
                yield Reading(pair.target, _replace(settled, thing=noun.gender))
        if settled.thing is not None:
            frames = [clause for some in things.frames.values() for clause in some]
            for pair in _clauses(sentence, frames, more=Slots({}, pronoun_slots(settled.thing))):
                yield Reading(pair.target, settled)


def _about_ambiguous_nouns(sentence: str, settled: Settled) -> Iterator[Reading]:
    """Read a sentence that points to a sense, or one with a noun whose sense is settled."""
    for sense in (sense for senses in LEXICON.ambiguous for sense in senses):
        for pair in _clauses(sentence, sense.cues):
            yield Reading(pair.target, _replace(settled, noun=sense.noun))
        if settled.nouns.get(sense.noun.english) == sense.noun:
            for pair in _clauses(sentence, LEXICON.ambiguity_frames, sense.noun, LEXICON.ambiguity_adjectives):
                yield Reading(pair.target, settled)


def _about_professions(sentence: str, settled: Settled) -> Iterator[Reading]:
    """Read a sentence that shows whether somebody is a woman, or one about a person of whom that is settled."""
    table = LEXICON.professions
    frames = [clause for some in table.frames.values() for clause in some]
    for noun in (noun for pair in table.people for noun in pair):
        more = Slots(WOMAN if noun.gender == "feminine" else MAN, pronoun_slots(noun.gender))
        for pair in _clauses(sentence, table.cues, noun, table.adjectives, more):
            yield Reading(pair.target, _replace(settled, noun=noun))
        if settled.nouns.get(noun.english) == noun:
            for pair in _clauses(sentence, frames, noun, table.adjectives):
                yield Reading(pair.target, settled)


def _spoken(sentence: str, settled: Settled) -> Iterator[Reading]:
    """Read a greeting, or what is said to somebody after one."""
    table = LEXICON.addresses
    titled = {
        f"{title.english} {name}": f"{title.german} {name}" for title, name in product(table.titles, table.surnames)
    }
    greetings = (*table.greetings, *table.informal, *table.formal)
    for name, german in {**{name: name for name in PEOPLE}, **titled}.items():
        if name in sentence:
            for pair in _utterances(sentence, greetings, 0, Slots({"name": name}, {"name": german})):
                yield Reading(pair.target, _replace(settled, way=int(name in titled)))
    if settled.way is not None:
        utterances = [utterance for some in table.sentences.values() for utterance in some]
        yield from (Reading(pair.target, settled) for pair in _utterances(sentence, utterances, settled.way))


def _replace(
    settled: Settled, *, thing: Gender | None = None, way: int | None = None, noun: Noun | None = None
) -> Settled:
    """Return what is settled after one more."""
    nouns = {**settled.nouns, noun.english: noun} if noun else settled.nouns
    return Settled(thing or settled.thing, settled.way if way is None else way, nouns)


def _clauses(
    sentence: str,
    clauses: Sequence[Clause],
    noun: Noun | None = None,
    adjectives: Sequence[Phrase] = (),
    more: Slots | None = None,
) -> Iterator[SentencePair]:
    """Yield the clauses, with a noun and other slots, whose English is the sentence."""
    if noun is not None and noun.english not in sentence:
        return
    fitting = [one for one in adjectives if one.english in sentence] if noun else []
    fronts = [one for one in FRONTS if one is None or _may_be(one.english, sentence)]
    base, candidates = more or Slots({}, {}), [clause for clause in clauses if _may_be(clause.english, sentence)]
    for clause, adjective, front in product(candidates, (None, *fitting), fronts):
        slots = base.add_noun(noun, adjective) if noun else base
        for filled in _fill(f"{front.english} {clause.english}." if front else f"{clause.english}.", sentence, slots):
            pair = render(clause, filled, front)
            if pair.source == sentence:
                yield pair


def _utterances(
    sentence: str, utterances: Sequence[Utterance], way: int, more: Slots | None = None
) -> Iterator[SentencePair]:
    """Yield the utterances whose English is the sentence, in one of their translations."""
    for utterance in (one for one in utterances if _may_be(one.english, sentence)):
        for filled in _fill(utterance.english, sentence, more or Slots({}, {})):
            if (pair := say(utterance, filled, way)).source == sentence:
                yield pair


def _may_be(template: str, sentence: str) -> bool:
    """Return whether a sentence has the words of a template: a quick look before the slots are filled."""
    return all(part in sentence.lower() for part in _words(template))


@cache
def _words(template: str) -> list[str]:
    return re.split(r"\{[a-z]+\}", template.lower())


def _fill(template: str, sentence: str, slots: Slots) -> Iterator[Slots]:
    """Yield the slots of people and towns with which a template becomes a sentence, if it can."""
    known = {**dict.fromkeys(("a", "b"), r"\w+"), "who": r"\w+", "city": r"\w+"}
    parts = re.split(r"\{([a-z]+)\}", template)
    seen, pattern = set[str](), ""
    for number, part in enumerate(parts):
        if number % 2 == 0:
            pattern += re.escape(part)
        elif part in slots.english:
            pattern += re.escape(slots.english[part])
        elif part in known:
            pattern += f"(?P={part})" if part in seen else f"(?P<{part}>{known[part]})"
            seen.add(part)
        else:
            return
    match = re.fullmatch(pattern, sentence, flags=re.IGNORECASE)
    if match is None:
        return
    found = {name: value.lower() if value.lower() in PRONOUNS else value for name, value in match.groupdict().items()}
    if all(_is_known(name, value) for name, value in found.items()):
        german = {
            name: CITIES.get(value, value) if name == "city" else PRONOUNS.get(value, value)
            for name, value in found.items()
        }
        yield slots.add(found, german)


def _is_known(slot: str, value: str) -> bool:
    """Return whether a slot may have a value."""
    if slot == "city":
        return value in CITIES
    return value in PEOPLE or (slot == "who" and value in PRONOUNS)
