"""Numbering: tokenise and truecase a corpus in several processes and store its words as numbers, one array a side.

Text is read one document at a time and tokenised in chunks; from then on a corpus is numbers: 4 bytes a word, and
everything that depends on a word alone (case, subwords, ids) is computed once for each word form.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docaps.corpus.arrays import TokenArray, starts_of
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.processes import TaskPool
from docaps.corpus.text.codec import SubwordModel
from docaps.corpus.text.tokenization import Tokenizer
from docaps.corpus.text.truecasing import Truecaser, count_cases, sentence_starts

CHUNK_SENTENCES = 4000
CHUNK_FORMS = 20_000
SentencePairs = tuple[list[str], list[str]]
Languages = tuple[str | None, str | None]  # None: words are separated by blanks


@cache
def _tokenizer(language: str) -> Tokenizer:
    """Return the tokenizer of a language; each process creates it once, with its memory of words."""
    return Tokenizer(language)


class NumberedSide(NamedTuple):
    """One side of a chunk: its word forms, its sentences as numbers of forms, and which words begin a sentence."""

    forms: list[str]
    words: TokenArray
    at_start: NDArray[np.bool_]
    cases: Counter[str]


def number_chunk(languages: Languages, truecase: bool, pairs: SentencePairs) -> list[NumberedSide]:
    """Tokenise and number both sides of a chunk, the task of one worker."""
    tokenizers = [_tokenizer(language).tokenize if language else str.split for language in languages]
    return [
        _number_side(list(map(tokenize, sentences)), truecase)
        for tokenize, sentences in zip(tokenizers, pairs, strict=True)
    ]


def _number_side(lines: list[list[str]], truecase: bool) -> NumberedSide:
    """Replace words by numbers, in order of first occurrence."""
    numbers: dict[str, int] = {}
    tokens = np.fromiter((numbers.setdefault(word, len(numbers)) for line in lines for word in line), dtype=np.int32)
    words = TokenArray(tokens, starts_of([len(line) for line in lines]))
    at_start = np.zeros(len(tokens), dtype=np.bool_)
    if truecase:
        for first, line in zip(words.starts, lines, strict=False):
            at_start[[first + position for position in sentence_starts(line)]] = True
    return NumberedSide(list(numbers), words, at_start, count_cases(lines) if truecase else Counter())


NumberedChunk = tuple[TokenArray, NDArray[np.bool_]]
"""Sentences of numbered words, and which of the words begin a sentence."""


class CaseTable(NamedTuple):
    """For each word form as written, the number of its truecased form, in a sentence and at its start."""

    inside: NDArray[np.int32]
    at_start: NDArray[np.int32] | None


@dataclass(slots=True)
class NumberedWords:
    """One side of a corpus part, extended chunk by chunk; the parts of a corpus share the forms of their side."""

    forms: dict[str, int]
    chunks: list[TokenArray] = field(default_factory=list)
    at_start: list[NDArray[np.bool_]] = field(default_factory=list)
    cases: Counter[str] = field(default_factory=Counter)

    def add(self, side: NumberedSide) -> None:
        """Append a chunk, renumbering its forms."""
        known = self.forms
        renumber = np.array([known.setdefault(form, len(known)) for form in side.forms], dtype=np.int32)
        self.chunks.append(TokenArray(renumber[side.words.tokens], side.words.starts))
        self.at_start.append(side.at_start)
        self.cases.update(side.cases)

    def pop_chunks(self) -> Iterator[NumberedChunk]:
        """Yield the chunks in order; each is given up here."""
        self.chunks.reverse()
        self.at_start.reverse()
        while self.chunks:
            yield self.chunks.pop(), self.at_start.pop()


def number_documents(
    documents: Iterable[ParallelDocument],
    sides: tuple[NumberedWords, NumberedWords],
    lengths: list[int],
    workers: TaskPool,
    *,
    languages: Languages,
    truecase: bool,
) -> Iterator[int]:
    """Tokenise documents, add their words to `sides` and their numbers of sentences to `lengths`.

    Yields the number of sentences of each chunk that is done.
    """
    for chunk in workers.map(partial(number_chunk, languages, truecase), _chunks(documents, lengths)):
        for side, found in zip(sides, chunk, strict=True):
            side.add(found)
        yield len(chunk[0].words)


def _chunks(documents: Iterable[ParallelDocument], lengths: list[int]) -> Iterator[SentencePairs]:
    """Collect sentences into chunks large enough to repay sending them to another process."""
    source: list[str] = []
    target: list[str] = []
    for document in documents:
        lengths.append(len(document.source))
        source += document.source
        target += document.target
        if len(source) >= CHUNK_SENTENCES:
            yield source, target
            source, target = [], []
    if source:
        yield source, target


def truecase_forms(
    forms: Iterable[str], truecaser: Truecaser | None, joint: dict[str, int], workers: TaskPool
) -> CaseTable:
    """Give all word forms their usual case, and number the truecased forms: `joint` is extended."""
    if truecaser is None:
        return CaseTable(_number(forms, joint), None)
    found = [*workers.map(partial(_truecase_some, truecaser), _some(forms))]
    inside, at_start = (_number(chain.from_iterable(chunk[place] for chunk in found), joint) for place in (0, 1))
    return CaseTable(inside, at_start)


def _number(forms: Iterable[str], joint: dict[str, int]) -> NDArray[np.int32]:
    return np.array([joint.setdefault(form, len(joint)) for form in forms], np.int32)


def _some(forms: Iterable[str]) -> Iterator[list[str]]:
    """Collect word forms into tasks."""
    rest = iter(forms)
    return iter(lambda: [*islice(rest, CHUNK_FORMS)], [])


def _truecase_some(truecaser: Truecaser, forms: Sequence[str]) -> tuple[list[str], list[str]]:
    """Truecase some word forms, in a sentence and at its start, the task of one worker."""
    return [truecaser.inside[form] for form in forms], [truecaser.at_start[form] for form in forms]


def truecase_chunk(cases: CaseTable, chunk: NumberedChunk) -> TokenArray:
    """Truecase a chunk of numbered words, the task of one worker."""
    words, at_start = chunk
    tokens = cases.inside[words.tokens]
    if cases.at_start is not None:
        tokens[at_start] = cases.at_start[words.tokens[at_start]]
    return TokenArray(tokens, words.starts)


def spell_forms(forms: Iterable[str], subwords: SubwordModel, workers: TaskPool) -> Iterator[list[str]]:
    """Split each word form into subwords."""
    return chain.from_iterable(workers.map(partial(_spell_some, subwords), _some(forms)))


def _spell_some(subwords: SubwordModel, forms: Sequence[str]) -> list[list[str]]:
    """Split some word forms, the task of one worker."""
    return [subwords.split([form]) for form in forms]
