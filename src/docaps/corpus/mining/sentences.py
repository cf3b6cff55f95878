"""Sentences as words: what the rules look at, and what they find."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

WORD = re.compile(r"\w+|[^\w\s]")
CLAUSE_ENDS = frozenset(',;:.!?()"„“”»«–-')
SENTENCE_ENDS = frozenset('.!?:"„“”»«(')
Edit = Mapping[int, str]
"""New words by their number in the sentence; an empty one removes the word."""


class Words:
    """The words and punctuation marks of a sentence, as written and in lower case."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.forms: list[str] = WORD.findall(text)
        self.lower: list[str] = [form.lower() for form in self.forms]

    def __len__(self) -> int:
        return len(self.forms)

    @cached_property
    def known(self) -> frozenset[str]:
        """The words in lower case, without order."""
        return frozenset(self.lower)

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Where each word is in the text."""
        return [found.span() for found in WORD.finditer(self.text)]

    def places(self, wanted: Iterable[str]) -> list[int]:
        """Return the numbers of the words that are among the wanted ones."""
        found = set(wanted) & self.known
        return [place for place, word in enumerate(self.lower) if word in found] if found else []

    def begins(self, place: int) -> bool:
        """Return whether a sentence begins with this word: its case says nothing."""
        return place == 0 or self.forms[place - 1] in SENTENCE_ENDS

    def clause(self, place: int) -> tuple[int, int]:
        """Return the first number and the end of the clause around a word: what punctuation marks enclose."""
        start, end = place, place
        while start > 0 and self.forms[start - 1] not in CLAUSE_ENDS:
            start -= 1
        while end < len(self.forms) and self.forms[end] not in CLAUSE_ENDS:
            end += 1
        return start, end

    def edit(self, changes: Edit) -> str:
        """Return the text with some words replaced; a word that began with a capital where all do keeps it."""
        parts, done = [], 0
        for place in sorted(changes):
            start, end = self.spans[place]
            new = changes[place]
            if self.begins(place) and self.forms[place][:1].isupper():
                new = new[:1].upper() + new[1:]
            parts += [self.text[done:start], new]
            done = end
        return "".join([*parts, self.text[done:]])


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation."""

    source: Words
    target: Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A translation that an earlier sentence of its document decides."""

    sentence: int
    """Its number in the document, from 0."""
    phenomenon: str
    label: str
    """The answer, such as the pronoun."""
    distance: int
    """How many sentences back the deciding one is."""
    places: tuple[int, ...]
    """Numbers of the target words that are decided."""
    cue: str = ""
    """The deciding words of the earlier sentence."""
    form: str = ""
    wrong: tuple[Edit, ...] = ()
    """Changes that make wrong translations; none where no grammatical one is known."""


def pairs_of(source: Sequence[str], target: Sequence[str]) -> list[Pair]:
    """Split the sentences of a document into words."""
    return [Pair(Words(one), Words(other)) for one, other in zip(source, target, strict=True)]
