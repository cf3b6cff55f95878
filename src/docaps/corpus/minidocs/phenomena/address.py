"""Du or Sie: how a person was addressed decides pronoun and verb form of what is said to them."""

from random import Random

from docaps.corpus.minidocs.lexicon import ADDRESS_FORMS, Utterance
from docaps.corpus.minidocs.phenomena.phenomenon import Event, Phenomenon
from docaps.corpus.minidocs.rendering import Cast, Person, SentencePair, choose_unused, say

WAYS = ("du", "sie")


class AddressForm(Phenomenon):
    """*You*, *your* and requests: a first name or a title and surname in the address decides the German form."""

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
