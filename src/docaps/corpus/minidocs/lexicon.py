"""The lexicon: all tables of `data`, read once and checked."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from docaps.corpus.minidocs.dialogue import Addresses, Ellipses, parse_addresses, parse_ellipses
from docaps.corpus.minidocs.entries import (
    GENDERS,
    Adjective,
    Adverbial,
    Clause,
    Gender,
    Noun,
    parse_adjective,
    parse_adverbial,
    parse_clauses,
    parse_noun,
    parse_translation,
)
from docaps.corpus.minidocs.professions import Professions, parse_professions
from docaps.corpus.minidocs.tables import data_folder, naming, read_table, require
from docaps.errors import CorpusError

FORMS = ("subject", "object", "possessive")
_LEAST_NOUNS, _LEAST_FRAMES, _LEAST_CUES = 4, 3, 4


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
class Lexicon:
    """All words and sentences of the grammar."""

    things: tuple[ThingClass, ...]
    ambiguous: tuple[tuple[Sense, Sense], ...]
    ambiguity_frames: tuple[Clause, ...]
    ambiguity_adjectives: tuple[Adjective, ...]
    addresses: Addresses
    professions: Professions
    ellipses: Ellipses
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
    """Read the tables that come with the package."""
    data = data_folder()
    story, frames = read_table(data / "story.toml"), read_table(data / "frames.toml")
    things = sorted((data / "things").iterdir(), key=lambda file: file.name)
    clauses = ("openings", "mentions", "fillers", "states", "closings")
    cities = tuple(parse_adjective(city) for city in story["cities"])
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
        cities=tuple((city.english, city.german) for city in cities),
        dates=_parse_dates(story),
        times=tuple(map(parse_adverbial, story["times"])),
        comments=tuple(map(parse_adverbial, story["comments"])),
        **{name: parse_clauses(story[name]) for name in clauses},
    )


def parse_thing_class(file_name: str, table: dict[str, Any]) -> ThingClass:
    """Read one class of things, or say what its table lacks."""
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
    """Read the two senses of an ambiguous noun, or say what its table lacks."""
    if len(table) != 2:
        raise CorpusError(f"mini-documents: {word!r} has {len(table)} senses, expected 2", path=Path("ambiguity.toml"))
    for sense in table:
        require(f"ambiguity.toml ({word})", sense, {"german": 1, "cues": _LEAST_CUES})
    with naming("ambiguity.toml"):
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
