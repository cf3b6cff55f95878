r"""Glossary files: tab-separated text, or TBX (ISO 30042), the exchange format of terminology databases.

A line of text is `source<TAB>target`, and in a third column other target forms that are allowed. In every column forms
are separated by `|`; a `|` that belongs to a form is written `\|`, a leading `#` `\#`. Other lines that begin with `#`,
and empty ones, are comments.

Of a TBX file all terms of a concept count as forms of one, without those that are marked as deprecated or superseded.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from docaps.errors import CorpusError, DocapsError
from docaps.files import read_text
from docaps.translation.glossary import Entry, Glossary, Term, TermList

_BAR = re.compile(r"(?<!\\)\|")
_CONCEPTS, _LANGUAGES, _TERMS = {"termEntry", "conceptEntry"}, {"langSet", "langSec"}, {"tig", "ntig", "termSec"}
_STATUS = re.compile(r"preferred|deprecated|superseded|forbidden|obsolete|notRecommended", re.IGNORECASE)


def read_glossary(path: Path, *, source: str, target: str) -> Glossary:
    """Read a glossary for a language pair."""
    text = read_text(path, error=CorpusError, regular=False)
    try:
        return parse_glossary(text, source=source, target=target)
    except LineError as fault:
        raise CorpusError(fault.reason, path=path, line=fault.line) from None


class LineError(DocapsError):
    """What is wrong in a line of a glossary, wherever that was read from."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(f"line {line}: {reason}", line=None)
        self.reason, self.line = reason, line


def parse_glossary(text: str, *, source: str, target: str) -> Glossary:
    """Read the text of a glossary for a language pair; one that begins with markup is TBX."""
    return parse_tbx(text, source=source, target=target) if text.lstrip().startswith("<") else parse_tsv(text)


def parse_tsv(text: str) -> Glossary:
    """Read a glossary from tab-separated text."""
    entries = TermList("line")
    for number, line in enumerate(text.split("\n"), start=1):
        row = line.removesuffix("\r")
        if not row.strip() or row.startswith("#"):
            continue
        try:
            entries.add(_read_row(row, number))
        except DocapsError as fault:
            raise LineError(str(fault), number) from None
    return entries.glossary()


def _read_row(row: str, number: int) -> Entry:
    """Return the entry of a line."""
    source, *columns = row.split("\t")
    if not 1 <= len(columns) <= 2:
        found = "no tab" if not columns else f"{len(columns)} tabs"
        raise DocapsError(f"expected SOURCE, a tab and TARGET, and perhaps a tab and other forms, found {found}")
    others = columns[1].strip() if len(columns) == 2 else ""
    return Entry(number, _forms(source), [*_forms(columns[0]), *(_forms(others) if others else ())])


def _forms(column: str) -> list[str]:
    """Return the forms of a column."""
    return [re.sub(r"\\([|#\\])", r"\1", form.strip()) for form in _BAR.split(column)]


@dataclass
class _Concept:
    """A concept of a TBX file: its terms of the two languages, with their ranks, the lowest preferred."""

    line: int
    terms: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: {"source": [], "target": []})

    def forms(self, side: str) -> tuple[str, ...]:
        """Return the terms of a language, the preferred ones first."""
        return tuple(dict.fromkeys(term for _, term in sorted(self.terms[side], key=lambda one: one[0])))


class _TbxReader:
    """Handlers of the parser: collect concepts."""

    def __init__(self, source: str, target: str) -> None:
        self.concepts: list[_Concept] = []
        self.languages: dict[str, None] = {}
        self._sides = {source.lower(): "source", target.lower(): "target"}
        self._parser = expat.ParserCreate("utf-8")  # as `read` encodes it, whatever the file says
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._add_text
        self._parser.EntityDeclHandler = self._refuse_entity
        self._side: str | None = None
        self._text: list[str] | None = None
        self._term, self._rank, self._status = "", 1, False

    def read(self, text: str) -> None:
        """Parse a file."""
        try:
            self._parser.Parse(text.encode("utf-8"), True)
        except expat.ExpatError as fault:
            raise LineError(f"not well-formed XML: {expat.ErrorString(fault.code)}", fault.lineno) from None

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise LineError(f"declares the entity {name!r}: a glossary may not", self._parser.CurrentLineNumber)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name in _CONCEPTS:
            self.concepts.append(_Concept(self._parser.CurrentLineNumber))
        elif name in _LANGUAGES:
            language = attributes.get("xml:lang", attributes.get("lang", "")).lower()
            self.languages[language] = None
            self._side = self._sides.get(language) or self._sides.get(re.split("[-_]", language)[0])
        elif name in _TERMS:
            self._term, self._rank = "", 1
        elif name == "term":
            self._text = []
        elif name == "termNote" and "status" in attributes.get("type", "").lower():
            self._text, self._status = [], True

    def _add_text(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _end(self, name: str) -> None:
        if name == "term":
            self._term = " ".join("".join(self._text or ()).split())
            self._text = None
        elif name == "termNote" and self._status:
            if found := _STATUS.search("".join(self._text or ())):
                self._rank = 0 if found[0].lower() == "preferred" else -1
            self._text, self._status = None, False
        elif name in _TERMS and self._term and self._side and self.concepts and self._rank >= 0:
            self.concepts[-1].terms[self._side].append((self._rank, self._term))
        elif name in _LANGUAGES:
            self._side = None


def parse_tbx(text: str, *, source: str, target: str) -> Glossary:
    """Read a glossary from TBX; external files are never read, and entities are refused.

    A source term of several concepts may be translated as in any of them.
    """
    reader = _TbxReader(source, target)
    reader.read(text)
    usable = [one for one in reader.concepts if one.forms("source") and one.forms("target")]
    if not usable:
        found = ", ".join(filter(None, reader.languages)) or "none"
        raise LineError(f"no concept has terms in both {source} and {target}; its languages: {found}", 1)
    return Glossary(_merge(usable))


def _merge(concepts: list[_Concept]) -> Iterator[Term]:
    """Yield a term for each source form, with the translations of all concepts that have it."""
    forms: dict[str, dict[str, None]] = {}
    for concept in concepts:
        for form in concept.forms("source"):
            forms.setdefault(form, {}).update(dict.fromkeys(concept.forms("target")))
    for form, translations in forms.items():
        yield Term((form,), tuple(translations))
