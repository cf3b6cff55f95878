"""The gender of a profession: der Arzt or die Ärztin, by what an earlier sentence tells about the doctor."""

from dataclasses import dataclass
from random import Random

from docaps.corpus.minidocs.cast import Cast
from docaps.corpus.minidocs.entries import Adjective, Clause
from docaps.corpus.minidocs.german import pronoun_slots
from docaps.corpus.minidocs.phenomena.interface import Event, Variant
from docaps.corpus.minidocs.professions import PERSON_GENDERS, PROFESSION_FORMS
from docaps.corpus.minidocs.professions import Profession as Entry
from docaps.corpus.minidocs.rendering import Pair, choose_adjective, choose_front, render

_ENGLISH = (
    {"she": "he", "her": "his", "herself": "himself"},
    {"she": "she", "her": "her", "herself": "herself"},
)


@dataclass(frozen=True, slots=True)
class Profession:
    """Nouns such as *doctor*: *his* or *her* in the cue tells, the noun says whom the cue was about."""

    name: str = "profession"
    occupies: frozenset[str] = frozenset()
    weight: int = 1
    contrasts: tuple[tuple[str, tuple[str, ...]], ...] = tuple((form, ("m", "f")) for form in PROFESSION_FORMS)

    def draw(self, rng: Random, cast: Cast, topics: set[str], count: int = 1, form: str | None = None) -> Event:
        """Choose a profession, sentences about it, and a cue for each gender."""
        table = cast.lexicon.professions
        entry = rng.choice([entry for entry in table.people if entry.english not in topics])
        topics.add(entry.english)
        adjective = rng.choice(table.adjectives)  # one for the whole event, or it would seem to be somebody else
        forms = (form,) if form else tuple(rng.choice(PROFESSION_FORMS) for _ in range(count))
        told: set[Clause] = set()
        sentences = [draw_sentences(rng, cast, entry, adjective, form, told) for form in forms]
        variants = tuple(
            Variant(gender[0], cue, tuple(pairs[place].target for pairs in sentences))
            for place, (gender, cue) in enumerate(
                zip(PERSON_GENDERS, draw_cues(rng, cast, entry, adjective), strict=True)
            )
        )
        return Event(self.name, forms, tuple(pairs[0].source for pairs in sentences), variants)


def draw_sentences(
    rng: Random, cast: Cast, entry: Entry, adjective: Adjective, form: str, told: set[Clause]
) -> list[Pair]:
    """Write a sentence about the person that is not told yet, once for a man and once for a woman."""
    clause = rng.choice([clause for clause in cast.lexicon.professions.frames[form] if clause not in told])
    told.add(clause)
    slots = cast.draw_slots(rng)
    front = choose_front(rng, cast.lexicon.comments, clause, share=0.1)
    described = choose_adjective(rng, (adjective,), clause)
    return [render(clause, slots.with_noun(noun, described), front) for noun in entry.nouns]


def draw_cues(rng: Random, cast: Cast, entry: Entry, adjective: Adjective) -> list[Pair]:
    """Tell something about the person with he or she, his or her, and everything else the same."""
    clause, slots = rng.choice(cast.lexicon.professions.cues), cast.draw_slots(rng)
    front = choose_front(rng, cast.lexicon.comments, clause, share=0.05)
    described = choose_adjective(rng, (adjective,), clause)
    return [
        render(clause, slots.with_noun(noun, described).with_both(words, pronoun_slots(noun.gender)), front)
        for noun, words in zip(entry.nouns, _ENGLISH, strict=True)
    ]
