"""Sentences as numbers, stored end to end: small in memory, and mapped from a file as they are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Sentences:
    """The numbers of all sentences, one after the other, and where each sentence begins (and the last one ends)."""

    numbers: NDArray[np.int32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, sentence: int) -> NDArray[np.int32]:
        return self.numbers[self.starts[sentence] : self.starts[sentence + 1]]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How many numbers each sentence has."""
        return np.diff(self.starts)


def join_sentences(sentences: Sequence[Sequence[int]]) -> Sentences:
    """Lay sentences end to end."""
    numbers = np.fromiter((number for sentence in sentences for number in sentence), dtype=np.int32)
    return Sentences(numbers, starts_of(len(sentence) for sentence in sentences))


def starts_of(lengths: Iterable[int]) -> NDArray[np.int64]:
    """Turn lengths into places: where each part begins, and where the last one ends."""
    counts = np.fromiter(lengths, dtype=np.int64)
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))


def concatenate(parts: Sequence[Sentences]) -> Sentences:
    """Put several pieces of a corpus together."""
    numbers = np.concatenate([part.numbers for part in parts] or [np.zeros(0, np.int32)])
    return Sentences(numbers, starts_of(np.concatenate([part.lengths for part in parts] or [np.zeros(0, np.int64)])))


def expand(sentences: Sentences, table: Sentences, *, end: int) -> Sentences:
    """Replace each number by a row of a table, and put an end mark after each sentence.

    So a corpus of words becomes one of subwords at the speed of copying memory.
    """
    sizes = table.lengths[sentences.numbers]
    lengths = np.add.reduceat(np.append(sizes, 0), sentences.starts[:-1]) if len(sentences) else np.zeros(0, np.int64)
    lengths = np.where(sentences.lengths > 0, lengths, 0) + 1
    starts = starts_of(lengths)
    written = np.full(int(starts[-1]), end, dtype=np.int32)
    is_word = np.ones(len(written), dtype=np.bool_)
    is_word[starts[1:] - 1] = False
    # The place of each piece in the table: its word's row, counted on.
    first = np.repeat(table.starts[:-1][sentences.numbers], sizes)
    within = np.arange(len(first)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    written[is_word] = table.numbers[first + within]
    return Sentences(written, starts)
