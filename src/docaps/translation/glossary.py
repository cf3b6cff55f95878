"""Glossaries: terms of the source language, their translations, and where terms occur in a sentence.

A term is matched on whole words. A form in lower case matches any case; one with a capital matches as written. Of terms
that overlap in a sentence the longest counts, of equally long ones the first.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import regex

from docaps.errors import DocapsError

_JOINED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"  # scripts without blanks between words
_WORD = regex.compile(rf"[{_JOINED}]\p{{M}}*|[[\p{{L}}\p{{M}}\p{{N}}_]--[{_JOINED}]]+|\S", regex.VERSION1)
_SAME = str.maketrans({"’": "'", "ʼ": "'", "‐": "-", "‑": "-"})
"""Characters that are written either way."""

Forms = str | Sequence[str]
"""A form of a term, or several."""


class Word(str):
    """A word or a punctuation mark of a text, in composed Unicode, and where it stands."""

    __slots__ = ("end", "start")
    start: int
    end: int


def split_text(text: str) -> list[Word]:
    """Return the words of a text and each of its punctuation marks; in scripts without blanks, the characters."""
    words = []
    for found in _WORD.finditer(text):
        word = Word(unicodedata.normalize("NFC", found[0]).translate(_SAME))
        word.start, word.end = found.span()
        words.append(word)
    return words


def is_written(form: str, text: str) -> bool:
    """Return whether a text has a form as whole words; its first letter may be a capital, as in a first word."""
    words, sought = split_text(text), split_text(form)
    first = {sought[0], sought[0][:1].upper() + sought[0][1:]}
    length = len(sought)
    return any(
        words[start] in first and words[start + 1 : start + length] == sought[1:]
        for start in range(len(words) - length + 1)
    )


@dataclass(frozen=True, slots=True)
class Term:
    """A term in all its source forms, and the target forms one of which must translate it, the preferred one first."""

    source: tuple[str, ...]
    target: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """A term in a sentence, as it is written there, between two positions."""

    term: Term
    text: str
    start: int
    end: int


def replace_terms(text: str, hits: Sequence[Hit]) -> str:
    """Return a text with the terms that were found in it replaced by their preferred translations."""
    parts, position = [], 0
    for hit in hits:
        parts += [text[position : hit.start], hit.term.target[0]]
        position = hit.end
    return "".join([*parts, text[position:]])


@dataclass(slots=True)
class _Node:
    """A beginning of source forms: the words that may follow it, and the terms that it is a whole form of."""

    following: dict[str, "_Node"] = field(default_factory=dict)
    exact: dict[tuple[str, ...], Term] = field(default_factory=dict)
    """Terms of forms with a capital, by the words of the form."""
    any_case: Term | None = None

    def find(self, words: Sequence[str]) -> Term | None:
        """Return the term that these words are a form of."""
        return (self.exact.get(tuple(words)) if self.exact else None) or self.any_case


class Glossary:
    """Terms that translations must keep to; what a sentence has of them is found in one pass over its words."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms = tuple(terms)
        self._root = _Node()
        for term in self.terms:
            for form in term.source:
                self._add(form, term)

    def __reduce__(self) -> tuple[Callable[[tuple[Term, ...]], "Glossary"], tuple[tuple[Term, ...]]]:
        return _remember, (self.terms,)

    def __len__(self) -> int:
        return len(self.terms)

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __repr__(self) -> str:
        return f"<glossary of {len(self.terms):,} terms>"

    def _add(self, form: str, term: Term) -> None:
        words = split_text(form)
        node = self._root
        for word in words:
            node = node.following.setdefault(word.casefold(), _Node())
        if form == form.lower():
            node.any_case = term
        else:
            node.exact[tuple(words)] = term

    def find(self, sentence: str) -> list[Hit]:
        """Return the terms of a sentence in order; they do not overlap."""
        words = split_text(sentence)
        folded = [word.casefold() for word in words]
        found = [span for start in range(len(words)) for span in self._from(words, folded, start)]
        found.sort(key=lambda one: (one[0] - one[1], one[0]))
        taken: set[int] = set()
        hits = []
        for start, end, term in found:
            if taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                place = slice(words[start].start, words[end - 1].end)
                hits.append(Hit(term, sentence[place], place.start, place.stop))
        return sorted(hits, key=lambda hit: hit.start)

    def _from(self, words: Sequence[str], folded: Sequence[str], start: int) -> Iterator[tuple[int, int, Term]]:
        """Yield the terms that begin at a word, with the range of their words."""
        node: _Node | None = self._root
        for end in range(start, len(words)):
            node = node.following.get(folded[end]) if node else None
            if node is None:
                return
            if (term := node.find(words[start : end + 1])) is not None:
                yield start, end + 1, term


