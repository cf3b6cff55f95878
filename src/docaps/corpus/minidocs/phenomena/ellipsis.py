"""Ellipsis: English answers "she did", German repeats verb and object of the question."""

from dataclasses import dataclass
from random import Random

from docaps.corpus.minidocs.lexicon import GENDERS, Noun, Phrase, Verb
from docaps.corpus.minidocs.phenomena.phenomenon import Event, Phenomenon
from docaps.corpus.minidocs.phenomena.pronoun import draw_class
from docaps.corpus.minidocs.rendering import Cast, Slots, pronoun_slots, say

FORMS = ("gender", "verb", "auxiliary")


@dataclass(frozen=True, slots=True)
class Action:
    """What a question asks about: a verb, and its object if it has one."""

    tag: str
    verb: Verb
    thing: Noun | None = None
    adjective: Phrase | None = None

    def fill(self, slots: Slots) -> Slots:
        """Add the forms of the verb and its object, and the object's pronoun in the answer."""
        verb = {"has": self.verb.auxiliary, "done": self.verb.participle, "it:acc": ""}
        filled = slots.add({"do": self.verb.english}, verb)
        if self.thing is None:
            return filled
        return filled.add_noun(self.thing, self.adjective).add({}, pronoun_slots(self.thing.gender))


class VerbEllipsis(Phenomenon):
    """*She did*: the variants of a question differ in the object's gender, in the verb, or in verb and auxiliary."""

    name = "ellipsis"
    occupies = frozenset({"thing", "dialogue"})
    contrasts = (
        ("gender", ("m", "f", "n")),
        ("gender", ("m", "f", "n")),
        ("verb", ("a", "b")),
        ("auxiliary", ("hat", "ist")),
    )

    def draw(self, rng: Random, cast: Cast, topics: set[str], count: int = 1, form: str | None = None) -> Event:
        """Draw two or three actions, a question about each, and answers that suit them all."""
        table, (a, b) = cast.lexicon.ellipses, cast.draw_roles(rng)
        kind = form or rng.choice(FORMS)
        actions = draw_actions(rng, cast, topics, kind)
        question = rng.choice(table.questions["intransitive" if kind == "auxiliary" else "transitive"])
        answers = rng.sample(table.answers[rng.choice(("positive", "negative"))], count)
        slots = cast.name_slots(rng, a, b).add({"she": a.pronoun.source}, {"she": a.pronoun.target})
        filled = [action.fill(slots) for action in actions]
        sentences = [[say(answer, one) for one in filled] for answer in answers]
        cues, tags = [say(question, one) for one in filled], [action.tag for action in actions]
        genders = [action.thing.gender if action.thing else None for action in actions]
        return self.make_event((kind,) * count, sentences, cues, tags, genders)


def draw_actions(rng: Random, cast: Cast, topics: set[str], kind: str) -> list[Action]:
    """Draw actions that differ in the gender of the object, in the verb, or, without an object, in the auxiliary."""
    table = cast.lexicon.ellipses
    if kind == "auxiliary":
        return [Action(auxiliary, rng.choice(verbs)) for auxiliary, verbs in sorted(table.intransitive.items())]
    things = draw_class(rng, cast, topics)
    adjective = rng.choice(things.adjectives) if rng.random() < 0.6 else None
    if kind == "gender":
        verb = rng.choice(table.transitive)
        return [Action(gender[0], verb, rng.choice(things.nouns[gender]), adjective) for gender in GENDERS]
    thing = rng.choice(things.nouns[rng.choice(GENDERS)])
    verbs = rng.sample(table.transitive, 2)
    return [Action(tag, verb, thing, adjective) for tag, verb in zip("ab", verbs, strict=True)]
