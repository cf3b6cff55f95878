"""What people say: du or Sie by an earlier address, and answers that leave out the verb of the question."""

from dataclasses import dataclass
from random import Random

from docaps.corpus.minidocs.lexicon import ADDRESS_FORMS, GENDERS, Noun, Phrase, Utterance, Verb
from docaps.corpus.minidocs.phenomena.phenomenon import Event, Phenomenon
from docaps.corpus.minidocs.phenomena.pronoun import draw_class
from docaps.corpus.minidocs.rendering import Cast, Person, SentencePair, Slots, choose_unused, pronoun_slots, say

WAYS = ("du", "sie")
ELLIPSIS_FORMS = ("gender", "verb", "auxiliary")


class AddressForm(Phenomenon):
    """*You*, *your* and requests: a first name or a title and surname in the address decides pronoun and verb form."""

    name = "address"
    occupies = frozenset({"dialogue"})
    contrasts = tuple((form, WAYS) for form in ADDRESS_FORMS)

    def draw(self, rng: Random, cast: Cast, topics: set[str], count: int = 1, form: str | None = None) -> Event:
        """Draw who is addressed, in both ways, and what is said then."""
        table, roles = cast.lexicon.addresses, cast.draw_roles(rng)
        forms = (form,) if form else tuple(rng.choice(ADDRESS_FORMS) for _ in range(count))
        used: set[Utterance] = set()
        sentences = []
        for one in forms:
            utterance, slots = choose_unused(rng, table.sentences[one], used), cast.name_slots(rng, *roles)
            sentences.append([say(utterance, slots, way) for way in range(len(WAYS))])
        return self.make_event(forms, sentences, draw_addresses(rng, cast, roles, topics), WAYS)


def draw_addresses(rng: Random, cast: Cast, roles: tuple[Person, Person], topics: set[str]) -> list[SentencePair]:
    """Address {b} by first name, and by title and surname, half of the time with the same greeting.

    The title suits the person; a profession that it would be confused with is added to the topics.
    """
    table, first_name = cast.lexicon.addresses, roles[1].name
    titles = [title for title in table.titles if title.kind in (None, roles[1].kind)]
    title = rng.choice([title for title in titles if title.avoid not in topics])
    if title.avoid:
        topics.add(title.avoid)
    slots, surname = cast.name_slots(rng, *roles), rng.choice(table.surnames)
    shared = rng.choice(table.greetings) if rng.random() < 0.5 else None
    informal, formal = shared or rng.choice(table.informal), shared or rng.choice(table.formal)
    return [
        say(informal, slots.add({"name": first_name}, {"name": first_name})),
        say(formal, slots.add({"name": f"{title.english} {surname}"}, {"name": f"{title.german} {surname}"})),
    ]


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
    """*She did*: German repeats verb and object of the question.

    The variants of a question differ in the object's gender, in the verb, or in verb and auxiliary.
    """

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
        kind = form or rng.choice(ELLIPSIS_FORMS)
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
