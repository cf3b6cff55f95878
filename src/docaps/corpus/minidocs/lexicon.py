"""The lexicon: the words and sentences of `data`, read once and checked."""

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, reduce
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from docaps.errors import CorpusError

Gender = Literal["masculine", "feminine", "neuter"]
GENDERS: tuple[Gender, ...] = ("masculine", "feminine", "neuter")
PERSON_GENDERS = GENDERS[:2]
FORMS = ("subject", "object", "possessive")
ADDRESS_FORMS = ("du", "dich", "dein", "imperative")
PROFESSION_FORMS = ("nominative", "accusative", "dative", "genitive")

_ARTICLES: dict[str, Gender] = {"der": "masculine", "die": "feminine", "das": "neuter"}
_PEOPLE = {"a", "b", "who", "city"}
_ENGLISH_SLOTS = _PEOPLE | {"the", "an", "she", "her", "herself"}
_NOUN_SLOTS = {f"{article}:{case}" for article in ("the", "an") for case in ("nom", "acc", "dat", "gen")}
_GERMAN_SLOTS = _PEOPLE | _NOUN_SLOTS | {"it", "it:acc", "its"}
_SPEECH_SLOTS = {"a", "b", "city", "name", "she", "do", "has", "done", "the", "the:acc", "it:acc"}
_LEAST_NOUNS, _LEAST_FRAMES, _LEAST_CUES, _LEAST_SPOKEN, _LEAST_PEOPLE, _LEAST_TERMS = 4, 3, 4, 4, 8, 4


class Noun(NamedTuple):
    """An English noun and its German translation, in the singular."""

    english: str
    german: str
    gender: Gender
    oblique: str  # the accusative and dative: "Löwen" for "Löwe", else the same as `german`
    genitive: str | None = None  # only if a sentence needs it


class Phrase(NamedTuple):
    """An adjective without endings, a name, or a phrase before a clause, in both languages."""

    english: str
    german: str


class Clause(NamedTuple):
    """A sentence with slots; the German has three parts, so that the verb stays second whatever comes first."""

    english: str
    subject: str
    verb: str
    rest: str

    def mentions(self, slot: str) -> bool:
        """Return whether the English side has this slot."""
        return f"{{{slot}}}" in self.english


class Utterance(NamedTuple):
    """A spoken sentence with slots, and its translation: one, or one for each form of address."""

    english: str
    german: tuple[str, ...]


class ThingClass(NamedTuple):
    """Things of one kind: their nouns by gender, and sentences that suit this kind only."""

    name: str
    nouns: dict[Gender, tuple[Noun, ...]]
    adjectives: tuple[Phrase, ...]
    introductions: tuple[Clause, ...]
    frames: dict[str, tuple[Clause, ...]]  # by form: subject, object, possessive


class Sense(NamedTuple):
    """One translation of an ambiguous noun, and the sentences that point to it."""

    noun: Noun
    cues: tuple[Clause, ...]
    avoid: frozenset[str]  # topics that would compete with the noun in one story


class Title(NamedTuple):
    """What precedes a surname: for all people, or for women or men only."""

    english: str
    german: str
    kind: str | None = None
    avoid: str | None = None  # a profession that would be taken for the same person


class AddressTable(NamedTuple):
    """Forms of address, and sentences that follow them, with du and with Sie."""

    surnames: tuple[str, ...]
    titles: tuple[Title, ...]
    greetings: tuple[Utterance, ...]
    informal: tuple[Utterance, ...]
    formal: tuple[Utterance, ...]
    sentences: dict[str, tuple[Utterance, ...]]  # by form


class Verb(NamedTuple):
    """An English verb, and its German perfect: hat gekauft, ist eingeschlafen."""

    english: str
    auxiliary: str
    participle: str


class EllipsisTable(NamedTuple):
    """Verbs to ask for, the questions, and answers without the verb."""

    transitive: tuple[Verb, ...]
    intransitive: dict[str, tuple[Verb, ...]]  # by auxiliary
    questions: dict[str, tuple[Utterance, ...]]  # for verbs with an object, and without
    answers: dict[str, tuple[Utterance, ...]]  # positive, negative


