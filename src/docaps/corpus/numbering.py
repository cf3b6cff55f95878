"""Numbering: tokenise a corpus in several processes and store its words as numbers, one array for each side.

Text is read one document at a time and tokenised in chunks; from then on a corpus is numbers: 4 bytes a word, and
everything that depends on a word alone (case, subwords, ids) is computed once for each word form.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from docaps.corpus.arrays import TokenArray, concatenate, starts_of
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.processes import WorkerPool
from docaps.corpus.text.tokenization import Tokenizer
from docaps.corpus.text.truecasing import count_cases, sentence_starts

CHUNK_SENTENCES = 4000
SentencePairs = tuple[list[str], list[str]]


@dataclass(frozen=True, slots=True)
class Tokenization:
    """How sentences become words: by the rules of two languages, or, without languages, split at blanks."""

    languages: tuple[str, str] | None
    truecase: bool

    def tokenizers(self) -> tuple[Callable[[str], list[str]], Callable[[str], list[str]]]:
        """Return the functions that tokenise source and target."""
        if self.languages is None:
            return str.split, str.split
        source, target = map(_tokenizer, self.languages)
        return source.tokenize, target.tokenize


@cache
def _tokenizer(language: str) -> Tokenizer:
    """Return the tokenizer of a language; each process creates it once, with its memory of words."""
    return Tokenizer(language)


@dataclass(frozen=True, slots=True)
class NumberedSide:
    """One side of a chunk: its word forms, its sentences as numbers of forms, and which words begin a sentence."""

    forms: list[str]
    words: TokenArray
    at_start: NDArray[np.bool_]
    cases: Counter[str]


def number_side(sentences: Iterable[list[str]], *, truecase: bool) -> NumberedSide:
    """Replace words by numbers, in order of first occurrence."""
    numbers: dict[str, int] = {}
    lines = list(sentences)
    tokens = np.fromiter((numbers.setdefault(word, len(numbers)) for line in lines for word in line), dtype=np.int32)
    words = TokenArray(tokens, starts_of([len(line) for line in lines]))
    at_start = np.zeros(len(tokens), dtype=np.bool_)
    cases: Counter[str] = Counter()
    if truecase:
        for first, line in zip(words.starts, lines, strict=False):
            at_start[[first + position for position in sentence_starts(line)]] = True
        cases = count_cases(lines)
    return NumberedSide(list(numbers), words, at_start, cases)


def number_chunk(tokenization: Tokenization, pairs: SentencePairs) -> tuple[NumberedSide, NumberedSide]:
    """Tokenise and number both sides of a chunk: the task of one worker."""
    source, target = (
        number_side(map(tokenize, sentences), truecase=tokenization.truecase)
        for tokenize, sentences in zip(tokenization.tokenizers(), pairs, strict=True)
    )
    return source, target


@dataclass(slots=True)
class NumberedWords:
    """One side of a corpus part, extended chunk by chunk; the parts of a corpus share the forms of their side."""

    forms: dict[str, int]
    chunks: list[TokenArray] = field(default_factory=list)
    starts: list[NDArray[np.bool_]] = field(default_factory=list)
    cases: Counter[str] = field(default_factory=Counter)

    def add(self, side: NumberedSide) -> None:
        """Append a chunk, renumbering its forms."""
        known = self.forms
        renumber = np.array([known.setdefault(form, len(known)) for form in side.forms], dtype=np.int32)
        self.chunks.append(TokenArray(renumber[side.words.tokens], side.words.starts))
        self.starts.append(side.at_start)
        self.cases.update(side.cases)

    def words(self) -> TokenArray:
        """Return all sentences."""
        return concatenate(self.chunks)

    def at_start(self) -> NDArray[np.bool_]:
        """Return for each word whether it begins a sentence."""
        return np.concatenate([np.zeros(0, np.bool_), *self.starts])


def number_documents(
    documents: Iterable[ParallelDocument],
    tokenization: Tokenization,
    source: NumberedWords,
    target: NumberedWords,
    workers: WorkerPool,
) -> Iterator[int]:
    """Tokenise and number documents into `source` and `target`; yield the number of sentences of each chunk done."""
    for one, other in workers.map(partial(number_chunk, tokenization), _chunks(documents)):
        source.add(one)
        target.add(other)
        yield len(one.words)


def _chunks(documents: Iterable[ParallelDocument]) -> Iterator[SentencePairs]:
    """Collect sentences into chunks large enough to be worth sending to another process."""
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
