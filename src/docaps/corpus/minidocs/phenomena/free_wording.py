"""A wording that is free at first, and kept: only the translation of an earlier sentence decides."""

from random import Random

from docaps.corpus.minidocs.lexicon import ADDRESS_FORMS, Utterance
from docaps.corpus.minidocs.phenomena.dialogue import WAYS
from docaps.corpus.minidocs.phenomena.nouns import render_nouns
from docaps.corpus.minidocs.phenomena.phenomenon import Event, Phenomenon
from docaps.corpus.minidocs.rendering import Cast, SentencePair, choose_unused, say

WORDING_FORMS = ("term", "address")


class Wording(Phenomenon):
    """One of two German words for a thing, or *du* or *Sie* without a hint: the first translation chooses.

    The source sentences are the same in all variants, the cue's too.
    """

    name = "wording"
    occupies = frozenset({"dialogue"})
    contrasts = (("term", ("a", "b")), ("address", WAYS))

    def draw(self, rng: Random, cast: Cast, topics: set[str], count: int = 1, form: str | None = None) -> Event:
        """Draw a noun, or a person to address, and sentences; the first of them is the cue."""
        kind = form or rng.choice(WORDING_FORMS)
        sentences = (draw_terms if kind == "term" else draw_remarks)(rng, cast, topics, count + 1)
        cue, *others = sentences
        return self.make_event((kind,) * count, others, cue, dict(self.contrasts)[kind])


def draw_terms(rng: Random, cast: Cast, topics: set[str], count: int) -> list[list[SentencePair]]:
    """Draw sentences about one thing, each with both words for it; the thing is a new topic."""
    lexicon = cast.lexicon
    nouns = rng.choice([nouns for nouns in lexicon.terms if nouns[0].english not in topics])
    topics.add(nouns[0].english)
    frames = rng.sample(lexicon.ambiguity_frames, count)
    return [render_nouns(rng, cast, clause, nouns, lexicon.ambiguity_adjectives) for clause in frames]


def draw_remarks(rng: Random, cast: Cast, _: set[str], count: int) -> list[list[SentencePair]]:
    """Draw sentences of one speaker to another, each with *du* and with *Sie*."""
    table, roles = cast.lexicon.addresses, cast.draw_roles(rng)
    used: set[Utterance] = set()
    remarks = []
    for _number in range(count):
        utterance = choose_unused(rng, table.sentences[rng.choice(ADDRESS_FORMS)], used)
        slots = cast.name_slots(rng, *roles)
        remarks.append([say(utterance, slots, way) for way in range(len(WAYS))])
    return remarks
