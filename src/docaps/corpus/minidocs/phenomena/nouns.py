"""Nouns with two translations: by the sense of an ambiguous noun, or by the gender of a person."""

from collections.abc import Sequence
from random import Random

from docaps.corpus.minidocs.lexicon import PERSON_GENDERS, PROFESSION_FORMS, Clause, Noun, Phrase
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

_ENGLISH_PRONOUNS = (
    {"she": "he", "her": "his", "herself": "himself"},
    {"she": "she", "her": "her", "herself": "herself"},
)


class Ambiguity(Phenomenon):
    """Nouns such as *bank*: the topic of an earlier sentence decides; the sentence around them suits both senses."""

    name = "ambiguity"
    weight = 3
    contrasts = (("noun", ("a", "b")),)

    def draw(self, rng: Random, cast: Cast, topics: set[str], count: int = 1, form: str | None = None) -> Event:
        """Draw a noun, neutral sentences for it, and a cue for each of its senses."""
        lexicon = cast.lexicon
        # The topics of a noun are itself, and what would compete with it in one story.
        by_topics = [({a.noun.english} | a.avoid | b.avoid, (a, b)) for a, b in lexicon.ambiguous]
        used, senses = rng.choice([(used, senses) for used, senses in by_topics if not used & topics])
        topics |= used
        nouns, frames = [sense.noun for sense in senses], rng.sample(lexicon.ambiguity_frames, count)
        sentences = [render_nouns(rng, cast, clause, nouns, lexicon.ambiguity_adjectives) for clause in frames]
        # One cue for each sense, with the same people and the same comment before it.
        slots, clauses = cast.draw_slots(rng), [rng.choice(sense.cues) for sense in senses]
        front = choose_front(rng, lexicon.comments, clauses[0], share=0.05)
        cues = [render(clause, slots, front) for clause in clauses]
        return self.make_event((form or "noun",) * count, sentences, cues, "ab")


class Profession(Phenomenon):
    """Nouns such as *doctor*: *his* or *her* in the cue decides; the noun links the sentence to the cue."""

    name = "profession"
    contrasts = tuple((form, ("m", "f")) for form in PROFESSION_FORMS)

    def draw(self, rng: Random, cast: Cast, topics: set[str], count: int = 1, form: str | None = None) -> Event:
        """Draw a profession, sentences about it, and a cue for each gender."""
        table = cast.lexicon.professions
        nouns = rng.choice([nouns for nouns in table.people if nouns[0].english not in topics])
        topics.add(nouns[0].english)
        adjective = (rng.choice(table.adjectives),)  # one for the whole event: another would suggest another person
        forms = (form,) if form else tuple(rng.choice(PROFESSION_FORMS) for _ in range(count))
        used: set[Clause] = set()
        sentences = [
            render_nouns(rng, cast, choose_unused(rng, table.frames[one], used), nouns, adjective) for one in forms
        ]
        cues = draw_cues(rng, cast, nouns, adjective)
        return self.make_event(forms, sentences, cues, [gender[0] for gender in PERSON_GENDERS])


def render_nouns(
    rng: Random, cast: Cast, clause: Clause, nouns: Sequence[Noun], adjectives: tuple[Phrase, ...]
) -> list[SentencePair]:
    """Render a sentence with each of the nouns, and everything else the same."""
    slots = cast.draw_slots(rng)
    front = choose_front(rng, cast.lexicon.comments, clause, share=0.1)
    adjective = choose_adjective(rng, adjectives, clause)
    return [render(clause, slots.add_noun(noun, adjective), front) for noun in nouns]


def draw_cues(rng: Random, cast: Cast, nouns: Sequence[Noun], adjectives: tuple[Phrase, ...]) -> list[SentencePair]:
    """Render a cue about a person with he or she, his or her, and everything else the same."""
    clause, slots = rng.choice(cast.lexicon.professions.cues), cast.draw_slots(rng)
    front = choose_front(rng, cast.lexicon.comments, clause, share=0.05)
    adjective = choose_adjective(rng, adjectives, clause)
    return [
        render(clause, slots.add_noun(noun, adjective).add(words, pronoun_slots(noun.gender)), front)
        for noun, words in zip(nouns, _ENGLISH_PRONOUNS, strict=True)
    ]
