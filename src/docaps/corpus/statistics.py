"""Corpus statistics: sizes, lengths, unknown words, and what a length limit would drop.

Tokens are words between spaces in raw text, and subwords, without end symbols, in a prepared corpus.
The first three numbers are those of the paper's Table 1.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from docaps.corpus.arrays import TokenArray
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.store import Store
from docaps.corpus.text.vocabulary import SPECIALS, UNK

LIMITS = (50, 80, 100, 200)
BIN_ENDS = (0, *range(10, 101, 10), 200)
Types = set[Hashable]


class LongestSentence(NamedTuple):
    """The longest sentence: its length and its position, counted from 1."""

    length: int = 0
    document: int = 0
    sentence: int = 0
    part: str | None = None


@dataclass(slots=True)
class SideStatistics:
    """Counts of one side of a corpus."""

    lengths: Counter[int] = field(default_factory=Counter)  # sentences by their number of tokens
    types: Types = field(default_factory=set)
    unknown: int | None = None  # None without a vocabulary
    longest: LongestSentence = field(default_factory=LongestSentence)

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return sum(length * count for length, count in self.lengths.items())


@dataclass(slots=True)
class Statistics:
    """Counts of a corpus, or of a part of it, from which all printed figures are derived."""

    source: SideStatistics
    target: SideStatistics
    documents: Counter[int] = field(default_factory=Counter)  # documents by their number of sentences
    pairs: Counter[int] = field(default_factory=Counter)  # sentence pairs by the length of their longer side
    longest_pairs: Counter[int] = field(default_factory=Counter)  # documents by the length of their longest pair

    @property
    def sentences(self) -> int:
        """Number of sentence pairs."""
        return self.pairs.total()


def count_documents(documents: Iterable[ParallelDocument], known: tuple[Types, Types] | None = None) -> Statistics:
    """Count raw documents in one pass; `known` are the known words of the two sides."""
    found = Statistics(SideStatistics(), SideStatistics())
    for number, document in enumerate(documents, start=1):
        source = _add_sentences(found.source, number, document.source, known and known[0])
        target = _add_sentences(found.target, number, document.target, known and known[1])
        longer = list(map(max, source, target))
        found.pairs.update(longer)
        found.documents[len(longer)] += 1
        found.longest_pairs[max(longer)] += 1
    return found


def _add_sentences(side: SideStatistics, document: int, sentences: Sequence[str], known: Types | None) -> list[int]:
    """Count one side of a document; return the lengths of its sentences."""
    words = [sentence.split() for sentence in sentences]
    lengths = [len(sentence) for sentence in words]
    side.lengths.update(lengths)
    side.types.update(*words)
    if known is not None:
        side.unknown = (side.unknown or 0) + sum(word not in known for sentence in words for word in sentence)
    longest = max(lengths)
    if longest > side.longest.length:
        side.longest = LongestSentence(longest, document, lengths.index(longest) + 1)
    return lengths


def collect_words(documents: Iterable[ParallelDocument]) -> tuple[Types, Types]:
    """Return the vocabularies of the two sides."""
    found: tuple[Types, Types] = (set(), set())
    for document in documents:
        for words, sentences in zip(found, (document.source, document.target), strict=True):
            words.update(*map(str.split, sentences))
    return found


def count_store(store: Store) -> dict[str, Statistics]:
    """Count every part of a prepared corpus."""
    names = [name for name in store.manifest["counts"] if name != "extra"]  # extra pairs have no documents
    return {name: _count_part(store, name) for name in names}


def _count_part(store: Store, name: str) -> Statistics:
    """Count one part of a prepared corpus."""
    split = store.split(name)
    starts = split.documents
    longer = np.maximum(split.source.lengths, split.target.lengths) - 1
    return Statistics(
        source=_count_tokens(name, split.source, starts),
        target=_count_tokens(name, split.target, starts),
        documents=_tally(np.diff(starts)),
        pairs=_tally(longer),
        longest_pairs=_tally(np.maximum.reduceat(longer, starts[:-1])) if len(longer) else Counter(),
    )


def _count_tokens(name: str, side: TokenArray, documents: NDArray[np.int64]) -> SideStatistics:
    """Count one side of a part, without the end symbol of each sentence."""
    lengths = side.lengths - 1
    ids = np.bincount(side.tokens, minlength=len(SPECIALS))
    types: Types = set((np.flatnonzero(ids[len(SPECIALS) :]) + len(SPECIALS)).tolist())
    longest = LongestSentence(part=name)
    if lengths.any():
        index = int(lengths.argmax())  # the first of the longest
        document = int(np.searchsorted(documents, index, side="right"))
        longest = LongestSentence(int(lengths[index]), document, index - int(documents[document - 1]) + 1, name)
    return SideStatistics(_tally(lengths), types, int(ids[UNK]), longest)


def _tally(numbers: NDArray[np.int64]) -> Counter[int]:
    """Count how often each number occurs."""
    values, counts = np.unique(numbers, return_counts=True)
    return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))


def combine(parts: Iterable[Statistics]) -> Statistics:
    """Sum the parts of a corpus; a word that occurs in several parts is one type."""
    found = Statistics(SideStatistics(), SideStatistics())
    for part in parts:
        found.documents.update(part.documents)
        found.pairs.update(part.pairs)
        found.longest_pairs.update(part.longest_pairs)
        for total, side in ((found.source, part.source), (found.target, part.target)):
            total.lengths.update(side.lengths)
            total.types |= side.types
            total.longest = max(total.longest, side.longest, key=lambda place: place.length)
            if side.unknown is not None:
                total.unknown = (total.unknown or 0) + side.unknown
    return found


def read_filters(store: Store) -> dict[str, dict[str, int]]:
    """Return how many sentence pairs each cleaning filter dropped from each part."""
    return {name: dict(parts) for name, parts in store.manifest["filters"].items()}


def histogram(found: Statistics) -> list[dict[str, int | None]]:
    """Count sentences by length, in tens up to a hundred; `to` is None in the last, open bin."""
    ends: list[int | None] = [*BIN_ENDS, None]
    firsts = [0, *(end + 1 for end in BIN_ENDS)]
    sides = {"source": found.source, "target": found.target}
    return [
        {"from": first, "to": last} | {name: _count_between(side.lengths, first, last) for name, side in sides.items()}
        for first, last in zip(firsts, ends, strict=True)
    ]


def _count_between(lengths: Mapping[int, int], first: int, last: int | None) -> int:
    """Count lengths from `first` to `last`."""
    return sum(count for length, count in lengths.items() if first <= length and (last is None or length <= last))


def describe(found: Statistics, limits: Sequence[int] = LIMITS) -> dict[str, Any]:
    """Return all counts, and what each length limit would drop, as one JSON object."""
    return {
        "documents": found.documents.total(),
        "sentences": found.sentences,
        "average_document_length": _share(found.sentences, found.documents.total()),
        "one_sentence_documents": found.documents[1],
        "length_ratio": _share(found.target.tokens, found.source.tokens),
        "source": _describe_side(found.source),
        "target": _describe_side(found.target),
        "histogram": histogram(found),
        "limits": [_describe_limit(found, limit) for limit in limits],
    }


def _describe_side(side: SideStatistics) -> dict[str, Any]:
    """Return the counts of one side."""
    return {
        "tokens": side.tokens,
        "types": len(side.types),
        "unknown": side.unknown,
        "unknown_rate": None if side.unknown is None else _share(side.unknown, side.tokens),
        "average_length": _share(side.tokens, side.lengths.total()),
        "longest": {key: value for key, value in side.longest._asdict().items() if key != "part" or value},
        "empty": side.lengths[0],
    }


def _describe_limit(found: Statistics, limit: int) -> dict[str, Any]:
    """Count the pairs longer than a limit on either side, and the documents that dropping them would break up."""
    dropped = _count_between(found.pairs, limit + 1, None)
    torn = _count_between(found.longest_pairs, limit + 1, None)
    return {"limit": limit, "sentences": dropped, "share": _share(dropped, found.sentences), "documents": torn}


def _share(part: int, whole: int) -> float:
    """Divide; a share of nothing is 0."""
    return part / whole if whole else 0.0
