"""The gender of a profession: der Arzt or die Ärztin, by what an earlier sentence says about the doctor."""

from random import Random

from docaps.corpus.minidocs.entries import Adjective, Clause
from docaps.corpus.minidocs.german import pronoun_slots
from docaps.corpus.minidocs.lexicon import PERSON_GENDERS, PROFESSION_FORMS, ProfessionNouns
from docaps.corpus.minidocs.phenomena.phenomenon import Event, Phenomenon
from docaps.corpus.minidocs.rendering import Cast, SentencePair, choose_adjective, choose_front, render

_ENGLISH = (
    {"she": "he", "her": "his", "herself": "himself"},
    {"she": "she", "her": "her", "herself": "herself"},
)


class Profession(Phenomenon):
    """Nouns such as *doctor*: *his* or *her* in the cue decides; the noun links the sentence to the cue."""

    name = "profession"
    contrasts = tuple((form, ("m", "f")) for form in PROFESSION_FORMS)

    def draw(self, rng: Random, cast: Cast, topics: set[str], count: int = 1, form: str | None = None) -> Event:
        """Draw a profession, sentences about it, and a cue for each gender."""
        table = cast.lexicon.professions
        person = rng.choice([person for person in table.people if person.english not in topics])
        topics.add(person.english)
        adjective = rng.choice(table.adjectives)  # one for the whole event: another would suggest another person
        forms = (form,) if form else tuple(rng.choice(PROFESSION_FORMS) for _ in range(count))
        used: set[Clause] = set()
        sentences = [draw_sentences(rng, cast, person, adjective, form, used) for form in forms]
        tags = [gender[0] for gender in PERSON_GENDERS]
        return self.make_event(forms, sentences, draw_cues(rng, cast, person, adjective), tags)


def draw_sentences(
    rng: Random, cast: Cast, person: ProfessionNouns, adjective: Adjective, form: str, used: set[Clause]
) -> list[SentencePair]:
    """Render an unused sentence about the person, once for a man and once for a woman."""
    clause = rng.choice([clause for clause in cast.lexicon.professions.frames[form] if clause not in used])
    used.add(clause)
    slots = cast.draw_slots(rng)
    front = choose_front(rng, cast.lexicon.comments, clause, share=0.1)
    described = choose_adjective(rng, (adjective,), clause)
    return [render(clause, slots.with_noun(noun, described), front) for noun in person.nouns]


def draw_cues(rng: Random, cast: Cast, person: ProfessionNouns, adjective: Adjective) -> list[SentencePair]:
    """Render a cue about the person with he or she, his or her, and everything else the same."""
    clause, slots = rng.choice(cast.lexicon.professions.cues), cast.draw_slots(rng)
    front = choose_front(rng, cast.lexicon.comments, clause, share=0.05)
    described = choose_adjective(rng, (adjective,), clause)
    return [
        render(clause, slots.with_noun(noun, described).with_both(words, pronoun_slots(noun.gender)), front)
        for noun, words in zip(person.nouns, _ENGLISH, strict=True)
    ]
