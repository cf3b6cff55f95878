"""Glossaries of clients: named tables of terms for pairs of languages, kept in memory until the service stops."""

import csv
import io
import secrets
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from docaps.errors import DocapsError
from docaps.translation.glossary import Entry, TermList
from docaps.web.http_errors import HttpError, invalid

MOST_GLOSSARIES = 1_000
MOST_ENTRIES = 5_000
"""Terms of one table."""
MOST_TERM_CHARACTERS = 200
MOST_CHARACTERS = 5_000_000
"""Characters of all terms and names together."""
MOST_NAME_CHARACTERS = 1_000
MOST_TABLES = 100
"""Tables of a glossary: the least that one costs is not its characters."""
Pair = tuple[str, str]
"""Source and target language, in lower case without regions."""
Terms = Mapping[str, str]


@dataclass(frozen=True)
class StoredGlossary:
    """A glossary: the terms of one or more pairs of languages."""

    name: str
    tables: Mapping[Pair, Terms]
    number: str = field(default_factory=lambda: secrets.token_hex(16))
    created: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def characters(self) -> int:
        """The number of characters, which is about what it costs in memory."""
        return len(self.name) + sum(len(one) + len(two) for table in self.tables.values() for one, two in table.items())


class GlossaryStore:
    """All glossaries by their numbers."""

    def __init__(self) -> None:
        self._glossaries: dict[str, StoredGlossary] = {}
        self._lock = threading.Lock()

    def put(self, glossary: StoredGlossary) -> StoredGlossary:
        """Store a glossary or replace it; refuse it if there is no room."""
        _check_size(glossary)
        with self._lock:
            others = [one for one in self._glossaries.values() if one.number != glossary.number]
            if len(others) >= MOST_GLOSSARIES:
                raise HttpError(413, f"there are too many glossaries: at most {MOST_GLOSSARIES}; delete one")
            if sum(one.characters for one in others) + glossary.characters > MOST_CHARACTERS:
                raise HttpError(413, f"the glossaries are too large: at most {MOST_CHARACTERS} characters together")
            self._glossaries[glossary.number] = glossary
        return glossary

    def find(self, number: str) -> StoredGlossary:
        """Return a glossary."""
        found = self._glossaries.get(number)
        if found is None:
            raise HttpError(404, "there is no such glossary: they are forgotten when the service stops")
        return found

    def remove(self, number: str) -> None:
        """Forget a glossary."""
        if self._glossaries.pop(number, None) is None:
            self.find(number)

    def list(self) -> "list[StoredGlossary]":
        """Return all glossaries, the oldest first."""
        return list(self._glossaries.values())

    def terms(self, numbers: Iterable[str], pair: Pair) -> dict[str, str]:
        """Return the terms of some glossaries for a pair of languages; the first that has a term decides."""
        found: dict[str, str] = {}
        for number in numbers:
            tables = self.find(number).tables
            if pair not in tables:
                raise invalid("the glossary has no terms for these languages", "glossary_id", "-".join(pair))
            found = {**tables[pair], **found}
        return found


def merged(glossary: StoredGlossary, tables: Mapping[Pair, Terms]) -> StoredGlossary:
    """Return a glossary with more terms; those it has get the new translation."""
    old = glossary.tables
    return replace(glossary, tables={**old, **{pair: {**old.get(pair, {}), **terms} for pair, terms in tables.items()}})


def _check_size(glossary: StoredGlossary) -> None:
    if not 0 < len(glossary.name) <= MOST_NAME_CHARACTERS:
        raise invalid("the name is too long or empty", "name", f"1 to {MOST_NAME_CHARACTERS} characters")
    if not glossary.tables or len(glossary.tables) > MOST_TABLES:
        raise invalid("too few or too many tables", "dictionaries", f"1 to {MOST_TABLES}")
    for (source, target), terms in glossary.tables.items():
        if not 0 < len(terms) <= MOST_ENTRIES:
            where, found = f"{source}-{target}", len(terms)
            raise invalid("too few or too many entries", "entries", f"1 to {MOST_ENTRIES} for {where}, found {found}")


def read_entries(text: str, form: str) -> dict[str, str]:
    """Read the terms of a table: one pair a line, separated by a tab or, in `csv`, a comma."""
    terms: dict[str, str] = {}
    known = TermList("line")
    for number, row in enumerate(_rows(text, form), start=1):
        if not any(cell.strip() for cell in row):
            continue
        cells = [cell.strip() for cell in row]
        if len(cells) < 2 or (form == "tsv" and len(cells) > 2):
            raise _bad_entry(number, "must be a source and a target term")
        source, target = cells[:2]
        for term in (source, target):
            _check_term(number, term)
        if source in terms:
            raise _bad_entry(number, f"repeats {source!r}")
        terms[source] = target
        try:
            known.add(Entry(number, [source], [target]))
        except DocapsError as fault:  # such as two spellings of one term
            raise _bad_entry(number, str(fault)) from None
        if len(terms) > MOST_ENTRIES:
            raise invalid("too many entries", "entries", f"at most {MOST_ENTRIES}")
    return terms


def _rows(text: str, form: str) -> Iterable[list[str]]:
    if form == "tsv":
        return (line.split("\t") for line in text.splitlines())
    return _csv_rows(text)


def _csv_rows(text: str) -> Iterable[list[str]]:
    try:
        yield from csv.reader(io.StringIO(text, newline=""), strict=True)
    except csv.Error as error:
        raise invalid("not valid CSV", "entries", str(error)) from None


def _check_term(number: int, term: str) -> None:
    if not 0 < len(term) <= MOST_TERM_CHARACTERS:
        raise _bad_entry(number, f"a term has 1 to {MOST_TERM_CHARACTERS} characters, found {len(term)}")
    if any(ord(one) < 32 or 127 <= ord(one) < 160 or one in "\u2028\u2029" for one in term):
        raise _bad_entry(number, "a control character is not allowed in a term")


def _bad_entry(number: int, message: str) -> HttpError:
    return invalid("a bad entry of the glossary", f"entries, line {number}", message)


def write_entries(terms: Terms) -> str:
    """Return terms as tab-separated lines."""
    return "\n".join(f"{source}\t{target}" for source, target in terms.items())