def find_terms(text: str, glossaries: Sequence[Glossary]) -> list[Hit]:
    """Return the terms of a text, in order; those of a glossary count only where those of the ones before do not."""
    hits: list[Hit] = []
    for glossary in glossaries:
        taken = {place for hit in hits for place in range(hit.start, hit.end)}
        hits += [hit for hit in glossary.find(text) if taken.isdisjoint(range(hit.start, hit.end))]
    return sorted(hits, key=lambda hit: hit.start)


@lru_cache(maxsize=4)
def _remember(terms: tuple[Term, ...]) -> Glossary:
    """Return the glossary of these terms: a process that gets it with each of its tasks builds it once."""
    return Glossary(terms)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry as it was read, with its number: a line of a file, or a place in a list."""

    number: int
    source: Sequence[str]
    target: Sequence[str]


def check_entry(entry: Entry) -> Term:
    """Return an entry as a term; raise a DocapsError that says what it lacks."""
    forms = []
    for side, given in (("source", entry.source), ("target", entry.target)):
        own = [" ".join(form.split()) for form in given]
        if not own or not all(own):
            what = "no term" if side == "source" else f"no translation of {entry.source[0]!r}"
            hint = "" if side == "source" else ": a term that stays as it is has itself as its translation"
            raise DocapsError(f"{what}{hint}" if not any(own) else f"an empty {side} form beside {max(own)!r}")
        if unprintable := next((form for form in own if not form.isprintable()), None):
            raise DocapsError(f"the {side} form {unprintable!r} has characters that cannot be printed")
        forms.append(tuple(dict.fromkeys(own)))
    return Term(*forms)


class TermList:
    """Terms in the order given; the same one twice is dropped, another translation of the same one is refused."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._seen: dict[str, tuple[int, Term]] = {}
        self._terms: dict[Term, None] = {}

    def add(self, entry: Entry) -> None:
        """Add an entry; raise a DocapsError that says what is wrong with it."""
        term = check_entry(entry)
        for form in term.source:
            number, other = self._seen.setdefault(unicodedata.normalize("NFC", form), (entry.number, term))
            if set(other.target) != set(term.target):
                where = f"{self._unit} {number}"
                message = f"{form!r} is translated as {term.target[0]!r}, but in {where} as {other.target[0]!r}"
                raise DocapsError(f"{message}: give all its forms in one entry")
        self._terms[term] = None

    def glossary(self) -> Glossary:
        """Return the glossary of what was added."""
        return Glossary(self._terms)


def make_glossary(terms: Mapping[str, Forms] | Iterable[tuple[Forms, Forms]]) -> Glossary:
    """Make a glossary of pairs of a term and its translation, each one form or a list, the preferred one first."""
    entries = TermList("entry")
    pairs = terms.items() if isinstance(terms, Mapping) else terms
    for number, (source, target) in enumerate(pairs, start=1):
        sides = ((side,) if isinstance(side, str) else tuple(side) for side in (source, target))
        try:
            entries.add(Entry(number, *sides))
        except DocapsError as fault:
            raise DocapsError(f"glossary: entry {number}: {fault}") from None
    return entries.glossary()
