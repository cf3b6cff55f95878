"""Numbering: the words of a corpus as numbers, cut in several processes, held as one array a side.

Text is read one document at a time and cut into words in chunks; from then on a corpus is numbers: 4 bytes a word, and
everything that depends on a word alone (its case, its subwords, its ids) is worked out once for each form.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from docaps.corpus.arrays import TokenArray, concatenate, starts_of
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.text.tokenization import Tokenizer
from docaps.corpus.text.truecasing import count_cases, sentence_starts
from docaps.corpus.workers import Workers

CHUNK_SENTENCES = 4000


@dataclass(frozen=True, slots=True)
class Cutting:
    """How sentences become words: by the rules of two languages, or, without languages, at their blanks."""

    languages: tuple[str, str] | None
    truecase: bool

    def cutters(self) -> tuple[Callable[[str], list[str]], Callable[[str], list[str]]]:
        """Return what cuts the source and what cuts the target."""
        if self.languages is None:
            return str.split, str.split
        source, target = (_tokenizer(language) for language in self.languages)
        return source.tokenize, target.tokenize


_TOKENIZERS: dict[str, Tokenizer] = {}


def _tokenizer(language: str) -> Tokenizer:
    """Return the tokenizer of a language; each process makes it once, and it remembers the words it met."""
    if language not in _TOKENIZERS:
        _TOKENIZERS[language] = Tokenizer(language)
    return _TOKENIZERS[language]


@dataclass(frozen=True, slots=True)
class NumberedSide:
    """One side of a chunk: its word forms, its sentences as numbers of forms, and which words begin a sentence."""

    forms: list[str]
    words: TokenArray
    at_start: NDArray[np.bool_]
    cases: Counter[str]


def number_side(sentences: Iterable[list[str]], *, truecase: bool) -> NumberedSide:
    """Turn words into numbers, in the order in which forms are met."""
    numbers: dict[str, int] = {}
    lines = list(sentences)
    tokens = np.fromiter((numbers.setdefault(word, len(numbers)) for line in lines for word in line), dtype=np.int32)
    words = TokenArray(tokens, starts_of([len(line) for line in lines]))
    at_start = np.zeros(len(tokens), dtype=np.bool_)
    cases: Counter[str] = Counter()
    if truecase:
        for first, line in zip(words.starts, lines, strict=False):
            at_start[[first + place for place in sentence_starts(line)]] = True
        cases = count_cases(lines)
    return NumberedSide(list(numbers), words, at_start, cases)


Pair = tuple[list[str], list[str]]


def number_chunk(cutting: Cutting, pair: Pair) -> tuple[NumberedSide, NumberedSide]:
    """Cut and number both sides of some sentences: the work of one process."""
    cutters = cutting.cutters()
    source, target = (
        number_side(map(cut, sentences), truecase=cutting.truecase)
        for cut, sentences in zip(cutters, pair, strict=True)
    )
    return source, target


@dataclass(slots=True)
class Words:
    """One side of a corpus, growing chunk by chunk; parts of a corpus share the forms of their side."""

    forms: dict[str, int]
    pieces: list[TokenArray] = field(default_factory=list)
    starts: list[NDArray[np.bool_]] = field(default_factory=list)
    cases: Counter[str] = field(default_factory=Counter)

    def add(self, side: NumberedSide) -> None:
        """Take in a chunk, giving its forms the numbers of the whole."""
        known = self.forms
        renumber = np.array([known.setdefault(form, len(known)) for form in side.forms], dtype=np.int32)
        self.pieces.append(TokenArray(renumber[side.words.tokens], side.words.starts))
        self.starts.append(side.at_start)
        self.cases.update(side.cases)

    def words(self) -> TokenArray:
        """Return all sentences."""
        return concatenate(self.pieces)

    def at_start(self) -> NDArray[np.bool_]:
        """Say for each word whether a sentence begins with it."""
        return np.concatenate([np.zeros(0, np.bool_), *self.starts])


def number_documents(
    documents: Iterable[ParallelDocument], cutting: Cutting, source: Words, target: Words, workers: Workers
) -> Iterator[int]:
    """Cut and number documents into two growing sides; yield how many sentences each finished chunk had."""
    for one, other in workers.map(partial(number_chunk, cutting), _chunks(documents)):
        source.add(one)
        target.add(other)
        yield len(one.words)


def _chunks(documents: Iterable[ParallelDocument]) -> Iterator[Pair]:
    """Gather sentences into chunks that are worth a process's while."""
    source: list[str] = []
    target: list[str] = []
    for document in documents:
        source += document.source
        target += document.target
        if len(source) >= CHUNK_SENTENCES:
            yield source, target
            source, target = [], []
    if source:
        yield source, target