class ProfessionTable(NamedTuple):
    """All professions, sentences that show the person's gender, and sentences that do not."""

    people: tuple[tuple[Noun, Noun], ...]  # one noun in English, in German one for each of PERSON_GENDERS
    adjectives: tuple[Phrase, ...]
    cues: tuple[Clause, ...]
    frames: dict[str, tuple[Clause, ...]]  # by the case of the noun


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All words and sentences of the grammar."""

    things: tuple[ThingClass, ...]
    ambiguous: tuple[tuple[Sense, Sense], ...]
    ambiguity_frames: tuple[Clause, ...]
    ambiguity_adjectives: tuple[Phrase, ...]
    terms: tuple[tuple[Noun, Noun], ...]  # the same thing in German words of one meaning
    addresses: AddressTable
    professions: ProfessionTable
    ellipses: EllipsisTable
    women: tuple[str, ...]
    men: tuple[str, ...]
    cities: tuple[Phrase, ...]
    dates: tuple[Phrase, ...]
    times: tuple[Phrase, ...]
    comments: tuple[Phrase, ...]
    openings: tuple[Clause, ...]
    mentions: tuple[Clause, ...]
    fillers: tuple[Clause, ...]
    states: tuple[Clause, ...]
    closings: tuple[Clause, ...]


@cache
def load_lexicon() -> Lexicon:
    """Read the tables of the package."""
    data = files("docaps.corpus.minidocs") / "data"
    story, frames = _read_table(data / "story.toml"), _read_table(data / "frames.toml")
    things = sorted((data / "things").iterdir(), key=lambda file: file.name)
    clauses = ("openings", "mentions", "fillers", "states", "closings")
    return Lexicon(
        things=tuple(parse_thing_class(file.name, _read_table(file)) for file in things if file.name.endswith(".toml")),
        ambiguous=tuple(parse_senses(word, table) for word, table in _read_table(data / "ambiguity.toml").items()),
        ambiguity_frames=_parse_clauses(frames["frames"]),
        ambiguity_adjectives=_parse_phrases(frames["adjectives"]),
        terms=parse_terms(_read_table(data / "terms.toml")),
        addresses=parse_addresses(_read_table(data / "address.toml")),
        professions=parse_professions(_read_table(data / "professions.toml")),
        ellipses=parse_ellipses(_read_table(data / "ellipsis.toml")),
        women=tuple(story["women"]),
        men=tuple(story["men"]),
        cities=_parse_phrases(story["cities"]),
        dates=_parse_dates(story),
        times=tuple(Phrase(*pair) for pair in story["times"]),
        comments=tuple(Phrase(*pair) for pair in story["comments"]),
        **{name: _parse_clauses(story[name]) for name in clauses},
    )


def _read_table(file: Traversable) -> dict[str, Any]:
    """Read a TOML file of the package."""
    with naming(file.name):
        return tomllib.loads(file.read_text(encoding="utf-8"))


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Name the file in the error of a file that cannot be read, or of a faulty entry."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise CorpusError(f"mini-documents: {error}", path=Path(file)) from error


def require(table: dict[str, Any], *keys: str, least: int = 1) -> None:
    """Check that each key of a table (`questions.transitive` is a key of the table `questions`) has enough entries."""
    for key in keys:
        found = len(reduce(lambda part, name: part.get(name, {}), key.split("."), table))
        if found < least:
            raise ValueError(f"{key!r} has {found} entries, expected {least} or more")


def parse_thing_class(file: str, table: dict[str, Any]) -> ThingClass:
    """Parse one class of things."""
    with naming(file):
        require(table, *GENDERS, least=_LEAST_NOUNS)
        require(table, *FORMS, least=_LEAST_FRAMES)
        require(table, "adjectives", "introductions")
        return ThingClass(
            name=file.removesuffix(".toml"),
            nouns={gender: tuple(parse_noun(text, gender) for text in table[gender]) for gender in GENDERS},
            adjectives=_parse_phrases(table["adjectives"]),
            introductions=_parse_clauses(table["introductions"]),
            frames={form: _parse_clauses(table[form]) for form in FORMS},
        )


def parse_senses(word: str, table: list[dict[str, Any]]) -> tuple[Sense, Sense]:
    """Parse the two senses of an ambiguous noun."""
    with naming("ambiguity.toml"):
        if len(table) != 2:
            raise ValueError(f"{word!r} has {len(table)} senses, expected 2")
        first, second = (_parse_sense(word, sense) for sense in table)
    return first, second


def _parse_sense(word: str, sense: dict[str, Any]) -> Sense:
    """Parse one sense: its noun, and the sentences that point to it."""
    require({word: sense}, f"{word}.german")
    require({word: sense}, f"{word}.cues", least=_LEAST_CUES)
    noun = _parse_noun_with_article(word, sense["german"])
    return Sense(noun, _parse_clauses(sense["cues"]), frozenset(sense.get("avoid", ())))


def _parse_noun_with_article(english: str, text: str) -> Noun:
    """Parse a German noun with its article: "der Buchstabe, Buchstaben"."""
    article, _, german = text.partition(" ")
    if article not in _ARTICLES:
        raise ValueError(f"{text!r} starts with {article!r}, expected der, die or das")
    return parse_noun(f"{english}: {german}", _ARTICLES[article])


def parse_terms(table: dict[str, Any]) -> tuple[tuple[Noun, Noun], ...]:
    """Parse the nouns with two translations of one meaning."""
    with naming("terms.toml"):
        require(table, "terms", least=_LEAST_TERMS)
        found = []
        for english, german in table["terms"].items():
            if len(set(german)) != 2 or len(german) != 2:
                raise ValueError(f"{english!r} has the translations {german}, expected two different ones")
            first, second = (_parse_noun_with_article(english, text) for text in german)
            found.append((first, second))
    return tuple(found)


def _parse_dates(story: dict[str, Any]) -> tuple[Phrase, ...]:
    """Combine weather and time of day ("one rainy morning,"), and add the fixed dates."""
    mornings = tuple(
        Phrase(f"one {sky.english} {time.english},", f"an einem {sky.german}en {time.german}")
        for sky in _parse_phrases(story["weather"])
        for time in _parse_phrases(story["daytimes"])
    )
    return mornings + tuple(Phrase(*pair) for pair in story["dates"])


def parse_addresses(table: dict[str, Any]) -> AddressTable:
    """Parse the table of du and Sie."""
    lists = ("greetings", "informal", "formal")
    with naming("address.toml"):
        spoken = (f"sentences.{form}" for form in ADDRESS_FORMS)
        require(table, "surnames", "titles", *lists, *spoken, least=_LEAST_SPOKEN)
        return AddressTable(
            surnames=tuple(table["surnames"]),
            titles=tuple(Title(**title) for title in table["titles"]),
            sentences={form: parse_utterances(table["sentences"][form], ways=2) for form in ADDRESS_FORMS},
            **{name: parse_utterances(table[name]) for name in lists},
        )


def parse_ellipses(table: dict[str, Any]) -> EllipsisTable:
    """Parse the table of verbs, questions and answers."""
    with naming("ellipsis.toml"):
        require(table, "transitive", "intransitive.hat", "intransitive.ist", least=_LEAST_SPOKEN)
        require(table, "questions.transitive", "questions.intransitive", least=_LEAST_SPOKEN)
        require(table, "answers.positive", "answers.negative", least=_LEAST_SPOKEN)
        return EllipsisTable(
            transitive=_parse_verbs(table["transitive"], "hat"),
            intransitive={verb: _parse_verbs(entries, verb) for verb, entries in table["intransitive"].items()},
            questions={name: parse_utterances(entries) for name, entries in table["questions"].items()},
            answers={name: parse_utterances(entries) for name, entries in table["answers"].items()},
        )


def parse_professions(table: dict[str, Any]) -> ProfessionTable:
    """Parse the table of professions."""
    with naming("professions.toml"):
        require(table, "people", least=_LEAST_PEOPLE)
        require(table, "cues", least=_LEAST_CUES)
        require(table, *(f"frames.{form}" for form in PROFESSION_FORMS), least=_LEAST_FRAMES)
        require(table, "adjectives")
        return ProfessionTable(
            people=tuple(parse_profession(**person) for person in table["people"]),
            adjectives=_parse_phrases(table["adjectives"]),
            cues=_parse_clauses(table["cues"]),
            frames={form: _parse_clauses(table["frames"][form]) for form in PROFESSION_FORMS},
        )


def parse_profession(*, english: str, man: str, woman: str) -> tuple[Noun, Noun]:
    """Parse "Arzt, Arzt, Arztes" and "Ärztin", which has one form for all cases."""
    he = parse_noun(f"{english}: {man}", "masculine")
    she = parse_noun(f"{english}: {woman}, {woman}, {woman}", "feminine")
    if he.genitive is None or she.german == he.german:
        raise ValueError(f"{english!r}: expected nominative, oblique and genitive of a man's noun, and a woman's noun")
    return he, she


def parse_noun(text: str, gender: Gender) -> Noun:
    """Parse "lion: Löwe, Löwen", or with its genitive "doctor: Arzt, Arzt, Arztes"."""
    english, german = _parse_phrase(text)
    forms = german.split(", ")
    if not all(form[:1].isupper() for form in forms) or len(forms) > 3:
        raise ValueError(f"{text!r}: a German noun starts with a capital, and has at most three forms")
    return Noun(english, forms[0], gender, oblique=forms[min(1, len(forms) - 1)], genitive=(*forms, None, None)[2])


def _parse_phrase(text: str) -> Phrase:
    """Parse "red: rot"."""
    english, _, german = text.partition(": ")
    if not (english and german):
        raise ValueError(f"{text!r}: expected 'english: german'")
    return Phrase(english, german)


def _parse_phrases(entries: list[str]) -> tuple[Phrase, ...]:
    """Parse a list of adjectives or names."""
    return tuple(map(_parse_phrase, entries))


def _parse_verbs(entries: list[str], auxiliary: str) -> tuple[Verb, ...]:
    """Parse a list of verbs such as "buy: gekauft"."""
    return tuple(Verb(english, auxiliary, participle) for english, participle in _parse_phrases(entries))


def parse_clause(english: str, german: str) -> Clause:
    """Parse "it tasted wonderful" and "{it} | schmeckte | wunderbar"."""
    parts = [part.strip() for part in german.split("|")]
    if len(parts) != 3 or not parts[0] or not parts[1]:
        raise ValueError(f"{german!r}: expected 'subject | verb | rest'")
    _check_slots(english, _ENGLISH_SLOTS)
    _check_slots(german, _GERMAN_SLOTS)
    return Clause(english, *parts)


def _parse_clauses(pairs: list[list[str]]) -> tuple[Clause, ...]:
    """Parse a list of clauses."""
    return tuple(parse_clause(*pair) for pair in pairs)


def parse_utterances(entries: list[list[str]], ways: int = 1) -> tuple[Utterance, ...]:
    """Parse entries such as ["Come in.", "Komm herein.", "Kommen Sie herein."], with `ways` translations each."""
    for english, *german in entries:
        if len(german) != ways:
            raise ValueError(f"{english!r} has {len(german)} translations, expected {ways}")
        for text in (english, *german):
            _check_slots(text, _SPEECH_SLOTS)
            if text[-1] not in ".?!":
                raise ValueError(f"{text!r} ends without a full stop, question mark or exclamation mark")
    return tuple(Utterance(english, tuple(german)) for english, *german in entries)


def _check_slots(template: str, known: set[str]) -> None:
    """Refuse an unknown slot."""
    for slot in re.findall(r"\{(.*?)\}", template):
        if slot not in known:
            raise ValueError(f"{template!r}: unknown slot {{{slot}}}, expected one of {', '.join(sorted(known))}")
