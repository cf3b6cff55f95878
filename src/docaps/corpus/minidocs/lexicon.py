"""The lexicon: all tables of `data`, read once and checked."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from docaps.corpus.minidocs.entries import (
    GENDERS,
    Adjective,
    Adverbial,
    Clause,
    Gender,
    Noun,
    check_slots,
    data_folder,
    naming,
    parse_adjective,
    parse_adverbial,
    parse_clauses,
    parse_noun,
    parse_translation,
    read_table,
    require,
    split_pair,
)
from docaps.errors import CorpusError

FORMS = ("subject", "object", "possessive")
ADDRESS_FORMS = ("du", "dich", "dein", "imperative")
PROFESSION_FORMS = ("nominative", "accusative", "dative", "genitive")
PERSON_GENDERS: tuple[Gender, ...] = ("masculine", "feminine")
_SPEECH_SLOTS = {"a", "b", "city", "name", "she", "do", "has", "done", "the", "the:acc", "it:acc"}
_LEAST_NOUNS, _LEAST_FRAMES, _LEAST_CUES, _LEAST_SPOKEN, _LEAST_PEOPLE = 4, 3, 4, 4, 8


@dataclass(frozen=True, slots=True)
class ThingClass:
    """Things of one kind: their nouns by gender, and sentences that suit this kind only."""

    name: str
    nouns: dict[Gender, tuple[Noun, ...]]
    adjectives: tuple[Adjective, ...]
    introductions: tuple[Clause, ...]
    frames: dict[str, tuple[Clause, ...]]  # by form: subject, object, possessive


@dataclass(frozen=True, slots=True)
class Sense:
    """One translation of an ambiguous noun, and the sentences that point to it."""

    noun: Noun
    cues: tuple[Clause, ...]
    avoid: frozenset[str] = frozenset()  # topics that would compete with the noun in one story


@dataclass(frozen=True, slots=True)
class Utterance:
    """A spoken sentence with slots, and its translation: one, or one for each form of address."""

    english: str
    german: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Title:
    """What precedes a surname: for everybody, or for women or men only."""

    english: str
    german: str
    kind: str | None = None
    avoid: str | None = None  # a profession that would be taken for the same person


@dataclass(frozen=True, slots=True)
class AddressTable:
    """Forms of address, and sentences that follow them, with du and with Sie."""

    surnames: tuple[str, ...]
    titles: tuple[Title, ...]
    greetings: tuple[Utterance, ...]
    informal: tuple[Utterance, ...]
    formal: tuple[Utterance, ...]
    sentences: dict[str, tuple[Utterance, ...]]  # by form


@dataclass(frozen=True, slots=True)
class Verb:
    """An English verb, and its German perfect: hat gekauft, ist eingeschlafen."""

    english: str
    auxiliary: str
    participle: str


@dataclass(frozen=True, slots=True)
class EllipsisTable:
    """Verbs to ask for, the questions, and answers without the verb."""

    transitive: tuple[Verb, ...]
    intransitive: dict[str, tuple[Verb, ...]]  # by auxiliary
    questions: dict[str, tuple[Utterance, ...]]  # for verbs with an object, and without
    answers: dict[str, tuple[Utterance, ...]]  # positive, negative


@dataclass(frozen=True, slots=True)
class ProfessionNouns:
    """A profession: one noun in English, in German one for a man and one for a woman."""

    english: str
    nouns: tuple[Noun, Noun]  # in the order of PERSON_GENDERS


@dataclass(frozen=True, slots=True)
class ProfessionTable:
    """All professions, sentences that show the person's gender, and sentences that do not."""

    people: tuple[ProfessionNouns, ...]
    adjectives: tuple[Adjective, ...]
    cues: tuple[Clause, ...]
    frames: dict[str, tuple[Clause, ...]]  # by the case of the noun


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All words and sentences of the grammar."""

    things: tuple[ThingClass, ...]
    ambiguous: tuple[tuple[Sense, Sense], ...]
    ambiguity_frames: tuple[Clause, ...]
    ambiguity_adjectives: tuple[Adjective, ...]
    addresses: AddressTable
    professions: ProfessionTable
    ellipses: EllipsisTable
    women: tuple[str, ...]
    men: tuple[str, ...]
    cities: tuple[tuple[str, str], ...]
    dates: tuple[Adverbial, ...]
    times: tuple[Adverbial, ...]
    comments: tuple[Adverbial, ...]
    openings: tuple[Clause, ...]
    mentions: tuple[Clause, ...]
    fillers: tuple[Clause, ...]
    states: tuple[Clause, ...]
    closings: tuple[Clause, ...]


@cache
def load_lexicon() -> Lexicon:
    """Read the tables of the package."""
    data = data_folder()
    story, frames = read_table(data / "story.toml"), read_table(data / "frames.toml")
    things = sorted((data / "things").iterdir(), key=lambda file: file.name)
    clauses = ("openings", "mentions", "fillers", "states", "closings")
    return Lexicon(
        things=tuple(parse_thing_class(file.name, read_table(file)) for file in things if file.name.endswith(".toml")),
        ambiguous=tuple(parse_senses(word, table) for word, table in read_table(data / "ambiguity.toml").items()),
        ambiguity_frames=parse_clauses(frames["frames"]),
        ambiguity_adjectives=tuple(map(parse_adjective, frames["adjectives"])),
        addresses=parse_addresses(read_table(data / "address.toml")),
        professions=parse_professions(read_table(data / "professions.toml")),
        ellipses=parse_ellipses(read_table(data / "ellipsis.toml")),
        women=tuple(story["women"]),
        men=tuple(story["men"]),
        cities=tuple(map(split_pair, story["cities"])),
        dates=_parse_dates(story),
        times=tuple(map(parse_adverbial, story["times"])),
        comments=tuple(map(parse_adverbial, story["comments"])),
        **{name: parse_clauses(story[name]) for name in clauses},
    )


def parse_thing_class(file_name: str, table: dict[str, Any]) -> ThingClass:
    """Parse one class of things."""
    name = file_name.removesuffix(".toml")
    require(file_name, table, dict.fromkeys(GENDERS, _LEAST_NOUNS))
    require(file_name, table, dict.fromkeys(FORMS, _LEAST_FRAMES) | {"adjectives": 1, "introductions": 1})
    with naming(file_name):
        return ThingClass(
            name=name,
            nouns={gender: tuple(parse_noun(text, gender) for text in table[gender]) for gender in GENDERS},
            adjectives=tuple(map(parse_adjective, table["adjectives"])),
            introductions=parse_clauses(table["introductions"]),
            frames={form: parse_clauses(table[form]) for form in FORMS},
        )


def parse_senses(word: str, table: list[dict[str, Any]]) -> tuple[Sense, Sense]:
    """Parse the two senses of an ambiguous noun."""
    file = "ambiguity.toml"
    if len(table) != 2:
        raise CorpusError(f"mini-documents: {word!r} has {len(table)} senses, expected 2", path=Path(file))
    for sense in table:
        require(f"{file} ({word})", sense, {"german": 1, "cues": _LEAST_CUES})
    with naming(file):
        first, second = (
            Sense(parse_translation(word, s["german"]), parse_clauses(s["cues"]), frozenset(s.get("avoid", ())))
            for s in table
        )
    return first, second


def _parse_dates(story: dict[str, Any]) -> tuple[Adverbial, ...]:
    """Combine weather and time of day ("one rainy morning,"), and add the fixed dates."""
    weather, daytimes = map(parse_adjective, story["weather"]), tuple(map(parse_adjective, story["daytimes"]))
    mornings = tuple(
        Adverbial(f"one {sky.english} {time.english},", f"an einem {sky.german}en {time.german}")
        for sky in weather
        for time in daytimes
    )
    return mornings + tuple(map(parse_adverbial, story["dates"]))


def parse_addresses(table: dict[str, Any]) -> AddressTable:
    """Parse the table of du and Sie."""
    file, lists = "address.toml", ("greetings", "informal", "formal")
    require(file, table, dict.fromkeys(("surnames", "titles", *lists), _LEAST_SPOKEN))
    require(file, table.get("sentences", {}), dict.fromkeys(ADDRESS_FORMS, _LEAST_SPOKEN))
    with naming(file):
        return AddressTable(
            surnames=tuple(table["surnames"]),
            titles=tuple(Title(**title) for title in table["titles"]),
            sentences={form: _parse_utterances(table["sentences"][form], ways=2) for form in ADDRESS_FORMS},
            **{name: _parse_utterances(table[name]) for name in lists},
        )


def parse_ellipses(table: dict[str, Any]) -> EllipsisTable:
    """Parse the table of verbs, questions and answers."""
    file = "ellipsis.toml"
    require(file, table, {"transitive": _LEAST_SPOKEN})
    for part, keys in (
        ("intransitive", ("hat", "ist")),
        ("questions", ("transitive", "intransitive")),
        ("answers", ("positive", "negative")),
    ):
        require(f"{file} ({part})", table.get(part, {}), dict.fromkeys(keys, _LEAST_SPOKEN))
    with naming(file):
        return EllipsisTable(
            transitive=_parse_verbs(table["transitive"], "hat"),
            intransitive={verb: _parse_verbs(entries, verb) for verb, entries in table["intransitive"].items()},
            questions={name: _parse_utterances(entries) for name, entries in table["questions"].items()},
            answers={name: _parse_utterances(entries) for name, entries in table["answers"].items()},
        )


def parse_utterance(entry: list[str], ways: int = 1) -> Utterance:
    """Parse ["Please come in.", "Komm bitte herein.", "Kommen Sie bitte herein."], with `ways` translations."""
    english, *german = entry
    if len(german) != ways:
        raise ValueError(f"{english!r} has {len(german)} translations, expected {ways}")
    for text in entry:
        check_slots(text, _SPEECH_SLOTS)
        if text[-1] not in ".?!":
            raise ValueError(f"{text!r} ends without a full stop, question mark or exclamation mark")
    return Utterance(english, tuple(german))


def _parse_utterances(entries: list[list[str]], ways: int = 1) -> tuple[Utterance, ...]:
    """Parse a list of spoken sentences."""
    return tuple(parse_utterance(entry, ways) for entry in entries)


def _parse_verbs(entries: list[str], auxiliary: str) -> tuple[Verb, ...]:
    """Parse a list of verbs such as "buy: gekauft"."""
    pairs = [split_pair(entry) for entry in entries]
    return tuple(Verb(english, auxiliary, participle) for english, participle in pairs)


def parse_professions(table: dict[str, Any]) -> ProfessionTable:
    """Parse the table of professions."""
    file = "professions.toml"
    require(file, table, {"people": _LEAST_PEOPLE, "adjectives": 1, "cues": _LEAST_CUES})
    require(f"{file} (frames)", table.get("frames", {}), dict.fromkeys(PROFESSION_FORMS, _LEAST_FRAMES))
    with naming(file):
        return ProfessionTable(
            people=tuple(parse_profession(**person) for person in table["people"]),
            adjectives=tuple(map(parse_adjective, table["adjectives"])),
            cues=parse_clauses(table["cues"]),
            frames={form: parse_clauses(table["frames"][form]) for form in PROFESSION_FORMS},
        )


def parse_profession(*, english: str, man: str, woman: str) -> ProfessionNouns:
    """Parse "Arzt, Arzt, Arztes" and "Ärztin", which has one form for all cases."""
    he = parse_noun(f"{english}: {man}", "masculine")
    she = parse_noun(f"{english}: {woman}, {woman}, {woman}", "feminine")
    if he.genitive is None or she.german == he.german:
        raise ValueError(f"{english!r}: expected nominative, oblique and genitive of a man's noun, and a woman's noun")
    return ProfessionNouns(english, (he, she))
