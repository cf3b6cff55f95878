"""Sentences as numbers, stored end to end: small in memory, and mapped from a file as they are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class TokenArray:
    """The numbers of all sentences, one after the other, and where each sentence begins (and the last one ends)."""

    tokens: NDArray[np.int32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, sentence: int) -> NDArray[np.int32]:
        return self.tokens[self.starts[sentence] : self.starts[sentence + 1]]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each sentence."""
        return np.diff(self.starts)

    def first(self, count: int) -> "TokenArray":
        """Return the first sentences only; nothing is copied."""
        starts = self.starts[: count + 1]
        return TokenArray(self.tokens[: starts[-1]], starts)


def join_sentences(sentences: Sequence[Sequence[int]]) -> TokenArray:
    """Lay sentences end to end."""
    tokens = np.fromiter((token for sentence in sentences for token in sentence), dtype=np.int32)
    return TokenArray(tokens, starts_of([len(sentence) for sentence in sentences]))


def starts_of(lengths: Iterable[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn lengths into places: where each part begins, and where the last one ends."""
    counts = lengths if isinstance(lengths, np.ndarray) else np.fromiter(lengths, dtype=np.int64)
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))


def concatenate(parts: Sequence[TokenArray]) -> TokenArray:
    """Put several pieces of a corpus together."""
    tokens = np.concatenate([np.zeros(0, np.int32), *(part.tokens for part in parts)])
    return TokenArray(tokens, starts_of(np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)])))


def expand(sentences: TokenArray, table: TokenArray, *, end: int) -> TokenArray:
    """Replace each number by a row of a table, and put an end mark after each sentence.

    So a corpus of words becomes one of subwords at the speed of copying memory.
    """
    sizes = table.lengths[sentences.tokens]  # pieces of each word
    before = starts_of(sizes)  # pieces before each word, and in all
    lengths = np.diff(before[sentences.starts])  # pieces of each sentence
    starts = starts_of(lengths + 1)
    written = np.full(int(starts[-1]), end, dtype=np.int32)
    is_piece = np.ones(len(written), dtype=np.bool_)
    is_piece[starts[1:] - 1] = False
    # The place of each piece in the table: where its word's row begins, and so many on.
    place = np.arange(before[-1]) + np.repeat(table.starts[:-1][sentences.tokens] - before[:-1], sizes)
    written[is_piece] = table.tokens[place]
    return TokenArray(written, starts)
