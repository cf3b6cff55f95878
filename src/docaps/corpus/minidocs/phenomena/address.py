"""Du or Sie: how a person was addressed decides pronoun and verb form of what is said to them."""

from random import Random

from docaps.corpus.minidocs.lexicon import ADDRESS_FORMS, Title, Utterance
from docaps.corpus.minidocs.phenomena.phenomenon import Event, Phenomenon
from docaps.corpus.minidocs.rendering import Cast, Person, SentencePair, say

WAYS = ("du", "sie")


class AddressForm(Phenomenon):
    """*You*, *your* and requests: a first name or a title and surname in the address decides the German form."""

    name = "address"
    occupies = frozenset({"dialogue"})
    contrasts = tuple((form, WAYS) for form in ADDRESS_FORMS)

    def draw(self, rng: Random, cast: Cast, topics: set[str], count: int = 1, form: str | None = None) -> Event:
        """Draw who is addressed, in both ways, and what is said then."""
        a, b = cast.draw_roles(rng)
        forms = (form,) if form else tuple(rng.choice(ADDRESS_FORMS) for _ in range(count))
        used: set[Utterance] = set()
        sentences = [draw_sentence(rng, cast, (a, b), form, used) for form in forms]
        cues = draw_addresses(rng, cast, (a, b), draw_title(rng, cast, b, topics))
        return self.make_event(forms, sentences, cues, WAYS)


def draw_sentence(
    rng: Random, cast: Cast, roles: tuple[Person, Person], form: str, used: set[Utterance]
) -> list[SentencePair]:
    """Draw an utterance that is not used yet, with du and with Sie."""
    utterance = rng.choice([one for one in cast.lexicon.addresses.sentences[form] if one not in used])
    used.add(utterance)
    slots = cast.name_slots(rng, *roles)
    return [say(utterance, slots, way) for way in range(len(WAYS))]


def draw_title(rng: Random, cast: Cast, person: Person, topics: set[str]) -> Title:
    """Draw a title that suits the person, and exclude a profession that it would be confused with."""
    titles = [title for title in cast.lexicon.addresses.titles if title.kind in (None, person.kind)]
    title = rng.choice([title for title in titles if title.avoid not in topics])
    if title.avoid:
        topics.add(title.avoid)
    return title


def draw_addresses(rng: Random, cast: Cast, roles: tuple[Person, Person], title: Title) -> list[SentencePair]:
    """Address {b} by first name, and by title and surname, half of the time with the same greeting."""
    table, slots = cast.lexicon.addresses, cast.name_slots(rng, *roles)
    surname, first_name = rng.choice(table.surnames), roles[1].name
    shared = rng.choice(table.greetings) if rng.random() < 0.5 else None
    informal, formal = shared or rng.choice(table.informal), shared or rng.choice(table.formal)
    return [
        say(informal, slots.with_both({"name": first_name}, {"name": first_name})),
        say(formal, slots.with_both({"name": f"{title.english} {surname}"}, {"name": f"{title.german} {surname}"})),
    ]
