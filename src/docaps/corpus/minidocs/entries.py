"""Entries of the lexicon: the tables of `data`, and the nouns, adjectives and clauses on their lines."""

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from docaps.errors import CorpusError

Gender = Literal["masculine", "feminine", "neuter"]
GENDERS: tuple[Gender, ...] = ("masculine", "feminine", "neuter")
ARTICLES: dict[str, Gender] = {"der": "masculine", "die": "feminine", "das": "neuter"}
_PEOPLE = {"a", "b", "who", "city"}
_ENGLISH_SLOTS = _PEOPLE | {"the", "an", "she", "her", "herself"}
_GERMAN_SLOTS = (
    _PEOPLE | {"it", "it:acc", "its"} | {f"{a}:{case}" for a in ("the", "an") for case in ("nom", "acc", "dat", "gen")}
)


def data_folder() -> Traversable:
    """Return the folder of tables in this package."""
    return files("docaps.corpus.minidocs") / "data"


def read_table(file: Traversable) -> dict[str, Any]:
    """Read a TOML file of the package."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CorpusError(f"mini-documents: {error}", path=Path(file.name)) from error


def require(file: str, table: dict[str, Any], least: dict[str, int]) -> None:
    """Check that each key has enough entries."""
    for key, count in least.items():
        found = len(table.get(key, ()))
        if found < count:
            raise CorpusError(f"mini-documents: {key!r} has {found} entries, expected {count} or more", path=Path(file))


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Name the file in the error of a faulty entry."""
    try:
        yield
    except ValueError as error:
        raise CorpusError(f"mini-documents: {error}", path=Path(file)) from error


@dataclass(frozen=True, slots=True)
class Noun:
    """An English noun and its German translation, in the singular."""

    english: str
    german: str
    gender: Gender
    oblique: str  # the accusative and dative: "Löwen" for "Löwe", else the same as `german`
    genitive: str | None = None  # only if a sentence needs it


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective in both languages, without endings."""

    english: str
    german: str


@dataclass(frozen=True, slots=True)
class Adverbial:
    """A phrase before a clause, in both languages."""

    english: str
    german: str


@dataclass(frozen=True, slots=True)
class Clause:
    """A sentence with slots; the German has three parts, so that the verb stays second whatever comes first."""

    english: str
    subject: str
    verb: str
    rest: str

    def mentions(self, slot: str) -> bool:
        """Return whether the English side has this slot."""
        return f"{{{slot}}}" in self.english


def parse_noun(text: str, gender: Gender) -> Noun:
    """Parse "lion: Löwe, Löwen", or with its genitive "doctor: Arzt, Arzt, Arztes"."""
    english, german = split_pair(text)
    forms = german.split(", ")
    if not all(form[:1].isupper() for form in forms) or len(forms) > 3:
        raise ValueError(f"{text!r}: a German noun starts with a capital, and has at most three forms")
    return Noun(english, forms[0], gender, oblique=forms[min(1, len(forms) - 1)], genitive=(*forms, None, None)[2])


def parse_translation(english: str, text: str) -> Noun:
    """Parse "der Buchstabe, Buchstaben" as a translation of `english`."""
    article, _, noun = text.partition(" ")
    if article not in ARTICLES:
        raise ValueError(f"{text!r} starts with {article!r}, expected der, die or das")
    return parse_noun(f"{english}: {noun}", ARTICLES[article])


def parse_adjective(text: str) -> Adjective:
    """Parse "red: rot"."""
    return Adjective(*split_pair(text))


def parse_adverbial(pair: list[str]) -> Adverbial:
    """Parse ["after a while,", "nach einer Weile"]."""
    english, german = pair
    return Adverbial(english, german)


def parse_clause(pair: list[str]) -> Clause:
    """Parse ["it tasted wonderful", "{it} | schmeckte | wunderbar"]."""
    english, german = pair
    parts = [part.strip() for part in german.split("|")]
    if len(parts) != 3 or not parts[0] or not parts[1]:
        raise ValueError(f"{german!r}: expected 'subject | verb | rest'")
    check_slots(english, _ENGLISH_SLOTS)
    check_slots(german, _GERMAN_SLOTS)
    return Clause(english, *parts)


def parse_clauses(pairs: list[list[str]]) -> tuple[Clause, ...]:
    """Parse a list of clauses."""
    return tuple(map(parse_clause, pairs))


def split_pair(text: str) -> tuple[str, str]:
    """Split "english: german"."""
    english, colon, german = text.partition(": ")
    if not (english and colon and german):
        raise ValueError(f"{text!r}: expected 'english: german'")
    return english, german


def check_slots(template: str, known: set[str]) -> None:
    """Refuse an unknown slot."""
    for slot in re.findall(r"\{(.*?)\}", template):
        if slot not in known:
            raise ValueError(f"{template!r}: unknown slot {{{slot}}}, expected one of {', '.join(sorted(known))}")
