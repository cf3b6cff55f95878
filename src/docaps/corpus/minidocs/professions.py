"""Professions: one noun in English, one for a man and one for a woman in German."""

from dataclasses import dataclass
from typing import Any

from docaps.corpus.minidocs.entries import Adjective, Clause, Gender, Noun, parse_adjective, parse_clauses, parse_noun
from docaps.corpus.minidocs.tables import naming, require

PROFESSION_FORMS = ("nominative", "accusative", "dative", "genitive")
PERSON_GENDERS: tuple[Gender, ...] = ("masculine", "feminine")
_LEAST_PEOPLE, _LEAST_CUES, _LEAST_FRAMES = 8, 4, 3


@dataclass(frozen=True, slots=True)
class Profession:
    """What somebody does, as a noun for a man and one for a woman."""

    english: str
    nouns: tuple[Noun, Noun]  # in the order of PERSON_GENDERS


@dataclass(frozen=True, slots=True)
class Professions:
    """All professions, sentences that tell a woman from a man, and sentences that do not."""

    people: tuple[Profession, ...]
    adjectives: tuple[Adjective, ...]
    cues: tuple[Clause, ...]
    frames: dict[str, tuple[Clause, ...]]  # by the case of the noun


def parse_professions(table: dict[str, Any]) -> Professions:
    """Read the table of professions, or say what it lacks."""
    place = "professions.toml"
    require(place, table, {"people": _LEAST_PEOPLE, "adjectives": 1, "cues": _LEAST_CUES})
    require(f"{place} (frames)", table.get("frames", {}), dict.fromkeys(PROFESSION_FORMS, _LEAST_FRAMES))
    with naming(place):
        return Professions(
            people=tuple(parse_profession(**person) for person in table["people"]),
            adjectives=tuple(map(parse_adjective, table["adjectives"])),
            cues=parse_clauses(table["cues"]),
            frames={form: parse_clauses(table["frames"][form]) for form in PROFESSION_FORMS},
        )


def parse_profession(*, english: str, man: str, woman: str) -> Profession:
    """Read "Arzt, Arzt, Arztes" and "Ärztin", which has one form for all cases."""
    he = parse_noun(f"{english}: {man}", "masculine")
    she = parse_noun(f"{english}: {woman}, {woman}, {woman}", "feminine")
    if he.genitive is None or she.german == he.german:
        raise ValueError(f"{english!r}: expected nominative, oblique and genitive of a man's noun, and a woman's noun")
    return Profession(english, (he, she))
